"""Rechecking sealed captures offline, with no model and no tokenizer: the first fault is named, nothing is repaired.

Hashes, lengths, sampled-only masks, prefix identity, version spans, declared rewrites, run lineage and usage counts.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from journeyman.capture.damage import COLUMNS, damaged_turn, place_of
from journeyman.records.base import Record
from journeyman.records.episode import Seal
from journeyman.records.turn import Segment, Span, Turn
from journeyman.store.layout import SEAL_NAME, Job
from journeyman.store.reading import Unreadable
from journeyman.store.seal import SealBroken, is_sealed, read_seal, verify_seal
from journeyman.store.sealed import SealedEpisode
from journeyman.tokens.certificate import Certificate, CertificateError, certify


class Fault(Record):
    """The first thing wrong with an episode."""

    episode: Path
    name: (
        str  # seal | records | lengths | spans | bytes | mask | logprobs | versions | prefix | rewrite | experts | ...
    )
    detail: str

    def __str__(self) -> str:
        return f"{self.episode}: {self.name}: {self.detail}"


@dataclass
class Verified:
    """What was checked of some episodes."""

    episodes: int = 0
    files: int = 0
    turns: int = 0  # told to a client
    orphans: int = 0  # kept and never told
    certificates: dict[str, tuple[Certificate, ...]] = field(default_factory=dict)  # by episode id, of sound episodes
    seals: dict[str, str] = field(default_factory=dict)  # episode id -> seal digest
    faults: list[Fault] = field(default_factory=list)

    def add(self, directory: Path) -> None:
        """Check one episode."""
        self.episodes += 1
        sealed = SealedEpisode(directory)
        fault, found = _examine(sealed)
        if fault is not None:
            self.faults.append(fault)
            return
        name = sealed.episode.spec.id
        self.files += len(read_seal(directory).files)
        self.turns += sum(c.turns for c in found)
        self.orphans += sum(turn.orphan for turn in sealed.turns)
        self.certificates[name], self.seals[name] = found, sealed.seal_digest

    @property
    def segments(self) -> int:
        """Certified ones."""
        return sum(map(len, self.certificates.values()))

    @property
    def tokens(self) -> int:
        """In certified segments, each once."""
        return sum(c.length for found in self.certificates.values() for c in found)

    @property
    def sampled(self) -> int:
        """Of these, sampled by a policy or an expert."""
        return sum(c.sampled for found in self.certificates.values() for c in found)


class _Broken(Exception):
    def __init__(self, name: str, detail: str) -> None:
        super().__init__(detail)
        self.name = name


def verify_episode(directory: Path) -> Fault | None:
    """The first fault of a sealed episode; None where every check holds."""
    return _examine(SealedEpisode(directory))[0]


def certificates(directory: Path) -> tuple[Certificate, ...]:
    """A certificate for every segment of a sealed episode. Raises CertificateError naming the first fault."""
    fault, found = _examine(SealedEpisode(directory))
    if fault is not None:
        raise CertificateError(fault.name, str(fault))
    return found


def verify_job(root: Path) -> Verified:
    """Check every episode of a job (a runs/JOB directory), sealed or claiming to be."""
    verified = Verified()
    for directory in _episodes(Job(root)):
        verified.add(directory)
    return verified


def _episodes(job: Job) -> Iterator[Path]:
    """Directories that are sealed, or hold a header and so ought to be."""
    for directory in sorted(job.episodes.glob("*/*/*/*")):
        if is_sealed(directory) or (directory / "episode.json").exists():
            yield directory


def _examine(episode: SealedEpisode) -> tuple[Fault | None, tuple[Certificate, ...]]:
    directory = episode.directory
    try:
        _seal(directory)
        return None, tuple(_segments(episode))
    except SealBroken as error:
        name, detail = "seal", error.what
        if error.path is not None and (place := place_of(error.path)):
            detail = f"{detail}; {place}"
    except Unreadable as error:
        name, detail = "records", error.what
    except CertificateError as error:
        name, detail = error.name, error.detail
    except _Broken as error:
        name, detail = error.name, str(error)
    return Fault(episode=directory, name=name, detail=detail), ()


def _seal(directory: Path) -> None:
    record = verify_seal(directory)
    if record.format != Seal(files={}).format or record.canonical() != (directory / SEAL_NAME).read_bytes():
        raise SealBroken(f"{directory / SEAL_NAME} is not what was written")


def _segments(episode: SealedEpisode) -> Iterator[Certificate]:
    header, turns = episode.episode, episode.turns
    if not turns and not (episode.directory / "tokens.i32").exists():
        return  # the policy was never called
    try:
        length = len(episode.tokens.ids)
    except Unreadable as error:
        raise _Broken("lengths", error.what) from None
    _check_spans(turns, length)
    _check_lineage(episode)
    known = {(s.run, s.index): s for s in episode.segments}
    if len(known) != len(episode.segments):
        raise _Broken("lineage", "a segment is recorded twice")
    certified = []
    for (run, index), segment in known.items():
        inside = episode.segment_turns(run, index)
        arrays = episode.segment_tokens(run, index)
        certified.append(certify(run, index, *arrays, turns=inside))
        _check_rewrite(episode, segment, known)
        _check_experts(episode, segment, len(arrays.ids))
    _check_bytes(episode)
    told = [t for t in turns if not t.orphan]
    sampled = sum(t.sampled.end - t.sampled.start for t in told)
    if header.failure is None and (header.usage.turns, header.usage.sampled_tokens) != (len(told), sampled):
        raise _Broken(
            "usage", f"the header counts {header.usage.turns} turns, {header.usage.sampled_tokens} sampled ids"
        )
    yield from certified


def _check_spans(turns: tuple[Turn, ...], length: int) -> None:
    """Every id is written once, by one turn, in log order."""
    seen: set[str] = set()
    at = 0
    for turn in turns:
        if turn.turn_id in seen:
            raise _Broken("spans", f"turn {turn.turn_id} is recorded twice")
        seen.add(turn.turn_id)
        spans: list[Span] = [turn.context, turn.sampled, *([turn.closing] if turn.closing else [])]
        for span in spans:
            if span.start != at or span.end < span.start:
                raise _Broken("spans", f"turn {turn.turn_id}: a span starts at {span.start}, ids end at {at}")
            at = span.end
        if turn.orphan and turn.trainable:
            raise _Broken("mask", f"turn {turn.turn_id} was never told to a client and claims to be trainable")
    if at != length:
        raise _Broken("spans", f"turns cover {at} ids, the arrays hold {length}")


def _check_bytes(episode: SealedEpisode) -> None:
    """Every turn's bytes are those that its record has the checksums of."""
    for column, name in enumerate(COLUMNS):
        if place := damaged_turn(episode.turns, column, (episode.directory / name).read_bytes()):
            raise _Broken("bytes", f"{name} is not what was recorded, {place}")


