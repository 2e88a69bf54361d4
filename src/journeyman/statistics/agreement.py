"""How far two raters agree, on verdicts and on rewards; a measure that is undefined is NaN, never a lucky 1."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np


class Table2x2(NamedTuple):
    """Counts of paired verdicts: both MET, only the first, only the second, neither."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def n(self) -> int:
        """All pairs."""
        return sum(self)


def cross(first: Sequence[bool], second: Sequence[bool]) -> Table2x2:
    """The table of two raters' verdicts on the same items. Raises ValueError for different lengths."""
    pairs = list(zip(first, second, strict=True))
    return Table2x2(*(pairs.count(cell) for cell in ((True, True), (True, False), (False, True), (False, False))))


def observed_agreement(table: Table2x2) -> float:
    """p_o: share of items with equal verdicts."""
    return (table.both + table.neither) / table.n


def cohen_kappa(table: Table2x2) -> float:
    """Cohen's kappa; NaN where chance agreement is 1."""
    first = (table.both + table.only_first) / table.n
    second = (table.both + table.only_second) / table.n
    chance = first * second + (1 - first) * (1 - second)
    return math.nan if chance == 1.0 else (observed_agreement(table) - chance) / (1 - chance)


def gwet_ac1(table: Table2x2) -> float:
    """Gwet's AC1 with chance 2q(1-q), q the mean MET rate: robust when almost everything is MET."""
    q = (2 * table.both + table.only_first + table.only_second) / (2 * table.n)
    chance = 2 * q * (1 - q)
    return (observed_agreement(table) - chance) / (1 - chance)


def icc_1_1(ratings: Sequence[Sequence[float]]) -> float:
    """One-way random, single-rating intraclass correlation. ratings[item][repeat], balanced; NaN without variance."""
    table = np.asarray(ratings, dtype=float)  # [items, repeats]
    items, repeats = table.shape
    means = table.mean(axis=1)
    between = repeats * float(((means - table.mean()) ** 2).sum()) / (items - 1)
    within = float(((table - means[:, None]) ** 2).sum()) / (items * (repeats - 1))
    total = between + (repeats - 1) * within
    return math.nan if total == 0.0 else (between - within) / total


def pairwise_accuracy(reference: Sequence[float], judged: Sequence[float]) -> float:
    """Share of pairs that `judged` orders as `reference` does; pairs tied in `reference` are excluded, ties in
    `judged` count as wrong. NaN where no pair is left."""
    right = [
        (reference[i] - reference[j]) * (judged[i] - judged[j]) > 0
        for i, j in combinations(range(len(reference)), 2)
        if reference[i] != reference[j]
    ]
    return sum(right) / len(right) if right else math.nan


def kendall_tau_b(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's tau-b; NaN where one side is constant."""
    signs = [
        (np.sign(first[i] - first[j]), np.sign(second[i] - second[j])) for i, j in combinations(range(len(first)), 2)
    ]
    score = float(sum(a * b for a, b in signs))
    scale = math.sqrt(sum(bool(a) for a, _ in signs) * sum(bool(b) for _, b in signs))
    return score / scale if scale else math.nan


def pearson(first: Sequence[float], second: Sequence[float]) -> float:
    """Pearson's correlation; NaN where one side is constant."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt(float((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / scale if scale else math.nan


def advantage_sign_agreement(reference: Sequence[float], judged: Sequence[float]) -> float:
    """Share of group members whose mean-centred reward has the same sign under both raters: what training sees."""
    a = np.asarray(reference, dtype=float) - np.mean(reference)
    b = np.asarray(judged, dtype=float) - np.mean(judged)
    return float(np.mean(np.sign(a) == np.sign(b)))
