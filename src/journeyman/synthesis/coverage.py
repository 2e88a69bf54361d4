"""What a set of tasks covers: ten axes from their manifests, what varies in a family, what to make next (V-01..V-07).

Invariant: coverage counts structure, never names and figures: a hundred renamings of one task are one cell. What was
asked for stands apart from what the installed handlers realise.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from journeyman.errors import UserError
from journeyman.grading.checks import leaves
from journeyman.records.base import canonical_json, sha256_hex
from journeyman.records.rubric import Check, Rubric
from journeyman.records.task import Plan, Task
from journeyman.tasks.contract import check_realised
from journeyman.tasks.package import initial_state, load_task, plans, public_workspace, tool_contract
from journeyman.worlds.registry import ENVIRONMENT_TYPES, environment_type

AXES = (
    "domain", "environment_type", "services", "topology", "deliverable", "grader", "turns", "length", "recovery",
    "trainable_share",
)  # fmt: skip
PARTS = ("files", "state", "wording", "grading")
Level = Literal["presentation", "realization", "compositional"]
_PARTICULAR = re.compile(r"\b(?:[A-Z][\w'-]*|[\w.,:/-]*\d[\w.,:/-]*)")


class Profile(NamedTuple):
    """One task as coverage sees it."""

    task: str
    axes: dict[str, str]  # each of AXES
    drawn: dict[str, str]  # the axes its world was drawn on
    requested: tuple[str, ...]  # service__tool as the package asks for
    realised: tuple[str, ...]  # of those, what the installed handlers are the ones for
    sources: str  # which documents and tables, by kind and name, without figures and names in them
    parts: dict[str, str]  # of PARTS: digest of the part, names and figures masked


class Coverage(NamedTuple):
    """Counts over a set of tasks."""

    tasks: int
    cells: int  # distinct combinations of all ten axes
    by_axis: dict[str, dict[str, int]]
    requested_tools: int
    realised_tools: int
    variation: dict[str, int]  # environment type -> how many of the four PARTS vary between its tasks


def profile(directory: Path) -> Profile:
    """Read a package's manifest, plans and contract. Raises UserError where it is unusable."""
    task = load_task(directory, handlers=False)
    reference = plans(directory)[0]
    names = sorted(f.path for f in task.files)
    requested = tuple(f"{g.service}__{tool}" for g in task.services for tool in g.tools)
    state = initial_state(directory)
    tables = sorted(f"{service}.{name}" for service, rows in state.items() for name in rows)
    texts = [(public_workspace(directory) / f.path).read_bytes() for f in task.files]
    return Profile(
        task=directory.name,
        axes=_axes(task, reference, sum(map(len, texts))),
        drawn=dict(task.metadata.axes),
        requested=requested,
        realised=requested if _realised(directory, task) else (),
        sources=_masked(" ".join([*names, *tables])),
        parts={
            "files": _masked(" ".join(t.decode("utf-8", errors="ignore") for t in texts)),
            "state": _masked(canonical_json(state).decode()),
            "wording": _masked(task.instruction),
            "grading": _masked(task.rubric.model_dump_json()),
        },
    )


def _masked(text: str) -> str:
    return sha256_hex(_PARTICULAR.sub("_", text).encode())[:16]


def _realised(directory: Path, task: Task) -> bool:
    try:
        check_realised(tool_contract(directory), task.services, directory.name)
    except UserError:
        return False
    return True


def _axes(task: Task, reference: Plan, world_bytes: int) -> dict[str, str]:
    said = sum(len(s.text) + sum(len(str(c.arguments)) for c in s.calls) for s in reference.steps)
    suffixes = sorted({path.rsplit(".", 1)[-1] for path in task.metadata.deliverables}) or ["state"]
    values = (
        task.metadata.domain,
        task.metadata.environment_type,
        "+".join(sorted(g.service for g in task.services)) or "none",
        topology(task, reference),
        "+".join(suffixes),
        "+".join(sorted(set(_families(task.rubric)))),
        _bucket(len(reference.steps), (4, 8, 16)),
        _bucket(world_bytes, (2_000, 20_000, 200_000)),
        "faults" if any(g.faults for g in task.services) else "none",
        _bucket(round(100 * said / max(1, said + world_bytes)), (10, 25, 50)) + "%",
    )
    return dict(zip(AXES, values, strict=True))


def topology(task: Task, reference: Plan) -> str:
    """Signature of the dependencies: the declared structure, else which evidence each requirement rests on, unnamed."""
    if declared := task.metadata.lineage.get("structure"):
        return declared[:12]
    number = {e: i for i, e in enumerate(dict.fromkeys(e for c in task.rubric.criteria for e in c.evidence))}
    rests = sorted((c.weight > 0, sorted(number[e] for e in c.evidence)) for c in task.rubric.criteria)
    tools = [call.tool for step in reference.steps for call in step.calls]
    return sha256_hex(canonical_json([rests, sorted(set(tools))]))[:12]


def _families(rubric: Rubric) -> Iterator[str]:
    for criterion in rubric.criteria:
        if not isinstance(criterion.decide, Check):
            yield "judged"
            continue
        for leaf, _ in leaves(criterion.decide):
            kind = leaf.kind.partition("_")[0]
            yield {"service": "state", "ledger": "ledger", "source": "source"}.get(kind, "artifact")


def _bucket(value: int, limits: Sequence[int]) -> str:
    return next((f"<={limit:,}" for limit in limits if value <= limit), f">{limits[-1]:,}")


def variation_level(one: Profile, other: Profile) -> Level:
    """What structurally changed between two tasks: nothing, the sources, or the dependencies (V-01)."""
    if one.axes["topology"] != other.axes["topology"]:
        return "compositional"
    return "realization" if one.sources != other.sources else "presentation"


def coverage(profiles: Sequence[Profile]) -> Coverage:
    """Counts of a set. Tasks that differ in presentation only share a cell."""
    cells = {(tuple(p.axes.items()), p.sources) for p in profiles}
    families: dict[str, list[Profile]] = defaultdict(list)
    for p in profiles:
        families[p.axes["environment_type"]].append(p)
    return Coverage(
        tasks=len(profiles),
        cells=len(cells),
        by_axis={axis: dict(Counter(p.axes[axis] for p in profiles).most_common()) for axis in AXES},
        requested_tools=len({tool for p in profiles for tool in p.requested}),
        realised_tools=len({tool for p in profiles for tool in p.realised}),
        variation={
            name: sum(len({p.parts[part] for p in members}) > 1 for part in PARTS)
            for name, members in sorted(families.items())
        },
    )


def next_targets(profiles: Sequence[Profile], count: int = 10) -> list[tuple[str, str, int]]:
    """(environment type, axis = value, tasks) of the emptiest cells over what the live types can draw (V-02)."""
    drawn = Counter((p.axes["environment_type"], axis, value) for p in profiles for axis, value in p.drawn.items())
    per_type = Counter(p.axes["environment_type"] for p in profiles)
    cells = [
        (drawn[name, axis, value], per_type[name], name, f"{axis} = {value}")
        for name in ENVIRONMENT_TYPES
        for axis, values in environment_type(name).axes.items()
        for value in values
    ]
    return [(name, cell, tasks) for tasks, _, name, cell in sorted(cells)[:count]]
