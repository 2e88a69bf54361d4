"""Advantages of SAO: masked GAE per segment with a correction for what comes after it; observations do not exist here.

Only optimised (sampled) tokens are passed, so nothing at an observation can be read. For segment s of n_s tokens, one
terminal reward R, L = sum n_s, N_after = sum of later n_j:

    lambda   = clip(1 - 1 / (alpha L), 0, 1)                       length-adaptive, L over the whole trajectory
    delta_i  = r_i + gamma V_{i+1} - V_i        r_i = R at the segment's last token else 0, V_{n_s + 1} = 0
    A_i      = (gamma lambda)^N_after sum_l (gamma lambda)^l delta_{i+l}
    G_i      = V_i + the same sum with lambda = 1                  the critic's target; R where gamma = 1

With V = 0 this is GAE on the concatenated segments. Occamy (SAO) with CompactionRL's Eq. 13-14. Torch-free, fp64.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BLOCK = 64  # tokens a step of the reverse scan


class Estimates(NamedTuple):
    """Per segment [n_s] each, and the lambda that was used."""

    advantages: list[FloatArray]
    targets: list[FloatArray]
    lam: float


def length_adaptive(tokens: int, alpha: float) -> float:
    """lambda for a trajectory of so many optimised tokens (at least 1)."""
    return float(min(max(1.0 - 1.0 / (alpha * max(tokens, 1)), 0.0), 1.0))


def discounted(delta: FloatArray, decay: float) -> FloatArray:
    """[n] out_i = delta_i + decay out_{i+1}."""
    out = np.empty(len(delta))
    lag = np.arange(BLOCK)[None, :] - np.arange(BLOCK)[:, None]
    upper = np.where(lag >= 0, float(decay) ** np.maximum(lag, 0), 0.0)
    carry = 0.0
    for end in range(len(delta), 0, -BLOCK):
        start = max(0, end - BLOCK)
        n = end - start
        out[start:end] = upper[:n, :n] @ delta[start:end] + float(decay) ** np.arange(n, 0, -1) * carry
        carry = float(out[start])
    return out


def estimate(
    values: Sequence[FloatArray], reward: float, alpha: float = 1.5, gamma: float = 1.0, lam: float | None = None
) -> Estimates:
    """Advantages and critic targets from `values`: per segment in order, V before each optimised token [n_s].

    `lam` None: length-adaptive.
    """
    counts = [len(v) for v in values]
    used = length_adaptive(sum(counts), alpha) if lam is None else lam
    advantages, targets = [], []
    after = sum(counts)
    for v in values:
        after -= len(v)
        following = np.append(v[1:], 0.0) if len(v) else v
        delta = gamma * following - v
        if len(v):
            delta[-1] += reward
        advantages.append((gamma * used) ** after * discounted(delta, gamma * used))
        targets.append(discounted(delta, gamma) + v)
    return Estimates(advantages, targets, used)


def explained_variance(targets: FloatArray, values: FloatArray) -> float | None:
    """1 - Var(G - V) / Var(G); None where fewer than two targets are there or they do not vary."""
    if len(targets) < 2 or (spread := float(np.var(targets))) < 1e-12:
        return None
    return 1.0 - float(np.var(targets - values)) / spread
