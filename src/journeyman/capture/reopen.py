"""An episode whose gateway was killed: its log put in order, and the state it was in. No recorded turn is lost.

A turn is written tokens first, so whatever follows the last whole turn belonged to a call in flight and goes.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from journeyman.capture.lineage import Entry, Lineage, Run
from journeyman.capture.recorder import DELIVERED, FAILED
from journeyman.capture.told import NOTHING_TOLD
from journeyman.errors import BY_LAYER, CaptureFailure, Failure
from journeyman.records.turn import AgentRun, Segment, Turn
from journeyman.store.atomic import read_lines, write_atomic
from journeyman.store.experts import expert_row_bytes, experts_file
from journeyman.store.token_log import TokenArrays, read_tokens

_ARRAYS = ("tokens.i32", "logprobs.f32", "versions.i32")


@dataclass
class Reopened:
    """Where an episode stood. `orphans`: turns that its history had gone on without."""

    turns: list[Turn] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    delivered: set[str] = field(default_factory=set)
    orphans: set[str] = field(default_factory=set)
    last: dict[str, Lineage] = field(default_factory=dict)  # by the turn that ends it
    ends: dict[str, tuple[Lineage, int]] = field(default_factory=dict)  # turn -> its lineage, entries up to its end
    failure: Failure | None = None  # that the earlier gateway met


def reopen(directory: Path) -> Reopened:
    """Put the log of an unsealed episode in order and read it. Raises CaptureFailure("log_broken")."""
    turns = _turns(directory)
    if not turns:
        for name in ("segments.jsonl", "runs.jsonl"):
            (directory / name).unlink(missing_ok=True)
    end = turns[-1].closing or turns[-1].sampled if turns else None
    for name in _ARRAYS:
        if (directory / name).exists():
            os.truncate(directory / name, end.end * 4 if end else 0)
    _cut_experts(directory, turns)
    found = Reopened(turns=turns, failure=_failure(directory))
    found.delivered = _delivered(directory, turns)
    if not turns:
        return found
    segments = {(s.run, s.index): s for s in map(Segment.parse, _lines(directory / "segments.jsonl"))}
    records = {r.run: r for r in map(AgentRun.parse, _lines(directory / "runs.jsonl"))}
    tokens = read_tokens(directory)
    runs = {number: Run(record, written=True) for number, record in sorted(records.items())}
    for key, record in sorted(segments.items()):
        _grow(found, runs[key[0]], record, tokens)
    for run in runs.values():
        _settle(found, run)
    found.runs = list(runs.values())
    return found


def _delivered(directory: Path, turns: list[Turn]) -> set[str]:
    """Turns that a client was sent; all that are no orphans, where the episode had been closed in order."""
    logs = [path for name in (DELIVERED, FAILED) if (path := directory / name).exists()]
    if not logs:
        return {turn.turn_id for turn in turns if not turn.orphan}
    return {line.decode() for path in logs for line in _lines(path)}


def _failure(directory: Path) -> Failure | None:
    """The first failure on record; where there was no room for its words, that there was one."""
    if not (directory / FAILED).exists():
        return None
    for line in _lines(directory / FAILED):
        if line.startswith(b"!"):
            said = json.loads(line[1:])
            return BY_LAYER[said["layer"]](said["cause"], said["detail"])
    return CaptureFailure("disk", "an earlier gateway had no room to say what failed")


def _cut_experts(directory: Path, turns: list[Turn]) -> None:
    """Rows that follow the last whole turn's go."""
    rows = max((turn.experts.end for turn in turns if turn.experts), default=0)
    if (path := experts_file(directory)) is not None:
        os.truncate(path, rows * expert_row_bytes(path))


def _lines(path: Path) -> list[bytes]:
    """Complete lines; a torn last one is cut off the file."""
    lines = read_lines(path)
    whole = sum(len(line) + 1 for line in lines)
    if path.exists() and path.stat().st_size != whole:
        os.truncate(path, whole)
    return lines


def _turns(directory: Path) -> list[Turn]:
    """Recorded turns whose tokens are all there; the log is cut after them."""
    path = directory / "turns.jsonl"
    lines = _lines(path)
    turns = [Turn.parse(line) for line in lines]
    held = min((p.stat().st_size // 4 if (p := directory / name).exists() else 0) for name in _ARRAYS)
    kept = [turn for turn in turns if (turn.closing or turn.sampled).end <= held]
    if len(kept) < len(turns):
        write_atomic(path, b"".join(line + b"\n" for line in lines[: len(kept)]))
    return kept


def _grow(found: Reopened, run: Run, record: Segment, tokens: TokenArrays) -> None:
    """The lineage of a segment, turn by turn; a turn that the next one's prompt leaves out was rolled back."""
    lineage = Lineage.reopened(record)
    ends: list[str] = []
    for turn in found.turns:
        if turn.orphan or (turn.run, turn.segment) != (record.run, record.index):
            continue
        held = turn.prompt_tokens - (turn.context.end - turn.context.start)
        while lineage.end.ids > held:
            lineage.roll_back()
            found.orphans.add(ends.pop())
        if lineage.end.ids != held:
            raise CaptureFailure("log_broken", f"turn {turn.turn_id} continues {held} ids, {lineage.end.ids} are there")
        entries = [Entry(message) for message in (*turn.new_messages, turn.message)]
        ids = tokens.ids[turn.context.start : (turn.closing or turn.sampled).end].tolist()
        rows = turn.experts_from + turn.experts.end - turn.experts.start if turn.experts else 0
        lineage.advance(entries, ids, NOTHING_TOLD, rows)
        ends.append(turn.turn_id)
    if lineage.marks:
        run.register(lineage)
        found.last[ends[-1]] = lineage
        found.ends.update((turn, (lineage, mark.entries)) for turn, mark in zip(ends, lineage.marks, strict=True))


def _settle(found: Reopened, run: Run) -> None:
    """What follows from a run's turns and segments together."""
    number = run.record.run
    turns = [turn for turn in found.turns if turn.run == number]
    run.next_turn = 1 + max((turn.index for turn in turns), default=-1)
    told = [t.turn_id for t in turns if not t.orphan and t.turn_id not in found.orphans]
    run.last_turn = told[-1] if told else None
    run.untrainable = next((lineage.untrainable for lineage in run.lineages if lineage.untrainable), "")
    followed = {lineage.predecessor for lineage in run.lineages if lineage.opened_by not in ("branch", "start")}
    for lineage in run.lineages:
        lineage.closed = lineage.index in followed
