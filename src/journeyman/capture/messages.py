"""When a client's message is the one on record: the same meaning in another spelling is the same; anything else is not.

Clients drop reasoning, reorder JSON keys, rename call ids, null empty content and strip white space. The gateway holds
the canonical message and its ids, so none of that changes what the model saw.
"""

from journeyman.tokens.base import Message


def _same_calls(recorded: Message, told: Message) -> bool:
    """Equal names and argument values in order; a malformed call is its raw text."""
    ours, theirs = recorded.get("tool_calls") or (), told.get("tool_calls") or ()
    return len(ours) == len(theirs) and all(
        a["raw"].strip() == b["raw"].strip()
        if a.get("invalid")
        else (a["name"], a["arguments"]) == (b["name"], b["arguments"])
        for a, b in zip(ours, theirs, strict=True)
    )


def same(recorded: Message, told: Message) -> bool:
    """Whether `told` (from a client) is `recorded` (canonical, held here)."""
    if recorded["role"] != told["role"] or recorded["content"].strip() != told["content"].strip():
        return False
    if recorded["role"] != "assistant":
        return True
    reasoning = told.get("reasoning")
    if reasoning and reasoning.strip() != recorded.get("reasoning", "").strip():
        return False
    return _same_calls(recorded, told)


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
