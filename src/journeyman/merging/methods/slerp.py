"""SLERP: omega = acos(a^ . b^); sin((1-t) omega)/sin(omega) a + sin(t omega)/sin(omega) b on un-normalised a, b.

Linear where |cos| > 0.9995 or a norm is below 1e-8 (as mergekit does); one slice = one projection of one expert.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from journeyman.merging.base import MethodSettings

PARALLEL = 0.9995
TINY = 1e-8


class Slerp(MethodSettings):
    """Spherical interpolation from the first parent (t = 0) to the second (t = 1)."""

    name: ClassVar[str] = "slerp"
    elementwise: ClassVar[bool] = False
    needs_base: ClassVar[bool] = False
    parents: ClassVar[int | None] = 2
    t: float = Field(0.5, ge=0, le=1)

    def combine(self, parents: Sequence[Tensor], base: Tensor | None) -> Tensor:
        """See the module's first lines."""
        a, b = parents
        length_a, length_b = a.norm(), b.norm()
        if length_a < TINY or length_b < TINY:
            return a + self.t * (b - a)
        cosine = ((a / length_a) * (b / length_b)).sum().clamp(-1, 1)
        if cosine.abs() > PARALLEL:
            return a + self.t * (b - a)
        omega = torch.acos(cosine)
        return (torch.sin((1 - self.t) * omega) * a + torch.sin(self.t * omega) * b) / torch.sin(omega)
