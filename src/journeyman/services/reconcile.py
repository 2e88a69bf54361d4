"""Ledger and dispatch log must tell the same story, both ways (G-10); a difference is reported, never repaired."""

from collections import defaultdict
from collections.abc import Collection, Sequence

from journeyman.records.turn import ToolEvent
from journeyman.services.base import LedgerEntry


def reconcile(
    ledger: Sequence[LedgerEntry],
    dispatch: Sequence[ToolEvent],
    services: Collection[str],
    *,
    inside_box: bool = False,
) -> tuple[str, ...]:
    """What does not agree, one line each; empty where everything does.

    `dispatch` is the harness's log; its dispatched calls of service__tool with service in `services` must each have
    exactly one entry under their call id, with the same tool and arguments, and in the same order. `inside_box` permits
    entries without a call id (calls made over MCP, HTTP or CLI from inside the box, which no harness dispatched).
    """
    problems = [
        f"ledger entry {index} has sequence number {entry.seq}: rows are missing or were reordered"
        for index, entry in enumerate(ledger)
        if entry.seq != index
    ][:1]
    waiting: dict[str, list[LedgerEntry]] = defaultdict(list)
    for entry in ledger:
        if entry.call_id:
            waiting[entry.call_id].append(entry)
        elif not inside_box:
            problems.append(f"{_say(entry)} was not dispatched by the harness")
    last = -1
    for event in dispatch:
        service, _, tool = event.tool.partition("__")
        if not event.dispatched or not tool or service not in services:
            continue
        entries = waiting[event.call_id]
        if not entries:
            problems.append(f"call {event.call_id} of {event.tool} has no ledger entry")
            continue
        entry = entries.pop(0)
        if (entry.service, entry.tool, entry.arguments) != (service, tool, event.arguments):
            problems.append(f"call {event.call_id} of {event.tool} {event.arguments} is in the ledger as {_say(entry)}")
        if entry.seq < last:
            problems.append(f"{_say(entry)} is out of dispatch order")
        last = entry.seq
    problems += [
        f"{_say(entry)} under call {entry.call_id} was not dispatched by the harness"
        for entries in waiting.values()
        for entry in entries
    ]
    return tuple(problems)


def _say(entry: LedgerEntry) -> str:
    return f"ledger entry {entry.seq}: {entry.service}__{entry.tool} {entry.arguments} ({entry.outcome})"
