"""Demonstrations: the scripted, imperfect expert acts through the same harness, gateway and sandbox as any policy."""

import time
from typing import Any

from journeyman.datasets.sft import SftConfig, build_sft
from journeyman.engines.scripted import ScriptedEngine
from journeyman.episodes.run_one import ReadyTask
from journeyman.pipeline.attempts import as_attempts, counted, mean_reward, runner, seed_of, tasks_of
from journeyman.pipeline.plans import PlanBook
from journeyman.pipeline.seen import usage, used
from journeyman.pipeline.selecting import decoder_of
from journeyman.pipeline.state import Run
from journeyman.pipeline.workplace import open_workplace
from journeyman.records.episode import EpisodeSpec
from journeyman.store.dataset import MARKER
from journeyman.worlds.registry import demonstrations


def _specs(run: Run, tasks: list[ReadyTask], book: PlanBook) -> list[tuple[EpisodeSpec, ReadyTask]]:
    specs = []
    for ready in tasks:
        about = ready.task.metadata
        plans = demonstrations(
            about.environment_type, about.seed, about.split, run.recipe.expert.per_task, salt=run.recipe.seed
        )
        for number, plan in enumerate(plans):
            spec = EpisodeSpec(
                job=run.job.name,
                policy="expert",
                task=ready.task.slug,
                group="demo",
                attempt=number,
                seed=seed_of(run.recipe.seed, "expert", ready.task.slug, number),
            )
            book.assign(spec, plan)
            specs.append((spec, ready))
    return specs


async def collect(run: Run) -> dict[str, Any]:
    """Run and seal every demonstration, then write the SFT rows. Returns the stage's figures."""
    started = time.monotonic()
    book = PlanBook()
    specs = _specs(run, tasks_of(run, "train"), book)
    run.progress.stage("demonstrations", f"{len(specs)} episodes of the scripted expert")
    options = run.recipe.options
    async with open_workplace(
        run.job, ScriptedEngine(book.answer), run.base_policy(), sandbox=options.sandbox
    ) as opened:
        before = opened.outside_cpu_seconds()
        finished = await runner(run, opened.place).all(specs, counted(run, len(specs)))
        cpu = opened.outside_cpu_seconds() - before
    dataset = run.job.data / "sft"
    if not (dataset / MARKER).exists():
        sft = run.recipe.sft
        config = SftConfig(
            max_length=sft.max_length,
            min_reward=sft.min_reward,
            ignore_empty_think=sft.ignore_empty_think,
            think_opened_by_prompt=sft.think_opened_by_prompt,
            strict_whitespace=sft.strict_whitespace,
            sanitise=sft.sanitise,
        )
        build_sft(as_attempts(finished), dataset, config, decoder_of(run.base_policy()))
    figures = {
        **used(usage(one) for one in finished),
        "reward": mean_reward(finished),
        "cpu_seconds_per_episode": cpu / max(len(finished), 1),
    }
    run.spend("demonstrations", started, **figures)
    return figures
