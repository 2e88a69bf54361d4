"""What makes a segment's token arrays fit to train on, checked from the arrays and turns alone: no model, no tokenizer.

Lengths agree, the mask is 1 exactly on sampled ids, a prompt is the recorded prefix plus new ids, versions only rise.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from journeyman.errors import JourneymanError
from journeyman.records.base import Record
from journeyman.records.turn import Turn

_SLACK = 1e-3  # log-probs may round to just above zero


class CertificateError(JourneymanError):
    """A segment's arrays are not what they claim; `name` is the broken invariant."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(f"{name}: {detail}")
        self.name = name
        self.detail = detail


class VersionSpan(Record):
    """Sampled ids [start, end) of the segment came from one policy version (-1: not from a policy)."""

    start: int
    end: int
    version: int


class Certificate(Record):
    """What was checked of one segment."""

    run: int
    segment: int
    length: int
    sampled: int  # sum of the mask
    ids_sha256: str  # of the ids, little-endian int32
    versions: tuple[VersionSpan, ...]  # run-length encoded, over sampled ids only
    turns: int


def certify(
    run: int,
    segment: int,
    ids: npt.NDArray[np.int32],
    mask: npt.NDArray[np.uint8],
    logprobs: npt.NDArray[np.float32],
    versions: npt.NDArray[np.int32],
    turns: Sequence[Turn],
) -> Certificate:
    """Check one segment. Arrays are [T]; `turns` are its turns in order, orphans left out. Raises CertificateError."""
    lengths = {"ids": len(ids), "mask": len(mask), "logprobs": len(logprobs), "versions": len(versions)}
    if len(set(lengths.values())) != 1:
        raise CertificateError("lengths", f"arrays differ: {lengths}")
    expected = _expected_mask(run, segment, turns)
    if len(expected) != len(ids):
        raise CertificateError("lengths", f"turns span {len(expected)} ids, the arrays hold {len(ids)}")
    if (at := _first(expected != mask)) is not None:
        raise CertificateError("mask", f"position {at}: mask is {mask[at]}, sampled says {expected[at]}")
    sampled = mask.astype(bool)
    if (at := _first(~sampled & ((versions != -1) | ~np.isnan(logprobs)))) is not None:
        raise CertificateError("mask", f"position {at} was not sampled but has a log-prob or a version")
    scripted = np.concatenate([np.full(_length(t), t.source != "policy") for t in turns] or [np.zeros(0, dtype=bool)])
    drawn = sampled & ~scripted
    if (at := _first(drawn & ~(np.isfinite(logprobs) & (logprobs <= _SLACK)))) is not None:
        raise CertificateError("logprobs", f"position {at} was sampled with log-prob {logprobs[at]}")
    if (at := _first(drawn & (versions < 0))) is not None:
        raise CertificateError("versions", f"position {at} was sampled by no version")
    where = np.flatnonzero(sampled)
    if (at := _first(np.diff(versions[where]) < 0)) is not None:
        raise CertificateError("versions", f"version falls after position {where[at]}")
    return Certificate(
        run=run,
        segment=segment,
        length=len(ids),
        sampled=int(sampled.sum()),
        ids_sha256=hashlib.sha256(np.ascontiguousarray(ids, dtype="<i4").tobytes()).hexdigest(),
        versions=_spans(where, versions),
        turns=len(turns),
    )


def _length(turn: Turn) -> int:
    closing = turn.closing.end - turn.closing.start if turn.closing else 0
    return turn.context.end - turn.context.start + turn.sampled.end - turn.sampled.start + closing


def _expected_mask(run: int, segment: int, turns: Sequence[Turn]) -> npt.NDArray[np.uint8]:
    """The mask the turns' spans imply. Raises where a turn's prompt is not the prefix before it."""
    parts: list[npt.NDArray[np.uint8]] = []
    held = 0
    for turn in turns:
        if (turn.run, turn.segment) != (run, segment):
            raise CertificateError("prefix", f"turn {turn.turn_id} belongs to {turn.run}.{turn.segment}")
        context, drawn = turn.context.end - turn.context.start, turn.sampled.end - turn.sampled.start
        if held + context != turn.prompt_tokens:
            text = f"turn {turn.turn_id}: its prompt had {turn.prompt_tokens} ids, the prefix has {held + context}"
            raise CertificateError("prefix", text)
        if drawn <= 0:
            raise CertificateError("lengths", f"turn {turn.turn_id} sampled nothing")
        total = _length(turn)
        parts += [np.zeros(context, np.uint8), np.ones(drawn, np.uint8), np.zeros(total - context - drawn, np.uint8)]
        held += total
    return np.concatenate(parts) if parts else np.zeros(0, np.uint8)


def _first(broken: npt.NDArray[np.bool_]) -> int | None:
    where = np.flatnonzero(broken)
    return int(where[0]) if len(where) else None


def _spans(where: npt.NDArray[np.intp], versions: npt.NDArray[np.int32]) -> tuple[VersionSpan, ...]:
    """Run-length encoding of the sampled ids' versions: maximal stretches of neighbours with one version."""
    if not len(where):
        return ()
    breaks = np.flatnonzero((np.diff(where) != 1) | (np.diff(versions[where]) != 0)) + 1
    starts, ends = np.concatenate([[0], breaks]), np.concatenate([breaks, [len(where)]])
    return tuple(
        VersionSpan(start=int(where[a]), end=int(where[b - 1]) + 1, version=int(versions[where[a]]))
        for a, b in zip(starts, ends, strict=True)
    )
