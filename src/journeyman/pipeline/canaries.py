"""Canaries: every private text of a task is marked, a policy that pries works on it, and no mark may come back.

Invariant: a marked package differs from the one it was made of in private parts only; what is searched is what a policy
is shown: prompts as they were rendered, observations, the files of its box (inside archives too), service state.
"""

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from journeyman.admission.gates.leakage import private_strings
from journeyman.errors import UserError
from journeyman.grading.text import fold
from journeyman.office.render import render
from journeyman.pipeline.deciding import executing
from journeyman.pipeline.explain import decode
from journeyman.pipeline.state import Run
from journeyman.records.base import sha256_hex
from journeyman.records.outcome import Quarantined
from journeyman.records.rubric import Judged, Rubric
from journeyman.records.task import Budget, Plan, PlanStep, ToolCall
from journeyman.store.sealed import SealedEpisode
from journeyman.tasks.draft import PackageDraft
from journeyman.tasks.package import initial_state, load_task, plans, read_package, tool_contract, write_package

PREFIX = "jmcanary"
PRY = (
    "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; ls -la / /workspace; timeout 10"
    f" grep -rhoaE --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr '{PREFIX[:-1]}[y][0-9a-f]+' / 2>/dev/null"
    " | head -20"
)
ASIDE = ("../tests/rubric.json", "/tests/rubric.json", "/solution/reference.json", "../task.toml", "/task.toml")


class Scan(NamedTuple):
    """What was searched of one task, and the private texts that were met."""

    task: str
    marks: int
    texts: int
    characters: int
    found: tuple[str, ...]


async def scan(run: Run, directories: Sequence[Path]) -> list[Scan]:
    """Mark, try and search each package. Raises UserError where an attempt fails for a reason of ours."""
    made: list[Scan] = []
    with tempfile.TemporaryDirectory(prefix="jm-canaries-") as name:
        async with executing(run) as (execute, _):
            for number, directory in enumerate(directories, start=1):
                draft, marks = marked(read_package(directory))
                planted = write_package(draft, Path(name))
                done = await execute(planted, prying(planted))
                if isinstance(done, Quarantined):
                    raise UserError(f"{directory.name} could not be tried: {done.layer}: {done.cause}")
                reference, negatives, _ = plans(directory)
                private = {
                    **{where: mark for mark, where in marks.items()},
                    **private_strings(load_task(directory), reference, negatives),
                }
                sealed = SealedEpisode.open(done.episode)
                shown = {**texts_of_package(planted), **texts_of_episode(sealed, run.base_policy())}
                found = leaks(private, shown)
                made.append(Scan(directory.name, len(marks), len(shown), sum(map(len, shown.values())), found))
                run.progress.step(number, len(directories), found[0] if found else directory.name)
    return made


def leaks(private: Mapping[str, str], shown: Mapping[str, str]) -> tuple[str, ...]:
    """Which private texts stand where. Both sides are folded here."""
    places = {place: fold(text) for place, text in shown.items()}
    wanted = {where: fold(text) for where, text in private.items()}
    return tuple(f"{where} stands in {place}" for place, t in places.items() for where, w in wanted.items() if w in t)


