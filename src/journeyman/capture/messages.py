"""When a client's message is the one on record: the same meaning in another spelling is the same; anything else is not.

Clients drop reasoning, reorder JSON keys, rename call ids, null empty content and strip white space. The gateway holds
the canonical message and its ids, so none of that changes what the model saw.
"""

from journeyman.tokens.base import Message

INSTRUCTIONS = "instructions"  # key of a system message that holds for its own call and is not carried over
PREFILL = "prefill"  # key of an assistant message that the client began and the policy went on with


def _same_calls(recorded: Message, told: Message) -> bool:
    """Equal names and argument values in order; a malformed call is its raw text."""
    ours, theirs = recorded.get("tool_calls") or (), told.get("tool_calls") or ()
    return len(ours) == len(theirs) and all(
        a["raw"].strip() == b["raw"].strip()
        if a.get("invalid")
        else (a["name"], a["arguments"]) == (b["name"], b["arguments"])
        for a, b in zip(ours, theirs, strict=True)
    )


def _prose(told: Message) -> str:
    """Its content; reasoning that a client wrote into it, between the usual tags, is not prose."""
    text: str = told["content"].strip()
    if text.startswith("<think>"):
        _, ended, rest = text.partition("</think>")
        return rest.strip() if ended else text
    return text


def same(recorded: Message, told: Message) -> bool:
    """Whether `told` (from a client) is `recorded` (canonical, held here)."""
    if recorded["role"] != told["role"]:
        return False
    if recorded["role"] != "assistant":
        return bool(recorded["content"].strip() == told["content"].strip())
    if recorded["content"].strip() not in (told["content"].strip(), _prose(told)):
        return False
    reasoning = told.get("reasoning")
    if reasoning and reasoning.strip() != recorded.get("reasoning", "").strip():
        return False
    return _same_calls(recorded, told)


def joined(begun: Message, rest: Message) -> Message:
    """A prefilled turn as one message: what the client began and what the policy went on with."""
    return {**rest, "content": begun["content"] + rest["content"]}


def remainder(whole: Message, begun: Message) -> Message:
    """What the policy added to the message that the client had begun. `whole`: both, as read back."""
    start, content = begun["content"].lstrip(), whole["content"]
    if not content.startswith(start):
        start = start.rstrip()
    return {**whole, "content": content.removeprefix(start)}


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
