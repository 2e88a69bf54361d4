"""Admission by execution: every plan of a candidate runs through the public path (sandbox, services, seal, grade)."""

import shutil
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import journeyman
from journeyman.admission.context import Context
from journeyman.admission.decide import admit_all, held_out_of
from journeyman.admission.funnel import Funnel, funnel
from journeyman.admission.gates import GATES
from journeyman.admission.gates.base import Execute, Executed
from journeyman.admission.release import create_release, verify_release
from journeyman.engines.scripted import ScriptedEngine
from journeyman.grading.episode import grade_path
from journeyman.pipeline.attempts import runner
from journeyman.pipeline.plans import PlanBook
from journeyman.pipeline.stages.making import make_one, wanted
from journeyman.pipeline.state import Run
from journeyman.pipeline.workplace import Opened, open_workplace, ready_task
from journeyman.records.admission import Admission
from journeyman.records.episode import EpisodeSpec
from journeyman.records.grade import Grade
from journeyman.records.outcome import Quarantined
from journeyman.records.task import Plan

POLICY = "admission"


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
    run: Run, directories: Sequence[Path], suites: Sequence[Path] = (), gates: Sequence[str] = tuple(GATES)
) -> tuple[tuple[Admission, ...], float]:
    """Admit packages; returns the decisions and the CPU seconds spent outside any model.

    `suites`: packages held out elsewhere; those among `directories` are held out in any case.
    """
    done = 0
    context = Context(heldout=held_out_of(directories, suites))

    def decided(admission: Admission) -> None:
        nonlocal done
        done += 1
        last = admission.gates[-1]
        run.progress.step(done, len(directories), "" if admission.admitted else f"{admission.task}: {last.reason}")

    async with executing(run) as (execute, opened):
        before = opened.outside_cpu_seconds()
        admissions = await admit_all(
            directories,
            execute,
            gates=gates,
            context=context,
            concurrency=max(2, run.recipe.options.concurrency // 2),
            on_decided=decided,
        )
        return admissions, opened.outside_cpu_seconds() - before


def funnel_lines(counted: Funnel) -> Iterator[str]:
    """The funnel as a few lines of text."""
    yield f"{'gate':<16}{'entered':>8}{'passed':>8}{'failed':>8}{'quarantined':>13}"
    for row in counted.gates:
        yield f"{row.gate:<16}{row.entered:>8}{row.passed:>8}{row.failed:>8}{row.quarantined:>13}"
    yield f"{'admitted':<16}{counted.raw:>8}{counted.admitted:>8}{counted.raw - counted.admitted:>8}"


async def make_and_admit(run: Run) -> dict[str, Any]:
    """Make the recipe's tasks, admit them by execution, release them. Returns the stage's figures."""
    if run.recipe.tasks.from_release:
        given = verify_release(run.release)
        run.progress.stage("tasks", f"{len(given.manifest.tasks)} tasks of {run.release}")
        return {"released": len(given.manifest.tasks)}
    started = time.monotonic()
    wants = list(wanted(run.recipe.tasks))
    run.progress.stage("tasks", f"{len(wants)} tasks are made and admitted by execution")
    raw = run.job.tasks / "raw"
    directories = []
    for number, want in enumerate(wants):
        directories.append(make_one(want, raw))
        run.progress.step(number + 1, len(wants), "made")
    admissions, cpu = await decide(run, directories)
    if run.release.exists():
        shutil.rmtree(run.release)  # a killed run left it: this stage is not complete, so nothing has read it
    created_from = {"recipe": run.recipe.identity(), "journeyman": journeyman.__version__}
    release = create_release(run.release, admissions, directories, created_from)
    counted = funnel(admissions)
    for line in funnel_lines(counted):
        run.progress.say(line)
    episodes = sum(1 for _ in run.job.sealed(POLICY))
    figures = {
        "raw": counted.raw,
        "admitted": counted.admitted,
        "released": len(release.manifest.tasks),
        "episodes": episodes,
        "cpu_seconds_per_episode": cpu / max(episodes, 1),
    }
    run.spend("tasks", started, **figures)
    return figures
