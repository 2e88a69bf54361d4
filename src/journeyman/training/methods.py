"""Which objective and which credit make a method: a recipe names one, and its credit goes with it. Torch-free."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from journeyman.errors import UserError
from journeyman.store.config_file import parse_config
from journeyman.training.credit import CreditConfig
from journeyman.training.objectives.base import Objective, ObjectiveSettings


class Method(NamedTuple):
    """An objective ("module:Class") and the advantage its equation is written for."""

    objective: str
    advantage: str


_ROOM = "journeyman.training.objectives"
METHODS = {
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


def make_objective(config: Mapping[str, Any]) -> Objective:
    """Build `{"name": ..., **settings}`; outsiders give "module:Class". Raises UserError naming what is wrong."""
    settings = dict(config)
    name = str(settings.pop("name", DEFAULT))
    target = METHODS[name].objective if name in METHODS else name
    module, _, attribute = target.partition(":")
    if not attribute:
        raise UserError(f"objective {name!r} is unknown: choose one of {', '.join(METHODS)} or module:Class")
    try:
        kind = getattr(import_module(module), attribute)
        ours = isinstance(kind, type) and issubclass(kind, ObjectiveSettings)
        made: Objective = parse_config(settings, kind) if ours else kind(**settings)
    except UserError as error:
        raise UserError(f"objective {name!r}: {error}") from None
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UserError(f"objective {name!r} cannot be made ({error}): give module:Class and its settings") from None
    if missing := [part for part in ("name", "whole_members", "corrects", "loss") if not hasattr(made, part)]:
        raise UserError(f"objective {name!r} is no objective (it has no {missing[0]}): give module:Class of one")
    return made


def advantage_of(objective: Mapping[str, Any]) -> str:
    """The advantage that goes with `{"name": ...}`; an outsider's "module:Class" gets the centred one."""
    method = METHODS.get(str(objective.get("name", DEFAULT)))
    return "centred" if method is None else method.advantage


def with_credit(values: Any) -> Any:
    """Config values with `credit.advantage` filled in from `objective` where it is not given.

    For a pydantic `before` validator. Raises ValueError for an objective of no known name or with settings it cannot
    have (an outsider's are looked at when it is made), and where a critic's advantage meets an objective without
    critic, or a critic meets another advantage.
    """
    if not isinstance(values, Mapping):
        return values
    objective = values.get("objective") or {}
    credit = values.get("credit", {})
    if not isinstance(objective, Mapping) or not isinstance(credit, Mapping | CreditConfig):
        return values
    name = str(objective.get("name", DEFAULT))
    if ":" not in name:
        try:
            make_objective(objective)
        except UserError as error:
            raise ValueError(str(error)) from None
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
