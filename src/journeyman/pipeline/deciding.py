"""Deciding packages by execution: every plan runs through the public path (sandbox, services, seal, grade).

Invariant: a decision depends on its package and the frozen context only, so packages are shared out over processes and
the decisions are the same for any number of them. A process of ours ends with the one that started it.
"""

import asyncio
import contextlib
import ctypes
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from journeyman.admission.context import Context
from journeyman.admission.decide import admit_all, held_out_of
from journeyman.admission.gates import GATES
from journeyman.admission.gates.base import Execute, Executed
from journeyman.engines.scripted import ScriptedEngine
from journeyman.grading.episode import grade_path
from journeyman.pipeline.attempts import runner
from journeyman.pipeline.plans import PlanBook
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import Recipe
from journeyman.pipeline.state import Run
from journeyman.pipeline.workplace import Opened, open_workplace, ready_task
from journeyman.records.admission import Admission
from journeyman.records.episode import EpisodeSpec
from journeyman.records.grade import Grade
from journeyman.records.outcome import Quarantined
from journeyman.records.task import Plan
from journeyman.store.layout import Job

POLICY = "admission"
PART = 32
"""Packages decided at a time by one process: opening its workplace costs about what two of them do."""

_PR_SET_PDEATHSIG = 1


class Decided(NamedTuple):
    """What was decided, and the CPU seconds that it took outside any model."""

    admissions: tuple[Admission, ...]
    cpu_seconds: float


class _Part(NamedTuple):
    recipe: Recipe
    root: Path
    directories: tuple[Path, ...]
    gates: tuple[str, ...]
    context: Context


@asynccontextmanager
async def executing(run: Run) -> AsyncIterator[tuple[Execute, Opened]]:
    """What the executing gates call: one plan on one task, as any policy would act, sealed and graded."""
    book = PlanBook()
    async with open_workplace(
        run.job, ScriptedEngine(book.answer), run.base_policy(), sandbox=run.recipe.options.sandbox
    ) as opened:
        attempts = runner(run, opened.place)

        async def execute(directory: Path, plan: Plan) -> Executed | Quarantined:
            ready = ready_task(directory)
            spec = EpisodeSpec(job=run.job.name, policy=POLICY, task=ready.task.slug, group=plan.name, attempt=0)
            book.assign(spec, plan)
            finished = await attempts.attempt(spec, ready)
            if isinstance(finished.outcome, Quarantined):
                return finished.outcome
            path = grade_path(run.job.grades_dir(finished.spec.key), ready.grader_digest)
            return Executed(Grade.parse(path.read_bytes()), finished.directory)

        yield execute, opened


async def decide(
    run: Run,
    directories: Sequence[Path],
    suites: Sequence[Path] = (),
    gates: Sequence[str] = tuple(GATES),
    processes: int | None = None,
    part: int = PART,
) -> Decided:
    """Admit packages, in the order given, in as many processes as there are cores (`processes` to say otherwise).

    `suites`: packages held out elsewhere; those among `directories` are held out in any case.
    """
    context = Context(heldout=held_out_of(directories, suites))
    whole = _Part(run.recipe, run.job.root, tuple(directories), tuple(gates), context)
    parts = [whole._replace(directories=whole.directories[i : i + part]) for i in range(0, len(directories), part)]
    done = 0

    def decided(admission: Admission) -> None:
        nonlocal done
        done += 1
        last = admission.gates[-1]
        run.progress.step(done, len(directories), "" if admission.admitted else f"{admission.task}: {last.reason}")

    workers = min(len(parts), processes or _cores())
    if workers < 2:
        return await _decide_part(whole, run, decided)
    found = await _decide_parts(parts, workers, decided)
    return Decided(tuple(a for one in found for a in one.admissions), sum(one.cpu_seconds for one in found))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


async def _decide_part(part: _Part, run: Run, decided: Callable[[Admission], None]) -> Decided:
    async with executing(run) as (execute, opened):
        before = opened.outside_cpu_seconds()
        admissions = await admit_all(
            part.directories,
            execute,
            gates=part.gates,
            context=part.context,
            concurrency=max(2, part.recipe.options.concurrency // 2),
            on_decided=decided,
        )
        return Decided(admissions, opened.outside_cpu_seconds() - before)


async def _decide_parts(parts: Sequence[_Part], workers: int, decided: Callable[[Admission], None]) -> list[Decided]:
    loop = asyncio.get_running_loop()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=_end_with, initargs=(os.getpid(),)) as pool:

        async def one(part: _Part) -> Decided:
            found = await loop.run_in_executor(pool, _decide_in_process, part)
            for admission in found.admissions:
                decided(admission)
            return found

        try:
            return list(await asyncio.gather(*(one(part) for part in parts)))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _decide_in_process(part: _Part) -> Decided:
    run = Run(part.recipe, Job(part.root), Silent())
    return asyncio.run(_decide_part(part, run, lambda admission: None))


def _end_with(parent: int) -> None:
    """Be killed when the process that started this one ends, so that two never work on one job."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
