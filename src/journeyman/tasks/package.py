"""One Harbor task directory: written from a draft, read back to the same draft, loaded as a Task.

Invariant: write(read(directory)) is the same bytes (T-10); a package with a part missing, a foreign file, an unknown
key or a byte that no longer matches its content digest does not load.
"""

import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from journeyman import __version__
from journeyman.errors import UserError
from journeyman.records.base import Record, first_fault, sha256_hex
from journeyman.records.rubric import Rubric
from journeyman.records.task import Plan, Task, WorldFile
from journeyman.tasks.contract import ToolContract, check_realised, realised
from journeyman.tasks.digest import content_digest, content_inputs
from journeyman.tasks.draft import PackageDraft, PackageFile
from journeyman.tasks.harbor import OurMetadata, read_task_toml, task_toml

Part = Literal["request", "world", "tools", "grading", "metadata"]
_WORLD, _STATE = "environment/workspace/", "environment/services/"
_PARTS: dict[Part, str] = {
    "metadata": "task.toml",
    "request": "instruction.md",
    "tools": "environment/contract.json",
    "grading": "tests/rubric.json",
}


class MissingPart(UserError):
    """A task without one of its four parts (or its metadata); `part` names it (T-01)."""

    def __init__(self, part: Part, path: Path) -> None:
        super().__init__(f"{path} is missing: a task needs its {part}; restore the file or make the task again")
        self.part = part


@cache
def _template(name: str) -> bytes:
    text = (package_files("journeyman.tasks") / "files" / name).read_text(encoding="utf-8")
    return text.replace("@VERSION@", __version__).encode()


