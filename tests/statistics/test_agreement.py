"""Agreement of raters: vectors V11 of the algorithms text."""

import math

import pytest

from journeyman.statistics.agreement import (
    Table2x2,
    advantage_sign_agreement,
    cohen_kappa,
    cross,
    gwet_ac1,
    icc_1_1,
    kendall_tau_b,
    observed_agreement,
    pairwise_accuracy,
    pearson,
)

HUMAN = [0.9, 0.4, 0.6, 0.1]
JUDGE = [0.8, 0.5, 0.45, 0.2]


def test_kappa_of_a_balanced_table() -> None:
    table = Table2x2(40, 10, 5, 45)
    assert observed_agreement(table) == pytest.approx(0.85)
    assert cohen_kappa(table) == pytest.approx(0.7)


def test_kappa_collapses_where_almost_everything_is_met_and_ac1_does_not() -> None:
    table = Table2x2(90, 4, 4, 2)
    assert observed_agreement(table) == pytest.approx(0.92)
    assert cohen_kappa(table) == pytest.approx(0.290780, abs=1e-6)
    assert gwet_ac1(table) == pytest.approx(0.909829, abs=1e-6)


def test_kappa_without_variance_is_undefined_not_perfect() -> None:
    assert math.isnan(cohen_kappa(Table2x2(10, 0, 0, 0)))
    assert gwet_ac1(Table2x2(10, 0, 0, 0)) == 1.0


def test_cross_counts_pairs() -> None:
    assert cross([True, True, False, False], [True, False, True, False]) == Table2x2(1, 1, 1, 1)
    with pytest.raises(ValueError):
        cross([True], [])


def test_high_correlation_hides_wrong_advantage_signs() -> None:
    assert pairwise_accuracy(HUMAN, JUDGE) == pytest.approx(0.833333, abs=1e-6)
    assert kendall_tau_b(HUMAN, JUDGE) == pytest.approx(0.666667, abs=1e-6)
    assert pearson(HUMAN, JUDGE) == pytest.approx(0.945022, abs=1e-6)
    assert advantage_sign_agreement(HUMAN, JUDGE) == 0.5


def test_ties_in_the_reference_are_excluded() -> None:
    assert pairwise_accuracy([0.5, 0.5, 0.1], [0.1, 0.9, 0.0]) == 1.0
    assert math.isnan(pairwise_accuracy([0.5, 0.5], [0.1, 0.9]))
    assert math.isnan(kendall_tau_b([1, 1], [1, 2]))
    assert math.isnan(pearson([1, 1], [1, 2]))


def test_retest_reliability() -> None:
    assert icc_1_1([[0.8, 0.7], [0.4, 0.5], [0.6, 0.6]]) == pytest.approx(0.862069, abs=1e-6)
    assert math.isnan(icc_1_1([[0.5, 0.5], [0.5, 0.5]]))
