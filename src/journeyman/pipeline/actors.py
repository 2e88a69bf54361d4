"""The actors of RL: groups of attempts along a fixed cursor, several in flight, handed over in cursor order.

Group n is always the same task with the same seeds: a killed run that starts again consumes the same multiset of tasks.
"""

import asyncio
import random
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from journeyman.episodes.run_many import Finished, Runner
from journeyman.episodes.run_one import ReadyTask
from journeyman.pipeline.attempts import seed_of
from journeyman.pipeline.seen import Seen, seen
from journeyman.pipeline.state import Run
from journeyman.records.batch import Group, Member
from journeyman.records.episode import EpisodeSpec, Sampling
from journeyman.records.outcome import Graded
from journeyman.store.token_log import read_tokens
from journeyman.training.credit import GroupCredit, credit

POLICY = "rl-train"


class ScoredGroup(NamedTuple):
    """One finished group with its credit."""

    number: int
    finished: tuple[Finished, ...]
    seen: tuple[Seen, ...]
    credit: GroupCredit
    oldest_version: int | None

    @property
    def id(self) -> str:
        """Explicit group id: the path segment of its episodes."""
        return self.credit.group.id


def group_name(number: int) -> str:
    """The id and path segment of group `number`."""
    return f"g{number:05d}"


def task_order(tasks: list[ReadyTask], seed: int, number: int) -> ReadyTask:
    """The task of group `number`: whole shuffled passes over the tasks, one after another."""
    epoch, index = divmod(number, len(tasks))
    order = list(range(len(tasks)))
    random.Random(f"rl-order:{seed}:{epoch}").shuffle(order)
    return tasks[order[index]]


def _member(finished: Finished, shown: Seen) -> Member:
    outcome = finished.outcome
    if not isinstance(outcome, Graded):
        return Member(episode=finished.spec.id, valid=False, cause=f"{outcome.layer}: {outcome.cause}")
    usage = shown.usage
    return Member(
        episode=finished.spec.id,
        valid=True,
        reward=outcome.reward,
        turns=usage.turns,
        sampled_tokens=usage.sampled_tokens,
        prompt_tokens=usage.prompt_tokens,
        invalid_calls=usage.invalid_calls,
    )


def _oldest(finished: tuple[Finished, ...]) -> int | None:
    versions = [read_tokens(f.directory).versions for f in finished if isinstance(f.outcome, Graded)]
    sampled = np.concatenate([v[v >= 0] for v in versions]) if versions else np.zeros(0, dtype=np.int32)
    return int(sampled.min()) if len(sampled) else None


@dataclass
class Actors:
    """Runs groups from `start` on; `ready` yields them in cursor order as they finish."""

    run: Run
    tasks: list[ReadyTask]
    runner: Runner
    launched: int = 0
    released: int = 0
    _flying: dict[asyncio.Task[ScoredGroup], int] = field(default_factory=dict)
    _landed: dict[int, ScoredGroup] = field(default_factory=dict)

    @property
    def unreleased(self) -> int:
        """Groups started and not yet handed over."""
        return self.launched - self.released

    @property
    def flying(self) -> set[asyncio.Task[ScoredGroup]]:
        """Groups in flight."""
        return set(self._flying)

    def launch(self) -> None:
        """Start the next group of the cursor."""
        task = asyncio.create_task(self._group(self.launched))
        self._flying[task] = self.launched
        self.launched += 1

    def land(self, tasks: set[asyncio.Task[ScoredGroup]]) -> list[ScoredGroup]:
        """Take finished flights; returns what can now be handed over, in cursor order."""
        for task in tasks:
            number = self._flying.pop(task)
            self._landed[number] = task.result()
        handed = []
        while self.released in self._landed:
            handed.append(self._landed.pop(self.released))
            self.released += 1
        return handed

    async def close(self) -> None:
        """Cancel what is still in flight."""
        for task in self._flying:
            task.cancel()
        await asyncio.gather(*self._flying, return_exceptions=True)

    async def _group(self, number: int) -> ScoredGroup:
        recipe = self.run.recipe
        ready = task_order(self.tasks, recipe.seed, number)
        name = group_name(number)
        specs = [
            EpisodeSpec(
                job=self.run.job.name,
                policy=POLICY,
                task=ready.task.slug,
                group=name,
                attempt=attempt,
                sampling=Sampling(temperature=recipe.rl.temperature, max_tokens=recipe.policy.max_tokens),
                seed=seed_of(recipe.seed, POLICY, number, attempt),
            )
            for attempt in range(recipe.rl.group_size)
        ]
        finished = tuple(await asyncio.gather(*(self.runner.attempt(spec, ready) for spec in specs)))
        shown = tuple(seen(f, ready.task.metadata.environment_type) for f in finished)
        members = tuple(_member(f, s) for f, s in zip(finished, shown, strict=True))
        group = Group(id=name, task=ready.task.slug, members=members)
        return ScoredGroup(number, finished, shown, credit(group, recipe.rl.credit), _oldest(finished))
