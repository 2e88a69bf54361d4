"""A pytest verifier in a fresh box, restored from what was sealed, after the agent's box is gone.

Invariant: the box holds the final workspace, the tests and a read-only pytest, nothing of the agent's processes;
results count only if the session ended by itself and reported every test named before; else GraderFailure. Tests that
import what the agent wrote run it in their own process, and trust it that far.
"""

import json
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from journeyman.errors import GraderFailure, SandboxFailure, boundary
from journeyman.records.base import Record
from journeyman.sandbox.base import Limits, Sandbox, SandboxProvider, SandboxSpec

PLUGIN = Path(__file__).parent / "verifying"
TESTS, SITE, PLUGIN_IN_BOX = "/opt/tests", "/opt/site", "/opt/verifying"


class VerifierSpec(Record):
    """What verifies: a directory of tests, and the packages it may import."""

    tests: Path  # bound read-only; holds `entry` and its conftest.py
    site: Path  # a directory to import pytest and the tests' other packages from, as `pip install --target` makes it
    entry: str = "test_output.py"
    workspace: str = "/workspace"  # what --workspace and $WORKSPACE say
    timeout_seconds: float = 120.0


class TestResult(Record):
    """One test."""

    __test__ = False  # not a test of ours

    test: str
    outcome: Literal["passed", "failed", "skipped"]
    detail: str = ""


def restore(base: Path, written: Mapping[str, bytes | Path], deleted: frozenset[str], target: Path) -> None:
    """Write the final workspace to `target`: the task's files without the deleted ones, then what was written.

    A folder of the task whose every file was deleted goes with its files.
    """
    shutil.copytree(base, target, symlinks=True, dirs_exist_ok=True)
    for path in sorted(deleted):
        gone = target / path
        gone.unlink(missing_ok=True)
        parent = gone.parent
        while parent != target and parent.is_dir() and not any(parent.iterdir()):
            parent.rmdir()
            parent = parent.parent
    for path, content in written.items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.read_bytes())


async def run_verifier(
    spec: VerifierSpec,
    expected: tuple[str, ...],
    sandboxes: SandboxProvider,
    base: Path,
    written: Mapping[str, bytes | Path] | None = None,
    deleted: frozenset[str] = frozenset(),
) -> tuple[TestResult, ...]:
    """Results of the `expected` tests on the restored workspace, in that order.

    Raises GraderFailure: the box was lost, time ran out, the session crashed, or its results are not the expected ones.
    """
    with boundary("grader"), tempfile.TemporaryDirectory(prefix="jm-verify-") as name:
        snapshot = Path(name) / "workspace"
        restore(base, written or {}, deleted, snapshot)
        return _results(expected, await _session(spec, sandboxes, snapshot))


async def survey(spec: VerifierSpec, sandboxes: SandboxProvider, base: Path) -> tuple[TestResult, ...]:
    """Results of every test on a workspace nobody touched. Raises GraderFailure where it cannot be collected or run."""
    with boundary("grader"):
        lines = await _session(spec, sandboxes, base)
        return _results(_collected(lines), lines)


async def _session(spec: VerifierSpec, sandboxes: SandboxProvider, workspace: Path) -> list[dict[str, Any]]:
    box_spec = SandboxSpec(
        workspace=(workspace,),
        read_only={TESTS: spec.tests, SITE: spec.site, PLUGIN_IN_BOX: PLUGIN},
        limits=Limits(pids=256),
        label="verifier",
    )
    try:
        box = await sandboxes.start(box_spec)
        try:
            return await _pytest(spec, box)
        finally:
            await box.close()
    except SandboxFailure as failure:  # of the verifier's box: the agent's was closed before
        raise GraderFailure("verifier_box_lost", str(failure)) from failure


async def _pytest(spec: VerifierSpec, box: Sandbox) -> list[dict[str, Any]]:
    report = f"/tmp/report-{secrets.token_hex(8)}"
    command = (
        f"python3 -m pytest {TESTS}/{spec.entry} --workspace={spec.workspace} --rootdir={TESTS} --confcutdir={TESTS} "
        f"-p jm_report -p no:cacheprovider -q --tb=line"
    )
    environment = {
        "PYTHONPATH": f"{SITE}:{PLUGIN_IN_BOX}",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "JM_REPORT": report,
        "WORKSPACE": spec.workspace,
    }
    done = await box.call(
        "exec",
        {"command": command, "cwd": "/tmp", "env": environment, "timeout_seconds": spec.timeout_seconds},
        timeout_seconds=spec.timeout_seconds + 30,
    )
    if done.get("timed_out"):
        raise GraderFailure("verifier_timeout", f"{spec.entry} took longer than {spec.timeout_seconds} s")
    await box.kill_agent()
    files = (await box.call("get", {"paths": [report]}))["files"]
    data = next(iter(files.values()), b"")
    lines = [json.loads(line) for line in data.decode("utf-8", "replace").splitlines()]
    code = done.get("exit_code")
    if code not in (0, 1) or not lines or lines[-1] != {"finished": code}:
        raise GraderFailure("verifier_crashed", f"exit {code}: {str(done.get('output', done))[-500:]}")
    return lines


def _collected(lines: list[dict[str, Any]]) -> tuple[str, ...]:
    names = tuple(line["collected"] for line in lines if "collected" in line)
    if not names or len(set(names)) != len(names) or any("broken" in line for line in lines):
        raise GraderFailure("verifier_crashed", f"collected {len(names)} tests, {len(set(names))} of them distinct")
    return names


def _results(expected: tuple[str, ...], lines: list[dict[str, Any]]) -> tuple[TestResult, ...]:
    """One result for each expected test: the worst of its reported phases. Other tests are left out."""
    reported: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        if "test" in line:
            reported.setdefault(line["test"], []).append(line)
    if missing := [name for name in expected if name not in reported]:
        raise GraderFailure("verifier_crashed", f"tests without a result: {', '.join(missing)[:300]}")
    return tuple(_worst(name, reported[name]) for name in expected)


def _worst(name: str, phases: list[dict[str, Any]]) -> TestResult:
    worst = max(phases, key=lambda line: ("passed", "skipped", "failed").index(line["outcome"]))
    return TestResult(test=name, outcome=worst["outcome"], detail=worst["detail"])
