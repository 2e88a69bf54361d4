"""Dated, frozen prices per million tokens. A missing rate raises; it is never zero (A-01)."""

from decimal import Decimal
from pathlib import Path

from pydantic import ValidationError, field_validator

from journeyman.errors import UserError
from journeyman.models.base import ModelUsage
from journeyman.records.base import Record, first_fault

_MILLION = Decimal(1_000_000)


class Price(Record):
    """Standard (never promotional) rates of one provider for one model, USD per million tokens."""

    model: str
    provider: str
    input_usd: Decimal
    cache_read_usd: Decimal | None  # None: the provider has no cache price; cached tokens cost the input rate
    output_usd: Decimal
    source: str = ""  # where the rate was read

    @field_validator("input_usd", "cache_read_usd", "output_usd")
    @classmethod
    def _usable(cls, rate: Decimal | None) -> Decimal | None:
        if rate is not None and (not rate.is_finite() or rate < 0):
            raise ValueError(f"a rate is a finite number of at least 0, not {rate}")
        return rate

    def cost_usd(self, usage: ModelUsage) -> Decimal:
        """Cost of `usage`: uncached input, cached input and output, each at its rate. Raises ValueError."""
        fresh = usage.input_tokens - usage.cached_tokens
        if min(fresh, usage.cached_tokens, usage.output_tokens) < 0:
            raise ValueError(f"cached tokens are part of the input tokens and no count is negative: {usage!r}")
        cached = self.input_usd if self.cache_read_usd is None else self.cache_read_usd
        total = fresh * self.input_usd + usage.cached_tokens * cached + usage.output_tokens * self.output_usd
        return total / _MILLION


class PriceTable(Record):
    """Prices as of one day."""

    as_of: str  # ISO date
    prices: tuple[Price, ...]

    @classmethod
    def load(cls, path: Path) -> "PriceTable":
        """Read a JSON price table. Raises UserError naming the first wrong or missing rate."""
        try:
            return cls.parse(path.read_bytes())
        except FileNotFoundError:
            raise UserError(f"{path}: no such price table") from None
        except ValidationError as error:
            raise UserError(f"{path}: {first_fault(error)}") from None

    def price(self, model: str) -> Price:
        """The cheapest provider's rates for `model` (input plus output rate). Raises UserError where there is none."""
        found = [p for p in self.prices if p.model == model]
        if not found:
            known = ", ".join(sorted({p.model for p in self.prices})) or "none"
            raise UserError(
                f"no price for model {model!r} as of {self.as_of} (known: {known}): add it to the price table"
            )
        return min(found, key=lambda p: (p.input_usd + p.output_usd, p.provider))

    def cost_usd(self, model: str, usage: ModelUsage) -> Decimal:
        """Cost of `usage` at `model`'s price. Raises UserError where the price is missing."""
        return self.price(model).cost_usd(usage)
