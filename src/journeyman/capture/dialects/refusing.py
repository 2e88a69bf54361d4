"""How a field is refused: by its name, on one line, and short whatever a client wrote.

An object of a request is read whole: what it says beside the fields that are read says nothing, or is refused.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from journeyman.capture.dialects.base import Refusal, one_line
from journeyman.tokens.usable import DEEPEST

_REMEDIES = {
    "name": "write it into the content",
    "function_call": "use tool_calls",
    "audio": "send its text",
    "defer_loading": "leave it out (Claude Code: ENABLE_TOOL_SEARCH=false)",
}
# A caller's marks on what it sends, and what official clients add to a reply that they parsed: no model is shown them.
MARKS = frozenset({"id", "index", "status", "cache_control", "prompt_cache_breakpoint"})
MARKS |= {"parsed", "parsed_arguments", "parsed_output"}
# Values that say what holds anyway.
_USUAL: Mapping[str, tuple[Any, ...]] = {
    "async": (False,),
    "caller": ({"type": "direct"},),
    "defer_loading": (False,),
    "allowed_callers": (["direct"],),
}


def refuse(param: str, message: str) -> NoReturn:
    """Raise the Refusal of a field that cannot be honoured."""
    raise Refusal(400, "unsupported_parameter", message, param)


def invalid(param: str, message: str) -> NoReturn:
    """Raise the Refusal of a field that is not what the dialect says it is."""
    raise Refusal(400, "invalid_request", message, param)


def shown(value: Any) -> str:
    """A value as an error message shows it."""
    return one_line(json.dumps(value, ensure_ascii=False), 80)


def named(name: str) -> str:
    """A name that a client made up, as an error message says it."""
    return one_line(name, 80)


def only(given: Mapping[str, Any], known: Collection[str], where: str, param: str) -> None:
    """Raises Refusal naming a field beside the `known` ones that says something; what is empty says nothing."""
    for name, value in given.items():
        if name in known or name in MARKS or value is None or value in ("", [], {}) or value in _USUAL.get(name, ()):
            continue
        remedy = _REMEDIES.get(name, "leave it out")
        refuse(param, f"{where}: {named(name)}={shown(value)} cannot be honoured: {remedy}")


def flag(body: dict[str, Any], name: str, default: bool = False) -> bool:
    """A boolean field. Raises Refusal where it is something else."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise Refusal(400, "invalid_value", f"{name}={shown(value)}: use true or false", name)
    return value


def fields_of(value: Any, param: str) -> dict[str, Any]:
    """An object, empty where it is left out. Raises Refusal where it is something else."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        invalid(param, f"{param}={shown(value)} is not an object")
    return value


def list_of(value: Any, param: str) -> list[Any]:
    """A list, empty where it is left out. Raises Refusal where it is something else."""
    if value is None:
        return []
    if not isinstance(value, list):
        invalid(param, f"{param}={shown(value)} is not a list")
    return value


def name_of(value: Any, what: str, param: str) -> str:
    """A text, "" where it is left out. Raises Refusal where it is something else."""
    if value is not None and not isinstance(value, str):
        invalid(param, f"{param}: {what} {shown(value)} is not text")
    return value or ""


def shallow(value: Any, param: str) -> None:
    """Raises Refusal where a value is nested too deep to be shown and recorded."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return
    invalid(param, f"{param}: nested deeper than {DEEPEST} levels")
