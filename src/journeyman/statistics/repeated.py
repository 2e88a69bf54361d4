"""Estimators over repeated trials of tasks; only valid trials are passed in, and the cluster is the task.

`scores` is one sequence of trial scores per task: scores[task][trial].
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from journeyman.statistics.intervals import Estimate, Level, t_cdf, t_interval

Scores = Sequence[Sequence[float]]  # [tasks][trials of that task]


def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that at least one of k of the n trials passes, c of which did: 1 - C(n-c, k)/C(n, k)."""
    _check(n, c, k)
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def pass_all_k(n: int, c: int, k: int) -> float:
    """pass^k: probability that all of k of the n trials pass: C(c, k)/C(n, k), not (c/n)^k."""
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n or not 1 <= k <= n:
        raise ValueError(f"pass at {k} needs at least {k} valid trials and 0 <= passes <= trials, got {c} of {n}")


def _kept(scores: Scores) -> list[Sequence[float]]:
    kept = [trials for trials in scores if len(trials)]
    if not kept:
        raise ValueError("no valid trial, no estimate")
    return kept


def mean_over_tasks(scores: Scores, level: Level = 0.95) -> Estimate:
    """avg@k: mean over tasks of the mean over trials, with a t interval over task means (the cluster is the task)."""
    return t_interval([float(np.mean(trials)) for trials in _kept(scores)], level)


def clustered_se(scores: Scores, small_sample: bool = True) -> float:
    """Cluster-robust standard error of the mean over all trials: sqrt(sum over tasks of (sum of residuals)^2) / n,
    times sqrt(G/(G-1)) with `small_sample`. Equal to sd(task means)/sqrt(G) when balanced."""
    kept = _kept(scores)
    values = np.concatenate([np.asarray(trials, dtype=float) for trials in kept])
    mean = values.mean()
    total = sum(float(np.sum(np.asarray(trials) - mean)) ** 2 for trials in kept)
    correction = math.sqrt(len(kept) / (len(kept) - 1)) if small_sample else 1.0
    return math.sqrt(total) / len(values) * correction


def paired_difference(first: Scores, second: Scores, level: Level = 0.95) -> Estimate:
    """Mean over common tasks of (task mean of `first` - task mean of `second`), t interval over tasks.

    Both hold the same tasks in the same order; a task without valid trials on either side is left out.
    Raises ValueError where the lengths differ or no common task is left.
    """
    if len(first) != len(second):
        raise ValueError(f"paired comparison of {len(first)} with {len(second)} tasks")
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if len(a) and len(b)]
    return t_interval([float(np.mean(a) - np.mean(b)) for a, b in pairs], level)


def paired_p_value(estimate: Estimate) -> float | None:
    """Two-sided p of `paired_difference` against zero; None where there is no standard error."""
    if estimate.se is None:
        return None
    if estimate.se == 0.0:
        return 0.0 if estimate.value else 1.0
    return 2.0 * (1.0 - t_cdf(abs(estimate.value / estimate.se), estimate.n - 1))


def bootstrap_mean(scores: Scores, *, reps: int = 10_000, seed: int = 0, level: Level = 0.95) -> Estimate:
    """avg@k with a percentile interval: tasks are resampled, then trials inside each; the seed is fixed."""
    kept = _kept(scores)
    point = float(np.mean([np.mean(trials) for trials in kept]))
    if len(kept) < 2:
        return Estimate(point, None, None, None, len(kept))
    counts = np.array([len(trials) for trials in kept])  # [G]
    padded = np.zeros((len(kept), counts.max()))  # [G, K]
    for row, trials in enumerate(kept):
        padded[row, : len(trials)] = trials
    generator = np.random.default_rng(seed)
    means = np.concatenate([_resample(padded, counts, generator, n) for n in _chunks(reps)])
    low, high = np.quantile(means, [0.5 - level / 2, 0.5 + level / 2])
    return Estimate(point, float(low), float(high), float(means.std(ddof=1)), len(kept))


def _chunks(reps: int, size: int = 1_000) -> list[int]:
    return [min(size, reps - start) for start in range(0, reps, size)]


def _resample(
    padded: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], generator: np.random.Generator, reps: int
) -> npt.NDArray[np.float64]:
    """`reps` bootstrap means. padded [G, K], counts [G] -> [reps]."""
    groups, widest = padded.shape
    tasks = generator.integers(0, groups, (reps, groups))
    drawn = counts[tasks][:, :, None]  # [reps, G, 1] trials of each drawn task
    trials = (generator.random((reps, groups, widest)) * drawn).astype(np.int64)
    taken = np.where(np.arange(widest) < drawn, padded[tasks[:, :, None], trials], 0.0)
    means: npt.NDArray[np.float64] = (taken.sum(axis=2) / drawn[:, :, 0]).mean(axis=1)
    return means


def bootstrap_difference(
    first: Scores, second: Scores, *, reps: int = 10_000, seed: int = 0, level: Level = 0.95
) -> Estimate:
    """Paired difference of task means with a percentile interval; tasks are resampled together."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if len(a) and len(b)]
    if not pairs:
        raise ValueError("no task with valid trials on both sides")
    differences = np.array([np.mean(a) - np.mean(b) for a, b in pairs])
    point = float(differences.mean())
    if len(pairs) < 2:
        return Estimate(point, None, None, None, len(pairs))
    picks = np.random.default_rng(seed).integers(0, len(pairs), (reps, len(pairs)))
    means = differences[picks].mean(axis=1)
    low, high = np.quantile(means, [0.5 - level / 2, 0.5 + level / 2])
    return Estimate(point, float(low), float(high), float(means.std(ddof=1)), len(pairs))
