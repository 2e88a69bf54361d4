"""A pytest verifier in a fresh box, restored from what was sealed, after the agent's box is gone.

Invariant: the box holds the final workspace, the tests and a read-only pytest, nothing of the agent's processes;
results count only if the session ended by itself and reported every test collected beforehand. Else GraderFailure.
"""

import json
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from journeyman.errors import GraderFailure, boundary
from journeyman.records.base import Record
from journeyman.sandbox.base import Limits, Sandbox, SandboxProvider, SandboxSpec

PLUGIN = Path(__file__).parent / "verifying"
TESTS, SITE, PLUGIN_IN_BOX = "/opt/tests", "/opt/site", "/opt/verifying"


class VerifierSpec(Record):
    """What verifies: a directory of tests, and the packages it may import."""

    tests: Path  # bound read-only; holds `entry` and its conftest.py
    site: Path  # a directory to import pytest and the tests' other packages from, as `pip install --target` makes it
    entry: str = "test_output.py"
    workspace: str = "/workspace"  # what --workspace says
    timeout_seconds: float = 120.0


class TestResult(Record):
    """One test."""

    __test__ = False  # not a test of ours

    test: str
    passed: bool
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
    sandboxes: SandboxProvider,
    base: Path,
    written: Mapping[str, bytes | Path] | None = None,
    deleted: frozenset[str] = frozenset(),
) -> tuple[TestResult, ...]:
    """Results of every test on the restored workspace, in collection order.

    Raises GraderFailure: the box was lost, time ran out, the session crashed, or its results are not one per test.
    """
    with boundary("grader"), tempfile.TemporaryDirectory(prefix="jm-verify-") as name:
        snapshot = Path(name) / "workspace"
        restore(base, written or {}, deleted, snapshot)
        collected = await _session(spec, sandboxes, snapshot, collect_only=True)
        lines = await _session(spec, sandboxes, snapshot, collect_only=False)
    return _results(_collected(collected), lines)


async def collect_tests(spec: VerifierSpec, sandboxes: SandboxProvider, base: Path) -> tuple[str, ...]:
    """Names of the verifier's tests. Raises GraderFailure where they cannot be collected."""
    return _collected(await _session(spec, sandboxes, base, collect_only=True))


async def _session(
    spec: VerifierSpec, sandboxes: SandboxProvider, workspace: Path, *, collect_only: bool
) -> list[dict[str, Any]]:
    box = await sandboxes.start(
        SandboxSpec(
            workspace=(workspace,),
            read_only={TESTS: spec.tests, SITE: spec.site, PLUGIN_IN_BOX: PLUGIN},
            limits=Limits(pids=256),
            label="verifier",
        )
    )
    try:
        return await _pytest(spec, box, collect_only)
    finally:
        await box.close()


async def _pytest(spec: VerifierSpec, box: Sandbox, collect_only: bool) -> list[dict[str, Any]]:
    report = f"/tmp/report-{secrets.token_hex(8)}"
    flags = "--collect-only" if collect_only else "--tb=line"
    command = (
        f"python3 -m pytest {TESTS}/{spec.entry} --workspace={spec.workspace} --rootdir={TESTS} --confcutdir={TESTS} "
        f"-p jm_report -p no:cacheprovider -q {flags}"
    )
    environment = {"PYTHONPATH": f"{SITE}:{PLUGIN_IN_BOX}", "JM_REPORT": report, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
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
    wanted = (0,) if collect_only else (0, 1)
    if code not in wanted or not lines or lines[-1] != {"finished": code}:
        raise GraderFailure("verifier_crashed", f"exit {code}: {str(done.get('output', done))[-500:]}")
    return lines


def _collected(lines: list[dict[str, Any]]) -> tuple[str, ...]:
    names = tuple(line["collected"] for line in lines if "collected" in line)
    if not names or len(set(names)) != len(names) or any("broken" in line for line in lines):
        raise GraderFailure("verifier_crashed", f"collected {len(names)} tests, {len(set(names))} of them distinct")
    return names


def _results(expected: tuple[str, ...], lines: list[dict[str, Any]]) -> tuple[TestResult, ...]:
    """One result a test: passed iff every reported phase passed."""
    reported: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        if "test" in line:
            reported.setdefault(line["test"], []).append(line)
    if set(reported) != set(expected):
        odd = sorted(set(reported) ^ set(expected))
        raise GraderFailure("verifier_crashed", f"results do not match what was collected: {', '.join(odd)[:300]}")
    return tuple(
        TestResult(
            test=name,
            passed=all(line["outcome"] == "passed" for line in reported[name]),
            detail=next((line["detail"] for line in reported[name] if line["outcome"] != "passed"), ""),
        )
        for name in expected
    )