def _json(value: Record | Mapping[str, Any]) -> bytes:
    plain = value.model_dump(mode="json") if isinstance(value, Record) else value
    return (json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def package_bytes(draft: PackageDraft) -> dict[str, bytes]:
    """Every file by relative path, task.toml included. Raises UserError for a draft that contradicts itself."""
    _check_draft(draft)
    contract = realised(draft.services)
    made: dict[str, bytes] = {
        "instruction.md": draft.instruction.encode(),
        "environment/Dockerfile": _template(_agent_image(draft)),
        "environment/contract.json": _json(contract),
        "solution/solve.sh": _template("solve.sh"),
        "solution/replay.py": _template("replay.py"),
        "solution/reference.json": _json(draft.reference),
        "tests/Dockerfile": _template("tests.Dockerfile"),
        "tests/test.sh": _template("test.sh"),
        "tests/rubric.json": _json(draft.rubric),
        "tests/initial.json": _json({path: sha256_hex(file.data) for path, file in sorted(draft.files.items())}),
    }
    made |= {f"{_WORLD}{path}": file.data for path, file in draft.files.items()}
    made |= {f"{_STATE}{g.service}.json": _json(draft.state.get(g.service, {})) for g in draft.services}
    made |= {f"solution/negatives/{plan.name}.json": _json(plan) for plan in draft.negatives}
    made |= {f"solution/demonstrations/{plan.name}.json": _json(plan) for plan in draft.demonstrations}
    ours = OurMetadata(
        content_digest="",
        identity=draft.metadata,
        requirements=draft.requirements,
        files=tuple(
            WorldFile(path=path, sha256=sha256_hex(file.data), provenance=file.provenance, as_of=file.as_of)
            for path, file in sorted(draft.files.items())
        ),
        services=draft.services,
        budget=draft.budget,
        negatives=tuple(plan.name for plan in draft.negatives),
        demonstrations=tuple(plan.name for plan in draft.demonstrations),
    )
    digest = content_digest(content_inputs(ours, contract, made))
    made["task.toml"] = task_toml(ours.model_copy(update={"content_digest": digest}))
    return made


def _agent_image(draft: PackageDraft) -> str:
    return "agent_office.Dockerfile" if "office" in draft.metadata.capabilities else "agent.Dockerfile"


def _check_draft(draft: PackageDraft) -> None:
    name = draft.metadata.name
    for path in draft.files:
        if path.startswith("/") or ".." in Path(path).parts or Path(path).as_posix() != path:
            raise UserError(f"{name}: file path {path!r} must be relative, normal and without '..'")
    granted = {grant.service for grant in draft.services}
    if foreign := sorted(set(draft.state) - granted):
        raise UserError(
            f"{name}: state for service {foreign[0]!r}, which is not granted ({', '.join(granted) or 'none'})"
        )
    plans = [plan.name for plan in (*draft.negatives, *draft.demonstrations)]
    for plan in plans:
        if plans.count(plan) > 1 or not plan or "/" in plan or plan.startswith("."):
            raise UserError(f"{name}: plan name {plan!r} must be unique and usable as a file name")


def write_package(draft: PackageDraft, root: Path) -> Path:
    """Write the package as root/SLUG and return its directory. Raises UserError where that directory exists."""
    directory = root / draft.metadata.name.rsplit("/", 1)[-1]
    made = package_bytes(draft)
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        raise UserError(f"{directory} exists: task packages are create-only, choose another name or root") from None
    for folder in {Path(path).parent for path in made} | {Path(_WORLD)}:
        (directory / folder).mkdir(parents=True, exist_ok=True)
    for path, data in made.items():
        target = directory / path
        target.write_bytes(data)
        if path.endswith(".sh"):
            target.chmod(0o755)
    return directory


def stands(directory: Path) -> bool:
    """Whether a whole package stands there. Raises UserError where one does that is not as it was written."""
    if not (directory / "task.toml").exists():
        return False
    try:
        load_task(directory, handlers=False)
    except UserError as error:
        raise UserError(f"{error}; first remove {directory}, which is not written over") from None
    return True


def _tree(directory: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for base, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            path = Path(base, name)
            found[path.relative_to(directory).as_posix()] = path.read_bytes()
    return found


def _parse(kind: type[Any], data: bytes, where: Path) -> Any:
    try:
        return kind.parse(data)
    except ValidationError as error:
        raise UserError(f"{where}: {first_fault(error, 'file')}") from None


def _parts(directory: Path) -> tuple[OurMetadata, ToolContract, Rubric, dict[str, bytes]]:
    if not directory.is_dir():
        raise UserError(f"{directory}: no such task package")
    found = _tree(directory)
    for part, path in _PARTS.items():
        if path not in found:
            raise MissingPart(part, directory / path)
    if not (directory / _WORLD).is_dir():
        raise MissingPart("world", directory / _WORLD)
    ours = read_task_toml(found["task.toml"], str(directory / "task.toml")).metadata.journeyman
    for file in ours.files:
        if f"{_WORLD}{file.path}" not in found:
            raise MissingPart("world", directory / _WORLD / file.path)
    for grant in ours.services:
        if f"{_STATE}{grant.service}.json" not in found:
            raise MissingPart("world", directory / _STATE / f"{grant.service}.json")
    contract = _parse(ToolContract, found[_PARTS["tools"]], directory / _PARTS["tools"])
    rubric = _parse(Rubric, found[_PARTS["grading"]], directory / _PARTS["grading"])
    return ours, contract, rubric, found


def load_task(directory: Path, *, handlers: bool = True) -> Task:
    """The task of a package, every byte checked against its content digest.

    `handlers=False` loads (for grading and reading) a task whose service handlers are no longer the installed ones.
    Raises MissingPart naming the part, UserError for anything else that is not as it was written.
    """
    ours, contract, rubric, found = _parts(directory)
    expected = _expected_paths(ours)
    if foreign := sorted(set(found) - expected):
        raise UserError(f"{directory / foreign[0]} does not belong to the package: remove it")
    if absent := sorted(expected - set(found)):
        raise UserError(f"{directory / absent[0]} is missing from the package: make the task again")
    digest = content_digest(content_inputs(ours, contract, found))
    if digest != ours.content_digest or found["task.toml"] != task_toml(ours):
        raise UserError(f"{directory} changed after it was made (content digest {digest[:12]}): make the task again")
    if handlers:
        check_realised(contract, ours.services, str(directory))
    return Task(
        metadata=ours.identity,
        instruction=found[_PARTS["request"]].decode(),
        requirements=ours.requirements,
        files=ours.files,
        services=ours.services,
        budget=ours.budget,
        rubric=rubric,
        content_digest=digest,
    )


def _expected_paths(ours: OurMetadata) -> set[str]:
    fixed = {
        *_PARTS.values(),
        "environment/Dockerfile",
        "solution/solve.sh",
        "solution/replay.py",
        "solution/reference.json",
        "tests/Dockerfile",
        "tests/test.sh",
        "tests/initial.json",
    }
    return (
        fixed
        | {f"{_WORLD}{file.path}" for file in ours.files}
        | {f"{_STATE}{grant.service}.json" for grant in ours.services}
        | {f"solution/negatives/{name}.json" for name in ours.negatives}
        | {f"solution/demonstrations/{name}.json" for name in ours.demonstrations}
    )


def read_package(directory: Path) -> PackageDraft:
    """The draft a package was written from. Raises like `load_task`."""
    task = load_task(directory, handlers=False)
    reference, negatives, demonstrations = plans(directory)
    return PackageDraft(
        metadata=task.metadata,
        instruction=task.instruction,
        requirements=task.requirements,
        files={
            f.path: PackageFile((directory / _WORLD / f.path).read_bytes(), f.provenance, f.as_of) for f in task.files
        },
        rubric=task.rubric,
        reference=reference,
        negatives=negatives,
        demonstrations=demonstrations,
        services=task.services,
        state=initial_state(directory),
        budget=task.budget,
    )


def _ours(directory: Path) -> OurMetadata:
    path = directory / "task.toml"
    if not path.exists():
        raise MissingPart("metadata", path)
    return read_task_toml(path.read_bytes(), str(path)).metadata.journeyman


def plans(directory: Path) -> tuple[Plan, tuple[Plan, ...], tuple[Plan, ...]]:
    """(reference, negatives, demonstrations) of a package: private, for admission and scripted experts."""
    ours, base = _ours(directory), directory / "solution"

    def read(path: Path) -> Plan:
        plan: Plan = _parse(Plan, path.read_bytes(), path)
        return plan

    return (
        read(base / "reference.json"),
        tuple(read(base / "negatives" / f"{name}.json") for name in ours.negatives),
        tuple(read(base / "demonstrations" / f"{name}.json") for name in ours.demonstrations),
    )


def initial_state(directory: Path) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """service -> table -> rows at the start of an episode; private to the service host."""
    base = directory / _STATE
    return {path.stem: json.loads(path.read_bytes()) for path in sorted(base.glob("*.json"))} if base.is_dir() else {}


def tool_contract(directory: Path) -> ToolContract:
    """The public tool contract a package was made for. Raises UserError."""
    path = directory / _PARTS["tools"]
    found: ToolContract = _parse(ToolContract, path.read_bytes(), path)
    return found


def public_workspace(directory: Path) -> Path:
    """The read-only lower layer of /workspace: the task's visible files and nothing else."""
    return directory / _WORLD


def stamp(directory: Path) -> tuple[int, ...]:
    """Changes whenever the package's metadata or rubric file is replaced or edited: a key for caches in one process."""
    found = [directory / path for path in ("task.toml", "instruction.md", "tests/rubric.json")]
    return tuple(part for path in found if path.exists() for part in (path.stat().st_mtime_ns, path.stat().st_size))
