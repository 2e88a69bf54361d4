"""Tasks of the PyPI package claw-bench, adapted at the edge: prepared once in a box, then tasks like any other.

Invariant: a prepared directory is create-only and bound by its content digest; its verifier and solution never enter an
agent's box, and its tests are named, one criterion each, before any rollout (without those that this world skips).
"""

import shutil
import tempfile
from pathlib import Path

from journeyman.errors import SandboxFailure, UserError
from journeyman.records.base import Record, canonical_json, first_fault, sha256_hex
from journeyman.records.rubric import Check, Criterion, Rubric
from journeyman.records.task import Budget, Plan, PlanStep, Requirement, Task, TaskMetadata, ToolCall, WorldFile
from journeyman.sandbox.base import SandboxProvider, SandboxSpec, WorkspaceChange
from journeyman.store.config_file import toml_values
from journeyman.tasks.verifier import VerifierSpec, run_verifier, survey

SUITE, VERSION = "claw-bench", "0.1.0"
WHERE = Path("share") / "claw-bench" / "tasks"  # below the directory that `pip install --target` filled
TEST_CHECK = "verifier_test"  # decided by the verifier alone; the registry of checks does not know it
_WORK = "workspace"  # instructions speak of workspace/FILE, below the box's /workspace


class ClawToml(Record):
    """The suite's task.toml; unknown keys are errors."""

    id: str
    title: str
    domain: str
    level: str
    description: str
    timeout: float
    capabilities: tuple[str, ...]
    skills_allowed: bool = True
    tags: tuple[str, ...] = ()
    capability_types: tuple[str, ...] = ()


def source_dirs(suite: Path) -> tuple[Path, ...]:
    """Task directories of the installed package, by id. Raises UserError saying how to install it."""
    found = sorted((path.parent for path in (suite / WHERE).glob("*/*/task.toml")), key=lambda path: path.name)
    if not found:
        raise UserError(f"{suite} holds no {SUITE}: type pip install --no-deps --target {suite} {SUITE}=={VERSION}")
    return tuple(found)


def _read_toml(source: Path) -> ClawToml:
    path = source / "task.toml"
    try:
        return ClawToml.model_validate(toml_values(path.read_text(encoding="utf-8")))
    except ValueError as error:  # not text, not TOML, or not the suite's fields
        raise UserError(f"{path}: {first_fault(error)}") from None


