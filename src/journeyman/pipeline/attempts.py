"""From finished attempts to what later stages take, and from a release to ready tasks."""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

from journeyman.admission.release import open_release
from journeyman.datasets.base import Attempt
from journeyman.episodes.run_many import Finished, Runner
from journeyman.episodes.run_one import ReadyTask, Workplace
from journeyman.errors import UserError
from journeyman.pipeline.state import Run
from journeyman.pipeline.workplace import graded, ready_task
from journeyman.records.grade import REPORTED
from journeyman.records.outcome import Graded, Outcome
from journeyman.records.task import Split


def seed_of(*parts: object) -> int:
    """A 31-bit seed from what identifies an attempt; the same everywhere."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:4], "big") >> 1


def tasks_of(run: Run, split: Split) -> list[ReadyTask]:
    """The run's tasks of one split, in name order; of a given release, those of the types the recipe names.

    Raises UserError where the release is not complete or has none.
    """
    release, types = run.release, run.recipe.tasks.types
    opened = open_release(release)
    directories = opened.task_dirs(split)
    if not directories:
        known = ", ".join(sorted(set(opened.manifest.splits.values())))
        raise UserError(f"{release} has no {split} task: its splits are {known or 'none'}")
    found = [ready_task(directory) for directory in directories]
    chosen = [ready for ready in found if not types or ready.task.metadata.environment_type in types]
    if not chosen:
        raise UserError(f"{release} has no {split} task of {', '.join(types)}: give tasks.types that it has")
    return chosen


def runner(run: Run, place: Workplace, reward_name: str = REPORTED) -> Runner:
    """The runner of this run's attempts: seal, then grade."""

    async def grade(directory: Path, ready: ReadyTask) -> Outcome:
        return await graded(run.job, directory, ready, place.sandboxes, reward_name)

    options = run.recipe.options
    return Runner(place, grade, concurrency=options.concurrency, max_restarts=options.restarts)


def counted(run: Run, total: int, label: str = "") -> Callable[[Finished], None]:
    """A callback that advances the progress with the mean reward so far."""
    rewards: list[float] = []
    done = 0

    def one(finished: Finished) -> None:
        nonlocal done
        done += 1
        if finished.reward is not None:
            rewards.append(finished.reward)
        mean = f"reward {sum(rewards) / len(rewards):.3f}" if rewards else ""
        run.progress.step(done, total, f"{label} {mean}".strip())

    return one


def as_attempts(finished: Iterable[Finished]) -> list[Attempt]:
    """What datasets take."""
    return [Attempt(f.spec.id, f.directory, f.outcome) for f in finished]


def mean_reward(finished: Iterable[Finished]) -> float:
    """Mean over valid attempts. Raises UserError where none is valid: there is no reward to report, not zero."""
    rewards = [f.outcome.reward for f in finished if isinstance(f.outcome, Graded)]
    if not rewards:
        raise UserError("no attempt is valid: every one was quarantined; see the causes with `journeyman report`")
    return sum(rewards) / len(rewards)
