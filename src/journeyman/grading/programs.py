"""Checks on programs: functions of what an attempt left are called in a fresh box, on inputs held out of the task.

Invariant: the box is restored from what was sealed and is told inputs only, so the answers that count are compared
outside it; a program that breaks, exits or does not end is UNMET, and only a box that is lost is a failure of ours.
"""

import asyncio
import contextlib
import json
import secrets
import shutil
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from pydantic import ValidationError

from journeyman.errors import GraderFailure, SandboxFailure
from journeyman.grading.evidence import SealedEvidence, workspace_path
from journeyman.grading.finding import Finding, brief
from journeyman.grading.probing.probe import PATIENCE
from journeyman.records.base import Record, canonical_json, sha256_hex
from journeyman.records.rubric import Check, Rubric
from journeyman.sandbox.base import SandboxProvider, SandboxSpec
from journeyman.tasks.verifier import restore

PROGRAMS_VERSION = "programs.v1"
KIND = "program_gives"
PROBE = Path(__file__).parent / "probing" / "probe.py"


class Case(Record):
    """One call: JSON arguments, and the JSON value that it gives."""

    args: tuple[Any, ...]
    gives: Any


class ProgramGives(Record):
    """A function of a Python file gives what it should, for every case.

    `through`: a function of an installed package ("statistics.quantiles"). It must be called in every case, and the
    program's answer must change when that function answers otherwise.
    """

    path: str
    function: str
    cases: tuple[Case, ...]
    through: str = ""

    def asked(self) -> dict[str, Any]:
        """What the probe is told: no answer."""
        cases = [list(case.args) for case in self.cases]
        path = workspace_path(self.path)
        return {"path": path, "function": self.function, "cases": cases, "through": self.through}

    def key(self) -> str:
        """Names the answers to this check in the evidence."""
        return sha256_hex(canonical_json(self.asked()))


def program_gives(evidence: SealedEvidence, args: ProgramGives) -> Finding:
    """MET iff every case gives what is expected, through the package named. Raises GraderFailure if it was not run."""
    if evidence.file(args.path) is None:
        return Finding(False, f"{args.path}: no such file")
    answers = evidence.answers.get(args.key())
    if answers is None:
        raise GraderFailure("programs_not_run", f"{args.path} has to be run to be graded, and no sandbox was given")
    where = f"{args.path}: {args.function}"
    for number, case in enumerate(args.cases):
        answer = answers[number] if number < len(answers) else {"error": "no answer"}
        called = f"{where}({', '.join(json.dumps(a) for a in case.args)})"
        if "error" in answer:
            return Finding(False, brief(f"{called}: {answer['error']}", 200))
        if not _same(answer["value"], case.gives):
            return Finding(False, brief(f"{called} gives {answer['value']}, not {case.gives}", 200))
        if args.through and not answer["calls"]:
            return Finding(False, brief(f"{called} does not call {args.through}", 200))
        if args.through and not answer["moved"]:
            return Finding(False, brief(f"{called} does not rest on {args.through}", 200))
    return Finding(bool(args.cases), f"{where} gives what is expected in {len(args.cases)} cases")


def _same(value: Any, expected: Any) -> bool:
    if isinstance(expected, list | tuple):
        return isinstance(value, list) and len(value) == len(expected) and all(map(_same, value, expected))
    return bool(value == expected) and isinstance(value, bool) is isinstance(expected, bool)


def programs(rubric: Rubric) -> tuple[ProgramGives, ...]:
    """Every distinct program check of a rubric, nested ones too; malformed ones are left to whoever decides them."""
    found = (p for c in rubric.criteria if isinstance(c.decide, Check) for p in programs_of(c.decide))
    return tuple({p.key(): p for p in found}.values())


def programs_of(check: Check) -> Iterator[ProgramGives]:
    """The program checks in a check. Looks at kinds only, so that rubrics without any cost next to nothing."""
    pending: list[tuple[str, Mapping[str, Any]]] = [(check.kind, check.args)]
    while pending:
        kind, args = pending.pop()
        if kind == KIND:
            with contextlib.suppress(ValidationError):
                yield ProgramGives.model_validate(args)
        for inner in (*args.get("checks", ()), *([args["check"]] if "check" in args else ())):
            plain = inner.model_dump() if isinstance(inner, Check) else inner
            pending.append((str(plain["kind"]), plain.get("args", {})))


