"""The merge-method seam: the parents' values of one slice in, the merged values out, in the accumulation type."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, ValidationError

from journeyman.errors import UserError
from journeyman.records.base import first_fault

if TYPE_CHECKING:
    from torch import Tensor


class MethodSettings(BaseModel):
    """Base of every method's settings: frozen, closed."""

    model_config = {"frozen": True, "extra": "forbid"}


class MergeMethod(Protocol):
    """One equation. `elementwise`: any slice may be merged by itself; otherwise slices are whole projections."""

    name: str
    elementwise: bool
    needs_base: bool
    parents: int | None  # exact number of parents; None: two or more

    def combine(self, parents: Sequence["Tensor"], base: "Tensor | None") -> "Tensor":
        """Merge equal-shaped tensors of the accumulation type (fp32, or fp64 for fp32 parents)."""
        ...


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
    module, _, attribute = REGISTRY.get(name, name).partition(":")
    if not attribute:
        raise UserError(f"merge method {name!r} is unknown: choose one of {', '.join(REGISTRY)} or module:Class")
    try:
        made: MergeMethod = getattr(import_module(module), attribute)(**settings)
    except (ImportError, AttributeError) as error:
        raise UserError(f"merge method {name!r} cannot be imported ({error}): give module:Class") from None
    except ValidationError as error:
        raise UserError(f"merge method {name!r}: {first_fault(error)}") from None
    return made
