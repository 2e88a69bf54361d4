"""What a task refers to, and whether it is there (T-03), and the map of requirements to criteria (T-04).

Invariant: pure functions from a task and its files to findings, one line each; an empty result means nothing dangles.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from journeyman.records.rubric import Check, Criterion, Judged, Rubric
from journeyman.records.task import Plan, ServiceGrant, Task
from journeyman.tasks.draft import State

_SUFFIXES = "txt|md|csv|tsv|json|docx|xlsx|pptx|pdf|eml|html|xml|yaml"
_PATH = re.compile(rf"(?<![\w/.-])[\w.-]+(?:/[\w.-]+)*\.(?:{_SUFFIXES})\b", re.I)
NATIVE_TOOLS = frozenset(
    {"read", "edit", "write", "grep", "glob", "bash", "task_list", "task_output", "task_stop", "todo_write"}
)


def _arguments(check: Check) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(kind, args) of a check and of every check or call pattern below it."""
    pending: list[tuple[str, Mapping[str, Any]]] = [(check.kind, check.args)]
    while pending:
        kind, args = pending.pop()
        yield kind, args
        for value in args.values():
            for inner in value if isinstance(value, list | tuple) else (value,):
                plain = inner.model_dump() if isinstance(inner, Check) else inner
                if isinstance(plain, Mapping) and "kind" in plain:
                    pending.append((str(plain["kind"]), plain.get("args") or {}))
                elif isinstance(plain, Mapping) and "tool" in plain:
                    pending.append((kind, plain))


def checked_services(rubric: Rubric) -> frozenset[str]:
    """Services whose final state or ledger some criterion looks at."""
    checks = [c.decide for c in rubric.criteria if isinstance(c.decide, Check)]
    return frozenset(str(args["service"]) for check in checks for _, args in _arguments(check) if "service" in args)


def _paths_of(criterion: Criterion) -> Iterator[str]:
    if isinstance(criterion.decide, Judged):
        yield from criterion.decide.deliverables
        return
    for _, args in _arguments(criterion.decide):
        if isinstance(args.get("path"), str):
            yield args["path"].removeprefix("/workspace/")


def dangling(task: Task, files: Sequence[str], state: State, plans: Sequence[Plan]) -> tuple[str, ...]:
    """References to files, services, tables and tools that the task does not have (T-03)."""
    there = set(files)
    known = there | set(task.metadata.deliverables) | _written(plans)
    found = [f"instruction names {path}, which is not there" for path in sorted(_named(task, plans) - known)]
    found += [f"{file.path} is listed and is not there" for file in task.files if file.path not in there]
    for criterion in task.rubric.criteria:
        missing = [path for path in _paths_of(criterion) if path not in known]
        found += [f"criterion {criterion.id} checks {path}, which is not there" for path in missing]
        found += [
            f"criterion {criterion.id} rests on {evidence}, which is not visible"
            for evidence in criterion.evidence
            if not _visible(evidence, there, task.services, state)
        ]
        if isinstance(criterion.decide, Check):
            for kind, args in _arguments(criterion.decide):
                found += [f"criterion {criterion.id} {text}" for text in _systems(kind, args, task.services, state)]
    found += _tools(plans, task.services)
    return tuple(dict.fromkeys(found))


def _named(task: Task, plans: Sequence[Plan]) -> set[str]:
    names = {m.group(0).removeprefix("/workspace/") for m in _PATH.finditer(task.instruction)}
    by_base = {path.rsplit("/", 1)[-1]: path for path in (*_written(plans), *(f.path for f in task.files))}
    return {by_base.get(name, name) for name in names}


def _written(plans: Sequence[Plan]) -> set[str]:
    reference = [plan for plan in plans if plan.kind == "reference"]
    calls = (call for plan in reference for step in plan.steps for call in step.calls if call.tool in ("write", "edit"))
    return {str(call.arguments.get("file_path", "")).removeprefix("/workspace/") for call in calls}


def _visible(evidence: str, files: set[str], grants: Sequence[ServiceGrant], state: State) -> bool:
    """Evidence is a visible path, a granted service or tool, "service.table" or "service.table.key" (a row's value)."""
    path = evidence.removeprefix("/workspace/").partition("#")[0]
    if path in files or path == "instruction" or path == "instruction.md":
        return True
    service, _, rest = evidence.replace("__", ".", 1).partition(".")
    grant = next((g for g in grants if g.service == service), None)
    if grant is None:
        return False
    name, _, key = rest.partition(".")
    rows = state.get(service, {}).get(name)
    if rows is None:
        return not rest or name in grant.tools
    return not key or any(key == str(value) for row in rows for value in row.values())


def _systems(kind: str, args: Mapping[str, Any], grants: Sequence[ServiceGrant], state: State) -> Iterator[str]:
    if "service" not in args:
        return
    service = args["service"]
    if service not in {grant.service for grant in grants}:
        yield f"checks service {service}, which is not granted"
    elif kind == "service_rows" and args.get("table") not in state.get(service, {}):
        yield f"checks table {service}.{args.get('table')}, which has no initial state"


def _tools(plans: Sequence[Plan], grants: Sequence[ServiceGrant]) -> Iterator[str]:
    granted = NATIVE_TOOLS | {f"{grant.service}__{tool}" for grant in grants for tool in grant.tools}
    for plan in plans:
        for step in plan.steps:
            for call in step.calls:
                if call.tool not in granted:
                    yield f"plan {plan.name} calls {call.tool}, which is not granted"


def orphans(task: Task) -> tuple[str, ...]:
    """Requirements no criterion grades, and criteria no requirement justifies (T-04)."""
    ids = [r.id for r in task.requirements]
    graded = {c.requirement for c in task.rubric.criteria}
    found = [f"requirement {i} appears {ids.count(i)} times" for i in dict.fromkeys(ids) if ids.count(i) > 1]
    found += [f"requirement {i} is not graded by any criterion" for i in ids if i not in graded]
    found += [
        f"criterion {c.id} is justified by requirement {c.requirement!r}, which the task does not have"
        for c in task.rubric.criteria
        if c.requirement not in ids
    ]
    return tuple(found)
