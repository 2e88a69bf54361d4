"""What every dialect asks of a request's fields: each is honoured, asks for nothing, or is refused by its own name."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from journeyman.capture.dialects.base import CallRequest, Refusal, Structure
from journeyman.engines.base import EngineIdentity
from journeyman.records.episode import Sampling

_LIMITS: dict[str, tuple[float, float]] = {
    "temperature": (0.0, 10.0),
    "top_p": (0.0, 1.0),
    "top_k": (-1, 1 << 31),
    "max_tokens": (1, 1 << 31),
}
_TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal"})


@dataclass(frozen=True)
class Fields:
    """A dialect's fields by what becomes of them."""

    read: frozenset[str]  # the dialect reads them itself
    numbers: Mapping[str, tuple[type, str]]  # sampling numbers: wire name -> (int or float, field of Sampling)
    neutral: Mapping[str, tuple[Any, ...]]  # values that ask for nothing; any other is refused
    no_effect: Mapping[str, str]  # accepted whatever they say, and why they change nothing that is sampled
    remedies: Mapping[str, str] = field(default_factory=dict)  # what to do instead of "leave it out"

    def check(self, body: Any) -> None:
        """Raises Refusal naming the first field that cannot be honoured."""
        if not isinstance(body, dict):
            raise Refusal(400, "invalid_request", "the body is not a JSON object")
        for name, value in body.items():
            if name in self.read or name in self.numbers or name in self.no_effect:
                continue
            remedy = self.remedies.get(name, "leave it out")
            if name not in self.neutral:
                refuse(name, f"{name} is not known here: {remedy}")
            if value not in self.neutral[name]:
                refuse(name, f"{name}={shown(value)} cannot be honoured by this engine: {remedy}")

    def sampling(self, body: dict[str, Any], default: Sampling) -> Sampling:
        """`default` with the numbers that the request sets. Raises Refusal."""
        given: dict[str, Any] = {}
        for name, (kind, attribute) in self.numbers.items():
            value = body.get(name)
            if value is None:
                continue
            low, high = _LIMITS[attribute]
            right = isinstance(value, int | float if kind is float else int) and not isinstance(value, bool)
            if not right or not low <= value <= high:
                text = f"{name}={value!r}: use a {kind.__name__} in [{low:g}, {high:g}]"
                raise Refusal(400, "invalid_value", text, name)
            given[attribute] = kind(value)
        return default.model_copy(update=given) if given else default


def refuse(param: str, message: str) -> NoReturn:
    """Raise the Refusal of a field that cannot be honoured."""
    raise Refusal(400, "unsupported_parameter", message, param)


def invalid(param: str, message: str) -> NoReturn:
    """Raise the Refusal of a field that is not what the dialect says it is."""
    raise Refusal(400, "invalid_request", message, param)


def shown(value: Any) -> str:
    """A value as an error message shows it."""
    return json.dumps(value, ensure_ascii=False)[:80]


def seed_of(body: dict[str, Any]) -> int | None:
    """The request's seed. Raises Refusal where it is no integer."""
    seed = body.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise Refusal(400, "invalid_value", f"seed={seed!r}: use an integer", "seed")
    return seed


def flag(body: dict[str, Any], name: str, default: bool = False) -> bool:
    """A boolean field. Raises Refusal where it is something else."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise Refusal(400, "invalid_value", f"{name}={shown(value)}: use true or false", name)
    return value


def text_of(content: Any, where: str, param: str) -> str:
    """Content as text, its parts on lines of their own. Raises Refusal where a part is not text."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        invalid(param, f"{param}: the content of a {where} is neither text nor a list of parts")
    parts = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _TEXT_PARTS:
            text = f"{param}: a {where} holds {kind!r}, which cannot be shown to this model: send text"
            raise Refusal(400, "unsupported_content", text, param)
        parts.append(str(part.get("text", part.get("refusal", ""))))
    return "\n".join(parts)


