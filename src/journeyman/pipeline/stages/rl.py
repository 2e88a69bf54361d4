"""RL while generators run: finished groups are graded and buffered; a full batch makes exactly one optimiser step.

The sampler takes new weights between decode steps, so one episode may span versions; every token keeps its own.
"""

import asyncio
import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from journeyman.datasets.rl import RlConfig, build_rl
from journeyman.engines.base import Engine
from journeyman.errors import UserError
from journeyman.pipeline.account import Account, ended_groups, spent
from journeyman.pipeline.actors import Actors, ScoredGroup, group_name
from journeyman.pipeline.attempts import as_attempts, runner, tasks_of
from journeyman.pipeline.engines import policy_engine
from journeyman.pipeline.process import TrainingProcess
from journeyman.pipeline.seen import samplers
from journeyman.pipeline.state import Run
from journeyman.pipeline.workplace import open_workplace
from journeyman.records.base import canonical_json
from journeyman.records.sample import Update
from journeyman.store.atomic import append_line, read_lines, write_atomic
from journeyman.store.dataset import MARKER, Dataset
from journeyman.store.reading import ANEW, read_records
from journeyman.training.buffer import BufferConfig, Finished, GroupBuffer
from journeyman.training.config import LearnerConfig


def _learner_config(run: Run) -> LearnerConfig:
    rl = run.recipe.rl
    return LearnerConfig(
        initial=run.policy("sft") if "sft" in run.recipe.stages else run.base_policy(),
        weights=run.job.weights / "rl",
        state=run.job.ledger / "state" / "rl",
        ledger=run.job.ledger / "updates.jsonl",
        objective=rl.objective,
        credit=rl.credit,
        reward_name=rl.reward_name,
        total_steps=max(rl.steps, 1),
        optimiser=rl.optimiser,
        schedule=rl.schedule,
        model=rl.model,
        forward=rl.forward,
        seed=run.recipe.seed,
        threads=run.recipe.options.learner_threads,
        recipe_digest=run.recipe.identity(),
    )


def _buffer(run: Run) -> GroupBuffer[ScoredGroup]:
    rl = run.recipe.rl
    return GroupBuffer(
        BufferConfig(
            groups_per_batch=rl.groups_per_step,
            max_staleness=rl.max_staleness,
            max_consecutive_filtered=rl.max_consecutive_filtered,
            count_filtered_groups=rl.count_filtered_groups,
        )
    )


@dataclass
class _Loop:
    run: Run
    engine: Engine
    learner: TrainingProcess
    actors: Actors
    buffer: GroupBuffer[ScoredGroup]
    step: int  # next step to take
    version: int
    weights: Path
    account: Account

    async def go(self) -> None:
        """Until all steps are taken."""
        steps = self.run.recipe.rl.steps
        learning: asyncio.Task[None] | None = None
        try:
            while self.step < steps:
                if learning is None and (batch := self.buffer.pop(self.version)):
                    learning = asyncio.create_task(self._learn(batch))
                self._launch()
                waiting: set[asyncio.Task[Any]] = {*self.actors.flying, *([learning] if learning else [])}
                done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if learning is not None and learning in done:
                    learning.result()
                    learning = None
                for group in self.actors.land({t for t in done if t in self.actors.flying}):
                    self._take(group)
        finally:
            if learning is not None:
                await asyncio.gather(learning, return_exceptions=True)
            await self.actors.close()

    def _launch(self) -> None:
        rl = self.run.recipe.rl
        room = round(rl.groups_per_step * (1 + rl.ahead)) - len(self.buffer.waiting) - self.actors.unreleased
        while room > 0:
            self.actors.launch()
            room -= 1

    def _take(self, group: ScoredGroup) -> None:
        credit = group.credit
        if group.id in self.buffer.consumed:
            return  # trained on before a kill: its episodes were read, not run again
        self.account.group(group.id, group.seen)
        self.buffer.add(Finished(group.id, group.oldest_version, credit.kept, group))
        rewards = [member.reward for member in credit.group.members]
        line = {"group": group.id, "task": credit.group.task, "rewards": rewards, "dropped": credit.dropped}
        append_line(self.run.job.ledger / "groups.jsonl", canonical_json(line))

    async def _learn(self, batch: list[Finished[ScoredGroup]]) -> None:
        directory = self.run.job.data / "rl" / f"{self.step:05d}"
        groups = {g.id: as_attempts(g.payload.finished) for g in batch}
        if directory.exists() and not _holds(directory, set(groups)):
            shutil.rmtree(directory)  # a killed run left it, and no step was taken on it
        if not directory.exists():
            rl = self.run.recipe.rl
            config = RlConfig(reward_name=rl.reward_name, credit=rl.credit.model_dump(mode="json"))
            build_rl(groups, directory, config)
        answer = await self.learner.ask({"step": self.step, "batch": str(directory)})
        if answer["event"] != "step":
            raise UserError(f"the learner refused step {self.step}: {answer.get('message', answer)}")
        self.buffer.commit(batch)
        if answer["stepped"]:
            self.version, self.weights = int(answer["version"]), Path(answer["weights"])
            await self.engine.load_weights(self.weights, self.version)
            self._prune()
        shown = [one for group in batch for one in group.payload.seen]
        self.account.step(self.step, answer["metrics"], answer["tokens"], shown)
        self.step += 1
        self.run.progress.step(self.step, self.run.recipe.rl.steps, _note(answer["metrics"]))

    def _prune(self) -> None:
        """Keep every `keep_every`th checkpoint and the newest two."""
        for directory in (self.run.job.weights / "rl").glob("v*"):
            number = int(directory.name[1:]) if directory.name[1:].isdigit() else self.version
            if number < self.version - 1 and number % self.run.recipe.rl.keep_every:
                shutil.rmtree(directory)


