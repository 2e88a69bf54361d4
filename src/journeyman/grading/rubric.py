"""Verdicts to reward, by R-02: binary verdicts, signed raw kept, two named rewards, and no reward from a partial set.

Invariant: `aggregate` answers only for exactly one verdict per criterion; anything else is GraderFailure (Z-02, Z-03).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from journeyman.errors import GraderFailure
from journeyman.records.grade import OPTIMISED, REPORTED
from journeyman.records.rubric import Rubric, Verdict


class Aggregate(NamedTuple):
    """Signed raw sum and both named rewards."""

    raw: float
    rewards: dict[str, float]


class Faults(NamedTuple):
    """How a verdict set differs from the rubric's ids."""

    missing: tuple[str, ...]
    duplicate: tuple[str, ...]
    foreign: tuple[str, ...]

    def __str__(self) -> str:
        named = [f"{name} {', '.join(ids)}" for name, ids in self._asdict().items() if ids]
        return "; ".join(named) or "complete"


def faults(expected: Sequence[str], given: Sequence[str]) -> Faults:
    """Missing, duplicate and foreign ids among `given`, in order."""
    counts = Counter(given)
    known = set(expected)
    return Faults(
        missing=tuple(i for i in expected if i not in counts),
        duplicate=tuple(i for i in expected if counts[i] > 1),
        foreign=tuple(i for i in counts if i not in known),
    )


def rewards(rubric: Rubric, raw: float) -> dict[str, float]:
    """Named rewards of a raw sum. An all-negative rubric starts at 1: 1 + raw / sum of |weights|.

    Raises GraderFailure where no criterion has a weight.
    """
    weights = [c.weight for c in rubric.criteria]
    if not all(math.isfinite(w) for w in weights) or not any(weights):
        raise GraderFailure("rubric_has_no_weight", f"weights {weights}")
    positive = rubric.positive_weight
    ratio = raw / positive if positive > 0 else 1 + raw / math.fsum(map(abs, weights))
    return {REPORTED: min(1.0, max(0.0, ratio)), OPTIMISED: min(1.0, max(-1.0, ratio))}


def raw_of(rubric: Rubric, met: Mapping[str, bool]) -> float:
    """Signed sum of the weights of the criteria that `met` says are MET."""
    return math.fsum(c.weight for c in rubric.criteria if met[c.id])


def interval(rubric: Rubric, known: Mapping[str, bool]) -> tuple[float, float]:
    """The exact [lowest, highest] reported reward over both values of every criterion `known` leaves out."""
    open_weights = [c.weight for c in rubric.criteria if c.id not in known]
    base = math.fsum(c.weight for c in rubric.criteria if known.get(c.id, False))
    low = rewards(rubric, math.fsum([base, *(w for w in open_weights if w < 0)]))[REPORTED]
    high = rewards(rubric, math.fsum([base, *(w for w in open_weights if w > 0)]))[REPORTED]
    return low, high


def refusal(rubric: Rubric, known: Mapping[str, bool], why: str) -> GraderFailure:
    """The failure of an incomplete verdict set, with the interval the reward would lie in. No midpoint is taken."""
    low, high = interval(rubric, known)
    return GraderFailure("verdict_set_incomplete", f"{why}; reward in [{low:.6f}, {high:.6f}]")


def aggregate(rubric: Rubric, verdicts: Sequence[Verdict]) -> Aggregate:
    """Raw and rewards of a complete verdict set. Raises GraderFailure for a missing, duplicate or foreign verdict."""
    ids = [v.criterion for v in verdicts]
    wrong = faults([c.id for c in rubric.criteria], ids)
    if any(wrong):
        sure = {v.criterion: v.met for v in verdicts if v.criterion not in (*wrong.duplicate, *wrong.foreign)}
        raise refusal(rubric, sure, str(wrong))
    raw = raw_of(rubric, {v.criterion: v.met for v in verdicts})
    return Aggregate(raw, rewards(rubric, raw))