async def prepare(source: Path, out: Path, site: Path, sandboxes: SandboxProvider) -> Path:
    """Run the task's setup.sh in a box, name its tests, and write the prepared task as out/NAME.

    `site`: where the verifier imports from; it must not hold the suite. Tests that the suite's own solution makes skip
    do not apply to this world and become no criteria. Raises UserError (there already, or unreadable), SandboxFailure
    (setup failed), GraderFailure (the verifier does not run).
    """
    target = out / source.name
    if target.exists():
        raise UserError(f"{target} exists: prepared tasks are create-only")
    toml = _read_toml(source)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".preparing-", dir=out) as name:
        here = Path(name) / source.name
        workspace = here / "environment" / "workspace"
        await _set_up(source, workspace, sandboxes)
        shutil.copytree(source / "verifier", here / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(source.parent.parent / "conftest.py", here / "tests" / "conftest.py")
        shutil.copytree(source / "solution", here / "solution")
        spec = verifier_spec(here, site, toml.timeout)
        tests = await _applicable(spec, here, workspace, sandboxes)
        instruction = (source / "instruction.md").read_text(encoding="utf-8")
        task = _task(source, toml, instruction, tests, _world(workspace))
        digest = _digest(here, task)
        (here / "task.json").write_bytes(task.model_copy(update={"content_digest": digest}).canonical())
        here.rename(target)
    return target


async def _set_up(source: Path, workspace: Path, sandboxes: SandboxProvider) -> None:
    """The initial workspace, as setup.sh makes it (empty folders too).

    Some scripts take the workspace's path, some write beside their environment/ folder: here both are the same place.
    """
    (workspace / _WORK).mkdir(parents=True)
    stage = workspace.parent / "stage"
    shutil.copytree(source / "environment", stage / "environment")
    command = f"bash environment/setup.sh /workspace/{_WORK} >&2; echo exit=$?; find {_WORK} -type d -empty"
    output, change = await _in_box(command, stage, sandboxes)
    shutil.rmtree(stage)
    lines = output.splitlines()
    if "exit=0" not in lines:
        raise SandboxFailure("setup_failed", f"{source.name}: {' / '.join(lines)[-400:]}")
    for path, data in change.written.items():
        if path.startswith(f"{_WORK}/"):
            (workspace / path).parent.mkdir(parents=True, exist_ok=True)
            (workspace / path).write_bytes(data)
    for empty in lines[lines.index("exit=0") + 1 :]:
        (workspace / empty).mkdir(parents=True, exist_ok=True)


async def _in_box(command: str, layer: Path, sandboxes: SandboxProvider) -> tuple[str, WorkspaceChange]:
    """Output of a command of the suite's, and what it changed."""
    box = await sandboxes.start(SandboxSpec(workspace=(layer,), label=SUITE))
    try:
        done = await box.call("exec", {"command": command, "timeout_seconds": 60.0}, timeout_seconds=90.0)
        return str(done.get("output", "")), await box.collect()
    finally:
        await box.close()


async def _applicable(spec: VerifierSpec, here: Path, workspace: Path, sandboxes: SandboxProvider) -> tuple[str, ...]:
    """Names of the tests that decide something in this world."""
    named = tuple(result.test for result in await survey(spec, sandboxes, workspace) if result.outcome != "skipped")
    _, change = await _in_box(
        _solving((here / "solution" / "solve.sh").read_text(encoding="utf-8")), workspace, sandboxes
    )
    solved = await run_verifier(spec, named, sandboxes, workspace, change.written, frozenset(change.deleted))
    return tuple(result.test for result in solved if result.outcome != "skipped")


def _world(workspace: Path) -> tuple[WorldFile, ...]:
    files = sorted(path for path in workspace.rglob("*") if path.is_file())
    return tuple(
        WorldFile(path=p.relative_to(workspace).as_posix(), sha256=sha256_hex(p.read_bytes()), provenance="public")
        for p in files
    )


def _task(source: Path, toml: ClawToml, instruction: str, tests: tuple[str, ...], files: tuple[WorldFile, ...]) -> Task:
    criteria = tuple(
        Criterion(
            id=test,
            proposition=f"The suite's test {test} passes.",
            weight=1.0,
            decide=Check(kind=TEST_CHECK, args={"test": test}),
            requirement="request",
        )
        for test in tests
    )
    return Task(
        metadata=TaskMetadata(
            name=f"{SUITE}/{source.name}",
            version=VERSION,
            environment_type=f"{SUITE}.{toml.domain}",
            domain="operations",
            size="standard",
            split="heldout",
            seed=0,
            frozen_time="2026-01-01T00:00:00+00:00",
            capabilities=toml.capabilities,
            axes={"level": toml.level},
            lineage={
                "suite": SUITE,
                "suite_version": VERSION,
                "task_toml": sha256_hex((source / "task.toml").read_bytes()),
            },
        ),
        instruction=instruction,
        requirements=(Requirement(id="request", text=toml.description),),
        files=files,
        budget=Budget(policy_seconds=toml.timeout),
        rubric=Rubric(criteria=criteria),
        content_digest="",
    )


def _digest(directory: Path, task: Task) -> str:
    files = {p.relative_to(directory).as_posix(): p for p in sorted(directory.rglob("*")) if p.is_file()}
    hashed = {path: sha256_hex(file.read_bytes()) for path, file in files.items() if path != "task.json"}
    record = task.model_copy(update={"content_digest": ""}).model_dump(mode="json")
    return sha256_hex(canonical_json([record, hashed]))


def load_prepared(directory: Path) -> Task:
    """The task of a prepared directory, every byte checked. Raises UserError."""
    path = directory / "task.json"
    if not path.exists():
        raise UserError(f"{path} is missing: prepare the task first")
    task = Task.parse(path.read_bytes())
    if _digest(directory, task) != task.content_digest:
        raise UserError(f"{directory} changed after it was prepared: prepare it again")
    return task


def verifier_spec(directory: Path, site: Path, timeout_seconds: float) -> VerifierSpec:
    """How a prepared task is verified."""
    return VerifierSpec(
        tests=directory / "tests",
        site=site,
        workspace=f"/workspace/{_WORK}",
        timeout_seconds=max(60.0, min(timeout_seconds, 180.0)),
    )


def _solving(script: str) -> str:
    return f"cat > /tmp/solve.sh <<'END_OF_SOLUTION'\n{script}\nEND_OF_SOLUTION\nbash /tmp/solve.sh {_WORK}"


def oracle_plan(directory: Path) -> Plan:
    """The suite's own solution as one bash call of the public tools, then the end."""
    command = _solving((directory / "solution" / "solve.sh").read_text(encoding="utf-8"))
    call = ToolCall(tool="bash", arguments={"command": command})
    return Plan(name="oracle", kind="reference", steps=(PlanStep(calls=(call,)), PlanStep(text="Done.")))
