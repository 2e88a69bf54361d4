"""Where bytes of a capture are not those that were recorded: the first turn, line or byte, as near as is known.

A seal says which file changed. Turns keep checksums of their own bytes, so the place in the token arrays is found too.
"""

import json
import zlib
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from journeyman.records.base import Record, first_fault
from journeyman.records.episode import Episode
from journeyman.records.turn import AgentRun, Segment, ToolEvent, Turn
from journeyman.store.atomic import read_lines

COLUMNS = ("tokens.i32", "logprobs.f32", "versions.i32")  # in the order of Turn.crc32
_RECORDS: dict[str, type[Record]] = {
    "turns.jsonl": Turn,
    "segments.jsonl": Segment,
    "runs.jsonl": AgentRun,
    "dispatch.jsonl": ToolEvent,
    "episode.json": Episode,
}


def damaged_turn(turns: Sequence[Turn], column: int, data: bytes) -> str:
    """The first turn whose bytes in a column are not those it recorded, and where they lie; "" where all are."""
    for turn in turns:
        end = (turn.closing or turn.sampled).end * 4
        if len(data) < end:
            return f"the bytes of turn {turn.turn_id} end at {end}, the file at {len(data)}"
        if turn.crc32 is not None and zlib.crc32(data[turn.context.start * 4 : end]) != turn.crc32[column]:
            return f"first in turn {turn.turn_id}, bytes {turn.context.start * 4} to {end}"
    return ""


def place_of(path: Path) -> str:
    """Where in a file of an episode the first damage shows; "" where it does not show by itself."""
    try:
        if path.name in COLUMNS:
            turns = [Turn.parse(line) for line in read_lines(path.with_name("turns.jsonl"))]
            return damaged_turn(turns, COLUMNS.index(path.name), path.read_bytes())
    except (ValidationError, OSError):
        return ""
    if path.name in _RECORDS and path.is_file():
        return _unreadable_line(path)
    return ""


def _unreadable_line(path: Path) -> str:
    at = 0
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        try:
            json.loads(line)
            _RECORDS[path.name].parse(line)
        except UnicodeDecodeError as error:
            return f"first unreadable at byte {at + error.start}, line {number}"
        except json.JSONDecodeError as error:
            inside = len(line.decode()[: error.pos].encode())
            return f"first unreadable at byte {at + inside}, line {number}"
        except ValidationError as error:
            return f"line {number} (bytes {at} to {at + len(line)}): {first_fault(error)}"
        at += len(line)
    return ""