def _holds(directory: Path, groups: set[str]) -> bool:
    """Whether a finished batch of exactly these groups lies there."""
    if not (directory / MARKER).exists():
        return False
    return {group.id for group in Dataset.open(directory).groups} == groups


def _note(metrics: dict[str, float]) -> str:
    shown = (("reward", "reward"), ("shaped", "shaped"), ("entropy", "entropy"), ("staleness", "staleness_mean"))
    return "  ".join(f"{label} {metrics[key]:.3f}" for label, key in shown if key in metrics)


def consumed_groups(run: Run) -> set[str]:
    """Groups of the batches the learner has answered for."""
    consumed: set[str] = set()
    for update in read_records(run.job.ledger / "updates.jsonl", Update, ANEW):
        consumed |= set(update.groups) | set(update.dropped)
    return consumed


def first_open(run: Run, consumed: set[str]) -> int:
    """The cursor to go on from: every group before it was consumed, or had no signal and takes no place in a batch."""
    lines = (json.loads(line) for line in read_lines(run.job.ledger / "groups.jsonl"))
    filtered = {str(line["group"]) for line in lines if line["dropped"]}
    over = consumed if run.recipe.rl.count_filtered_groups else consumed | filtered
    number = 0
    while group_name(number) in over:
        number += 1
    return number


async def train(run: Run) -> dict[str, Any]:
    """All RL steps; goes on where a killed run stopped. Returns the stage's figures."""
    started = time.monotonic()
    rl, options = run.recipe.rl, run.recipe.options
    tasks = tasks_of(run, "train")
    config = _learner_config(run)
    path = run.job.ledger / "rl.json"
    write_atomic(path, config.model_dump_json(indent=1).encode())
    run.progress.stage("rl", f"{rl.steps} steps of {rl.groups_per_step} groups x {rl.group_size} on {len(tasks)} tasks")
    learner = await TrainingProcess.start(
        "journeyman.training.learner", path, run.job.ledger / "rl.log", options.learner_threads
    )
    try:
        ready = await learner.next()
        step, version, weights = int(ready["step"]) + 1, int(ready["version"]), Path(ready["weights"])
        async with policy_engine(run.recipe, weights, run.base_policy(), version) as engine:
            async with open_workplace(run.job, engine, weights, sandbox=options.sandbox) as opened:
                before = opened.outside_cpu_seconds()
                buffer = _buffer(run)
                buffer.consumed = consumed_groups(run)
                first = first_open(run, buffer.consumed)
                actors = Actors(run, tasks, runner(run, opened.place, rl.reward_name), first, first)
                account = Account(run, samplers(run.recipe) + 1, started, ended_groups(run))
                loop = _Loop(run, engine, learner, actors, buffer, step, version, weights, account)
                await loop.go()
                cpu = opened.outside_cpu_seconds() - before
    finally:
        await learner.close()
    episodes = (loop.actors.released - first) * rl.group_size
    figures = {
        "steps": loop.step,
        "version": loop.version,
        "weights": str(loop.weights),
        "groups": loop.actors.released,
        "filtered": len(buffer.filtered),
        "stale": len(buffer.stale),
        "cpu_seconds_per_episode": cpu / max(episodes, 1),
    }
    run.spend("rl", started, **{k: v for k, v in figures.items() if k != "weights"}, **spent(run))
    return figures
