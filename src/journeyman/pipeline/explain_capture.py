"""What was captured, told from sealed bytes alone: turn, segment, lineage, version, and why it trains or does not.

Needs no task, grade or model. A whole episode, one of its segments, a dataset's row, or one token of it.
"""

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import numpy as np

from journeyman.capture.verify import certificates
from journeyman.errors import UserError
from journeyman.records.episode import Episode
from journeyman.records.turn import AgentRun, Segment, Turn
from journeyman.store.dataset import MARKER, Dataset
from journeyman.store.layout import SEAL_NAME, Job, exists
from journeyman.store.sealed import SealedEpisode, SegmentTokens
from journeyman.tokens.certificate import Certificate, CertificateError

_EPISODE = re.compile(r"(?P<episode>[^/#]+(?:/[^/#]+){4})(?:#(?P<run>[0-9]{1,9})\.(?P<segment>[0-9]{1,9}))?")
_ROW = re.compile(r"(?P<directory>.+):(?P<row>[0-9]{1,9})")


class Row(NamedTuple):
    """One row of a dataset: its directory and index."""

    directory: Path
    number: int


class Part(NamedTuple):
    """A sealed episode, or one segment of it."""

    directory: Path
    segment: tuple[int, int] | None  # None: all of it


def parse(what: str, runs: Path) -> Row | Part | None:
    """What is to be explained; None where it is none of an episode, a segment and a row. Raises UserError."""
    path = Path(what)
    if exists(path / SEAL_NAME):
        return Part(path, None)
    if exists(path / MARKER):
        return Row(path, 0)
    if (found := _ROW.fullmatch(what)) and exists(Path(found["directory"]) / MARKER):
        return Row(Path(found["directory"]), int(found["row"]))
    if (found := _EPISODE.fullmatch(what)) is None or exists(path):
        return None
    directory = directory_of(found["episode"], runs)
    return Part(directory, (int(found["run"]), int(found["segment"])) if found["run"] else None)


def shorten(what: str) -> str:
    """What was typed, short enough for a line."""
    return what if len(what) <= 160 else f"{what[:120]}..."


def directory_of(episode: str, runs: Path) -> Path:
    """Where an episode lies. Raises UserError where it does not."""
    job, _, key = episode.partition("/")
    directory = Job(runs / job).episode_dir(key)
    if not exists(directory / SEAL_NAME):
        raise UserError(f"no sealed episode {shorten(episode)} below {runs}: give another id, or --runs")
    return directory


def lines(what: Row | Part) -> Iterator[str]:
    """The explanation. Raises UserError for a row or segment that is not there, SealBroken."""
    if isinstance(what, Row):
        yield from _row(what)
        return
    sealed = SealedEpisode.open(what.directory)
    found = _certificates(what.directory)
    yield from _episode(sealed)
    wanted = [s for s in sealed.segments if what.segment in (None, (s.run, s.index))]
    if what.segment is not None and not wanted:
        raise UserError(f"no segment {what.segment[0]}.{what.segment[1]} in {sealed.episode.spec.id}")
    for segment in wanted:
        yield from _segment(sealed, segment, found)
    yield from _left_out(sealed, what.segment)
    home = what.directory.resolve().parents
    if wanted and len(home) > 5 and home[3].name == "episodes":
        token = f"{home[4].name}/{sealed.episode.spec.key}#{wanted[0].run}.{wanted[0].index}:POSITION"
        runs = "" if home[5] == Path("runs").resolve() else f" --runs {quote(str(home[5]))}"
        yield f"a token  journeyman explain {quote(token)}{runs}"


def _row(what: Row) -> Iterator[str]:
    dataset = Dataset.open(what.directory)
    if what.number >= len(dataset.samples):
        raise UserError(f"{what.directory} has {len(dataset.samples)} rows: give 0 to {len(dataset.samples) - 1}")
    sample, row = dataset.samples[what.number], dataset.row(what.number)
    ref = sample.ref
    reward = "" if sample.reward is None else f", {sample.reward_name} {sample.reward:.4f}"
    yield (
        f"row       {what.number} of {what.directory} ({sample.kind}): {sample.length} tokens, "
        f"{sample.trained_tokens} trained{reward}"
    )
    yield f"          from {ref.episode}#{ref.run}.{ref.segment}"
    directory = next((p for p in _homes(what.directory, ref.episode) if (p / SEAL_NAME).exists()), None)
    if directory is None:
        yield f"          its episode is not below this run any more; its seal was {ref.seal_digest[:16]}"
        return
    sealed = SealedEpisode.open(directory)
    tokens = sealed.segment_tokens(ref.run, ref.segment)
    same = np.array_equal(tokens.ids[: len(row.ids)], row.ids) and sealed.seal_digest == ref.seal_digest
    yield f"          its ids {'are' if same else 'ARE NOT'} the sealed segment's; sampled {_held(tokens, row.mask)}"
    yield from lines(Part(directory, (ref.run, ref.segment)))


