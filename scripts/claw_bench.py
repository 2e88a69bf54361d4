"""Real input that nobody here wrote: the tasks of the PyPI package claw-bench under our sandbox, capture and seals.

Policies: `oracle` (the suite's solutions as a scripted policy), `no_op` (answers at once), and the small shipped model.
Every attempt takes the same harness and gateway, is sealed, and is verified in a fresh box restored from the seal.
Prints a table and the time; sealed episodes and grades stay in --out, and a second call goes on where one stopped.
"""

import argparse
import asyncio
import contextlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from journeyman.engines.scripted import ScriptedEngine
from journeyman.episodes.run_many import Finished, Runner
from journeyman.episodes.run_one import ReadyTask
from journeyman.errors import Failure, UserError
from journeyman.grading.episode import grade_episode, outcome_of
from journeyman.grading.verified import STRICT, VerifierGrader
from journeyman.pipeline.plans import PlanBook
from journeyman.pipeline.recipe import Recipe
from journeyman.pipeline.state import SHIPPED_POLICY
from journeyman.pipeline.workplace import embedded_engine, open_workplace, sandbox_provider
from journeyman.records.episode import EpisodeSpec, Sampling
from journeyman.records.grade import REPORTED
from journeyman.records.outcome import Graded, Outcome, Quarantined
from journeyman.records.task import Plan, PlanStep
from journeyman.sandbox.base import Sandbox, SandboxProvider, SandboxSpec
from journeyman.store.layout import Job
from journeyman.tasks.clawbench import SUITE, VERSION, load_prepared, oracle_plan, prepare, source_dirs
from journeyman.tasks.package import public_workspace

NO_OP = Plan(name="no_op", kind="negative", steps=(PlanStep(text="Done."),))
PACKAGES = ("pytest==9.2.0", "pyyaml==6.0.4", "requests==2.34.2")


def installed(target: Path, *packages: str, marker: str) -> Path:
    """`target`, with `packages` installed into it by pip unless `marker` is there: never an environment of ours."""
    if not (target / marker).exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", str(target), *packages], check=True)
    return target


class WithPackages:
    """Boxes of `sandboxes` in which python imports what the suite's own environment has (not the suite itself)."""

    def __init__(self, sandboxes: SandboxProvider, site: Path) -> None:
        self._sandboxes = sandboxes
        self._binds = {f"/opt/packages/{name}": site / name for name in ("yaml", "packaging") if (site / name).is_dir()}

    async def start(self, spec: SandboxSpec) -> Sandbox:
        """A fresh box. Raises SandboxFailure."""
        more = {
            "read_only": {**self._binds, **spec.read_only},
            "environment": {"PYTHONPATH": "/opt/packages", **spec.environment},
        }
        return await self._sandboxes.start(spec.model_copy(update=more))


async def prepare_all(suite: Path, site: Path, out: Path, sandbox: str, limit: int) -> tuple[list[Path], list[str]]:
    """Prepared tasks, and one line for each that could not be prepared."""
    ready: list[Path] = []
    refused: list[str] = []
    free = asyncio.Semaphore(2)
    async with sandbox_provider(sandbox) as provider:
        sandboxes = WithPackages(provider, site)

        async def one(source: Path) -> None:
            target = out / source.name
            try:
                async with free:
                    ready.append(target if target.exists() else await prepare(source, out, site, sandboxes))
            except (Failure, UserError) as error:
                refused.append(f"{source.name}: {error}")

        await asyncio.gather(*(one(source) for source in source_dirs(suite)[:limit]))
    return sorted(ready), sorted(refused)


def ready_task(directory: Path, grader: VerifierGrader) -> ReadyTask:
    """A prepared task, its verifier bound."""
    task = load_prepared(directory)
    return ReadyTask(task, directory, public_workspace(directory), {}, grader.identity(task.rubric).digest())


@contextlib.asynccontextmanager
async def engine_of(policy: str, book: PlanBook, weights: Path) -> AsyncIterator[Any]:
    """The scripted engine, or the small model."""
    if policy == "small":
        async with embedded_engine(Recipe(name=SUITE), weights) as engine:
            yield engine
    else:
        yield ScriptedEngine(book.answer)