class Programs(Protocol):
    """What runs programs of a finished attempt."""

    async def run(self, evidence: SealedEvidence, asked: tuple[ProgramGives, ...]) -> list[list[dict[str, Any]]]:
        """The probe's answers, one list for each one asked. Raises GraderFailure where it could not be run."""
        ...


async def with_answers(evidence: SealedEvidence, rubric: Rubric, runs: Programs | None) -> SealedEvidence:
    """The evidence with what its programs answer; itself where the rubric asks none. Raises GraderFailure."""
    asked = tuple(p for p in programs(rubric) if evidence.file(p.path) is not None)
    if not asked or runs is None:
        return evidence
    given = await runs.run(evidence, asked)
    return replace(evidence, answers={p.key(): answers for p, answers in zip(asked, given, strict=True)})


class BoxPrograms:
    """Runs them in a fresh box of a provider."""

    def __init__(self, sandboxes: SandboxProvider) -> None:
        self.sandboxes = sandboxes

    async def run(self, evidence: SealedEvidence, asked: tuple[ProgramGives, ...]) -> list[list[dict[str, Any]]]:
        """One box for all of them, each in a process of its own. Raises GraderFailure."""
        if evidence.base is None:
            raise GraderFailure("programs_not_run", "the task's own files are not at hand")
        with TemporaryDirectory(prefix="jm-programs-") as name:
            snapshot = Path(name) / "workspace"
            restore(evidence.base, evidence.written, evidence.deleted, snapshot)
            report = f".answers-{secrets.token_hex(8)}.json"
            try:
                box = await self.sandboxes.start(SandboxSpec(workspace=(snapshot,), label="programs"))
                try:
                    done = await box.call("exec", _command(asked, report), timeout_seconds=_patience(asked) + 30)
                    files = (await box.call("get", {"paths": [report]}))["files"]
                finally:
                    await box.close()
            except SandboxFailure as failure:
                raise GraderFailure("programs_box_lost", str(failure)) from failure
        return _answers(next(iter(files.values()), b""), asked, str(done.get("output", done)))


class HerePrograms:
    """Runs them on a copy of `workspace`, in a process beside this one: for a verifier image, which is a box itself."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    async def run(self, evidence: SealedEvidence, asked: tuple[ProgramGives, ...]) -> list[list[dict[str, Any]]]:
        """All of them, each in a process of its own. Raises GraderFailure."""
        with TemporaryDirectory(prefix="jm-programs-") as name:
            copied = Path(name) / "workspace"
            shutil.copytree(self.workspace, copied, symlinks=True)
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", str(PROBE), cwd=copied, stdin=PIPE, stdout=PIPE, stderr=PIPE
            )
            out, errors = await process.communicate(_told(asked).encode())
        return _answers(out, asked, errors.decode("utf-8", "replace"))


def _patience(asked: tuple[ProgramGives, ...]) -> float:
    """Longer than all of them may take together, so that a program can end nothing but itself."""
    return PATIENCE * (len(asked) + 1.0)


def _told(asked: tuple[ProgramGives, ...]) -> str:
    return json.dumps({"workspace": ".", "asked": [p.asked() for p in asked]})


def _command(asked: tuple[ProgramGives, ...], report: str) -> dict[str, Any]:
    """The probe and its questions reach the box in the command alone; no program sees either in its environment."""
    command = f'printf %s "$JM_ASKED" | env -u JM_ASKED -u JM_PROBE python3 -I -c "$JM_PROBE" > {report}'
    environment = {"JM_ASKED": _told(asked), "JM_PROBE": PROBE.read_text(encoding="utf-8")}
    return {"command": command, "env": environment, "timeout_seconds": _patience(asked)}


def _answers(data: bytes, asked: tuple[ProgramGives, ...], said: str) -> list[list[dict[str, Any]]]:
    try:
        answers: list[list[dict[str, Any]]] = json.loads(data)
    except ValueError:
        raise GraderFailure("programs_not_run", f"the probe gave no answers: {said[-400:]}") from None
    if len(answers) != len(asked):
        raise GraderFailure("programs_not_run", f"{len(answers)} programs answered of {len(asked)}")
    return answers
