"""Intervals and exact tests of one-line formulas; an interval that cannot be known is absent, never zero-width."""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

Level = float  # confidence level in (0, 1)


class Estimate(NamedTuple):
    """A point estimate with a two-sided interval. Bounds and `se` are None where n is too small to know them."""

    value: float
    low: float | None
    high: float | None
    se: float | None
    n: int  # independent units: tasks where clustered by task, pairs where paired


def _beta_continued_fraction(a: float, b: float, x: float) -> float:
    """Lentz's evaluation of the continued fraction of the incomplete beta function (Numerical Recipes 6.4)."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / max(abs(1.0 - (a + b) * x / (a + 1.0)), tiny)
    if 1.0 - (a + b) * x / (a + 1.0) < 0:
        d = -d
    value = d
    for m in range(1, 400):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + numerator * d
            c = 1.0 + numerator / c
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b)."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_continued_fraction(a, b, x) / a
    return 1.0 - front * _beta_continued_fraction(b, a, 1.0 - x) / b


def t_cdf(t: float, degrees: float) -> float:
    """Student's t distribution function."""
    tail = 0.5 * incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t))
    return 1.0 - tail if t > 0 else tail


@lru_cache(maxsize=4096)
def t_quantile(p: float, degrees: float) -> float:
    """The t with t_cdf(t) = p, by bisection. Raises ValueError for p outside (0, 1) or no degree of freedom."""
    if not 0.0 < p < 1.0 or degrees <= 0:
        raise ValueError(f"no t quantile for p={p}, degrees={degrees}")
    if p < 0.5:
        return -t_quantile(1.0 - p, degrees)
    low, high = 0.0, 1.0
    while t_cdf(high, degrees) < p:
        high *= 2.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if t_cdf(middle, degrees) < p else (low, middle)
    return 0.5 * (low + high)


def t_interval(values: Sequence[float], level: Level = 0.95) -> Estimate:
    """Mean of independent `values` with its t interval."""
    n = len(values)
    if n == 0:
        raise ValueError("no values, no mean")
    mean = float(np.mean(values))
    if n < 2:
        return Estimate(mean, None, None, None, n)
    se = float(np.std(values, ddof=1)) / math.sqrt(n)
    half = t_quantile(0.5 + level / 2.0, n - 1) * se
    return Estimate(mean, mean - half, mean + half, se, n)


def wilson(successes: int, n: int, level: Level = 0.95) -> Estimate:
    """A proportion with Wilson's score interval."""
    if n <= 0 or not 0 <= successes <= n:
        raise ValueError(f"no proportion of {successes} in {n}")
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return Estimate(p, centre - half, centre + half, math.sqrt(p * (1 - p) / n), n)


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Two-sided exact p of McNemar's test: `only_first`, `only_second` count the discordant pairs."""
    n = only_first + only_second
    tail = sum(math.comb(n, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2.0 * tail / 2.0**n)
