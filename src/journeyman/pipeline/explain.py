"""Why a token got its gradient: token -> turn -> segment -> episode -> verdicts -> criterion -> task -> source file.

Reads sealed bytes, grades and the learner's updates only; recomputes the advantage and says where it differs.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

from journeyman.errors import UserError
from journeyman.grading.episode import grade_path, read_grade
from journeyman.pipeline.explain_capture import shorten, why_episode
from journeyman.pipeline.state import TASK_SOURCES
from journeyman.records.grade import Grade
from journeyman.records.rubric import Criterion, Verdict
from journeyman.records.sample import MemberUpdate, Update
from journeyman.records.task import Task, WorldFile
from journeyman.records.turn import Segment, Turn
from journeyman.store.atomic import read_lines
from journeyman.store.config_file import read_values
from journeyman.store.layout import Job, exists
from journeyman.store.reading import read_records
from journeyman.store.sealed import SealedEpisode

_TOKEN = re.compile(r"([^/#]+(?:/[^/#]+){4})#([0-9]{1,9})\.([0-9]{1,9})[:.]([0-9]{1,9})")


class TokenRef(NamedTuple):
    """EPISODE#run.segment:position"""

    episode: str
    run: int
    segment: int
    position: int


class Token(NamedTuple):
    """One token as it was captured."""

    id: int
    sampled: bool
    logprob: float
    version: int


class Lineage(NamedTuple):
    """Everything between one token and the source files that decided its gradient."""

    ref: TokenRef
    token: Token
    ids: list[int]  # of the whole segment
    turn: Turn
    segment: Segment | None
    episode: SealedEpisode
    why_untrained: str  # "" where the token is trained
    grade: Grade | None
    criteria: list[tuple[Criterion, Verdict]]
    task: Task
    sources: dict[str, list[WorldFile]]  # criterion id -> evidence files
    update: Update | None
    group: str
    member: MemberUpdate | None


def parse_ref(text: str) -> TokenRef:
    """Read EPISODE#run.segment:position. Raises UserError."""
    found = _TOKEN.fullmatch(text)
    if found is None:
        raise UserError(
            f"{shorten(text)!r} is no token: write JOB/policy/task/group/attempt.try#run.segment:position, "
            "or give a run directory to be shown one"
        )
    episode, *numbers = found.groups()
    return TokenRef(episode, *map(int, numbers))


def updates(job: Job) -> list[Update]:
    """All optimiser steps of the job, in order."""
    path = job.ledger / "updates.jsonl"
    return list(read_records(path, Update, "put back a copy of it, or move it away to explain without gradients"))


def pick(job: Job) -> TokenRef:
    """A telling token of the job's RL: one of the member with the largest advantage of the last full update.

    Raises UserError where the job has no update.
    """
    for update in reversed(updates(job)):
        members = [m for group in update.groups.values() for m in group if m.samples]
        if members:
            member = max(members, key=lambda m: abs(m.advantage))
            ref = member.samples[0]
            sealed = SealedEpisode.open(job.episode_dir(ref.episode.split("/", 1)[1]), verify=False)
            tokens = sealed.segment_tokens(ref.run, ref.segment)
            sampled = [i for i, m in enumerate(tokens.mask) if m]
            surprising = min(sampled, key=lambda i: float(tokens.logprobs[i]))
            return TokenRef(ref.episode, ref.run, ref.segment, surprising)
    raise UserError(f"{job.root} has no optimiser step yet: nothing got a gradient")


def _turn_at(sealed: SealedEpisode, ref: TokenRef) -> tuple[Turn, str]:
    at = 0
    for turn in sealed.segment_turns(ref.run, ref.segment):
        for span, kind in ((turn.context, "context"), (turn.sampled, "sampled"), (turn.closing, "closing")):
            if span is not None:
                at += span.end - span.start
                if ref.position < at:
                    return turn, kind
    raise UserError(f"position {ref.position} is beyond segment {ref.run}.{ref.segment}, which has {at} tokens")


def _find_update(job: Job, episode: str) -> tuple[Update | None, str, MemberUpdate | None]:
    for update in updates(job):
        for group, members in update.groups.items():
            for member in members:
                if member.episode == episode:
                    return update, group, member
    return None, "", None


