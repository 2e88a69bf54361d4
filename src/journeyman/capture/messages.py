"""When a client's message is the one on record: the same meaning in another spelling is the same; anything else is not.

Clients drop reasoning, reorder JSON keys, rename call ids, null empty content and strip white space. The gateway holds
the canonical message and its ids, so none of that changes what the model saw.
"""

from typing import Any

from journeyman.tokens.base import Message
from journeyman.tokens.usable import legible, unusable

INSTRUCTIONS = "instructions"  # key of a system message that holds for its own call and is not carried over
PREFILL = "prefill"  # key of an assistant message that the client began and the policy went on with


def alike(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same. 1 and 1.0 are one number, as some clients write it; 1 and true are not."""
    if one != other:
        return False
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict):
        return all(alike(value, other[key]) for key, value in one.items())
    return not isinstance(one, list) or all(alike(a, b) for a, b in zip(one, other, strict=True))


def _same_calls(recorded: Message, told: Message) -> bool:
    """Equal names and argument values in order; a malformed call is its raw text."""
    ours, theirs = recorded.get("tool_calls") or (), told.get("tool_calls") or ()
    return len(ours) == len(theirs) and all(
        a["raw"].strip() == b["raw"].strip()
        if a.get("invalid")
        else a["name"] == b["name"] and alike(a["arguments"], b["arguments"])
        for a, b in zip(ours, theirs, strict=True)
    )


def _parts(told: Message) -> tuple[str, str]:
    """(reasoning, prose) of content into which a client wrote the reasoning, between the usual tags."""
    text: str = told["content"].strip()
    reasoning, ended, rest = text.removeprefix("<think>").partition("</think>")
    return (reasoning.strip(), rest.strip()) if ended and text.startswith("<think>") else ("", text)


def same(recorded: Message, told: Message) -> bool:
    """Whether `told` (from a client) is `recorded` (canonical, held here)."""
    if recorded["role"] != told["role"]:
        return False
    if recorded["role"] != "assistant":
        return bool(recorded["content"].strip() == told["content"].strip())
    reasoning, content = told.get("reasoning", "").strip(), told["content"].strip()
    if recorded["content"].strip() != content:
        written, prose = _parts(told)
        if recorded["content"].strip() != prose or (reasoning and written and reasoning != written):
            return False
        reasoning = reasoning or written
    if reasoning and reasoning != recorded.get("reasoning", "").strip():
        return False
    return _same_calls(recorded, told)


def joined(begun: Message, rest: Message) -> Message:
    """A prefilled turn as one message: what the client began and what the policy went on with."""
    return {**rest, "content": begun["content"] + rest["content"]}


def remainder(whole: Message, begun: Message, read: Message) -> Message:
    """What the policy added to the message that the client had begun: its prose, and calls that were not there yet.

    `whole`: both, as read back; `read`: the beginning, as read back.
    """
    start, content = begun["content"].lstrip(), whole["content"]
    said = next((text for text in (start, start.rstrip(), read["content"]) if content.startswith(text)), "")
    rest = {**whole, "content": content.removeprefix(said)}
    calls, before = list(rest.pop("tool_calls", ())), list(read.get("tool_calls", ()))
    while calls and before and {**calls[0], "id": ""} == {**before.pop(0), "id": ""}:
        calls.pop(0)
    return rest | ({"tool_calls": calls} if calls else {})


def kept(message: Message) -> Message:
    """A sampled message as it goes on record: a call that says what no JSON can is malformed, and stays visible."""
    for call in message.get("tool_calls") or ():
        if why := unusable([call["name"], call["arguments"]]) or unusable([call["raw"], call.get("text", "")]):
            call.update({key: legible(call[key]) for key in ("name", "raw", "text", "native") if call.get(key)})
            call.update(arguments={}, invalid=call.get("invalid") or why)
    return message


def describe(recorded: Message, told: Message | None) -> str:
    """One line that says where the two part."""
    if told is None:
        return f"the recorded {recorded['role']} message is missing"
    if recorded["role"] != told["role"]:
        return f"role {recorded['role']} became {told['role']}"
    old, new = recorded["content"].strip(), told["content"].strip()
    if old != new:
        at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        return f"content differs at character {at}: {old[at : at + 24]!r} became {new[at : at + 24]!r}"
    if not _same_calls(recorded, told):
        return "its tool calls differ"
    return "reasoning differs"
