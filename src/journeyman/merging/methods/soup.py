"""Soup: theta = sum_m w_m theta_m, uniform w = 1/M unless weights (normalised to sum 1) are given."""

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from journeyman.errors import UserError
from journeyman.merging.base import MethodSettings


class Soup(MethodSettings):
    """Average of the parents. `weights` None: uniform."""

    name: ClassVar[str] = "soup"
    elementwise: ClassVar[bool] = True
    needs_base: ClassVar[bool] = False
    parents: ClassVar[int | None] = None
    weights: tuple[float, ...] | None = None

    def combine(self, parents: Sequence[Tensor], base: Tensor | None) -> Tensor:
        """See the module's first line."""
        if self.weights is None:
            total = parents[0] + parents[1]
            for parent in parents[2:]:
                total += parent
            return total.div_(len(parents))
        if len(self.weights) != len(parents):
            raise UserError(f"soup has {len(self.weights)} weights for {len(parents)} parents: give one each")
        scale = sum(self.weights)
        if not scale:
            raise UserError(f"soup weights {self.weights} sum to 0: give weights of another sum")
        return sum(
            (p * (w / scale) for p, w in zip(parents[1:], self.weights[1:], strict=True)),
            parents[0] * (self.weights[0] / scale),
        )
