"""What types told as cases may rely on: refusals of traps that do not bite, figures, typed calls, drives."""

import random

import pytest

from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.model import Trap, decimal
from journeyman.worlds.cases.steps import as_declared
from journeyman.worlds.lexicon import Figures, NoFiguresError, scattered
from journeyman.worlds.registry import environment_type
from journeyman.worlds.scripts import call
from journeyman.worlds.types.fund_valuation import FundValuation, ValuationTruth


class Harmless(FundValuation):
    """A valuation whose first trap takes the right source for the wrong one."""

    def traps(self, truth: ValuationTruth) -> tuple[Trap, ...]:
        """As the real ones, the first made harmless."""
        first, *others = super().traps(truth)
        return (first._replace(value=truth.fund.source), *others)


def test_a_trap_that_does_not_show_is_refused_when_the_world_is_made() -> None:
    kind = Harmless()
    with pytest.raises(ValueError, match="trap other_source does not show in price"):
        kind.compact(kind.truth(1, "train"))


def test_where_figures_run_out_a_world_is_drawn_anew_and_is_the_same_each_time() -> None:
    kind = environment_type("finance.debt_capacity")
    assert kind.truth(1049, "validation") == kind.truth(1049, "validation")


def test_settled_figures_are_of_the_split_different_and_used_up() -> None:
    figures = Figures(random.Random(3), "validation", scattered)
    rng = random.Random(4)

    def pair() -> tuple[tuple[int, int], tuple[int, ...]]:
        a, b = rng.randint(100, 999), rng.randint(100, 999)
        return (a, b), (a, a + b, a - b)

    seen: set[int] = set()
    for _ in range(10):
        a, b = figures.settle(pair)
        sizes = {a, a + b, abs(a - b)}
        assert len(sizes) == 3
        assert not sizes & seen
        assert all(size < 10 or scattered(size) == "validation" for size in sizes)
        seen |= sizes
    with pytest.raises(NoFiguresError, match="in 50 tries"):
        figures.settle(lambda: (0, (next(iter(seen)),)), tries=50)


def test_the_splits_share_figures_as_they_share_names() -> None:
    owners = [scattered(n) for n in range(10, 20_010)]
    assert abs(owners.count("train") / 20_000 - 0.6) < 0.02
    assert abs(owners.count("validation") / 20_000 - 0.15) < 0.02


def test_digits_become_numbers_where_a_tool_wants_a_number_and_stay_text_elsewhere() -> None:
    step = as_declared(call(("erp__approve_invoice", {"invoice_id": "77", "amount": "120"})))
    assert step.calls[0].arguments == {"invoice_id": "77", "amount": 120}
    assert as_declared(call(("read", {"file_path": "12"}))).calls[0].arguments == {"file_path": "12"}


def test_a_source_stands_on_a_drive_once() -> None:
    kind = environment_type("finance.fund_valuation")
    drive = Drive(kind.truth(2, "train"), random.Random(0))
    drive.export("prices", "a.csv", ("x",), [("1",)], "2026-01-01")
    with pytest.raises(ValueError, match="source prices is put on the drive twice"):
        drive.export("prices", "b.csv", ("x",), [("1",)], "2026-01-01")


def test_hundredths_are_written_as_decimals() -> None:
    assert [decimal(n) for n in (390, 5, 0, -5, -390)] == ["3.90", "0.05", "0.00", "-0.05", "-3.90"]
