"""A task package found by path or name, as lines of text: what a policy sees, and on request what its makers see."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from journeyman.admission.release import TASKS
from journeyman.errors import UserError
from journeyman.pipeline.explain import task_directory
from journeyman.store.layout import Job, exists
from journeyman.tasks.package import initial_state, load_task, plans, public_workspace

SHOWN_BYTES = 1200
USUAL = ("build", "runs")  # folders of the current one whose folders hold packages, releases and runs
_NAME = re.compile(r"(?:journeyman/)?(\w[\w.-]*)")


def package_of(given: Path, place: Path | None = None) -> Path:
    """The package at `given`, or the one called so in `place`: a run, a release or a directory of packages.

    `place` None: in any of those below build and runs of the current folder. Raises UserError where there is none, or
    several that differ.
    """
    if place is None and given.exists():
        return given
    match = _NAME.fullmatch(given.as_posix())
    places = [place] if place else [path for folder in USUAL for path in sorted(Path(folder).glob("*"))]
    found = [path for p in places if match and (path := _called(match[1], p))]
    if not found:
        where = str(place) if place else " or ".join(f"{folder}/*" for folder in USUAL)
        raise UserError(
            f"{given}: no such task package, and no task of that name in {where}: give its path, "
            "or with --in the run, release or directory of packages that has it"
        )
    if len({(path / "task.toml").read_bytes() for path in found}) > 1:
        told = ", ".join(map(str, found))
        raise UserError(f"{given} is the name of tasks that differ: give one of {told}")
    return found[0]


def _called(name: str, place: Path) -> Path | None:
    for directory in (place / name, place / TASKS / name):
        if exists(directory / "task.toml"):
            return directory
    try:
        return task_directory(Job(place), name)
    except UserError:
        return None


def _file(path: Path) -> Iterator[str]:
    data = path.read_bytes()
    try:
        text = data[:SHOWN_BYTES].decode()
    except UnicodeDecodeError:
        yield f"    ({len(data):,} bytes, not text)"
        return
    yield from (f"    {line}" for line in text.splitlines())
    if len(data) > SHOWN_BYTES:
        yield f"    ... {len(data) - SHOWN_BYTES:,} more bytes"


def task_lines(directory: Path, private: bool) -> Iterator[str]:
    """Request, requirements, files, services; with `private` also rubric, reference and negatives. Raises UserError."""
    held = list(directory.glob("*/task.toml")) or list(directory.glob(f"{TASKS}/*/task.toml"))
    if held and not exists(directory / "task.toml"):
        raise UserError(f"{directory} holds {len(held)} tasks: give one of its packages, or --page for a page of them")
    task = load_task(directory, handlers=False)
    about = task.metadata
    yield f"{about.name}  {about.environment_type}, {about.size}, {about.split}, {task.content_digest[:16]}"
    yield ""
    yield task.instruction.strip()
    yield ""
    yield f"deliverables: {', '.join(about.deliverables) or 'none'}; it is {about.frozen_time} in this world"
    for file in task.files:
        yield f"  {file.path} ({file.provenance}{f', as of {file.as_of}' if file.as_of else ''})"
        yield from _file(public_workspace(directory) / file.path)
    for grant in task.services:
        yield f"  service {grant.service} as {grant.actor}: {', '.join(grant.tools)}"
    if private:
        yield from _private(directory)


def _private(directory: Path) -> Iterator[str]:
    task = load_task(directory, handlers=False)
    reference, negatives, _ = plans(directory)
    yield ""
    yield f"rubric, positive weight {task.rubric.positive_weight:g}:"
    for criterion in task.rubric.criteria:
        yield f"  {criterion.weight:+g}  {criterion.proposition}  [{criterion.requirement}]"
    state = initial_state(directory)
    if state:
        yield f"service state: {json.dumps(state, ensure_ascii=False)[:2000]}"
    for plan in (reference, *negatives):
        yield f"{plan.kind} {plan.name}:"
        for step in plan.steps:
            calls = "; ".join(f"{c.tool}({json.dumps(c.arguments, ensure_ascii=False)[:160]})" for c in step.calls)
            yield f"    {calls or step.text}"
