"""Which objective and which credit make a method: a recipe names one, and its credit goes with it. Torch-free."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from journeyman.training.credit import CreditConfig


class Method(NamedTuple):
    """An objective ("module:Class") and the advantage its equation is written for."""

    objective: str
    advantage: str


_ROOM = "journeyman.training.objectives"
METHODS = {
    "sft": Method(f"{_ROOM}.sft:Sft", "centred"),
    "cispo": Method(f"{_ROOM}.cispo:Cispo", "centred"),
    "grpo": Method(f"{_ROOM}.grpo:Grpo", "grpo"),
    "dr_grpo": Method(f"{_ROOM}.dr_grpo:DrGrpo", "centred"),
    "rloo": Method(f"{_ROOM}.rloo:Rloo", "rloo"),
    "gspo": Method(f"{_ROOM}.gspo:Gspo", "grpo"),
    "reinforce": Method(f"{_ROOM}.reinforce:Reinforce", "centred"),
    "ppo": Method(f"{_ROOM}.ppo:PpoClip", "centred"),
    "dis": Method(f"{_ROOM}.dis:Dis", "centred"),
    "hdpo": Method(f"{_ROOM}.hdpo:Hdpo", "hdpo"),
    "sao": Method(f"{_ROOM}.sao:Sao", "critic"),
}
DEFAULT = "cispo"


def advantage_of(objective: Mapping[str, Any]) -> str:
    """The advantage that goes with `{"name": ...}`; an outsider's "module:Class" gets the centred one."""
    method = METHODS.get(str(objective.get("name", DEFAULT)))
    return "centred" if method is None else method.advantage


def with_credit(values: Any) -> Any:
    """Config values with `credit.advantage` filled in from `objective` where it is not given.

    For a pydantic `before` validator. Raises ValueError for an objective of no known name, and where a critic's
    advantage meets an objective without critic, or a critic meets another advantage.
    """
    if not isinstance(values, Mapping):
        return values
    objective = values.get("objective") or {}
    credit = values.get("credit", {})
    if not isinstance(objective, Mapping) or not isinstance(credit, Mapping | CreditConfig):
        return values
    name = str(objective.get("name", DEFAULT))
    if name not in METHODS and ":" not in name:
        raise ValueError(f"objective {name!r} is unknown: choose one of {', '.join(METHODS)} or module:Class")
    own = advantage_of(objective)
    if isinstance(credit, CreditConfig):
        given = credit.advantage if "advantage" in credit.model_fields_set else None
        filled: Any = credit.model_copy(update={"advantage": given or own})
    else:
        given = credit.get("advantage")
        filled = {**credit, "advantage": given or own}
    if given is not None and (given == "critic") != (own == "critic"):
        raise ValueError(f"credit.advantage {given!r} does not go with objective {name!r}: leave it out")
    return {**values, "credit": filled}
