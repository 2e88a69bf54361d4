"""How a template family writes tool calls: a literal registry. What cannot be read stays visible, raw, with a reason.

Arguments are parsed once; their raw text (order, spacing, escapes) travels beside the parsed value.
"""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"\s*")
_ARGUMENTS = re.compile(r'"arguments"\s*:\s*')


class CallText(NamedTuple):
    """One call as read from text. `reason` is empty for a well-formed call."""

    name: str
    arguments: dict[str, Any]
    raw: str  # raw text of the arguments; of the whole call where it is malformed
    reason: str = ""


class Read(NamedTuple):
    """A turn's text taken apart: prose outside the calls, and the calls in model order."""

    content: str
    calls: list[CallText]


class Syntax(NamedTuple):
    """One way of writing calls. `opening` starts a call: text from there on is not prose."""

    name: str
    opening: str
    read: Callable[[str], Read]


def _json_call(value: Any, text: str) -> CallText:
    """A decoded call object and its raw text, judged."""
    if not isinstance(value, dict):
        return CallText("", {}, text, "the call is not a JSON object")
    name, arguments = value.get("name"), value.get("arguments", {})
    if not isinstance(name, str) or not name:
        return CallText("", {}, text, 'the call has no "name"')
    raw = "{}"
    if found := _ARGUMENTS.search(text):
        try:
            again, end = _DECODER.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            again, end = None, 0
        raw = text[found.end() : end] if again == arguments else json.dumps(arguments, ensure_ascii=False)
    if isinstance(arguments, str):
        try:
            arguments, raw = json.loads(arguments), arguments
        except (ValueError, RecursionError) as error:
            return CallText(name, {}, text, f"arguments are not JSON: {error}")
    if not isinstance(arguments, dict):
        return CallText(name, {}, text, "arguments are not a JSON object")
    return CallText(name, arguments, raw)


_OPEN, _CLOSE = "<tool_call>", "</tool_call>"


def read_hermes(text: str) -> Read:
    """`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`: Hermes, Qwen, SmolLM2, the small policy."""
    prose: list[str] = []
    calls: list[CallText] = []
    at = 0
    while (start := text.find(_OPEN, at)) >= 0:
        prose.append(text[at:start])
        body = _SPACE.match(text, start + len(_OPEN)).end()  # type: ignore[union-attr]
        try:
            value, end = _DECODER.raw_decode(text, body)
        except (ValueError, RecursionError) as error:
            stop = text.find(_CLOSE, body)
            raw = text[body : stop if stop >= 0 else len(text)].rstrip()
            message = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            calls.append(
                CallText(_name_hint(raw), {}, raw, f"not JSON: {message}" if stop >= 0 else "the call is cut off")
            )
            at = stop + len(_CLOSE) if stop >= 0 else len(text)
            continue
        close = _SPACE.match(text, end).end()  # type: ignore[union-attr]
        call = _json_call(value, text[body:end])
        if not text.startswith(_CLOSE, close):
            stop = text.find(_CLOSE, close)
            raw = text[body : stop if stop >= 0 else len(text)].rstrip()
            calls.append(CallText(call.name, {}, raw, f"{_CLOSE} does not follow the call"))
            at = stop + len(_CLOSE) if stop >= 0 else len(text)
            continue
        calls.append(call)
        at = close + len(_CLOSE)
    prose.append(text[at:])
    return Read("\n".join(p for p in (part.strip() for part in prose) if p), calls)


_NAME = re.compile(r'"name"\s*:\s*"([^"\\]{1,64})"')


def _name_hint(raw: str) -> str:
    """The tool a malformed call seems to mean; "" where it does not say."""
    found = _NAME.search(raw)
    return found.group(1) if found else ""


def read_none(text: str) -> Read:
    """A family without tools: everything is prose."""
    return Read(text.strip(), [])


SYNTAXES: dict[str, Syntax] = {
    "hermes": Syntax("hermes", _OPEN, read_hermes),
    "none": Syntax("none", "\x00no-call\x00", read_none),
}


def syntax_of(template: str) -> Syntax:
    """The syntax a chat template writes, told by its own text."""
    return SYNTAXES["hermes" if _OPEN in template else "none"]
