"""Group advantages over valid members only: an invalid member has none, and never moves the others' baseline.

centred  A_i = r_i - mean                      (Dr. GRPO, Ultramarine)
grpo     A_i = (r_i - mean) / (std + 1e-6)     std unbiased; grpo_population: of the population
rloo     A_i = G/(G-1) (r_i - mean)

Two more names are no function of the rewards alone: hdpo (training/hdpo.py) and critic (SAO: every token has its own,
training/gae.py).
"""

from collections.abc import Callable
from math import ceil

import numpy as np
import numpy.typing as npt

from journeyman.errors import UserError

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

STD_EPSILON = 1e-6


def min_valid(size: int) -> int:
    """Fewest valid members of a group of `size` for a baseline: max(2, ceil(size/2))."""
    return max(2, ceil(size / 2))


def _per_group(r: FloatArray, valid: BoolArray, rule: Callable[[FloatArray], FloatArray]) -> FloatArray:
    advantage = np.zeros_like(r, dtype=np.float64)
    if valid.sum() >= 2:
        advantage[valid] = rule(r[valid])
    return advantage


def centred(r: FloatArray, valid: BoolArray) -> FloatArray:
    """[G] r - mean over valid members; 0 for invalid ones and where fewer than two are valid."""
    return _per_group(r, valid, lambda v: v - v.mean())


def grpo(r: FloatArray, valid: BoolArray, unbiased: bool = True) -> FloatArray:
    """[G] centred and divided by the group's standard deviation."""
    return _per_group(r, valid, lambda v: (v - v.mean()) / (v.std(ddof=int(unbiased)) + STD_EPSILON))


def rloo(r: FloatArray, valid: BoolArray) -> FloatArray:
    """[G] reward minus the mean of the others."""
    return _per_group(r, valid, lambda v: len(v) / (len(v) - 1) * (v - v.mean()))


def grpo_population(r: FloatArray, valid: BoolArray) -> FloatArray:
    """[G] as `grpo`, with the standard deviation of the population."""
    return grpo(r, valid, unbiased=False)


RULES: dict[str, Callable[[FloatArray, BoolArray], FloatArray]] = {
    "centred": centred,
    "grpo": grpo,
    "grpo_population": grpo_population,
    "rloo": rloo,
}
NAMES = (*RULES, "hdpo", "critic")


def rule(name: str) -> Callable[[FloatArray, BoolArray], FloatArray]:
    """The advantage rule of that name. Raises UserError."""
    if name not in RULES:
        raise UserError(f"advantage {name!r} is unknown: choose one of {', '.join(NAMES)}")
    return RULES[name]
