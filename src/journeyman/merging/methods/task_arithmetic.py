"""Task arithmetic: theta = theta_0 + lambda sum_m w_m (theta_m - theta_0), w_m = 1 unless weights are given."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from journeyman.errors import UserError
from journeyman.merging.base import MethodSettings


class TaskArithmetic(MethodSettings):
    """Sum of task vectors on a base. `weights` None: 1 each."""

    name: ClassVar[str] = "task_arithmetic"
    elementwise: ClassVar[bool] = True
    needs_base: ClassVar[bool] = True
    parents: ClassVar[int | None] = None
    scale: float = 1.0  # lambda
    weights: tuple[float, ...] | None = None

    def combine(self, parents: Sequence[Tensor], base: Tensor | None) -> Tensor:
        """See the module's first line."""
        assert base is not None
        weights = self.weights or (1.0,) * len(parents)
        if len(weights) != len(parents):
            raise UserError(f"task_arithmetic has {len(weights)} weights for {len(parents)} parents: give one each")
        total = torch.zeros_like(base)
        for parent, weight in zip(parents, weights, strict=True):
            total += weight * (parent - base)
        return base + self.scale * total