async def attempt_all(
    policy: str, tasks: Sequence[Path], site: Path, job: Job, weights: Path, sandbox: str
) -> list[Finished]:
    """One attempt of every task by one policy, sealed and verified."""
    book = PlanBook()
    async with engine_of(policy, book, weights) as engine:
        async with open_workplace(job, engine, weights, sandbox=sandbox, services=False) as opened:
            grader = VerifierGrader(opened.place.sandboxes, site)

            async def grade(directory: Path, ready: ReadyTask) -> Outcome:
                grades = job.grades_dir(job.key_of(directory))
                outcome = outcome_of(directory, grades)
                if isinstance(outcome, Quarantined) and outcome.cause == "ungraded":
                    outcome = await grade_episode(directory, ready.directory, grades, grader)
                return outcome

            attempts = []
            for directory in tasks:
                sampling = Sampling(temperature=0.0, max_tokens=256)
                spec = EpisodeSpec(
                    job=job.name, policy=policy, task=directory.name, group="g0", attempt=0, sampling=sampling
                )
                if policy != "small":
                    book.assign(spec, oracle_plan(directory) if policy == "oracle" else NO_OP)
                attempts.append((spec, ready_task(directory, grader)))
            place = replace(opened.place, sandboxes=WithPackages(opened.place.sandboxes, site))
            return await Runner(place, grade, concurrency=2, max_restarts=0).all(attempts)


def rows(policy: str, finished: Sequence[Finished], job: Job, seconds: float) -> list[str]:
    """The policy's line of the table, and one line for each attempt that is not as it should be."""
    passed, partial, lines = 0, [], []
    layers: Counter[str] = Counter()
    for one in finished:
        if isinstance(one.outcome, Quarantined):
            layers[f"{one.outcome.layer}: {one.outcome.cause}"] += 1
            lines.append(f"  {one.spec.task}: {one.outcome.layer}: {one.outcome.cause}: {one.outcome.detail[:160]}")
            continue
        strict = outcome_of(one.directory, job.grades_dir(one.spec.key), STRICT)
        ok = isinstance(strict, Graded) and strict.reward == 1.0
        passed += ok
        partial.append(one.outcome.reward)
        if (policy == "oracle") is not ok and policy != "small":
            lines.append(f"  {one.spec.task}: {REPORTED} {one.outcome.reward:.3f}")
    mean = sum(partial) / len(partial) if partial else float("nan")
    head = f"{policy:<8}{len(finished):>6}{passed:>8}{mean:>9.3f}{sum(layers.values()):>13}{seconds:>9.1f}"
    return [head, *lines]


async def run(options: argparse.Namespace) -> None:
    """Install, prepare, attempt, print."""
    suite = installed(options.out / "suite", "--no-deps", f"{SUITE}=={VERSION}", marker="share")
    site = installed(options.out / "site", *PACKAGES, marker="yaml")
    started = time.monotonic()
    tasks, refused = await prepare_all(suite, site, options.out / "tasks", options.sandbox, options.limit)
    print(f"{len(tasks)} tasks prepared in {time.monotonic() - started:.1f} s, {len(refused)} could not be")
    print("\n".join(f"  {line}" for line in refused) or "  (none refused)")
    job = Job(options.out / "runs" / SUITE)
    print(f"{'policy':<8}{'tasks':>6}{'passed':>8}{'partial':>9}{'quarantined':>13}{'seconds':>9}")
    for policy in options.policies.split(","):
        started = time.monotonic()
        finished = await attempt_all(policy, tasks, site, job, options.weights, options.sandbox)
        print("\n".join(rows(policy, finished, job, time.monotonic() - started)), flush=True)


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description="Run claw-bench's tasks under journeyman.")
    parser.add_argument("--out", type=Path, default=Path("build/claw-bench"))
    parser.add_argument("--policies", default="oracle,no_op,small")
    parser.add_argument("--limit", type=int, default=1000, help="only the first N tasks")
    parser.add_argument("--weights", type=Path, default=SHIPPED_POLICY, help="policy directory (tokenizer, template)")
    parser.add_argument("--sandbox", default="bubblewrap")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
