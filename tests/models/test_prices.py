"""Costs from measured usage and a complete, dated price table: a missing rate raises, it is never zero (A-01)."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from journeyman.errors import UserError
from journeyman.models.base import ModelUsage
from journeyman.models.prices import Price, PriceTable

ROWS = [
    ("Qwen3.6-35B-A3B", "Darkbloom", "0.05", None, "0.70"),
    ("GPT-5.6 Sol", "OpenAI", "4.00", "0.40", "20.00"),
    ("Qwen3.8-Max", "Alibaba Cloud International", "2.00", "0.25", "6.00"),
    ("DeepSeek V4 Pro (0813)", "DeepSeek", "0.66", "0.022", "1.98"),
    ("GLM-5.2", "DigitalOcean", "0.70", "0.105", "2.20"),
]
KEYS = ("model", "provider", "input_usd", "cache_read_usd", "output_usd")


def table_file(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text(json.dumps({"as_of": "2026-09-02", "prices": rows}))
    return path


@pytest.fixture
def table(tmp_path: Path) -> PriceTable:
    return PriceTable.load(table_file(tmp_path / "p.json", [dict(zip(KEYS, row, strict=True)) for row in ROWS]))


def test_the_published_table_loads_and_costs_exactly(table: PriceTable) -> None:
    usage = ModelUsage(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=100_000)
    assert table.cost_usd("GPT-5.6 Sol", usage) == Decimal("2.40") + Decimal("0.16") + Decimal("2.00")
    assert table.cost_usd("DeepSeek V4 Pro (0813)", usage) == Decimal("0.6028")


def test_without_a_cache_price_cached_tokens_cost_the_input_rate(table: PriceTable) -> None:
    some = ModelUsage(input_tokens=1000, cached_tokens=900, output_tokens=10)
    none = ModelUsage(input_tokens=1000, cached_tokens=0, output_tokens=10)
    assert table.cost_usd("Qwen3.6-35B-A3B", some) == table.cost_usd("Qwen3.6-35B-A3B", none) > 0


@pytest.mark.parametrize("missing", ["input_usd", "output_usd", "cache_read_usd"])
def test_a_missing_rate_raises(tmp_path: Path, missing: str) -> None:
    row: dict[str, object] = dict(zip(KEYS, ROWS[1], strict=True))
    del row[missing]
    with pytest.raises(UserError, match=missing):
        PriceTable.load(table_file(tmp_path / "p.json", [row]))


@pytest.mark.parametrize("bad", ["-1", "NaN", "Infinity"])
def test_a_rate_is_a_finite_number(bad: str) -> None:
    with pytest.raises(ValidationError):
        Price(model="m", provider="p", input_usd=Decimal(bad), cache_read_usd=None, output_usd=Decimal(1))


def test_an_unpriced_model_raises_and_names_the_known_ones(table: PriceTable) -> None:
    with pytest.raises(UserError, match=r"no price for model 'gpt' .*GLM-5\.2"):
        table.cost_usd("gpt", ModelUsage())
    with pytest.raises(UserError, match="no such price table"):
        PriceTable.load(Path("nowhere.json"))


def test_the_cheapest_provider_of_a_model_counts() -> None:
    def price(provider: str, rate: str) -> Price:
        return Price(model="m", provider=provider, input_usd=Decimal(rate), cache_read_usd=None, output_usd=Decimal(1))

    assert PriceTable(as_of="2026-01-01", prices=(price("a", "2"), price("b", "1"))).price("m").provider == "b"


def test_cached_tokens_are_part_of_the_input_not_beside_it(table: PriceTable) -> None:
    with pytest.raises(ValueError, match="part of the input"):
        table.cost_usd("GLM-5.2", ModelUsage(input_tokens=10, cached_tokens=11))
