"""Repeated trials: vectors V10 of the algorithms text, and properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeyman.statistics.repeated import (
    bootstrap_difference,
    bootstrap_mean,
    clustered_se,
    mean_over_tasks,
    paired_difference,
    paired_p_value,
    pass_all_k,
    pass_at_k,
)

FOUR_TASKS = [[1, 1, 0], [0, 0, 0], [1, 1, 1], [0, 1, 0]]


def test_pass_at_3_of_2_in_5_is_point_9_not_the_plug_in() -> None:
    assert pass_at_k(5, 2, 3) == pytest.approx(0.9)
    assert pytest.approx(0.784) == 1 - (1 - 2 / 5) ** 3


def test_pass_hat_3_of_4_in_5_is_point_4_not_the_plug_in() -> None:
    assert pass_all_k(5, 4, 3) == pytest.approx(0.4)
    assert pytest.approx(0.512) == (4 / 5) ** 3


def test_two_of_three_do_not_pass_three_times() -> None:
    assert pass_all_k(3, 2, 3) == 0.0
    assert pytest.approx(0.296, abs=1e-3) == (2 / 3) ** 3


@pytest.mark.parametrize(("n", "c", "k"), [(2, 1, 3), (3, 4, 1), (3, 1, 0)])
def test_fewer_valid_trials_than_k_give_no_score(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="valid trials"):
        pass_at_k(n, c, k)


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_passing_all_is_never_likelier_than_passing_one(case: tuple[int, int, int]) -> None:
    n, c, k = case
    assert 0.0 <= pass_all_k(n, c, k) <= c / n + 1e-12 <= pass_at_k(n, c, k) + 2e-12
    assert pass_at_k(n, c, 1) == pytest.approx(pass_all_k(n, c, 1))


def test_average_gap_of_the_published_row() -> None:
    assert round(82.2 - 71.4, 1) == 10.8
    assert pytest.approx(71.357, abs=1e-3) == 100 * 142 / 199


def test_four_tasks_of_three_trials() -> None:
    estimate = mean_over_tasks(FOUR_TASKS)
    assert estimate.value == pytest.approx(0.5)
    assert estimate.n == 4
    naive = np.std(np.concatenate(FOUR_TASKS), ddof=1) / math.sqrt(12)
    assert naive == pytest.approx(0.150756, abs=1e-6)
    assert clustered_se(FOUR_TASKS, small_sample=False) == pytest.approx(0.186339, abs=1e-6)
    assert clustered_se(FOUR_TASKS) == pytest.approx(0.215166, abs=1e-6)
    assert estimate.se == pytest.approx(clustered_se(FOUR_TASKS))


def test_tasks_without_valid_trials_are_absent_not_zero() -> None:
    assert mean_over_tasks([*FOUR_TASKS, []]) == mean_over_tasks(FOUR_TASKS)
    with pytest.raises(ValueError, match="no valid trial"):
        mean_over_tasks([[], []])


def test_the_worked_paired_example() -> None:
    second = [[0.5, 0.5]] * 5
    first = [[0.7, 0.7], [0.3, 0.5], [0.8], [0.5, 0.5], [0.6, 0.6, 0.6]]
    estimate = paired_difference(first, second)
    assert estimate.value == pytest.approx(0.1)
    assert estimate.se == pytest.approx(0.070711, abs=1e-6)
    assert paired_p_value(estimate) == pytest.approx(0.230200, abs=1e-5)


def test_a_paired_comparison_uses_common_tasks_only() -> None:
    estimate = paired_difference([[1.0], [], [0.5]], [[0.0], [1.0], [0.0]])
    assert (estimate.value, estimate.n) == (0.75, 2)
    with pytest.raises(ValueError, match="paired comparison"):
        paired_difference([[1.0]], [[1.0], [0.0]])


def test_the_bootstrap_is_reproducible_and_near_the_t_interval() -> None:
    generator = np.random.default_rng(5)
    scores = [list(generator.beta(2, 2, size=size)) for size in generator.integers(1, 5, 60)]
    first, again, other = (bootstrap_mean(scores, reps=4000, seed=s) for s in (1, 1, 2))
    assert first == again
    assert first != other
    exact = mean_over_tasks(scores)
    assert first.value == pytest.approx(exact.value)
    assert first.low is not None
    assert exact.low is not None
    assert first.low == pytest.approx(exact.low, abs=0.04)
    assert first.low < first.value < (first.high or 0)


def test_the_bootstrap_of_a_difference_is_zero_for_equal_policies() -> None:
    assert bootstrap_difference(FOUR_TASKS, FOUR_TASKS, reps=100)[:3] == (0.0, 0.0, 0.0)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        ability = generator.beta(2, 2, 30)
        scores = [list((generator.random(3) < p).astype(float)) for p in ability]
        estimate = mean_over_tasks(scores)
        covered += (estimate.low or 0) <= 0.5 <= (estimate.high or 0)
    assert 0.91 <= covered / 300 <= 0.985
