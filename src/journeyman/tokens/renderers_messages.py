"""Canonical messages in the shape the `renderers` package takes, and its reading of a turn as a canonical message.

Invariant: the arguments' raw text is the sampled one where the family writes JSON; else the whole call is kept as text.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from journeyman.tokens.base import Message, Parsed

# An argument as families write it that do not write JSON. Their readers strip it; its white space is the policy's own.
_WRITTEN = (
    re.compile(r"<parameter=([^>]+)>\n?(.*?)\n?</parameter>", re.DOTALL),
    re.compile(r"<arg_key>\s*(.*?)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL),
)
_DECODER = json.JSONDecoder()
_REASONS = {
    "invalid_json": "the call is not JSON",
    "unclosed_block": "the call is cut off",
    "missing_name": "the call names no tool",
    "malformed_structure": "the call does not have the family's shape",
}


def shaped(message: Message, safe: Callable[[Any], Any], family: str) -> Message:
    """A message for the package. `safe` makes its text harmless; malformed calls are told as prose."""
    calls = message.get("tool_calls") or ()
    content = safe(message.get("content") or "")
    if broken := [safe(call.get("text") or call["raw"]) for call in calls if call.get("invalid")]:
        content = "\n".join(filter(None, [content, *broken]))
    made: Message = {"role": message["role"], "content": content}
    if message.get("name"):
        made["name"] = safe(message["name"])
    if message["role"] == "tool":
        made["tool_call_id"] = safe(_call_id(message, family))
    if reasoning := message.get("reasoning"):
        made["reasoning_content"] = safe(reasoning)
    if good := [call for call in calls if not call.get("invalid")]:
        made["tool_calls"] = [
            {
                "id": safe(call.get("native") or call.get("id") or ""),
                "type": "function",
                "function": {"name": safe(call["name"]), "arguments": safe(call["arguments"])},
            }
            for call in good
        ]
    return made


def _call_id(message: Message, family: str) -> str:
    """The id that a tool result answers, in the family's own words."""
    told = str(message.get("native") or message.get("tool_call_id") or "")
    if family == "kimi-k2" and not told.startswith("functions."):
        return f"functions.{message.get('name') or 'tool'}:0"
    return told


def canonical(read: Any) -> Parsed:
    """A `renderers.ParsedResponse` as a message."""
    message: Message = {"role": "assistant", "content": (read.content or "").strip()}
    if reasoning := (read.reasoning_content or "").strip():
        message["reasoning"] = reasoning
    calls = [_call(i, call) for i, call in enumerate(read.tool_calls)]
    if calls:
        message["tool_calls"] = calls
    return Parsed(message, tuple((call["raw"], call["invalid"]) for call in calls if call.get("invalid")))


def _call(index: int, call: Any) -> dict[str, Any]:
    """One parsed call: its arguments parsed once, their raw text beside them."""
    status = str(call.status)
    made: dict[str, Any] = {"id": f"call_{index}", "name": str(call.name or ""), "arguments": {}, "raw": call.raw}
    if call.id:
        made["native"] = str(call.id)
    if reason := _REASONS.get(status):  # an unknown tool is the harness's to answer
        return made | {"invalid": reason}
    arguments, text = _arguments(call.arguments, call.raw)
    if not isinstance(arguments, dict):
        return made | {"invalid": "arguments are not a JSON object"}
    if text is None:
        arguments = _spaced(arguments, call.raw)
        return made | {"arguments": arguments, "raw": json.dumps(arguments, ensure_ascii=False), "text": call.raw}
    return made | {"arguments": arguments, "raw": text}


def _spaced(arguments: dict[str, Any], raw: str) -> dict[str, Any]:
    """The arguments, each text with the white space that it was written with."""
    written = {name: value for pattern in _WRITTEN for name, value in pattern.findall(raw)}
    return {
        name: written[name]
        if isinstance(value, str) and name in written and written[name].strip() == value.strip()
        else value
        for name, value in arguments.items()
    }


def unreadable(text: str, opening: str, reason: str) -> Parsed:
    """A turn that its family's reader gave up on: prose, and one malformed call from where the first began."""
    prose, begun, rest = text.partition(opening) if opening else ("", "", text)
    if not begun and opening:
        return Parsed({"role": "assistant", "content": text.strip()})
    wrong = f"the call cannot be read: {reason}"
    call = {"id": "call_0", "name": "", "arguments": {}, "raw": rest, "invalid": wrong}
    return Parsed({"role": "assistant", "content": prose.strip(), "tool_calls": [call]}, ((rest, wrong),))


def _arguments(arguments: Any, raw: str) -> tuple[Any, str | None]:
    """The arguments' value and their own text within the call; None where the family does not write them as JSON."""
    if isinstance(arguments, str):
        try:
            return json.loads(arguments), arguments
        except (ValueError, RecursionError):
            return arguments, arguments
    if arguments is None:
        return {}, "{}"
    at = raw.find("{")
    for _ in range(8):
        if at < 0:
            break
        try:
            value, end = _DECODER.raw_decode(raw, at)
        except (ValueError, RecursionError):
            value, end = None, at
        if value == arguments:
            return arguments, raw[at:end]
        at = raw.find("{", at + 1)
    return arguments, None
