"""Reading a sealed episode: its records, token arrays, changed files and final service state. Read-only.

Invariant: what cannot be read is raised as Unreadable, naming the file and what to type: a seal vouches for bytes.
"""

import json
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from journeyman.records.base import Record
from journeyman.records.episode import Episode
from journeyman.records.turn import AgentRun, Segment, Span, ToolEvent, Turn
from journeyman.store.atomic import read_lines
from journeyman.store.experts import experts_file, read_experts
from journeyman.store.reading import Unreadable, read_record, read_records, reading, recheck
from journeyman.store.seal import read_seal, seal_digest, verify_seal
from journeyman.store.token_log import TokenArrays, read_tokens

T = TypeVar("T")
_Tables = dict[str, dict[str, list[dict[str, Any]]]]  # service -> table -> rows
_DELETED = TypeAdapter(tuple[str, ...])
_SERVICES = TypeAdapter(_Tables)


class SegmentTokens(NamedTuple):
    """One segment, exactly as the model saw it. Arrays of equal length T."""

    ids: npt.NDArray[np.int32]  # [T]
    mask: npt.NDArray[np.uint8]  # [T], 1 iff sampled by the policy (or scripted expert) in this segment
    logprobs: npt.NDArray[np.float32]  # [T], NaN where mask is 0 or the source gave none
    versions: npt.NDArray[np.int32]  # [T], -1 where mask is 0


def _spans(turn: Turn) -> list[tuple[Span, bool]]:
    spans = [(turn.context, False), (turn.sampled, True)]
    return [*spans, (turn.closing, False)] if turn.closing else spans


class SealedEpisode:
    """A sealed episode directory. `open` verifies the seal first unless told otherwise."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @classmethod
    def open(cls, directory: Path, verify: bool = True) -> "SealedEpisode":
        """Open after checking every byte (or only that a seal is there). Raises SealBroken."""
        if verify:
            verify_seal(directory)
        else:
            read_seal(directory)
        return cls(directory)

    @cached_property
    def seal_digest(self) -> str:
        """Identity of the sealed bytes."""
        return seal_digest(self.directory)

    @cached_property
    def episode(self) -> Episode:
        """The header."""
        return read_record(self.directory / "episode.json", Episode, recheck(self.directory))

    def _records(self, name: str, kind: type[Any]) -> tuple[Any, ...]:
        return read_records(self.directory / name, kind, recheck(self.directory))

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """All turns in the order they were recorded."""
        return self._records("turns.jsonl", Turn)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """All segments."""
        return self._records("segments.jsonl", Segment)

    @cached_property
    def runs(self) -> tuple[AgentRun, ...]:
        """All agent runs."""
        return self._records("runs.jsonl", AgentRun)

    @cached_property
    def dispatch(self) -> tuple[ToolEvent, ...]:
        """Tool calls as the harness dispatched them."""
        return self._records("dispatch.jsonl", ToolEvent)

    @cached_property
    def tokens(self) -> TokenArrays:
        """All token arrays of the episode."""
        with reading(self.directory / "tokens.i32", recheck(self.directory)):
            return read_tokens(self.directory)

    def segment_experts(self, run: int, segment: int) -> npt.NDArray[np.uint16] | None:
        """Routed experts [T - 1, layers, top_k] of a segment's positions, in order; None where none were recorded.

        Raises ValueError where a position between recorded ones has none.
        """
        spans = [(t.experts_from, t.experts) for t in self.segment_turns(run, segment) if t.experts]
        path, rows = experts_file(self.directory), 0
        if not spans or path is None:
            return None
        held = read_experts(path)
        for start, span in spans:
            if start != rows or span.end > len(held):
                raise ValueError(f"segment {run}.{segment}: rows from position {start}, {rows} are held")
            rows += span.end - span.start
        return np.concatenate([held[span.start : span.end] for _, span in spans])

    @cached_property
    def deleted(self) -> tuple[str, ...]:
        """World files the episode deleted."""
        return self._json("deleted.json", _DELETED, ())

    @cached_property
    def services(self) -> _Tables:
        """Final state: service -> table -> rows; empty where the task has no services."""
        return self._json("services.json", _SERVICES, {})

    def ledger_lines(self) -> list[bytes]:
        """The services' append-only ledger, one canonical JSON entry a line."""
        return read_lines(self.directory / "service_ledger.jsonl")

    def ledger(self, kind: type[Record]) -> tuple[Any, ...]:
        """The services' ledger as records of `kind` (services.base.LedgerEntry)."""
        return self._records("service_ledger.jsonl", kind)

    @cached_property
    def written(self) -> dict[str, Path]:
        """Files the episode created or changed: path relative to /workspace -> sealed copy."""
        base = self.directory / "workspace"
        if not base.exists():
            return {}
        return {p.relative_to(base).as_posix(): p for p in sorted(base.rglob("*")) if p.is_file()}

    def workspace_file(self, path: str) -> bytes | None:
        """A created or changed file's content; None where the episode did not write it."""
        found = self.written.get(path)
        return None if found is None else found.read_bytes()

    def _json(self, name: str, shape: TypeAdapter[T], absent: T) -> T:
        path = self.directory / name
        with reading(path, recheck(self.directory)):
            return shape.validate_python(json.loads(path.read_bytes())) if path.exists() else absent

    def segment_turns(self, run: int, segment: int) -> tuple[Turn, ...]:
        """The turns of one segment in order, orphans left out (their tokens never entered the history)."""
        return tuple(t for t in self.turns if t.run == run and t.segment == segment and not t.orphan)

    def segment_tokens(self, run: int, segment: int) -> SegmentTokens:
        """Concatenated spans of a segment: exact ids, sampled-only mask, log-probs and versions."""
        spans = [s for turn in self.segment_turns(run, segment) for s in self._inside(turn)]
        index = [np.arange(s.start, s.end) for s, _ in spans]
        where = np.concatenate(index) if index else np.zeros(0, dtype=np.int64)
        mask = [np.full(s.end - s.start, sampled, dtype=np.uint8) for s, sampled in spans]
        return SegmentTokens(
            ids=self.tokens.ids[where],
            mask=np.concatenate(mask) if mask else np.zeros(0, dtype=np.uint8),
            logprobs=self.tokens.logprobs[where],
            versions=self.tokens.versions[where],
        )

    def _inside(self, turn: Turn) -> list[tuple[Span, bool]]:
        """Its spans. Raises Unreadable where one is not within the token arrays."""
        spans, length = _spans(turn), len(self.tokens.ids)
        for span, _ in spans:
            if not 0 <= span.start <= span.end <= length:
                what = f"turn {turn.turn_id} has a span [{span.start}, {span.end}) of {length} ids"
                path = self.directory / "turns.jsonl"
                raise Unreadable(f"{path} is unreadable: {what}", recheck(self.directory))
        return spans
