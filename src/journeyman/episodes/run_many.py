"""Many attempts at once: bounded concurrency, restarts of what we broke, nothing sealed twice.

An attempt that ends quarantined is restarted as the next try in a fresh environment; the old try stays sealed.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from journeyman.episodes.run_one import ReadyTask, Workplace, run_one
from journeyman.errors import JourneymanError, UserError
from journeyman.records.episode import EpisodeSpec
from journeyman.records.outcome import Graded, Outcome, Quarantined
from journeyman.store.seal import is_sealed

GIVE_UP_AFTER = 16  # attempts in a row, beyond twice those in flight, that all failed on our side


class KeepsFailing(JourneymanError):
    """So many attempts in a row were quarantined that something of ours is broken."""


@dataclass(frozen=True)
class Finished:
    """An attempt's last try and its outcome."""

    spec: EpisodeSpec
    directory: Path
    outcome: Outcome

    @property
    def reward(self) -> float | None:
        """The reward of a valid attempt; None where it is quarantined."""
        return self.outcome.reward if isinstance(self.outcome, Graded) else None


def _place(spec: EpisodeSpec) -> str:
    """policy/task/group/attempt, whatever the try."""
    return spec.key.rpartition(".")[0]


def _check_apart(places: Sequence[str]) -> None:
    if twice := [place for place, count in Counter(places).items() if count > 1]:
        raise UserError(f"attempt {twice[0]} was asked for twice: give each task, policy and temperature once")


@dataclass
class Runner:
    """Runs attempts with `concurrency` at a time and `max_restarts` further tries after a failure of ours.

    `grade` takes a sealed directory and returns its outcome (it reads an existing grade instead of grading twice).
    """

    place: Workplace
    grade: Callable[[Path, ReadyTask], Awaitable[Outcome]]
    concurrency: int
    max_restarts: int = 2

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(self.concurrency)
        self._failed_in_a_row = 0
        self._underway: set[str] = set()

    async def attempt(self, spec: EpisodeSpec, ready: ReadyTask) -> Finished:
        """One attempt to its end: graded, or quarantined after the last restart.

        Tries that an earlier process sealed are read, not run, and are no restart of this one. Raises KeepsFailing, and
        UserError where the same attempt is going on: two would write into one place.
        """
        _check_apart([*self._underway, place := _place(spec)])
        self._underway.add(place)
        try:
            return await self._tries(spec, ready)
        finally:
            self._underway.remove(place)

    async def _tries(self, spec: EpisodeSpec, ready: ReadyTask) -> Finished:
        restarts = 0
        for number in itertools.count():
            this = spec.model_copy(update={"try_": number})
            async with self._free:
                fresh = not is_sealed(self.place.job.episode_dir(this.key))
                directory = await run_one(this, ready, self.place)
                outcome = await self.grade(directory, ready)
            if not isinstance(outcome, Quarantined):
                self._failed_in_a_row = 0
                break
            restarts += fresh
            if restarts > self.max_restarts:
                self._gave_up(outcome)
                break
        return Finished(this, directory, outcome)

    def _gave_up(self, outcome: Quarantined) -> None:
        """Everybody failing is not bad luck: stop instead of spinning."""
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= 2 * self.concurrency + GIVE_UP_AFTER:
            raise KeepsFailing(
                f"{self._failed_in_a_row} attempts in a row failed on our side, the last in the {outcome.layer} "
                f"({outcome.cause}: {outcome.detail}): mend that, then go on with the same command and --resume"
            )

    async def all(
        self,
        attempts: Iterable[tuple[EpisodeSpec, ReadyTask]],
        on_finished: Callable[[Finished], None] = lambda finished: None,
    ) -> list[Finished]:
        """All attempts, in the order given; `on_finished` is called as each ends. Raises UserError for one twice."""
        attempts = list(attempts)
        _check_apart([_place(spec) for spec, _ in attempts])

        async def one(spec: EpisodeSpec, ready: ReadyTask) -> Finished:
            finished = await self.attempt(spec, ready)
            on_finished(finished)
            return finished

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(spec, ready)) for spec, ready in attempts]
        return [task.result() for task in tasks]
