"""What a step looked like: reward, ratio, clipping, k3, ESS, entropy, staleness, lengths.

A figure that cannot be computed (no token, no variance) is absent, not a guess.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

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