def _homes(dataset: Path, episode: str) -> Iterator[Path]:
    """Where an episode may lie: in the run that the dataset is of, or below its neighbours."""
    job, _, key = episode.partition("/")
    for parent in dataset.resolve().parents:
        yield Job(parent).episode_dir(key)
        yield Job(parent / job).episode_dir(key)
        yield Job(parent / "runs" / job).episode_dir(key)


def _held(tokens: SegmentTokens, mask: "np.ndarray[tuple[int], np.dtype[np.uint8]]") -> str:
    trained, sampled = mask.astype(bool), tokens.mask[: len(mask)].astype(bool)
    extra = int((trained & ~sampled).sum())
    return f"{int(trained.sum())} of {int(sampled.sum())} trained" + (f", {extra} NOT SAMPLED" if extra else "")


def _episode(sealed: SealedEpisode) -> Iterator[str]:
    header = sealed.episode
    ended = header.stop or why_episode(header)
    yield f"episode   {header.spec.id}: {ended}; seal {sealed.seal_digest[:16]}"
    yield f"          {sealed.directory}"
    exact = header.engine.get("token_exact")
    engine = f"{header.engine.get('kind', 'unknown')} {header.engine.get('model', '')}".strip()
    yield f"engine    {engine}" + ("" if exact or exact is None else ": not token-exact, so evaluation only")
    for run in sealed.runs:
        yield _run(run)


def why_episode(header: Episode) -> str:
    """Why nothing of an episode trains; "" where its turns and segments decide."""
    return "" if header.failure is None else f"failure {header.failure.layer}: {header.failure.cause}"


def _run(run: AgentRun) -> str:
    if run.aside:
        return f"run       {run.run} {run.name!r}: asked beside the work ({run.aside}); no row is made of it"
    if run.parent is None:
        return f"run       {run.run}: the root"
    handed = f", handed over by {run.handoff_event}" if run.handoff_event else ""
    return f"run       {run.run} {run.name!r}: child of run {run.parent}, forked after turn {run.fork_turn}{handed}"


def _segment(sealed: SealedEpisode, segment: Segment, found: Sequence[Certificate] | CertificateError) -> Iterator[str]:
    turns = sealed.segment_turns(segment.run, segment.index)
    tokens = sealed.segment_tokens(segment.run, segment.index)
    yield (
        f"segment   {segment.run}.{segment.index}: {opening(segment)}; {len(turns)} turns, {len(tokens.ids)} tokens, "
        f"{int(tokens.mask.sum())} sampled"
    )
    yield f"          {_certified(segment, found)}"
    if aside := next((run.aside for run in sealed.runs if run.run == segment.run), ""):
        yield f"          no row is made of it: it was asked beside the work ({aside})"
    else:
        why = _why_segment(sealed, segment)
        yield f"          {f'NOT trainable: {why}' if why else 'trainable'}"
    at = 0
    for turn in turns:
        yield _turn(turn, at, tokens)
        at += sum(span.end - span.start for span in (turn.context, turn.sampled, turn.closing) if span)


def _why_segment(sealed: SealedEpisode, segment: Segment) -> str:
    """Why no row is made of a segment; "" where its turns decide."""
    if why := why_episode(sealed.episode):
        return f"its episode is quarantined, {why}"
    return "" if segment.trainable else segment.untrainable_reason


def opening(segment: Segment) -> str:
    """Why a segment began, and after which."""
    if segment.predecessor is None:
        return f"opened by {segment.opened_by}"
    by = f", written by the {segment.summary_by}" if segment.summary_by else ""
    before = f" at ids {segment.prefix_before[:12]}" if segment.prefix_before else ""
    after = f", opens with ids {segment.prefix_after[:12]}" if segment.prefix_after else ""
    return f"opened by {segment.opened_by}{by}, follows {segment.run}.{segment.predecessor}{before}{after}"


