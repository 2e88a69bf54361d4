"""Bytes and numbers that dialects share when they tell a client something."""

import json
from typing import Any

from journeyman.capture.dialects.base import Events, Reply
from journeyman.tokens.base import Message

_ENCODER = json.JSONEncoder(ensure_ascii=False)


def event(body: dict[str, Any], name: str = "") -> bytes:
    """One server-sent event. `name`: its event field, where the dialect has one."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {_ENCODER.encode(body)}\n\n".encode()


def unshown(events: Events, message: Message, reasoned: int | None, said: int) -> list[bytes]:
    """A stream's events for what of a finished turn it has not shown yet: reasoning from a character on, then prose.

    `reasoned`: None where the client is not shown the reasoning.
    """
    told: list[bytes] = []
    if reasoned is not None and (rest := message.get("reasoning", "")[reasoned:]):
        told.append(events.reasoning(rest))
    if rest := message.get("content", "")[said:]:
        told.append(events.prose(rest))
    return told


def ours(reply: Reply) -> dict[str, Any]:
    """What every dialect adds to a reply as `x_journeyman`."""
    return {
        "turn_id": reply.turn.turn_id,
        "invalid": list(reply.invalid),
        "context_tokens": reply.context_tokens,
        "window_tokens": reply.window_tokens,
    }


def calls_tools(reply: Reply) -> bool:
    """Whether the turn ended in tool calls."""
    reason = reply.turn.finish_reason
    return reason == "tool_calls" or (reason == "stop" and bool(reply.turn.message.get("tool_calls")))


def call_name(call: dict[str, Any]) -> str:
    """A call's tool, never empty: clients take a call without a name for a broken reply."""
    return str(call["name"] or "invalid_call")


def reasoning_tokens(reply: Reply) -> int:
    """About how many of the sampled tokens are reasoning, by its share of the characters (for display only)."""
    message = reply.turn.message
    thought = len(message.get("reasoning", ""))
    rest = len(message.get("content", "")) + sum(len(call["raw"]) for call in message.get("tool_calls", ()))
    return round(reply.completion_tokens * thought / (thought + rest)) if thought else 0
