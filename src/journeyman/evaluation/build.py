"""Rows, updates and one episode to a Report: the one place that decides what a report holds."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from journeyman.evaluation.cost import Priced
from journeyman.evaluation.curves import training_curves
from journeyman.evaluation.rows import EpisodeRow, last_tries
from journeyman.evaluation.shown import Decode, show_episode
from journeyman.evaluation.summarise import compare, summarise
from journeyman.grading.episode import grade_path, read_grade
from journeyman.records.grade import REPORTED
from journeyman.records.report import Report, ShownEpisode
from journeyman.records.sample import Update
from journeyman.records.task import Task
from journeyman.store.layout import Job
from journeyman.store.sealed import SealedEpisode


def build_report(
    name: str,
    rows: Sequence[EpisodeRow],
    policies: Sequence[str],
    *,
    updates: Sequence[Update] = (),
    sample: ShownEpisode | None = None,
    priced: Priced | None = None,
    facts: Mapping[str, str] | None = None,
    k: int = 3,
    pass_reward: float = 1.0,
) -> Report:
    """The report of a run. `policies` in the order they are told; `rows` of held-out attempts, all tries."""
    known = {row.spec.policy for row in rows}
    told = tuple(policy for policy in policies if policy in known)
    return Report(
        name=name,
        reward_name=REPORTED,
        pass_reward=pass_reward,
        policies=told,
        arms=summarise(rows, told, k=k, pass_reward=pass_reward, priced=priced),
        comparisons=compare(rows, told),
        curves=training_curves(updates),
        sample=sample,
        pricing=None if priced is None else priced.pricing,
        facts=dict(facts or {}),
    )


def choose_episode(rows: Sequence[EpisodeRow], policies: Sequence[str]) -> EpisodeRow | None:
    """A typical success: of the last policy (in `policies`) that has one at its warmest temperature, the attempt with
    the best reward and, among those, the median length. None where nothing was graded."""
    for policy in reversed(policies):
        graded = [r for r in last_tries(rows) if r.spec.policy == policy and r.reward is not None]
        if not graded:
            continue
        warmest = max(r.spec.sampling.temperature for r in graded)
        graded = [r for r in graded if r.spec.sampling.temperature == warmest]
        best = max(r.reward or 0.0 for r in graded)
        top = [r for r in graded if r.reward == best]
        length = statistics.median_low(r.usage.sampled_tokens for r in top)
        return next(r for r in top if r.usage.sampled_tokens == length)
    return None


def shown_episode(job: Job, row: EpisodeRow, task: Task, decode: Decode) -> ShownEpisode:
    """The sealed episode behind a graded row, decoded. Raises SealBroken where its bytes changed."""
    directory: Path = job.episode_dir(row.spec.key)
    sealed = SealedEpisode.open(directory)
    grade = grade_path(job.grades_dir(row.spec.key), sealed.episode.grader_digest)
    return show_episode(sealed, read_grade(grade), task, decode)