def _official_grade(job: Job, key: str, grader_digest: str) -> Grade | None:
    path = grade_path(job.grades_dir(key), grader_digest)
    return read_grade(path) if path.exists() else None


def lineage(job: Job, ref: TokenRef, task: Task) -> Lineage:
    """Collect the whole chain of one token. Raises UserError for a token that does not exist, SealBroken."""
    key = ref.episode.split("/", 1)[1]
    directory = job.episode_dir(key)
    if not exists(directory):
        raise UserError(f"no episode {shorten(ref.episode)} below {job.episodes}")
    sealed = SealedEpisode.open(directory)
    tokens = sealed.segment_tokens(ref.run, ref.segment)
    turn, kind = _turn_at(sealed, ref)
    grade = _official_grade(job, key, sealed.episode.grader_digest)
    update, group, member = _find_update(job, ref.episode)
    by_id = {c.id: c for c in task.rubric.criteria}
    criteria = [(by_id[v.criterion], v) for v in grade.verdicts] if grade is not None else []
    files = {f.path: f for f in task.files}
    segment = next((s for s in sealed.segments if (s.run, s.index) == (ref.run, ref.segment)), None)
    return Lineage(
        ref=ref,
        token=Token(
            id=int(tokens.ids[ref.position]),
            sampled=bool(tokens.mask[ref.position]),
            logprob=float(tokens.logprobs[ref.position]),
            version=int(tokens.versions[ref.position]),
        ),
        ids=tokens.ids.tolist(),
        turn=turn,
        segment=segment,
        episode=sealed,
        why_untrained=_why_untrained(kind, turn, segment, why_episode(sealed.episode), grade, member),
        grade=grade,
        criteria=criteria,
        task=task,
        sources={c.id: [files[e] for e in c.evidence if e in files] for c, _ in criteria},
        update=update,
        group=group,
        member=member,
    )


def _why_untrained(
    kind: str, turn: Turn, segment: Segment | None, failed: str, grade: Grade | None, member: MemberUpdate | None
) -> str:
    if kind != "sampled":
        return f"it is {kind}: rendered, not sampled, so its mask is 0"
    if turn.source != "policy":
        return f"its turn is {turn.source}, which RL refuses"
    if turn.orphan:
        return "the client had gone before the reply was told: an orphan turn"
    if not turn.trainable:
        return turn.untrainable_reason
    if segment is not None and not segment.trainable:
        return segment.untrainable_reason
    if failed:
        return f"its episode is quarantined, {failed}"
    if grade is None:
        return "the episode has no official grade"
    if member is None:
        return "no optimiser step consumed the episode (its group was filtered, stale, or is not trained on)"
    return ""


def task_directory(job: Job, slug: str) -> Path:
    """Where the package of a task lies: in the job, or where the job took its tasks from. Raises UserError."""
    found = [p for p in (job.tasks / "release" / "tasks" / slug / "task.toml",) if p.exists()]
    found += sorted(job.tasks.glob(f"**/{slug}/task.toml"))
    if found:
        return found[0].parent
    for source in _sources(job):
        for directory in (source, source / slug, source / "tasks" / slug):
            if directory.name == slug and (directory / "task.toml").exists():
                return directory
    raise UserError(f"no task {slug} below {job.tasks}, nor where this job took its tasks from")


def _sources(job: Job) -> list[Path]:
    """Directories outside the job that its tasks came from."""
    config = read_values(job.config, "the run as it was") if job.config.exists() else {}
    release = config.get("tasks", {}).get("from_release")
    given = [line.decode() for line in read_lines(job.ledger / TASK_SOURCES)]
    return [Path(path) for path in (*given, *([release] if release else []))]


def decode(policy: Path, ids: list[int]) -> str:
    """Text of ids with special tokens kept, by the policy's own tokenizer.json."""
    from tokenizers import Tokenizer

    text: str = Tokenizer.from_file(str(policy / "tokenizer.json")).decode(ids, skip_special_tokens=False)
    return text


def ledger_lines(job: Job, name: str) -> list[dict[str, object]]:
    """A JSON-lines ledger of the job as plain data."""
    return [json.loads(line) for line in read_lines(job.ledger / name)]
