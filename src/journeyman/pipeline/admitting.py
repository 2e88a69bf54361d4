"""Admission outside a recipe: static checks, and whole admission of packages that lie anywhere."""

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import journeyman
from journeyman.admission.decide import admit_all
from journeyman.admission.funnel import funnel
from journeyman.admission.gates import STATIC_GATES
from journeyman.admission.gates.base import Executed
from journeyman.admission.release import TASKS, create_release, is_release, verify_release, withdraw
from journeyman.admission.screens import DETECTORS, identity
from journeyman.errors import UserError
from journeyman.pipeline.canaries import Scan, scan
from journeyman.pipeline.deciding import decide
from journeyman.pipeline.progress import Progress
from journeyman.pipeline.recipe import Options, Recipe
from journeyman.pipeline.stages.admit import funnel_lines
from journeyman.pipeline.state import Run
from journeyman.records.admission import Admission
from journeyman.records.outcome import Quarantined
from journeyman.records.task import Plan
from journeyman.store.layout import Job


class Admitted(NamedTuple):
    """What admission found."""

    admitted: int
    lines: list[str]


def package_dirs(path: Path) -> list[Path]:
    """The package at `path`, or those of the release or directory there; a release is checked whole, whoever reads it.

    Raises UserError where there is none, or the release is not as it was made.
    """
    if is_release(path):
        released = list(verify_release(path).task_dirs())
        if not released:
            raise UserError(f"{path} has no task that was not withdrawn: make another release")
        return released
    if (path / "task.toml").exists():
        return [path]
    found = sorted(p.parent for p in path.glob("*/task.toml"))
    if not found and (path / TASKS).is_dir():
        raise UserError(f"{path} holds no task package, and no release: give {path / TASKS}, or see what it misses")
    if not found:
        raise UserError(f"{path} holds no task package (a directory with task.toml): type journeyman tasks make first")
    return found


async def _refuse(directory: Path, plan: Plan) -> Executed | Quarantined:
    raise UserError(f"{directory}: static gates execute nothing, {plan.name} was asked for")


async def check_static(directories: Sequence[Path]) -> tuple[Admission, ...]:
    """The gates that only read."""
    return await admit_all(directories, _refuse, gates=STATIC_GATES)


async def admit_packages(
    directories: Sequence[Path],
    release: Path | None,
    work: Path | None,
    sandbox: str,
    concurrency: int,
    progress: Progress,
    suites: Sequence[Path] = (),
) -> Admitted:
    """Admit by execution; write a release where asked. Executed plans stay sealed in `work`.

    `suites` are packages held out elsewhere: nothing like them is admitted for training.
    """
    if release is not None and release.exists():
        raise UserError(f"{release} exists and releases are create-only: choose another name")
    with _working(work, sandbox, concurrency, progress) as run:
        progress.stage("admit", f"{len(directories)} packages by execution")
        admissions, cpu = await decide(run, directories, suites)
        counted = funnel(admissions)
        lines = [*funnel_lines(counted)]
        for admission in admissions:
            if not admission.admitted:
                last = admission.gates[-1]
                lines.append(f"refused {admission.task}: {last.gate}: {last.reason}")
        episodes = max(1, sum(1 for _ in run.job.sealed()))
        lines.append(f"{episodes} episodes executed, {1000 * cpu / episodes:.1f} ms of CPU each outside the model")
        if release is not None:
            create_release(release, admissions, directories, {"journeyman": journeyman.__version__})
    return Admitted(counted.admitted, lines)


@contextlib.contextmanager
def _working(work: Path | None, sandbox: str, concurrency: int, progress: Progress) -> Iterator[Run]:
    with contextlib.ExitStack() as stack:
        root = work or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jm-admit-")))
        recipe = Recipe(name="admission", options=Options(concurrency=concurrency, sandbox=sandbox))
        yield Run(recipe, Job(root), progress)


async def scan_canaries(directories: Sequence[Path], sandbox: str, progress: Progress) -> list[Scan]:
    """What a prying policy is shown of each package, searched for all that is private in it."""
    progress.stage("canaries", f"{len(directories)} packages are marked, tried and searched")
    with _working(None, sandbox, 1, progress) as run:
        return await scan(run, directories)


async def rescreen(directory: Path, sandbox: str, concurrency: int, progress: Progress) -> list[str]:
    """Run the shortcut detectors of this installation over a release made before them; what they find is withdrawn.

    Raises UserError where the same detectors screened it before.
    """
    release = verify_release(directory)
    packages = release.task_dirs()
    progress.stage("screen", f"{len(packages)} released tasks by {len(DETECTORS)} detectors")
    with _working(None, sandbox, concurrency, progress) as run:
        admissions, _ = await decide(run, packages, gates=("hacking",))
    last = {admission.task: admission.gates[-1] for admission in admissions}
    lost = [task for task, result in last.items() if "quarantined" in result.figures]
    if lost:
        raise UserError(f"{lost[0]} (of {len(lost)}) could not be screened: {last[lost[0]].reason}; try again")
    found = {task: result.reason for task, result in last.items() if not result.passed}
    path = withdraw(release, identity(), len(packages), found)
    return [*(f"withdrawn {task}: {why}" for task, why in found.items()), f"{len(found)} of {len(packages)}: {path}"]


def held_out_dirs(paths: Sequence[Path]) -> list[Path]:
    """Packages of suites: releases, packages, or directories of packages. Raises UserError where there is none."""
    return [d for path in paths for d in package_dirs(path)]
