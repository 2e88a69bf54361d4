"""A segment while it grows: its exact ids, its canonical history, and how far a client's history agrees with it.

Sampled ids enter `ids` as they were sampled and never leave, but for a turn whose client had gone before it was told.
"""

import hashlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from journeyman.capture.messages import same
from journeyman.records.base import canonical_json, sha256_hex
from journeyman.records.turn import AgentRun, Segment
from journeyman.tokens.base import Message

Opening = Literal["start", "summary", "pruning", "tools_changed", "branch"]
Canonical = Callable[[Any], Message]


class Entry:
    """One message of the history: canonical, and the raw item a client last told it as (None: not told yet)."""

    __slots__ = ("message", "raw")

    def __init__(self, message: Message, raw: Any = None) -> None:
        self.message = message
        self.raw = raw


@dataclass(frozen=True)
class Mark:
    """How much of a lineage there was at a turn's end."""

    entries: int
    ids: int
    sha256: Any  # running hash of ids[:ids]


class Lineage:
    """One segment's live state. `closed`: a rewrite or a new tool schema followed it; it does not grow any more."""

    def __init__(self, run: int, index: int, opened_by: Opening, tools: list[dict[str, Any]]) -> None:
        self.run = run
        self.index = index
        self.opened_by = opened_by
        self.tools = tools
        self._tools_digest = sha256_hex(canonical_json(tools))
        self.ids: array[int] = array("i")
        self.entries: list[Entry] = []
        self.marks: list[Mark] = []
        self.sha256 = hashlib.sha256()  # of the recorded ids, advanced turn by turn
        self.recorded = 0  # how many ids that hash covers
        self.predecessor: int | None = None
        self.prefix_before = ""
        self.prefix_after = ""
        self.summary_by: Literal["policy", "harness"] | None = None
        self.untrainable = ""  # reason; "" while trainable
        self.busy = False  # a call on it is in flight
        self.closed = False
        self.unconfirmed: Any = None  # the last turn's Call, until a client's history shows that it was seen

    def common(self, items: Sequence[Any], canonical: Canonical) -> int:
        """How many leading entries the client's history agrees with. Raises Refusal."""
        for k, (entry, item) in enumerate(zip(self.entries, items, strict=False)):
            if entry.raw is not None and entry.raw == item:
                continue
            if not same(entry.message, canonical(item)):
                return k
            entry.raw = item
        return min(len(self.entries), len(items))

    def mark_before(self, entries: int) -> Mark | None:
        """The last turn's end at or before that many entries; None where no turn had ended."""
        return next((mark for mark in reversed(self.marks) if mark.entries <= entries), None)

    def advance(self, messages: Sequence[Entry], ids: Sequence[int]) -> None:
        """Append a finished turn: its new messages, the assistant's, and all its ids."""
        self.entries.extend(messages)
        self.ids.extend(ids)
        self.sha256.update(memoryview(self.ids)[self.recorded :])
        self.recorded = len(self.ids)
        self.marks.append(Mark(len(self.entries), self.recorded, self.sha256.copy()))

    def roll_back(self) -> None:
        """Forget the last turn (it stays in the log, as an orphan)."""
        self.marks.pop()
        before = self.marks[-1] if self.marks else Mark(0, 0, hashlib.sha256())
        del self.entries[before.entries :]
        del self.ids[before.ids :]
        self.sha256, self.recorded = before.sha256.copy(), before.ids
        self.unconfirmed = None

    def digest(self) -> str:
        """sha256 hex of the recorded ids (little-endian int32)."""
        return str(self.sha256.hexdigest())

    def record(self, taint: str) -> Segment:
        """What segments.jsonl says. `taint` is the run's reason, if any."""
        reason = self.untrainable or taint
        return Segment(
            run=self.run,
            index=self.index,
            opened_by=self.opened_by,
            predecessor=self.predecessor,
            prefix_before=self.prefix_before,
            prefix_after=self.prefix_after,
            summary_by=self.summary_by,
            tools_digest=self._tools_digest,
            trainable=not reason,
            untrainable_reason=reason,
        )


@dataclass
class Run:
    """One policy loop: its lineages in the order they opened."""

    record: AgentRun
    lineages: list[Lineage] = field(default_factory=list)
    next_segment: int = 0
    next_turn: int = 0
    last_turn: str | None = None
    untrainable: str = ""  # reason that holds for every segment of the run
    written: bool = False

    def register(self, lineage: Lineage) -> None:
        """Add a new lineage as the current one."""
        self.lineages.append(lineage)
        self.next_segment = lineage.index + 1

    def discard(self, lineage: Lineage) -> None:
        """Take back a lineage whose first call failed; its predecessor may go on."""
        self.lineages.remove(lineage)
        if lineage.index == self.next_segment - 1:
            self.next_segment = lineage.index
        for other in self.lineages:
            if other.index == lineage.predecessor and lineage.opened_by != "branch":
                other.closed = False
