"""Dates and amounts that people act on: offices are open, prices move by per cents, amounts are quantity by price."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from journeyman.records.task import Split
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.lexicon import is_working_day, working_day
from journeyman.worlds.registry import ENVIRONMENT_TYPES, environment_type

CASES = sorted(name for name in ENVIRONMENT_TYPES if isinstance(environment_type(name), CaseType))
SPLITS: tuple[Split, ...] = ("train", "validation", "heldout")
ENDS = {"as_of", "end", "start", "deadline", "insured", "surveyed"}  # ends of months and terms, whole years
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(T.*)?")


def truths(name: str) -> Iterator[Any]:
    """Worlds of every split."""
    for split in SPLITS:
        for seed in range(12):
            yield environment_type(name).truth(seed, split)


def dates(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The keys that lead to each ISO date of a truth, and the date."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if _DATE.fullmatch(key):
                yield (*path, key)
            yield from dates(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from dates(inner, path)
    elif isinstance(value, str) and _DATE.fullmatch(value):
        yield (*path, value[:10])


@pytest.mark.parametrize("name", CASES)
def test_people_act_on_working_days(name: str) -> None:
    for truth in truths(name):
        found = [d for d in dates(truth.model_dump(mode="json")) if not ENDS.intersection(d)]
        closed = [d for d in found if not is_working_day(d[-1])]
        assert not closed, (truth.seed, truth.split)


def test_a_working_day_lies_beyond_a_weekend_and_a_holiday_on_the_side_that_was_asked() -> None:
    assert working_day("2026-03-06", 1) == "2026-03-09"
    assert working_day("2026-03-09", -1) == "2026-03-06"
    assert working_day("2026-03-08") == "2026-03-06"
    assert working_day("2026-12-24", 1) == "2026-12-28"
    assert working_day("2026-03-10", -1) == "2026-03-09"


@pytest.mark.parametrize("split", SPLITS)
def test_a_price_moves_by_a_few_per_cent_and_a_fund_is_mostly_invested(split: Split) -> None:
    for seed in range(40):
        fund = environment_type("finance.fund_valuation").truth(seed, split).fund
        for by_day in fund.prices.values():
            today, before = by_day[fund.valued_on], by_day[fund.previous_day]
            assert abs(today - before) <= 0.05 * before
            assert abs(today - fund.price) <= 0.08 * fund.price
        assert 0 < fund.cash < fund.quantity * fund.price


@pytest.mark.parametrize("split", SPLITS)
def test_an_invoice_asks_for_quantity_by_price_and_freight(split: Split) -> None:
    for seed in range(40):
        p = environment_type("finance.three_way_match").truth(seed, split).purchase
        assert p.total == p.invoiced * p.billed_price + p.freight
        assert p.billed_price in p.prices.values()
        assert p.freight < 0.1 * p.total


@pytest.mark.parametrize("split", SPLITS)
def test_interest_on_damages_is_at_most_twelve_per_cent_a_year(split: Split) -> None:
    for seed in range(40):
        kind = environment_type("law.damages_schedule")
        truth = kind.truth(seed, split)
        assert isinstance(kind, CaseType)
        assert 365 * truth.x.daily <= 0.12 * kind.right(truth)["award"]


@pytest.mark.parametrize("split", SPLITS)
def test_the_last_day_to_file_is_a_working_day(split: Split) -> None:
    for seed in range(40):
        kind = environment_type("law.limitation_date")
        assert isinstance(kind, CaseType)
        assert is_working_day(kind.right(kind.truth(seed, split))["last"])
