"""Grade files beside sealed episodes, and the outcome derived from both.

Invariant: a reward exists only through a create-only grade whose seal, task, rubric and grader identity all match the
episode's; every other end is `Quarantined` with layer and cause, never a number (L-04, T-07, Q-01, Q-02).
"""

import asyncio
from pathlib import Path

from journeyman.errors import Failure, GraderFailure, ServiceFailure, UserError, boundary
from journeyman.grading.base import OFFICIAL, Contract, Grades
from journeyman.grading.evidence import SealedEvidence
from journeyman.records.base import Record
from journeyman.records.episode import Episode
from journeyman.records.grade import REPORTED, Grade, GraderIdentity
from journeyman.records.outcome import FailureCause, Graded, Outcome, Quarantined
from journeyman.services.reconcile import reconcile
from journeyman.store.atomic import append_line, create_only
from journeyman.store.reading import read_record, read_records, recheck
from journeyman.store.seal import read_seal, seal_digest
from journeyman.store.sealed import SealedEpisode

FAILURES = "failures.jsonl"


class GradingFailure(Record):
    """One failed try of one grader; a later try may still give the grade."""

    grader: str  # digest of the grader's identity
    failure: FailureCause


def grade_path(grades_dir: Path, grader_digest: str) -> Path:
    """Where the grade of one grader identity on one episode lies."""
    return grades_dir / f"{grader_digest}.json"


def read_grade(path: Path) -> Grade:
    """A grade file. Raises Unreadable."""
    return read_record(path, Grade, _remedy(path))


def _remedy(path: Path) -> str:
    """What to type about a damaged file of a run."""
    return recheck(next((p for p in path.parents if (p / "episodes").is_dir()), path.parent))


async def grade_episode(episode_dir: Path, task_dir: Path, grades_dir: Path, grader: Grades) -> Outcome:
    """Verify the seal, grade once, write the grade create-only, and say the outcome under this grader.

    A failed attempt stays Quarantined and is not graded; a grader that breaks gives Quarantined(layer="grader").
    Raises SealBroken (no seal, or bytes changed since), UserError (this grader identity has graded it already).
    """
    sealed = SealedEpisode.open(episode_dir)
    episode = sealed.episode
    if episode.failure is not None:
        return _quarantined(episode.failure)
    digest = episode.grader_digest
    try:
        with boundary("grader"):
            contract = grader.contract(task_dir)
            identity = grader.identity(contract.rubric)
            digest = identity.digest()
            if grade_path(grades_dir, digest).exists():
                raise UserError(f"{episode.spec.id} has a grade by grader {digest[:12]}; a second one is refused")
            _check_frozen(episode, contract, identity)
            evidence = SealedEvidence.of(sealed, contract.workspace)
            _check_ledger(evidence)
            result = (await grader.grade(evidence, contract, identity)).checked()
    except Failure as failure:
        cause = FailureCause(layer=failure.layer, cause=failure.cause, detail=failure.detail)
        grades_dir.mkdir(parents=True, exist_ok=True)
        append_line(
            grades_dir / FAILURES, GradingFailure(grader=_bound(episode, grader, digest), failure=cause).canonical()
        )
        return _quarantined(cause)
    await asyncio.to_thread(create_only, grade_path(grades_dir, digest), result.canonical())  # waits for the disk
    return _graded(result, REPORTED)


def _bound(episode: Episode, grader: Grades, digest: str) -> str:
    """Whose failed try it was: the official grader's counts against the identity the episode is bound to."""
    return episode.grader_digest if grader.name == OFFICIAL else digest


def _check_frozen(episode: Episode, contract: Contract, identity: GraderIdentity) -> None:
    """T-07: what grades now is what was bound before the rollout. Raises GraderFailure."""
    if episode.task_digest != contract.content_digest:
        raise GraderFailure("task_changed", f"episode ran {episode.task_digest}, package is {contract.content_digest}")
    if identity.name == OFFICIAL and episode.grader_digest != identity.digest():
        raise GraderFailure("grader_changed", f"bound {episode.grader_digest}, grading with {identity.digest()}")


def _check_ledger(evidence: SealedEvidence) -> None:
    """G-10: ledger and dispatch log agree both ways. Raises ServiceFailure."""
    inside = any(event.tool == "bash" for event in evidence.dispatch)
    problems = reconcile(evidence.ledger, evidence.dispatch, set(evidence.state), inside_box=inside)
    if problems:
        raise ServiceFailure("ledger_mismatch", problems[0])


def outcome_of(episode_dir: Path, grades_dir: Path, reward_name: str = REPORTED) -> Outcome:
    """The outcome a sealed episode has: from its seal and the official grader's grade, joined under one lineage (Q-02).

    Not graded yet is Quarantined(grader, "ungraded"): the reward is absent, not zero. Checks the join, not every byte
    (`verify_seal` does that). Raises SealBroken where there is no seal, Unreadable for a damaged header or grade,
    UserError for a reward name the grade lacks.
    """
    read_seal(episode_dir)
    episode = SealedEpisode(episode_dir).episode
    if episode.failure is not None:
        return _quarantined(episode.failure)
    path = grade_path(grades_dir, episode.grader_digest)
    if not path.exists():
        return _ungraded(episode, grades_dir)
    found = read_grade(path)
    joined = (found.episode, found.seal_digest, found.grader.digest())
    if joined != (episode.spec.id, seal_digest(episode_dir), episode.grader_digest):
        return Quarantined(layer="grader", cause="grade_of_another_episode", detail=str(path))
    return _graded(found, reward_name)


def _ungraded(episode: Episode, grades_dir: Path) -> Quarantined:
    path = grades_dir / FAILURES
    tries = read_records(path, GradingFailure, _remedy(path))
    mine = [t.failure for t in tries if t.grader == episode.grader_digest]
    return _quarantined(mine[-1]) if mine else Quarantined(layer="grader", cause="ungraded")


def _quarantined(cause: FailureCause) -> Quarantined:
    return Quarantined(layer=cause.layer, cause=cause.cause, detail=cause.detail)


def _graded(found: Grade, reward_name: str) -> Graded:
    if reward_name not in found.rewards:
        known = ", ".join(found.rewards)
        raise UserError(f"reward {reward_name!r} is not in the grade of {found.episode}: one of {known}")
    return Graded(reward=found.rewards[reward_name], reward_name=reward_name, grade_digest=found.digest())
