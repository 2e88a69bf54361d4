"""An implementation of a seam by its name: what a registry or a user names is made, or refused in one line."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from pydantic import ValidationError

from journeyman.errors import UserError
from journeyman.records.base import first_fault


def made(
    what: str, name: str, registry: Mapping[str, str], members: Sequence[str], settings: Mapping[str, Any] | None = None
) -> Any:
    """An instance of the class that `registry` has for `name`, or of "module:Class", made with `settings`.

    `what` names the seam in errors and `members` are those its protocol asks for. Raises UserError.
    """
    module, _, attribute = registry.get(name, name).partition(":")
    if not (module and attribute):
        raise UserError(f"{what} {name!r} is unknown: choose one of {', '.join(registry)} or module:Class")
    try:
        kind = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, SyntaxError, ValueError) as error:
        raise UserError(f"{what} {name!r} cannot be imported ({error}): give module:Class") from None
    if not isinstance(kind, type):
        raise UserError(f"{what} {name!r} is a {type(kind).__name__}, not a class: give module:Class")
    try:
        one = kind(**(settings or {}))
    except ValidationError as error:
        raise UserError(f"{what} {name!r}: {first_fault(error)}") from None
    except TypeError as error:
        raise UserError(f"{what} {name!r} cannot be made ({error}): give module:Class") from None
    if lacking := [member for member in members if not hasattr(one, member)]:
        raise UserError(f"{what} {name!r} has no {', '.join(lacking)}: give the module:Class of one")
    return one
