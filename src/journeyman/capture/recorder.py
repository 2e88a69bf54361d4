"""The episode's capture log: a turn is on disk, tokens first, before its reply's last byte is sent.

The append invariant (this prompt = the recorded prefix + newly rendered ids) is checked on the id arrays themselves.
"""

import hashlib
import json
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from journeyman.capture.draw import Sampled
from journeyman.capture.lineage import Lineage, Run
from journeyman.capture.segments import Placement
from journeyman.engines.base import SampleRequest
from journeyman.engines.routes import Routes
from journeyman.errors import CaptureFailure, Failure
from journeyman.records.base import Record, canonical_json
from journeyman.records.turn import Span, Turn
from journeyman.store.append import AppendFile
from journeyman.store.atomic import read_lines, write_atomic
from journeyman.store.experts import expert_row_bytes, experts_name
from journeyman.store.token_log import TokenLog

DELIVERED = "delivered.log"  # ids of turns that a client was sent; only while the episode is open
FAILED = "failed.log"  # the same once the episode has failed, and why (!JSON); until the header says it


@dataclass(frozen=True)
class Captured:
    """What an episode's capture amounts to, at its close. Counts are over turns told to a client."""

    turns: int
    prompt_tokens: int  # summed over calls, as a provider would bill them (cached included)
    cached_tokens: int
    sampled_tokens: int
    tool_calls: int
    invalid_calls: int  # malformed, or naming a tool the request did not offer
    segments: int
    runs: int
    orphans: int
    engine_seconds: float
    trainable: bool
    untrainable_reason: str
    failure: Failure | None


@dataclass
class _Counts:
    prompt: int
    cached: int
    sampled: int
    calls: int
    invalid: int
    seconds: float
    orphan: bool


