"""A segment while it grows: its exact ids, its canonical history, and how far a client's history agrees with it.

Sampled ids enter `ids` as they were sampled and never leave, but for a turn whose client had gone before it was told.
"""

import hashlib
import marshal
import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from typing import Any, Literal

from journeyman.capture.messages import PREFILL, alike, joined, same
from journeyman.capture.told import NOTHING_TOLD, Told, spelling
from journeyman.records.base import canonical_json, sha256_hex
from journeyman.records.turn import AgentRun, Segment
from journeyman.tokens.base import Message

Opening = Literal["start", "summary", "pruning", "tools_changed", "branch"]
Canonical = Callable[[Any], Message]


@lru_cache(maxsize=256)
def _tools_digest(marshalled: bytes) -> str:
    """Digest of tool schemas, remembered: an agent offers the same ones in every episode."""
    return sha256_hex(canonical_json(marshal.loads(marshalled)))


def _answered(results: Sequence[Message]) -> list[tuple[str, str]]:
    """(the call's id, what came of it) of tool results, in no order; of any other message, its text."""
    return sorted((message.get("tool_call_id", ""), message["content"].strip()) for message in results)


class Entry:
    """One message of the history: canonical, and the hash of how a client last spelled it (b"": not told yet)."""

    __slots__ = ("message", "spelled")

    def __init__(self, message: Message, spelled: bytes = b"") -> None:
        self.message = message
        self.spelled = spelled


@dataclass(frozen=True)
class Mark:
    """How much of a lineage there was at a turn's end, and what its client had told to get that turn."""

    entries: int
    ids: int
    sha256: Any  # running hash of ids[:ids]
    crc: int  # of the same
    told: Told
    expert_rows: int = 0  # positions whose routed experts are on record


_START = Mark(0, 0, hashlib.sha256(), 0, NOTHING_TOLD)


class Lineage:
    """One segment's live state. `closed`: a rewrite or a new tool schema followed it; it does not grow any more."""

    def __init__(self, run: int, index: int, opened_by: Opening, tools: list[dict[str, Any]]) -> None:
        self.run = run
        self.index = index
        self.opened_by = opened_by
        self.tools = tools
        self._tools_to_come = False  # reopened: only their digest is on record
        self._offered = marshal.dumps(tools, 2)  # as last spelled
        self.tools_digest = _tools_digest(self._offered)
        self.ids: array[int] = array("i")
        self.entries: list[Entry] = []
        self.marks: list[Mark] = []
        self.predecessor: int | None = None
        self.prefix_before = ""
        self.prefix_after = ""
        self.summary_by: Literal["policy", "harness"] | None = None
        self.untrainable = ""  # reason; "" while trainable
        self.busy = False  # a call on it is in flight
        self.closed = False
        self.unconfirmed: Any = None  # the last turn's Call, until a client's history shows that it was seen

    @classmethod
    def reopened(cls, record: Segment) -> "Lineage":
        """A segment as its record says, without its turns."""
        lineage = cls(record.run, record.index, record.opened_by, [])
        lineage._tools_to_come, lineage.tools_digest = True, record.tools_digest
        lineage.predecessor, lineage.summary_by = record.predecessor, record.summary_by
        lineage.prefix_before, lineage.prefix_after = record.prefix_before, record.prefix_after
        lineage.untrainable = record.untrainable_reason
        return lineage

    @property
    def end(self) -> Mark:
        """The last turn's end."""
        return self.marks[-1] if self.marks else _START

    def agreement(
        self, items: Sequence[Any], hashes: Mapping[int, bytes], canonical: Canonical, most: int | None = None
    ) -> tuple[int, int]:
        """(recorded entries, items) that agree, from the first on. `hashes`: told.rolling of items. Raises Refusal.

        `most`: of the recorded entries, no more than these are looked at.
        """
        entries = len(self.entries) if most is None else most
        entry, item = 0, 0
        for mark in (self.end, *self.marks[-2:-1]):  # the turn before: where the last one is told again
            told = mark.told
            if 0 < told.entries <= entries and hashes.get(told.items) == told.digest:
                entry, item = told.entries, told.items
                break
        while entry < entries and item < len(items):
            if step := self._agrees(entry, items[item], canonical):
                entry, item = entry + step, item + 1
            elif block := self._answers(entry, entries, items[item:], canonical):
                entry, item = entry + block, item + block
            else:
                break
        return entry, item

    def _agrees(self, at: int, item: Any, canonical: Canonical) -> int:
        """How many entries from `at` on one item stands for: 2 where it joins what its client had begun; 0 for none."""
        entry, spelled = self.entries[at], spelling(item)
        if entry.spelled == spelled:
            return 1
        told = canonical(item)
        if same(entry.message, told):
            entry.spelled = spelled
            return 1
        after = self.entries[at + 1].message if at + 1 < len(self.entries) else None
        return 2 if after and entry.message.get(PREFILL) and same(joined(entry.message, after), told) else 0

    def _answers(self, at: int, entries: int, items: Sequence[Any], canonical: Canonical) -> int:
        """How many tool results from `at` on are those that these items tell in another order; 0 where they are not."""
        recorded = [
            entry.message for entry in takewhile(lambda e: e.message["role"] == "tool", self.entries[at:entries])
        ]
        told = [canonical(item) for item in items[: len(recorded)]] if len(recorded) > 1 else []
        return len(recorded) if told and _answered(recorded) == _answered(told) else 0

    def mark_before(self, entries: int) -> Mark | None:
        """The last turn's end at or before that many entries; None where no turn had ended."""
        return next((mark for mark in reversed(self.marks) if mark.entries <= entries), None)

    def offers(self, tools: list[dict[str, Any]]) -> bool:
        """Whether these are its tools."""
        spelled = marshal.dumps(tools, 2)
        if self._tools_to_come:
            self._tools_to_come = _tools_digest(spelled) != self.tools_digest
            if not self._tools_to_come:
                self.tools, self._offered = tools, spelled
        if self._tools_to_come or (spelled != self._offered and not alike(tools, self.tools)):
            return False
        self._offered = spelled
        return True

    def advance(self, messages: Sequence[Entry], ids: Sequence[int], told: Told, expert_rows: int = 0) -> None:
        """Append a finished turn: its new messages, the assistant's, and all its ids."""
        before = self.end
        self.entries.extend(messages)
        self.ids.extend(ids)
        new = memoryview(self.ids)[before.ids :]
        sha256 = before.sha256.copy()
        sha256.update(new)
        self.marks.append(
            Mark(len(self.entries), len(self.ids), sha256, zlib.crc32(new, before.crc), told, expert_rows)
        )

    def roll_back(self) -> None:
        """Forget the last turn (it stays in the log, as an orphan)."""
        self.marks.pop()
        del self.entries[self.end.entries :]
        del self.ids[self.end.ids :]
        self.unconfirmed = None

    def digest(self) -> str:
        """sha256 hex of the recorded ids (little-endian int32)."""
        return str(self.end.sha256.hexdigest())

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
            tools_digest=self.tools_digest,
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
