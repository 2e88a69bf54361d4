"""What a message holds, read from any dialect: its content as text, its calls as canonical calls."""

import json
from typing import Any

from journeyman.capture.dialects.base import Refusal
from journeyman.capture.dialects.refusing import invalid, name_of, only, shallow, shown
from journeyman.tokens.usable import unusable

_TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal"})


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
            text = f"{param}: a {where} holds {shown(kind)}, which cannot be shown to this model: send text"
            raise Refusal(400, "unsupported_content", text, param)
        said = part.get(field := "refusal" if kind == "refusal" else "text")
        if not isinstance(said, str):
            invalid(param, f"{param}: a {kind} part of a {where} has no text")
        only(part, ("type", field), f"{param}: a {kind} part of a {where}", param)
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