def call_of(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """A canonical call; `arguments` is JSON text or its value. What is not a JSON object is marked invalid."""
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    call: dict[str, Any] = {"id": str(call_id or ""), "name": str(name or ""), "arguments": {}, "raw": text or "{}"}
    try:
        value = json.loads(call["raw"]) if isinstance(arguments, str) else arguments or {}
    except ValueError:
        return call | {"invalid": "not JSON"}
    if not isinstance(value, dict):
        return call | {"invalid": "not an object"}
    return call | {"arguments": value}


def function_tool(tool: Mapping[str, Any], schema: str, where: str) -> dict[str, Any]:
    """A flat tool (name, description, its parameters under `schema`) in the shape of Chat Completions."""
    name, parameters = tool.get("name"), tool.get(schema)
    if not isinstance(name, str) or not name:
        invalid("tools", f"{where} has no name")
    if parameters is not None and not isinstance(parameters, dict):
        invalid("tools", f"{where}: {schema} is not an object")
    function: dict[str, Any] = {"name": name}
    if description := tool.get("description"):
        function["description"] = str(description)
    function["parameters"] = parameters or {"type": "object", "properties": {}}
    return {"type": "function", "function": function}


def not_strict(tool: Mapping[str, Any], where: str) -> None:
    """Raises Refusal where a tool's arguments would have to be sampled under its schema."""
    if tool.get("strict"):
        refuse("tools", f"{where}: strict=true cannot be honoured by this engine: set it to false")


def forced_tool(kind: Any, name: Any, tools: Sequence[Mapping[str, Any]], given: Any) -> str | None:
    """The tool that a turn must call ("": any, None: it need not). `kind`: auto, none, required or tool.

    Raises Refusal where tools are offered and none may be called, or one must be called that is not offered.
    """
    offered = [tool["function"]["name"] for tool in tools]
    if kind in (None, "auto") or (kind == "none" and not tools):
        return None
    if kind == "required" and offered:
        return ""
    if kind == "tool" and name in offered:
        return str(name)
    remedies = {"none": "leave the tools out", "tool": f"name one of {offered}", "required": "offer a tool"}
    remedy = remedies.get(str(kind), "use auto")
    refuse("tool_choice", f"tool_choice={shown(given)} cannot be honoured by this engine: {remedy}")


def parallel_calls(allowed: Any, param: str, tools: Sequence[Any]) -> None:
    """Raises Refusal where a turn must not call more than one tool; without tools that asks for nothing."""
    if allowed not in (None, True) and tools:
        refuse(param, f"{param}: one call at a time cannot be honoured by this engine: leave it out")


def structure_of(wanted: Any, param: str) -> Structure | None:
    """What a `response_format` asks for; its schema may lie flat (Responses, Messages) or under json_schema (Chat)."""
    if wanted is None:
        return None
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind == "text":
        return None
    if kind == "json_object":
        return Structure({"type": "object"}, param)
    schema = wanted.get("json_schema", wanted).get("schema") if kind == "json_schema" else None
    if not isinstance(schema, dict):
        refuse(param, f"{param}={shown(wanted)} is not known here: use text, json_object or json_schema")
    return Structure(schema, param)


def check_engine(asked: CallRequest, engine: EngineIdentity) -> None:
    """Raises Refusal where a call asks for what its engine does not have."""
    if asked.forced is not None and engine.needs_messages:
        refuse("tool_choice", f"tool_choice: the {engine.kind} engine cannot be made to call a tool: use auto")
    if asked.structure is not None and not engine.grammar:
        param = asked.structure.param
        refuse(param, f"{param}: the {engine.kind} engine cannot sample under a JSON schema: leave it out")


def not_found(previous: Any) -> Refusal:
    """The refusal of a `previous_response_id` that names no reply of this run."""
    text = f"previous_response_id={shown(previous)} is no reply that this run was told: send the history as input"
    return Refusal(400, "previous_response_not_found", text, "previous_response_id")
