"""Ground truths keep what they promise, for any seed."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.records.task import Split
from journeyman.worlds.lexicon import Figures, owns_figure
from journeyman.worlds.types.board_forecast import truth as forecast
from journeyman.worlds.types.covenant_certificate import truth as covenant
from journeyman.worlds.types.vendor_benchmark import truth as benchmark
from journeyman.worlds.types.warehouse_exception import truth as warehouse

SEEDS = st.integers(0, 10**6)
SPLITS: st.SearchStrategy[Split] = st.sampled_from(("train", "validation", "heldout"))
quick = settings(max_examples=60, deadline=None, derandomize=True)


@quick
@given(SEEDS, SPLITS)
def test_one_forecast_is_approved_and_no_figure_is_shared_between_versions(seed: int, split: Split) -> None:
    world = forecast.draw(seed, split)
    assert sorted(v.status for v in world.versions) == ["approved", "superseded", "withdrawn"]
    figures = [n for v in world.versions for n in v.headline.values()]
    assert len(set(figures)) == len(figures)
    assert world.note_version != world.version("approved").id
    assert world.cleared != world.held
    assert all(v.by_year[world.headline_year] == v.headline for v in world.versions)


@quick
@given(SEEDS, SPLITS)
def test_one_document_governs_and_every_ratio_is_its_quotient(seed: int, split: Split) -> None:
    world = covenant.draw(seed, split)
    assert (world.period in world.amendment_periods) == (world.governing == "amendment")
    assert all(100 * x.numerator == x.ratio * x.denominator for x in world.ledger)
    limit = world.thresholds[world.governing]
    complies = world.ratio <= limit if world.direction == "maximum" else world.ratio >= limit
    assert world.result == ("met" if complies else "breach")
    assert world.line(world.entity, world.period, world.covenant).ratio == world.ratio
    assert set(world.waivers.values()) == {"signed", "unsigned"}


@quick
@given(SEEDS, SPLITS)
def test_the_lookalike_shares_the_name_only_and_rates_are_all_different(seed: int, split: Split) -> None:
    world = benchmark.draw(seed, split)
    assert world.vendor != world.lookalike
    assert world.vendor.split()[0] == world.lookalike.split()[0] == world.stem
    rates = [r.rate for r in world.rates]
    assert len(set(rates)) == len(rates)
    assert world.cheaper == (world.vendor if world.rate < world.peer_rate else world.peer)


@quick
@given(SEEDS, SPLITS)
def test_one_dock_fits_and_would_hold_the_order_twice(seed: int, split: Split) -> None:
    world = warehouse.draw(seed, split)
    fit = [d.dock for d in world.docks if d.kind == world.kind and d.free >= world.pallets]
    assert fit == [world.right_dock]
    assert world.dock(world.right_dock).free >= 2 * world.pallets
    assert world.dock(world.wrong_dock).free >= world.pallets
    assert world.asked_dock != world.right_dock
    assert sum(o.pallets for o in world.others) == sum(d.reserved for d in world.docks)


@quick
@given(SEEDS, SPLITS, st.integers(10, 500))
def test_figures_stay_in_range_and_in_their_split_and_never_repeat(seed: int, split: Split, low: int) -> None:
    figures = Figures(random.Random(seed), split)
    drawn = [figures.draw(low, low + 400) for _ in range(20)]
    assert all(low <= n <= low + 400 and owns_figure(split, n) for n in drawn)
    assert len(set(drawn)) == 20


def test_a_range_without_figures_left_is_refused() -> None:
    figures = Figures(random.Random(0), "validation")
    with pytest.raises(ValueError, match="no figure of split validation is left"):
        [figures.draw(1, 25) for _ in range(30)]
