"""Ratings, aggregate and frontier: vectors V10 and §10.1 of the algorithms text."""

import numpy as np
import pytest

from journeyman.statistics.ranking import bradley_terry, min_max_aggregate, pareto_frontier

# (cost per task in USD, aggregate score), strict automation, recomputed from the published tables
PUBLISHED = {
    "Occamy-1.0": (0.058224, 58.059),
    "Qwen3.6-35B-A3B": (0.055967, 21.455),
    "Agents-A1": (0.042653, 8.523),
    "Nex-N2-mini": (0.094611, 9.883),
    "BigBang-1.0": (0.069465, 11.719),
    "Ornith-1.5": (0.047275, 21.086),
    "GPT-5.6 Sol": (0.786224, 97.426),
    "Qwen3.8-Max": (0.412816, 87.334),
    "DeepSeek V4 Pro": (0.123731, 62.446),
    "GLM-5.2": (0.164636, 68.717),
}


def test_three_to_one_is_190_elo() -> None:
    first, second = bradley_terry([[0, 3], [1, 0]])
    assert first == 1000.0
    assert first - second == pytest.approx(190.8485, abs=1e-4)


def test_three_players_anchored_at_the_first() -> None:
    ratings = bradley_terry([[0, 7, 8], [3, 0, 6], [2, 4, 0]])
    assert ratings == pytest.approx([1000.0, 845.448, 768.601], abs=1e-3)


def test_ties_count_half_and_the_order_of_players_does_not_matter() -> None:
    wins = np.array([[0, 7.5, 8], [2.5, 0, 6], [2, 4, 0]])
    order = [2, 0, 1]
    straight = bradley_terry(wins)
    swapped = bradley_terry(wins[np.ix_(order, order)], anchor=1)
    assert swapped == pytest.approx([straight[i] for i in order], abs=1e-6)


def test_planted_ratings_are_recovered() -> None:
    planted = np.array([1000.0, 1150.0, 900.0, 1040.0])
    p = 1 / (1 + 10 ** ((planted[None, :] - planted[:, None]) / 400))
    wins = 1e6 * p
    np.fill_diagonal(wins, 0)
    assert bradley_terry(wins) == pytest.approx(list(planted), abs=1e-3)


def test_an_undefeated_player_has_no_finite_rating() -> None:
    with pytest.raises(ValueError, match="unbounded"):
        bradley_terry([[0, 5], [0, 0]])


def test_the_frontier_of_the_published_table() -> None:
    assert pareto_frontier(PUBLISHED) == [
        "Agents-A1",
        "Ornith-1.5",
        "Qwen3.6-35B-A3B",
        "Occamy-1.0",
        "DeepSeek V4 Pro",
        "GLM-5.2",
        "Qwen3.8-Max",
        "GPT-5.6 Sol",
    ]


def test_duplicates_both_stay_on_the_frontier() -> None:
    assert pareto_frontier({"a": (1, 1), "b": (1, 1), "c": (2, 1)}) == ["a", "b"]


def test_the_aggregate_drops_flat_benchmarks_and_incomplete_models() -> None:
    scores = {
        "a": {"x": 0.0, "y": 5.0, "flat": 1.0},
        "b": {"x": 1.0, "y": 5.5, "flat": 1.0},
        "c": {"x": 0.5, "y": 6.0, "flat": 1.0},
        "d": {"x": 9.0},
    }
    assert min_max_aggregate(scores) == {"a": 0.0, "b": 75.0, "c": 75.0}
    assert min_max_aggregate({"a": {"x": 1.0}}) == {}