def _check_lineage(episode: SealedEpisode) -> None:
    """Turns belong to recorded segments, segments to runs, children to parents that made their fork turn."""
    runs = {run.run: run for run in episode.runs}
    segments = {(s.run, s.index) for s in episode.segments}
    turns = {t.turn_id: t for t in episode.turns}
    for turn in episode.turns:
        if not turn.orphan and (turn.run, turn.segment) not in segments:
            raise _Broken(
                "lineage", f"turn {turn.turn_id} is in segment {turn.run}.{turn.segment}, which is not recorded"
            )
    for run, index in segments:
        if run not in runs:
            raise _Broken("lineage", f"segment {run}.{index} is of a run that is not recorded")
    for record in runs.values():
        if record.parent is not None and record.parent not in runs:
            raise _Broken("lineage", f"run {record.run} names parent {record.parent}, which is not recorded")
        fork = turns.get(record.fork_turn) if record.fork_turn else None
        if record.fork_turn and (fork is None or fork.run != record.parent):
            raise _Broken("lineage", f"run {record.run} forks at {record.fork_turn}, no turn of its parent")


def _check_rewrite(episode: SealedEpisode, segment: Segment, known: dict[tuple[int, int], Segment]) -> None:
    """A segment opens with the ids it says, and follows its predecessor as that stood."""
    where = f"segment {segment.run}.{segment.index}"
    turns = episode.segment_turns(segment.run, segment.index)
    if turns:
        opening = episode.tokens.ids[turns[0].context.start : turns[0].context.end]
        if hashlib.sha256(opening.tobytes()).hexdigest() != segment.prefix_after:
            raise _Broken("rewrite", f"{where} did not open with the ids it records")
    if segment.opened_by == "start":
        return
    if segment.predecessor is None or (segment.run, segment.predecessor) not in known:
        raise _Broken("rewrite", f"{where} was opened by {segment.opened_by} and its predecessor is not recorded")
    if segment.prefix_before:
        ends = list(_ends(episode, segment.run, segment.predecessor))
        allowed = ends if segment.opened_by == "branch" else ends[-1:]
        if segment.prefix_before not in allowed:
            raise _Broken("rewrite", f"{where}: its predecessor's ids are not those it was opened on")


def _check_experts(episode: SealedEpisode, segment: Segment, length: int) -> None:
    """Where experts are on record they are those of every position that was fed to the model, once each."""
    turns = episode.segment_turns(segment.run, segment.index)
    if not any(turn.experts for turn in turns):
        return
    where = f"segment {segment.run}.{segment.index}"
    try:
        rows = episode.segment_experts(segment.run, segment.index)
    except (ValueError, OSError) as error:
        raise _Broken("experts", str(error)) from None
    closing = turns[-1].closing
    fed = length - (closing.end - closing.start if closing else 0) - 1
    if rows is None or len(rows) != fed:
        raise _Broken("experts", f"{where} has experts for {0 if rows is None else len(rows)} of {fed} positions")


def _ends(episode: SealedEpisode, run: int, segment: int) -> Iterator[str]:
    """sha256 of a segment's ids at the end of each of its turns."""
    running = hashlib.sha256()
    for turn in episode.segment_turns(run, segment):
        running.update(episode.tokens.ids[turn.context.start : (turn.closing or turn.sampled).end].tobytes())
        yield running.hexdigest()