def _certificates(directory: Path) -> Sequence[Certificate] | CertificateError:
    try:
        return certificates(directory)
    except CertificateError as error:
        return error


def _certified(segment: Segment, found: Sequence[Certificate] | CertificateError) -> str:
    """What the certificate of a segment says, or the episode's first fault."""
    if isinstance(found, CertificateError):
        return f"certificate: BROKEN: {found}"
    mine = next((c for c in found if (c.run, c.segment) == (segment.run, segment.index)), None)
    if mine is None:
        return "certificate: none, no turn of it was told"
    spans = ", ".join(f"v{span.version} on [{span.start}, {span.end})" for span in mine.versions[:6])
    more = f" and {len(mine.versions) - 6} more" if len(mine.versions) > 6 else ""
    return f"certificate: exact, ids {mine.ids_sha256[:12]}, versions {spans or 'none'}{more}"


def _turn(turn: Turn, at: int, tokens: SegmentTokens) -> str:
    first = at + turn.context.end - turn.context.start
    end = first + turn.sampled.end - turn.sampled.start
    held = sorted(set(tokens.versions[first:end].tolist()))
    spans = "-".join(f"v{version}" for version in dict.fromkeys((*held[:1], *held[-1:]))) or "nothing"
    why = why_turn(turn)
    closing = f", closed by {turn.closing.end - turn.closing.start} unsampled" if turn.closing else ""
    text = (
        f"  turn    {turn.turn_id}: context [{at}, {first}), sampled [{first}, {end}) by {spans}, "
        f"ended by {turn.finish_reason}{closing}"
    )
    return text + (f"; NOT trainable: {why}" if why else "")


def why_turn(turn: Turn) -> str:
    """Why a turn's tokens cannot be trained by RL; "" where they can."""
    if turn.orphan:
        return "its client had gone before the reply was told: an orphan"
    if turn.source != "policy":
        return f"it is {turn.source}, which RL refuses"
    return "" if turn.trainable else turn.untrainable_reason


def _left_out(sealed: SealedEpisode, segment: tuple[int, int] | None) -> Iterator[str]:
    """Turns that are kept and stand in no history."""
    for turn in sealed.turns:
        if turn.orphan and segment in (None, (turn.run, turn.segment)):
            sampled = turn.sampled.end - turn.sampled.start
            yield f"  turn    {turn.turn_id}: {sampled} sampled in run {turn.run}; NOT trainable: {why_turn(turn)}"


def token_lines(directory: Path, run: int, segment: int, position: int) -> Iterator[str]:
    """One token of a captured episode, where there is no task to go on to. Raises UserError, SealBroken."""
    sealed = SealedEpisode.open(directory)
    record = next((s for s in sealed.segments if (s.run, s.index) == (run, segment)), None)
    tokens = sealed.segment_tokens(run, segment)
    if record is None or position >= len(tokens.ids):
        raise UserError(f"segment {run}.{segment} of {sealed.episode.spec.id} has {len(tokens.ids)} tokens")
    at = 0
    for turn in sealed.segment_turns(run, segment):
        length = sum(span.end - span.start for span in (turn.context, turn.sampled, turn.closing) if span)
        if position < at + length:
            break
        at += length
    yield f"token     {sealed.episode.spec.id}#{run}.{segment}:{position}"
    sampled, logprob = bool(tokens.mask[position]), float(tokens.logprobs[position])
    if sampled and not math.isnan(logprob):
        yield (
            f"          id {tokens.ids[position]}, sampled by policy version {tokens.versions[position]} "
            f"with log-prob {logprob:.4f}"
        )
    else:
        yield f"          id {tokens.ids[position]}, {'sampled' if sampled else 'rendered, not sampled'}"
    yield _turn(turn, at, tokens)
    found = _certificates(directory)
    yield from list(_segment(sealed, record, found))[:3]
    yield from _episode(sealed)
    aside = next((r.aside for r in sealed.runs if r.run == run), "")
    why = "" if sampled else "it was rendered, not sampled, so its mask is 0"
    why = why or (f"it was asked beside the work ({aside})" if aside else "")
    why = why or why_turn(turn) or _why_segment(sealed, record)
    exact = sealed.episode.engine.get("token_exact", False)
    why = why or ("" if exact else "its engine is not token-exact")
    why = why or ("its certificate is broken" if isinstance(found, CertificateError) else "")
    yield f"trainable {'yes' if not why else f'no: {why}'}"
