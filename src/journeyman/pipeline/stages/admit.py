"""The stage that makes a recipe's tasks, admits them by execution and releases what was admitted."""

import shutil
import time
from collections.abc import Iterator
from typing import Any

import journeyman
from journeyman.admission.funnel import Funnel, funnel
from journeyman.admission.release import create_release, verify_release
from journeyman.pipeline.deciding import POLICY, decide
from journeyman.pipeline.stages.making import make_one, wanted
from journeyman.pipeline.state import Run


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
