"""Held-out evaluation: every policy of the run on the same tasks with the same scaffold, sampled and greedy."""

import time
from collections.abc import Iterator
from typing import Any

from journeyman.episodes.run_one import ReadyTask
from journeyman.pipeline.attempts import counted, mean_reward, runner, seed_of, tasks_of
from journeyman.pipeline.engines import policy_engine
from journeyman.pipeline.seen import samplers, usage, used
from journeyman.pipeline.state import Run
from journeyman.pipeline.workplace import open_workplace
from journeyman.records.episode import EpisodeSpec, Sampling, Usage


def group(temperature: float) -> str:
    """The group segment of an evaluation's episodes: one per sampling temperature."""
    return f"heldout.t{temperature:g}"


def arm(policy: str, temperature: float) -> str:
    """How figures name a policy at a temperature, e.g. `rl, T = 1` or `rl, greedy`."""
    return f"{policy}, greedy" if temperature == 0 else f"{policy}, T = {temperature:g}"


def specs(run: Run, policy: str, tasks: list[ReadyTask]) -> Iterator[tuple[EpisodeSpec, ReadyTask]]:
    """All attempts of one policy. Seeds depend on task and attempt only, so that policies are paired."""
    evaluation = run.recipe.evaluation
    for temperature in evaluation.temperatures:
        attempts = evaluation.attempts if temperature else evaluation.greedy_attempts
        for ready in tasks:
            for attempt in range(attempts):
                yield (
                    EpisodeSpec(
                        job=run.job.name,
                        policy=policy,
                        task=ready.task.slug,
                        group=group(temperature),
                        attempt=attempt,
                        sampling=Sampling(temperature=temperature, max_tokens=run.recipe.policy.max_tokens),
                        seed=seed_of(evaluation.seed, "heldout", ready.task.slug, attempt),
                    ),
                    ready,
                )


def evaluated(run: Run) -> list[str]:
    """The policies the recipe names, without `merged` where the merge found nothing to merge."""
    skipped = "skipped" in (run.figures("merge") or {})
    return [name for name in run.recipe.evaluation.policies if not (skipped and name == "merged")]


async def evaluate(run: Run) -> dict[str, Any]:
    """Evaluate every policy the recipe names. Returns the stage's figures."""
    started = time.monotonic()
    options = run.recipe.options
    tasks = tasks_of(run, "heldout")
    policies = {name.partition("=")[0]: run.policy(name) for name in evaluated(run)}
    plans = {name: list(specs(run, name, tasks)) for name in policies}
    total = sum(len(plan) for plan in plans.values())
    run.progress.stage("evaluate", f"{total} episodes: {', '.join(policies)} on {len(tasks)} held-out tasks")
    figures: dict[str, Any] = {}
    usages: list[Usage] = []
    cpu = 0.0
    first = next(iter(policies.values()))
    async with policy_engine(run.recipe, first, run.base_policy()) as engine:
        for version, (name, weights) in enumerate(policies.items()):
            if version:
                await engine.load_weights(weights, version)
            async with open_workplace(run.job, engine, weights, sandbox=options.sandbox) as opened:
                before = opened.outside_cpu_seconds()
                note = counted(run, len(plans[name]), name)
                finished = await runner(run, opened.place).all(plans[name], note)
                cpu += opened.outside_cpu_seconds() - before
                usages += [usage(one) for one in finished]
            for temperature in run.recipe.evaluation.temperatures:
                of_arm = [f for f in finished if f.spec.group == group(temperature)]
                figures[arm(name, temperature)] = mean_reward(of_arm)
                run.progress.say(f"{arm(name, temperature):<16}  held-out reward {mean_reward(of_arm):.3f}")
            rewards = {f"reward.t{t:g}": figures[arm(name, t)] for t in run.recipe.evaluation.temperatures}
            run.progress.figures("evaluate", version, rewards)
    run.spend("evaluate", started, samplers(run.recipe), **used(usages))
    return {"rewards": figures, "cpu_seconds_per_episode": cpu / max(len(usages), 1)}
