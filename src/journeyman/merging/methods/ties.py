"""TIES: trim task vectors to their top `density` by magnitude, elect a sign, average what agrees.

    tau^_m = tau_m where |tau_m| is among the top, else 0
    sign   = sgn(sum_m tau^_m);  merged = mean of the non-zero tau^_m of that sign;  theta_0 + lambda merged

Trimming is per slice (as mergekit does), not over the whole vector as in the paper; values equal to the threshold stay.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from journeyman.merging.base import MethodSettings


class Ties(MethodSettings):
    """Settings of TIES."""

    name: ClassVar[str] = "ties"
    elementwise: ClassVar[bool] = False
    needs_base: ClassVar[bool] = True
    parents: ClassVar[int | None] = None
    density: float = Field(0.5, gt=0, le=1)  # share of every task vector that is kept
    scale: float = 1.0  # lambda

    def combine(self, parents: Sequence[Tensor], base: Tensor | None) -> Tensor:
        """See the module's first lines."""
        assert base is not None
        trimmed = torch.stack([self.trim(parent - base) for parent in parents])
        sign = torch.sign(trimmed.sum(0))
        agree = (torch.sign(trimmed) == sign) & (trimmed != 0)
        count = agree.sum(0).clamp(min=1)
        merged = torch.where(agree, trimmed, torch.zeros_like(trimmed)).sum(0) / count
        return base + self.scale * merged

    def trim(self, delta: Tensor) -> Tensor:
        """`delta` with all but its largest round(density n) magnitudes (at least one) set to 0."""
        n = delta.numel()
        keep = min(n, max(1, round(self.density * n)))
        magnitude = delta.abs()
        threshold = torch.kthvalue(magnitude.flatten(), n - keep + 1).values
        return torch.where(magnitude >= threshold, delta, torch.zeros_like(delta))
