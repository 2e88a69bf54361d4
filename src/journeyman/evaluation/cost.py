"""What an episode costs: measured usage times frozen, dated rates. A missing rate is an error, never zero."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from journeyman.evaluation.rows import EpisodeRow
from journeyman.models.base import ModelUsage
from journeyman.models.prices import Price, PriceTable
from journeyman.records.report import Pricing

PROXY = "hosted-8b-proxy"
PROXY_NOTE = "Nobody sells a model this small; a hosted 8 B model stands in for it and overstates its cost."


@cache
def shipped_prices() -> PriceTable:
    """The price table that comes with this package."""
    return PriceTable.load(Path(__file__).with_name("prices.json"))


@dataclass(frozen=True)
class Priced:
    """One model's rates as of one day. `of` raises UserError where the table has no such model."""

    as_of: str
    price: Price

    @classmethod
    def of(cls, model: str = PROXY, table: PriceTable | None = None) -> "Priced":
        """The rates of `model` from `table` (or the shipped one)."""
        prices = shipped_prices() if table is None else table
        return cls(prices.as_of, prices.price(model))

    def episode_usd(self, row: EpisodeRow) -> float:
        """Cost of all model calls of an episode. Prompt tokens are counted per call, as a provider bills them."""
        usage = ModelUsage(
            input_tokens=row.usage.prompt_tokens,
            cached_tokens=row.usage.cached_tokens,
            output_tokens=row.usage.sampled_tokens,
        )
        return float(self.price.cost_usd(usage))

    @property
    def pricing(self) -> Pricing:
        """What the report says about prices."""
        cached = self.price.cache_read_usd
        return Pricing(
            as_of=self.as_of,
            priced_as=self.price.model,
            provider=self.price.provider,
            input_usd=float(self.price.input_usd),
            cache_read_usd=None if cached is None else float(cached),
            output_usd=float(self.price.output_usd),
            source=self.price.source,
            note=PROXY_NOTE if self.price.model == PROXY else "",
        )