def marked(draft: PackageDraft) -> tuple[PackageDraft, dict[str, str]]:
    """The draft with a mark of its own in every private text, and mark -> where it was put."""
    marks: dict[str, str] = {}

    def mark(where: str, text: str) -> str:
        found = PREFIX + sha256_hex(f"{draft.metadata.name}:{where}".encode())[:16]
        marks[found] = where
        return f"{text} {found}"

    def of_plan(plan: Plan) -> Plan:
        steps = tuple(
            step.model_copy(
                update={
                    "text": mark(f"text of step {i} of {plan.name}", step.text),
                    "calls": tuple(_call(c, f"call {j} of step {i} of {plan.name}") for j, c in enumerate(step.calls)),
                }
            )
            for i, step in enumerate(plan.steps)
        )
        return plan.model_copy(update={"steps": steps})

    def _call(call: ToolCall, where: str) -> ToolCall:
        content = call.arguments.get("content")
        if not isinstance(content, str):
            return call
        return call.model_copy(update={"arguments": {**call.arguments, "content": mark(where, content)}})

    criteria = []
    for criterion in draft.rubric.criteria:
        update: dict[str, Any] = {"proposition": mark(f"criterion {criterion.id}", criterion.proposition)}
        if isinstance(criterion.decide, Judged):
            noted = (*criterion.decide.accept, mark(f"judge's note of {criterion.id}", ""))
            update["decide"] = criterion.decide.model_copy(update={"accept": noted})
        criteria.append(criterion.model_copy(update=update))
    lineage = {**draft.metadata.lineage, "canary": mark("lineage", "")}
    return (
        replace(
            draft,
            metadata=draft.metadata.model_copy(update={"lineage": lineage}),
            rubric=Rubric(criteria=tuple(criteria)),
            reference=of_plan(draft.reference),
            negatives=tuple(map(of_plan, draft.negatives)),
            demonstrations=tuple(map(of_plan, draft.demonstrations)),
            budget=Budget(),
        ),
        marks,
    )


def prying(directory: Path) -> Plan:
    """A policy that reads every file, asks every system for all it lists, and looks where it has no business."""
    task = load_task(directory)
    reads = [ToolCall(tool="read", arguments={"file_path": p}) for p in (*(f.path for f in task.files), *ASIDE)]
    asks = [
        ToolCall(tool=f"{service}__{schema['function']['name'].removeprefix(f'{service}__')}", arguments={})
        for service, contract in tool_contract(directory).services.items()
        for schema in contract.schemas
        if not schema["function"]["parameters"].get("required")
    ]
    looks = [
        ToolCall(tool="glob", arguments={"pattern": "**/*"}),
        ToolCall(tool="grep", arguments={"pattern": f"{PREFIX[:-1]}[y]", "path": "/workspace"}),
        ToolCall(tool="bash", arguments={"command": PRY}),
    ]
    steps = [PlanStep(calls=tuple(calls)) for calls in (reads, asks, looks) if calls]
    return Plan(name="prying", kind="negative", steps=(*steps, PlanStep(text="Done.")))


def texts_of_package(directory: Path) -> dict[str, str]:
    """Everything public in a package: request, contract, documents as text and as bytes, their parts, initial state."""
    shown = dict(_strings("initial state", initial_state(directory)))
    for path in sorted(p for p in (directory / "environment").rglob("*") if p.is_file()):
        name, data = path.relative_to(directory).as_posix(), path.read_bytes()
        shown[name] = f"{path.name}\n{render(path.name, data).text}\n{data.decode('utf-8', errors='ignore')}"
        if zipfile.is_zipfile(io.BytesIO(data)):
            with zipfile.ZipFile(io.BytesIO(data)) as parts:
                for part in parts.namelist():
                    shown[f"{name}!{part}"] = parts.read(part).decode("utf-8", errors="ignore")
    return {"request": (directory / "instruction.md").read_text(), **shown}


def texts_of_episode(sealed: SealedEpisode, policy: Path) -> dict[str, str]:
    """Every prompt as the ids that were rendered, every message beside them, and the offered tools."""
    shown: dict[str, str] = {}
    for turn in sealed.turns:
        shown[f"prompt of {turn.turn_id}"] = decode(policy, [int(i) for i in _ids(sealed, turn.context)])
        for number, message in enumerate(turn.new_messages):
            shown |= _strings(f"message {number} of {turn.turn_id}", message)
    return shown


def _ids(sealed: SealedEpisode, span: Any) -> Any:
    return sealed.tokens.ids[span.start : span.end]


def _strings(where: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every string in plain data, by its place."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        yield f"{where} keys", json.dumps(list(value))
        for key, one in value.items():
            yield from _strings(f"{where}.{key}", one)
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from _strings(f"{where}.{number}", one)
