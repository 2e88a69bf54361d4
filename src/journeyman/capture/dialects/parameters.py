"""What every dialect asks of a request's fields: each is honoured, asks for nothing, or is refused by its own name."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from journeyman.capture.dialects.base import CallRequest, Refusal, Structure
from journeyman.engines.base import EngineIdentity
from journeyman.errors import EngineFailure
from journeyman.records.episode import Sampling
from journeyman.tokens.usable import DEEPEST, unusable

_MOST = (1 << 31) - 1  # what servers hold such numbers in
_LIMITS: dict[str, tuple[float, float, str]] = {  # least, most, and how that is said
    "temperature": (0.0001, 10.0, "0, or a number from 0.0001 to 10"),  # below, logits overflow
    "top_p": (5e-324, 1.0, "a number above 0, up to 1"),
    "top_k": (-1, _MOST, f"an integer from -1 to {_MOST}"),
    "max_tokens": (1, _MOST, f"an integer from 1 to {_MOST}"),
}
_SEEDS = 1 << 63
_USUAL = Sampling()
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
            low, high, allowed = _LIMITS[attribute]
            right = isinstance(value, int | float if kind is float else int) and not isinstance(value, bool)
            if not right or not (low <= value <= high or (value == 0 and attribute == "temperature")):
                raise Refusal(400, "invalid_value", f"{name}={shown(value)}: use {allowed}", name)
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
    """The request's seed. Raises Refusal where no engine could use it."""
    seed = body.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < _SEEDS):
        text = f"seed={shown(seed)}: use an integer from 0 to {_SEEDS - 1}"
        raise Refusal(400, "invalid_value", text, "seed")
    return seed


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


def stream_options(body: dict[str, Any], *known: str) -> dict[str, Any]:
    """The stream's options. Raises Refusal where one is not known, or asks for padding."""
    options = fields_of(body.get("stream_options"), "stream_options")
    for name, value in options.items():
        if name not in known and value not in (None, False):
            text = f"stream_options.{name}={shown(value)} cannot be honoured: leave it out"
            refuse("stream_options", text)
        if value is not None and not isinstance(value, bool):
            invalid("stream_options", f"stream_options.{name}={shown(value)}: use true or false")
    return options


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


def text_of(content: Any, where: str, param: str) -> str:
    """Content as text, its parts on lines of their own. Raises Refusal where a part is not text."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        invalid(param, f"{param}: the content of a {where} is neither text nor a list of parts")
    parts = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str) or kind not in _TEXT_PARTS:
            text = f"{param}: a {where} holds {kind!r}, which cannot be shown to this model: send text"
            raise Refusal(400, "unsupported_content", text, param)
        said = part.get("refusal" if kind == "refusal" else "text")
        if not isinstance(said, str):
            invalid(param, f"{param}: a {kind} part of a {where} has no text")
        parts.append(said)
    return "\n".join(parts)


def call_of(call_id: Any, name: Any, arguments: Any, param: str) -> dict[str, Any]:
    """A canonical call; `arguments` is JSON text or its value. What is not a usable JSON object is marked invalid.

    Raises Refusal where the call's id or name is not text.
    """
    if not isinstance(arguments, str):
        shallow([arguments], param)
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    call: dict[str, Any] = {
        "id": name_of(call_id, "a call's id", param),
        "name": name_of(name, "a call's name", param),
        "arguments": {},
        "raw": text or "{}",
    }
    try:
        value = json.loads(call["raw"]) if isinstance(arguments, str) else arguments or {}
    except (ValueError, RecursionError):
        return call | {"invalid": "not JSON"}
    if not isinstance(value, dict):
        return call | {"invalid": "not an object"}
    if reason := unusable(value):
        return call | {"invalid": reason}
    return call | {"arguments": value}


def function_tool(tool: Mapping[str, Any], schema: str, where: str) -> dict[str, Any]:
    """A flat tool (name, description, its parameters under `schema`) in the shape of Chat Completions."""
    name, parameters = tool.get("name"), tool.get(schema)
    if not isinstance(name, str) or not name:
        invalid("tools", f"{where} has no name")
    if parameters is not None and not isinstance(parameters, dict):
        invalid("tools", f"{where}: {schema} is not an object")
    shallow(parameters or {}, "tools")
    function: dict[str, Any] = {"name": name}
    if description := name_of(tool.get("description"), f"the description of {where}", "tools"):
        function["description"] = description
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
    outer = wanted.get("json_schema", wanted) if kind == "json_schema" else None
    schema = outer.get("schema") if isinstance(outer, dict) else None
    if not isinstance(schema, dict):
        refuse(param, f"{param}={shown(wanted)} is not known here: use text, json_object or json_schema")
    shallow(schema, param)
    return Structure(schema, param)


def check_engine(asked: CallRequest, engine: EngineIdentity, default: Sampling = _USUAL) -> None:
    """Raises Refusal where a call asks for what its engine does not have.

    `default`: the episode's own sampling; EngineFailure where that, which no client asked for, cannot be had.
    """
    if (limit := engine.sampling.refusal(asked.sampling)) is not None:
        if getattr(asked.sampling, limit.field) == getattr(default, limit.field):
            raise EngineFailure(limit.cause, limit.text)
        raise Refusal(400, "unsupported_parameter", limit.text, limit.field)
    if asked.forced is not None and engine.needs_messages:
        refuse("tool_choice", f"tool_choice: the {engine.kind} engine cannot be made to call a tool: use auto")
    if asked.structure is not None and not engine.grammar:
        param = asked.structure.param
        refuse(param, f"{param}: the {engine.kind} engine cannot sample under a JSON schema: leave it out")


def not_found(previous: Any) -> Refusal:
    """The refusal of a `previous_response_id` that names no reply of this run."""
    text = f"previous_response_id={shown(previous)} is no reply that this run was told: send the history as input"
    return Refusal(400, "previous_response_not_found", text, "previous_response_id")
