"""The tools that a request offers, and which of them it wants called. A schema is checked where it comes in."""

from collections.abc import Mapping, Sequence
from typing import Any

from journeyman.capture.dialects.refusing import invalid, name_of, named, only, refuse, shallow, shown

_TOOL_FIELDS = ("type", "name", "description", "strict", "eager_input_streaming")  # the last says only how it is sent
_SCHEMA_WORDS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "type": ((str, list), "the name of a type or a list of names"),
    "properties": (dict, "an object"),
    "required": ((list, bool), "a list of names"),  # true or false inside a property: an old draft's, still met
    "description": (str, "text"),
    "enum": (list, "a list"),
    "anyOf": (list, "a list of schemas"),
    "allOf": (list, "a list of schemas"),
    "oneOf": (list, "a list of schemas"),
}


def function_tool(tool: Mapping[str, Any], schema: str, where: str) -> dict[str, Any]:
    """A flat tool (name, description, its parameters under `schema`) in the shape of Chat Completions.

    Raises Refusal where it says what no template shows, or its schema is none.
    """
    name, parameters = tool.get("name"), tool.get(schema)
    if not isinstance(name, str) or not name:
        invalid("tools", f"{where} has no name")
    if parameters is not None and not isinstance(parameters, dict):
        invalid("tools", f"{where}: {schema} is not an object")
    shallow(parameters or {}, "tools")
    _check_schema(parameters or {}, f"{where}.{schema}")
    if tool.get("strict"):  # its arguments would have to be sampled under its schema
        refuse("tools", f"{where}: strict=true cannot be honoured by this engine: set it to false")
    only(tool, {*_TOOL_FIELDS, schema}, where, "tools")
    function: dict[str, Any] = {"name": name}
    if description := name_of(tool.get("description"), f"the description of {where}", "tools"):
        function["description"] = description
    function["parameters"] = parameters or {"type": "object", "properties": {}}
    return {"type": "function", "function": function}


def _check_schema(schema: Any, at: str) -> None:
    """Raises Refusal where the words of a JSON schema are not of their kind: templates take them for granted."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        invalid("tools", f"{at}={shown(schema)} is not a JSON schema: use an object")
    for word, (kinds, said) in _SCHEMA_WORDS.items():
        value = schema.get(word)
        right = value is None or isinstance(value, kinds)
        if right and word in ("type", "required") and isinstance(value, list):
            right = all(isinstance(name, str) for name in value)
        if not right:
            invalid("tools", f"{at}.{word}={shown(value)} is not {said}: correct the tool's schema")
    for name, inner in (schema.get("properties") or {}).items():
        _check_schema(inner, f"{at}.properties.{named(name)}")
    for word in ("anyOf", "allOf", "oneOf"):
        for i, inner in enumerate(schema.get(word) or ()):
            _check_schema(inner, f"{at}.{word}[{i}]")
    if isinstance(schema.get("items"), dict):
        _check_schema(schema["items"], f"{at}.items")


def forced_tool(kind: Any, name: Any, tools: Sequence[Mapping[str, Any]], given: Any) -> str | None:
    """The tool that a turn must call ("": any, None: it need not). `kind`: auto, none, required or tool.

    Raises Refusal where tools are offered and none may be called, or one must be called that is not offered.
    """
    offered = [tool["function"]["name"] for tool in tools]
    if kind in (None, "auto") or (kind == "none" and not tools):
        return None
    if kind == "required" and offered:
        return ""
    if kind != "tool" or name not in offered:
        remedies = {"none": "leave the tools out", "tool": f"name one of {offered}", "required": "offer a tool"}
        remedy = remedies.get(str(kind), "use auto")
        refuse("tool_choice", f"tool_choice={shown(given)} cannot be honoured by this engine: {remedy}")
    return str(name)


def parallel_calls(allowed: Any, param: str, tools: Sequence[Any]) -> None:
    """Raises Refusal where a turn must not call more than one tool; without tools that asks for nothing."""
    if allowed not in (None, True) and tools:
        refuse(param, f"{param}: one call at a time cannot be honoured by this engine: leave it out")
