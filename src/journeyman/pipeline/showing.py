"""A task package as lines of text: what a policy sees, and on request what its makers see."""

import json
from collections.abc import Iterator
from pathlib import Path

from journeyman.tasks.package import initial_state, load_task, plans, public_workspace

SHOWN_BYTES = 1200


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
