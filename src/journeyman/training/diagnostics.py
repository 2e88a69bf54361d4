"""What a step looked like: reward, ratio, clipping, k3, ESS, entropy, staleness, lengths.

A figure that cannot be computed (no token, no variance) is absent, not a guess.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from journeyman.training.credit import GroupCredit
from journeyman.training.objectives.base import ratio


@dataclass
class RatioSums:
    """Sums over trained tokens, added up over micro-batches."""

    tokens: int = 0
    ratio: float = 0.0
    ratio_squared: float = 0.0
    ratio_max: float = 0.0
    k3: float = 0.0
    clipped: int = 0
    entropy: float = 0.0
    surprise: float = 0.0  # -logp
    loss: float = 0.0

    @torch.no_grad()
    def add(self, logp: Tensor, behaviour: Tensor, entropy: Tensor, clipped: Tensor, loss: float) -> None:
        """Add one micro-batch's trained tokens ([T] each)."""
        self.loss += loss
        if not len(logp):
            return
        rho = ratio(logp, behaviour, torch.ones_like(logp, dtype=torch.bool)).double()
        self.tokens += len(logp)
        self.ratio += float(rho.sum())
        self.ratio_squared += float((rho**2).sum())
        self.ratio_max = max(self.ratio_max, float(rho.max()))
        self.k3 += float((rho - 1 - rho.log()).sum())
        self.clipped += int(clipped.sum())
        self.entropy += float(entropy.double().sum())
        self.surprise -= float(logp.double().sum())

    def figures(self) -> dict[str, float]:
        """Means; ess in (0, 1]: (sum rho)^2 / (T sum rho^2). Empty where no token was trained."""
        n = self.tokens
        if not n:
            return {}
        return {
            "loss": self.loss,
            "ratio_mean": self.ratio / n,
            "ratio_max": self.ratio_max,
            "clip_fraction": self.clipped / n,
            "k3": self.k3 / n,
            "ess": self.ratio**2 / (n * self.ratio_squared),
            "entropy": self.entropy / n,
            "surprise": self.surprise / n,
        }


def staleness(current: int, oldest: int) -> int:
    """Versions between the policy now and the oldest token of a sample."""
    return current - oldest


def group_figures(credits: Sequence[GroupCredit], oldest: dict[str, int], version: int) -> dict[str, float]:
    """Figures over the valid members of all groups of a batch, kept or not; `oldest`: episode -> oldest version."""
    members = [entry for c in credits for entry in c.valid]
    total = sum(len(c.group.members) for c in credits)
    figures: dict[str, float] = {
        "groups": float(len(credits)),
        "groups_kept": float(sum(c.kept for c in credits)),
        "members": float(total),
        "members_valid": float(len(members)),
    }
    if not members:
        return figures
    columns = {
        "reward": [float(m.reward or 0.0) for m, _, _ in members],
        "shaped": [s.reward for _, s, _ in members],
        "advantage_abs": [abs(a) for _, _, a in members],
        "turns": [float(m.turns) for m, _, _ in members],
        "sampled_tokens": [float(m.sampled_tokens) for m, _, _ in members],
        "invalid_calls": [float(m.invalid_calls) for m, _, _ in members],
        "tool_calls": [float(m.tool_calls) for m, _, _ in members],
    }
    if calling := sum(m.calling_turns for m, _, _ in members):
        figures["parallelism"] = sum(m.tool_calls for m, _, _ in members) / calling  # calls a calling turn
    for name, values in columns.items():
        figures[name] = float(np.mean(values))
    for term in ("fade", "output", "extreme", "invalid"):
        figures[f"shaping_{term}"] = float(np.mean([s.terms[term] for _, s, _ in members]))
    lags = [staleness(version, oldest[m.episode]) for m, _, _ in members if m.episode in oldest]
    if lags:
        figures |= {"staleness_mean": float(np.mean(lags)), "staleness_max": float(max(lags))}
        figures |= {f"lag_{lag}": float(lags.count(lag)) for lag in sorted(set(lags))}  # members by lag
    return figures


def finite(figures: dict[str, float]) -> dict[str, float]:
    """Only what is a number: records hold no NaN."""
    return {name: value for name, value in figures.items() if math.isfinite(value)}
