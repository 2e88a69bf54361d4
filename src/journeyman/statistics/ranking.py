"""Comparing several models: paired-comparison ratings, the score-cost aggregate and its Pareto frontier.

Aggregated values depend on the set of models compared: store the set with them.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

_ELO = 400.0 / math.log(10.0)


def bradley_terry(
    wins: Sequence[Sequence[float]] | npt.NDArray[np.float64],
    *,
    anchor: int = 0,
    anchor_rating: float = 1000.0,
    tolerance: float = 1e-12,
    max_steps: int = 100_000,
) -> list[float]:
    """Elo-scaled Bradley-Terry ratings by minorise-maximise. wins[i][j]: how often i beat j, a tie half to each.

    Raises ValueError where no finite maximum exists (a set of players that never lost to, or never met, the others).
    """
    table = np.asarray(wins, dtype=float)  # [players, players]
    players = len(table)
    reach = (table > 0) | np.eye(players, dtype=bool)
    for _ in range(players.bit_length() + 1):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    if not reach.all():
        raise ValueError("ratings are unbounded: some player never beat, directly or through others, some other")
    games = table + table.T
    strength = np.ones(players)
    for _ in range(max_steps):
        expected = (games / (strength[:, None] + strength[None, :])).sum(axis=1) - np.diag(games) / (2 * strength)
        updated = (table.sum(axis=1) - np.diag(table)) / expected
        updated /= np.exp(np.log(updated).mean())
        if np.max(np.abs(np.log(updated / strength))) < tolerance:
            strength = updated
            break
        strength = updated
    ratings = _ELO * np.log(strength / strength[anchor]) + anchor_rating
    return [float(rating) for rating in ratings]


def min_max_aggregate(scores: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """100 x mean over benchmarks of (score - min)/(max - min) over the compared models. scores[model][benchmark].

    A benchmark on which all are equal is dropped; a model that lacks a benchmark others have is excluded.
    """
    benchmarks = list(dict.fromkeys(name for row in scores.values() for name in row))
    complete = {model: row for model, row in scores.items() if all(name in row for name in benchmarks)}
    ranges = {
        name: (min(row[name] for row in complete.values()), max(row[name] for row in complete.values()))
        for name in benchmarks
        if complete
    }
    used = {name: bounds for name, bounds in ranges.items() if bounds[1] > bounds[0]}
    if not used:
        return {}
    return {
        model: 100.0 * sum((row[name] - low) / (high - low) for name, (low, high) in used.items()) / len(used)
        for model, row in complete.items()
    }


def pareto_frontier(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Names not dominated, cheapest first. points[name] = (cost, score); a point is dominated iff another costs no more
    and scores no less, one of them strictly; duplicates both stay."""

    def dominated(name: str) -> bool:
        cost, score = points[name]
        return any(
            other_cost <= cost and other_score >= score and (other_cost, other_score) != (cost, score)
            for other_cost, other_score in points.values()
        )

    return sorted((name for name in points if not dominated(name)), key=lambda name: points[name])
