"""Which segment a call belongs to: appended to one, or the opening of another for a declared reason.

Only what is new is rendered. A history that changed without a declared event is answered, kept, and untrainable, and so
is the whole run (K-05, K-06).
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from journeyman.capture.lineage import Canonical, Entry, Lineage, Mark, Opening, Run
from journeyman.capture.messages import describe
from journeyman.tokens.base import Message, Renderer


@dataclass(frozen=True)
class Declared:
    """What a client's headers say about this call's history."""

    event: Literal["", "summary", "pruning", "branch"] = ""
    summary_by: Literal["policy", "harness"] | None = None


NOTHING_DECLARED = Declared()


@dataclass(frozen=True)
class Placement:
    """Where a call's turn goes. `prompt` is exactly what the engine gets."""

    lineage: Lineage
    new: list[Entry]  # messages that `context` renders
    prompt: "array[int]"
    context: "array[int]"  # the end of prompt that no turn of this lineage has recorded
    opens: bool  # this call opens the lineage


def place(
    run: Run,
    items: Sequence[Any],
    tools: list[dict[str, Any]],
    canonical: Canonical,
    declared: Declared,
    renderer: Renderer,
) -> Placement:
    """Find or open the segment, rendering what is new. Raises Refusal, RenderError."""
    for lineage in list(run.lineages):
        _forget_untold(run, lineage, items, canonical, declared)
    if not run.lineages:
        return _open(run, "start", None, items, tools, canonical, renderer)
    if declared.event == "summary" or declared.event == "pruning":
        opened = _open(run, declared.event, run.lineages[-1], items, tools, canonical, renderer)
        opened.lineage.summary_by = declared.summary_by if declared.event == "summary" else None
        return opened
    lineage, agreed = _closest(run, items, canonical)
    whole = agreed == len(lineage.entries) and not lineage.busy and not lineage.closed
    if agreed == len(lineage.entries):
        lineage.unconfirmed = None  # the client tells our last reply back: it was seen
    if whole and tools == lineage.tools:
        return _append(lineage, items, canonical, renderer)
    if whole:
        return _open(run, "tools_changed", lineage, items, tools, canonical, renderer)
    branch = _branch(run, lineage, agreed, items, tools, canonical, renderer)
    if declared.event != "branch":
        reason = _divergence(lineage, agreed, items, canonical, branch, renderer)
        branch.lineage.untrainable = reason
        run.untrainable = run.untrainable or reason
    return branch


def _forget_untold(run: Run, lineage: Lineage, items: Sequence[Any], canonical: Canonical, declared: Declared) -> None:
    """Roll back a last turn whose client had gone, where the history told now does not know of it."""
    call = lineage.unconfirmed
    if call is None or call.delivered or lineage.busy:
        return
    before = lineage.marks[-2].entries if len(lineage.marks) > 1 else 0
    rewritten = declared.event in ("summary", "pruning") and lineage is run.lineages[-1]
    if rewritten or before <= lineage.common(items, canonical) < len(lineage.entries):
        call.orphan()
        lineage.roll_back()
        if not lineage.marks:
            run.discard(lineage)


def _closest(run: Run, items: Sequence[Any], canonical: Canonical) -> tuple[Lineage, int]:
    """The lineage that agrees furthest: one that can be appended to before one that cannot, then the newest."""
    best, most = run.lineages[-1], (-1, False)
    for lineage in reversed(run.lineages):
        agreed = lineage.common(items, canonical)
        rank = (agreed, agreed == len(lineage.entries) and not lineage.closed and not lineage.busy)
        if rank > most:
            best, most = lineage, rank
    return best, most[0]


def _entries(items: Sequence[Any], canonical: Canonical, known: Sequence[Entry]) -> list[Entry]:
    """New history entries; tool results learn the name of the tool they answer."""
    entries = [Entry(canonical(item), item) for item in items]
    if any(e.message["role"] == "tool" for e in entries):
        names: dict[str, str] = {}
        for entry in [*known[-1:], *entries]:
            names.update({c["id"]: c["name"] for c in entry.message.get("tool_calls") or () if c["name"]})
        for entry in entries:
            if name := names.get(entry.message.get("tool_call_id", "")):
                entry.message["name"] = name
    return entries


def _messages(entries: Sequence[Entry]) -> list[Message]:
    return [entry.message for entry in entries]


def _append(lineage: Lineage, items: Sequence[Any], canonical: Canonical, renderer: Renderer) -> Placement:
    new = _entries(items[len(lineage.entries) :], canonical, lineage.entries)
    context = array("i", renderer.extend(_messages(new), lineage.tools))
    return Placement(lineage, new, lineage.ids + context, context, opens=False)


def _open(
    run: Run,
    opened_by: Opening,
    predecessor: Lineage | None,
    items: Sequence[Any],
    tools: list[dict[str, Any]],
    canonical: Canonical,
    renderer: Renderer,
) -> Placement:
    """A segment that starts with a full render of the history as the client tells it."""
    lineage = Lineage(run.record.run, run.next_segment, opened_by, tools)
    new = _entries(items, canonical, ())
    prompt = array("i", renderer.start(_messages(new), tools))
    if predecessor is not None:
        lineage.predecessor = predecessor.index
        if opened_by != "branch":
            lineage.prefix_before, predecessor.closed = predecessor.digest(), True
    run.register(lineage)
    return Placement(lineage, new, prompt, prompt, opens=True)


def _branch(
    run: Run,
    parent: Lineage,
    agreed: int,
    items: Sequence[Any],
    tools: list[dict[str, Any]],
    canonical: Canonical,
    renderer: Renderer,
) -> Placement:
    """A segment that continues from an older turn's end, on that turn's own ids where tools and turn allow it."""
    mark: Mark | None = parent.mark_before(min(agreed, len(items) - 1))
    if mark is None or tools != parent.tools:
        return _open(run, "branch", parent, items, tools, canonical, renderer)
    lineage = Lineage(run.record.run, run.next_segment, "branch", parent.tools)
    lineage.predecessor, lineage.prefix_before = parent.index, str(mark.sha256.hexdigest())
    inherited = [Entry(e.message, e.raw) for e in parent.entries[: mark.entries]]
    new = _entries(items[mark.entries :], canonical, inherited)
    prompt = parent.ids[: mark.ids] + array("i", renderer.extend(_messages(new), lineage.tools))
    run.register(lineage)
    return Placement(lineage, [*inherited, *new], prompt, prompt, opens=True)


def _divergence(
    lineage: Lineage, agreed: int, items: Sequence[Any], canonical: Canonical, branch: Placement, renderer: Renderer
) -> str:
    """Why an undeclared change is one: the first differing message and token."""
    if agreed < len(lineage.entries):
        told = canonical(items[agreed]) if agreed < len(items) else None
        what = f"message {agreed}: {describe(lineage.entries[agreed].message, told)}"
    else:
        what = "the same history was continued twice" if lineage.busy else "a closed segment was continued"
    old, new = lineage.ids, branch.prompt
    at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    shown = [renderer.text(ids[at : at + 1].tolist()) if at < len(ids) else "" for ids in (old, new)]
    tokens = f"first differing token {at}: {shown[0]!r} became {shown[1]!r}"
    return f"history changed without a declared event: {what}; {tokens}"