class Recorder:
    """The open log of one episode. Raises CaptureFailure where its directory has one already.

    `resume`: a log that an earlier gateway left is gone on with, after `reopen.reopen` put it in order. `resumable`:
    it is noted which turns a client was sent, for a gateway that may have to go on with this one's log.
    """

    def __init__(self, directory: Path, resume: bool = False, resumable: bool = False) -> None:
        self._directory = directory
        if not resume and (directory / "turns.jsonl").exists():
            raise CaptureFailure("already_recorded", f"{directory} holds turns of an earlier attempt")
        self._tokens = TokenLog(directory)
        self._turns = AppendFile(directory / "turns.jsonl")
        self._segments = AppendFile(directory / "segments.jsonl")
        self._runs = AppendFile(directory / "runs.jsonl")
        told = FAILED if (directory / FAILED).exists() else DELIVERED
        self._told = AppendFile(directory / told) if resumable else None
        self._experts: AppendFile | None = None
        self._expert_rows = self._row_bytes = 0
        self._counts: dict[str, _Counts] = {}
        self._amended: set[str] = set()
        self._segment_lines = (directory / "segments.jsonl").read_bytes()
        self.closed = False
        self.broken: CaptureFailure | None = None  # the disk failed it: nothing is recorded any more

    def commit(
        self,
        run: Run,
        placement: Placement,
        sampled: Sampled,
        sample: SampleRequest,
        *,
        model: str,
        orphan: bool,
        body_crc32: int = 0,
    ) -> Turn:
        """Write one turn, all of it or nothing.

        Raises CaptureFailure where the prompt is not an append, the log is closed, or the disk does not take it.
        """
        if self.closed:
            raise CaptureFailure("slot_closed", f"turn {sample.turn_id} ended after its episode was closed")
        if self.broken is not None:
            raise self.broken
        self._assert_append(placement)
        if sampled.routes is not None and sampled.routes.start != placement.lineage.end.expert_rows:
            text = f"rows from position {sampled.routes.start}, {placement.lineage.end.expert_rows} are recorded"
            raise CaptureFailure("experts", text)
        with self._whole(run):
            turn = self._write_turn(run, placement, sampled, sample, model, orphan, body_crc32)
        if turn.experts:
            self._expert_rows = turn.experts.end
        run.next_turn += 1
        self.count(turn)
        return turn

    @contextmanager
    def _whole(self, run: Run) -> Iterator[None]:
        """What is written meanwhile stays, or none of it does. Raises CaptureFailure("disk") where there is no room."""
        files = [(file, file.size) for file in (self._turns, self._segments, self._runs)]
        length, lines, written, done = self._tokens.length, self._segment_lines, run.written, False
        try:
            yield
            done = True
        except OSError as error:
            self.broken = _unwritten(error)
            raise self.broken from None
        finally:
            if not done:
                self._segment_lines, run.written = lines, written
                for file, size in files:
                    file.cut(size)
                self._tokens.cut(length)
                if self._experts is not None:
                    self._experts.cut(self._expert_rows * self._row_bytes)

    def _write_turn(
        self,
        run: Run,
        placement: Placement,
        sampled: Sampled,
        sample: SampleRequest,
        model: str,
        orphan: bool,
        body_crc32: int,
    ) -> Turn:
        """Ids, the segment that it opens, and the turn itself last."""
        lineage = placement.lineage
        (context, drawn, closing), checksums = self._append(placement.context, sampled)
        if placement.opens and not orphan:
            lineage.prefix_after = hashlib.sha256(placement.prompt).hexdigest()
            self._open_segment(run, lineage)
        calls = sampled.message.get("tool_calls") or ()
        offered = {tool.get("function", {}).get("name") for tool in lineage.tools}
        turn = Turn(
            turn_id=sample.turn_id,
            run=lineage.run,
            segment=lineage.index,
            index=run.next_turn,
            context=context,
            sampled=drawn,
            closing=closing,
            prompt_tokens=len(placement.prompt),
            finish_reason=sampled.finish_reason,
            source=sampled.source,
            trainable=not (orphan or lineage.untrainable or sampled.source == "hosted"),
            untrainable_reason=lineage.untrainable or ("its client had gone" if orphan else ""),
            message=sampled.message,
            new_messages=tuple(entry.message for entry in placement.new),
            request={**sample.sampling.model_dump(), "seed": sample.seed},
            model=model,
            seconds=sampled.seconds,
            orphan=orphan,
            invalid_calls=sum(bool(c.get("invalid")) or c["name"] not in offered for c in calls),
            body_crc32=body_crc32,
            experts=self._append_experts(sampled.routes),
            experts_from=lineage.end.expert_rows if sampled.routes else 0,
            crc32=checksums,
        )
        _write(self._turns, turn)
        return turn

    def count(self, turn: Turn) -> None:
        """Take a recorded turn into the counts."""
        self._counts[turn.turn_id] = _Counts(
            prompt=turn.prompt_tokens,
            cached=turn.prompt_tokens - (turn.context.end - turn.context.start),
            sampled=turn.sampled.end - turn.sampled.start,
            calls=len(turn.message.get("tool_calls") or ()),
            invalid=turn.invalid_calls,
            seconds=turn.seconds,
            orphan=turn.orphan,
        )

    def delivered(self, turn_id: str) -> None:
        """A client was sent all of the turn: its reply is not in doubt if this process dies now."""
        if self._told is not None and not self.closed:
            try:
                self._told.write(turn_id.encode() + b"\n")
            except OSError as error:
                self.broken = self.broken or _unwritten(error)

    def failed(self, failure: Failure) -> None:
        """The episode has failed: so says its log, should another gateway go on with it."""
        if self._told is None or self.closed:
            return
        said = {"layer": failure.layer, "cause": failure.cause, "detail": failure.detail}
        with suppress(OSError):  # a full disk has no room for the words; it has for another name
            (self._directory / DELIVERED).replace(self._directory / FAILED)
            self._told.write(b"!" + canonical_json(said) + b"\n")

    def _assert_append(self, placement: Placement) -> None:
        """Law 3 on the real arrays: the recorded prefix, then the new ids, and nothing else, is the prompt."""
        end, prompt, context = placement.lineage.end, memoryview(placement.prompt), placement.context
        held = end.ids
        if held + len(context) != len(prompt):
            raise CaptureFailure(
                "append_invariant", f"{held} recorded + {len(context)} new ids, prompt has {len(prompt)}"
            )
        if zlib.crc32(prompt[:held]) != end.crc or prompt[held:] != memoryview(context):
            raise CaptureFailure("append_invariant", "the prompt does not begin with the recorded ids")

    def _append(
        self, context: "array[int]", sampled: Sampled
    ) -> tuple[tuple[Span, Span, Span | None], tuple[int, int, int]]:
        """One write per column for the whole turn; returns where its parts lie, and each column's checksum."""
        before, drawn, after = len(context), len(sampled.ids), len(sampled.closing)
        ids = context + sampled.ids + array("i", sampled.closing)
        logprobs = _padded(before, sampled.logprobs, after, float("nan"), "<f4")
        versions = _padded(before, sampled.versions, after, -1, "<i4")
        start = self._tokens.append(ids, logprobs, versions).start  # type: ignore[arg-type]
        spans = [Span(start=start, end=start + before), Span(start=start + before, end=start + before + drawn)]
        end = spans[1].end
        placed = (spans[0], spans[1], Span(start=end, end=end + after) if after else None)
        return placed, (zlib.crc32(ids), zlib.crc32(logprobs.data), zlib.crc32(versions.data))

    def _append_experts(self, routes: Routes | None) -> Span | None:
        """Where the turn's rows lie; None where it has none."""
        if routes is None:
            return None
        if self._experts is None:
            shape = routes.shape
            path = self._directory / experts_name(shape.layers, shape.top_k, shape.experts)
            self._experts, self._row_bytes = AppendFile(path), expert_row_bytes(path)
            self._expert_rows = self._experts.size // self._row_bytes
        self._experts.write(routes.data)
        return Span(start=self._expert_rows, end=self._expert_rows + routes.rows)

    def _open_segment(self, run: Run, lineage: Lineage) -> None:
        if not run.written:
            _write(self._runs, run.record)
            run.written = True
        line = lineage.record(run.untrainable).canonical() + b"\n"
        self._segments.write(line)
        self._segment_lines += line

    def orphan(self, turn_id: str) -> None:
        """The client never saw this turn: it stays, and is never trained. The log is amended at the close."""
        self._counts[turn_id].orphan = True
        self._amended.add(turn_id)

    def close(self, runs: list[Run], failure: Failure | None) -> Captured:
        """Close the files; nothing is recorded after. Settles which turns were orphans and which segments train."""
        self.closed = True
        for file in (self._tokens, self._turns, self._segments, self._runs, self._told, self._experts):
            if file is not None:
                file.close()
        if self._told is not None:
            (self._directory / DELIVERED).unlink(missing_ok=True)  # what it said is in the turns from here on
        records = [lineage.record(run.untrainable) for run in runs for lineage in run.lineages]
        lines = b"".join(record.canonical() + b"\n" for record in records)
        if lines != self._segment_lines:  # a run turned out untrainable, or an untold turn had opened one
            write_atomic(self._directory / "segments.jsonl", lines)
        if self._amended:
            self._amend_turns()
        told = [c for c in self._counts.values() if not c.orphan]
        reasons = [r.untrainable_reason for r in records if not r.trainable]
        return Captured(
            turns=len(told),
            prompt_tokens=sum(c.prompt for c in told),
            cached_tokens=sum(c.cached for c in told),
            sampled_tokens=sum(c.sampled for c in told),
            tool_calls=sum(c.calls for c in told),
            invalid_calls=sum(c.invalid for c in told),
            segments=len(records),
            runs=len({record.run for record in records}),
            orphans=len(self._counts) - len(told),
            engine_seconds=sum(c.seconds for c in self._counts.values()),
            trainable=bool(records) and len(reasons) < len(records) and failure is None,
            untrainable_reason=reasons[0] if reasons else (str(failure) if failure else ""),
            failure=failure,
        )

    def _amend_turns(self) -> None:
        path = self._directory / "turns.jsonl"
        lines = []
        for line in read_lines(path):
            turn = json.loads(line)
            if turn["turn_id"] in self._amended:
                turn |= {"orphan": True, "trainable": False}
                turn["untrainable_reason"] = turn["untrainable_reason"] or "its client had gone"
                line = json.dumps(turn, ensure_ascii=False, separators=(",", ":")).encode()
            lines.append(line + b"\n")
        write_atomic(path, b"".join(lines))


def _padded(before: int, middle: "array[Any]", after: int, fill: float, dtype: str) -> npt.NDArray[Any]:
    column = np.full(before + len(middle) + after, fill, dtype=dtype)
    column[before : before + len(middle)] = np.frombuffer(middle, dtype=middle.typecode) if len(middle) else ()
    return column


def _unwritten(error: OSError) -> CaptureFailure:
    return CaptureFailure("disk", f"a turn could not be recorded: {error.strerror}")


def _write(file: AppendFile, record: Record) -> None:
    """One line in one write call."""
    file.write(record.model_dump_json().encode() + b"\n")
