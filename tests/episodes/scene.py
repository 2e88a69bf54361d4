"""A job with everything an attempt needs, around a scripted engine that may be broken on purpose."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from journeyman.engines.scripted import ScriptedEngine
from journeyman.episodes.run_many import Finished, Runner
from journeyman.episodes.run_one import ReadyTask, Workplace
from journeyman.pipeline.plans import PlanBook
from journeyman.pipeline.workplace import open_workplace
from journeyman.records.batch import Group, Member
from journeyman.records.episode import EpisodeSpec
from journeyman.records.outcome import Graded
from journeyman.records.task import Plan
from journeyman.store.layout import Job
from journeyman.tasks.package import plans
from journeyman.training.credit import CreditConfig, GroupCredit, credit
from tests.episodes.faulty import ENGINE, GRADER, Fault, FaultyEngine, Hits, grading

NO_OP = Plan(name="no-op", kind="negative", steps=())


def nobody(key: str) -> bool:
    """No try is broken."""
    return False


@dataclass
class Scene:
    """An open job. `hits` decides which tries the fault breaks."""

    job: Job
    place: Workplace
    book: PlanBook
    fault: Fault | None
    hits: Hits

    def runner(self, restarts: int = 0, concurrency: int = 4) -> Runner:
        """The runner of this job, its grader broken where the fault says so."""
        hits = self.hits if self.fault is GRADER else nobody
        return Runner(self.place, grading(self.job, self.place.sandboxes, hits), concurrency, restarts)

    def spec(self, ready: ReadyTask, plan: Plan, attempt: int = 0, group: str = "g0") -> EpisodeSpec:
        """An attempt that follows `plan`; the window is wide enough for the tiny tokenizer."""
        budget = ready.task.budget.model_copy(update={"context_tokens": 65_536})
        spec = EpisodeSpec(
            job=self.job.name, policy="rl", task=ready.task.slug, group=group, attempt=attempt, budget=budget
        )
        self.book.assign(spec, plan)
        return spec

    async def group(
        self, ready: ReadyTask, members: Sequence[Plan], restarts: int = 0, concurrency: int = 4
    ) -> list[Finished]:
        """One group: attempt n follows the n-th plan."""
        specs = [(self.spec(ready, plan, n), ready) for n, plan in enumerate(members)]
        return await self.runner(restarts, concurrency).all(specs)


@asynccontextmanager
async def scene(
    root: Path, tokenizer: Path, fault: Fault | None = None, hits: Hits = nobody, sandbox: str = "bubblewrap"
) -> AsyncIterator[Scene]:
    """Open a job in `root` with the fault injected."""
    book = PlanBook()
    engine = ScriptedEngine(book.answer)
    job = Job(root)
    sampler = FaultyEngine(engine, hits) if fault is ENGINE else engine
    async with open_workplace(job, sampler, tokenizer, sandbox=sandbox) as opened:
        place = fault.place(opened.place, hits) if fault is not None else opened.place
        yield Scene(job, place, book, fault, hits)


def members(ready: ReadyTask, count: int = 4) -> list[Plan]:
    """The reference (it is what gets broken), negatives, the reference again, and doing nothing."""
    reference, negatives, _ = plans(ready.directory)
    return [reference, *negatives[: count - 3], reference, NO_OP]


def credit_of(finished: Sequence[Finished]) -> GroupCredit:
    """The group's credit, unshaped."""
    made = []
    for one in finished:
        if isinstance(one.outcome, Graded):
            made.append(Member(episode=one.spec.id, valid=True, reward=one.outcome.reward))
        else:
            cause = f"{one.outcome.layer}: {one.outcome.cause}"
            made.append(Member(episode=one.spec.id, valid=False, cause=cause))
    return credit(Group(id="g0", task=finished[0].spec.task, members=tuple(made)), CreditConfig())


def baseline(finished: Sequence[Finished]) -> float:
    """Mean reward over the valid members."""
    rewards = [one.reward for one in finished if one.reward is not None]
    return sum(rewards) / len(rewards)
