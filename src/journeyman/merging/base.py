"""The merge-method seam: the parents' values of one slice in, the merged values out, in the accumulation type."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pydantic import BaseModel

from journeyman.errors import UserError
from journeyman.store.seam import made

if TYPE_CHECKING:
    from torch import Tensor


class MethodSettings(BaseModel):
    """Base of every method's settings: frozen, closed. What the seam asks for is of the class and no setting."""

    model_config = {"frozen": True, "extra": "forbid"}

    name: ClassVar[str]
    elementwise: ClassVar[bool]
    needs_base: ClassVar[bool] = False
    parents: ClassVar[int | None] = None


class MergeMethod(Protocol):
    """One equation. `elementwise`: any slice may be merged by itself; otherwise slices are whole projections."""

    name: ClassVar[str]
    elementwise: ClassVar[bool]
    needs_base: ClassVar[bool]
    parents: ClassVar[int | None]  # exact number of parents; None: two or more

    def combine(self, parents: Sequence["Tensor"], base: "Tensor | None") -> "Tensor":
        """Merge equal-shaped tensors of the accumulation type (fp32, or fp64 for fp32 parents)."""
        ...


MEMBERS = ("name", "elementwise", "needs_base", "parents", "combine")
REGISTRY = {
    "soup": "journeyman.merging.methods.soup:Soup",
    "slerp": "journeyman.merging.methods.slerp:Slerp",
    "ties": "journeyman.merging.methods.ties:Ties",
    "task_arithmetic": "journeyman.merging.methods.task_arithmetic:TaskArithmetic",
}


def make_method(config: str | dict[str, Any]) -> MergeMethod:
    """Build "soup" or {"name": "slerp", "t": 0.3}; outsiders give "module:Class". Raises UserError."""
    settings = {"name": config} if isinstance(config, str) else dict(config)
    name = str(settings.pop("name", "soup"))
    if flags := sorted(settings.keys() & MEMBERS):
        raise UserError(f"merge method {name!r}: {flags[0]} is what the method is, no setting: leave it out")
    method: MergeMethod = made("merge method", name, REGISTRY, MEMBERS, settings)
    return method
