"""Intervals and exact tests against published and hand-computed values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeyman.statistics.intervals import mcnemar_exact, t_cdf, t_interval, t_quantile, wilson


@pytest.mark.parametrize(
    ("p", "degrees", "expected"),
    [(0.975, 1, 12.706205), (0.975, 4, 2.776445), (0.975, 29, 2.045230), (0.95, 10, 1.812461), (0.995, 2, 9.924843)],
)
def test_t_quantiles_match_the_tables(p: float, degrees: int, expected: float) -> None:
    assert t_quantile(p, degrees) == pytest.approx(expected, abs=1e-6)
    assert t_quantile(1 - p, degrees) == pytest.approx(-expected, abs=1e-6)


@given(st.floats(0.01, 0.99), st.integers(1, 500))
def test_the_t_quantile_inverts_the_distribution(p: float, degrees: int) -> None:
    assert t_cdf(t_quantile(p, degrees), degrees) == pytest.approx(p, abs=1e-9)


def test_wilson_of_142_in_199() -> None:
    estimate = wilson(142, 199)
    assert estimate.value == pytest.approx(0.71357, abs=1e-5)
    assert (estimate.low, estimate.high) == (pytest.approx(0.647176, abs=1e-6), pytest.approx(0.771870, abs=1e-6))


def test_wilson_stays_inside_the_unit_interval_at_the_ends() -> None:
    assert wilson(0, 5).low == pytest.approx(0.0, abs=1e-12)
    assert wilson(0, 5).high == pytest.approx(0.434482, abs=1e-6)
    assert wilson(5, 5).high == pytest.approx(1.0, abs=1e-12)


def test_mcnemar_of_8_and_2() -> None:
    assert mcnemar_exact(8, 2) == pytest.approx(0.109375)
    assert mcnemar_exact(2, 8) == pytest.approx(0.109375)
    assert mcnemar_exact(0, 0) == 1.0
    assert mcnemar_exact(5, 5) == 1.0


def test_one_value_has_no_interval_and_none_has_no_mean() -> None:
    one = t_interval([0.4])
    assert (one.value, one.low, one.high, one.se, one.n) == (0.4, None, None, None, 1)
    with pytest.raises(ValueError, match="no values"):
        t_interval([])
    with pytest.raises(ValueError, match="no proportion"):
        wilson(1, 0)


def test_the_interval_of_the_worked_paired_example() -> None:
    estimate = t_interval([0.2, -0.1, 0.3, 0.0, 0.1])
    assert estimate.value == pytest.approx(0.1)
    assert estimate.se == pytest.approx(0.070711, abs=1e-6)
    assert estimate.value / (estimate.se or math.nan) == pytest.approx(1.414214, abs=1e-6)
