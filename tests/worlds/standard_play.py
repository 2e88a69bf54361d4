"""Plays a standard plan in a real folder, `bash` scripts included, and grades what is left with the real checks.

Scripts are run in this process (the box's own test runs them in a box); files are linked from one read-only copy.
"""

import contextlib
import io
import os
from pathlib import Path

from journeyman.grading.checks import decide
from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.rubric import raw_of, rewards
from journeyman.records.rubric import Check
from journeyman.records.task import Plan
from journeyman.services.world import open_world
from journeyman.worlds.base import WorldDraft
from tests.grading.in_process import with_answers_here
from tests.worlds.play import Played, mistyped


def lay_out(draft: WorldDraft, root: Path) -> Path:
    """The draft's files below `root`/base."""
    base = root / "base"
    for path, file in draft.files.items():
        target = base / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)
    return base


def play_standard(draft: WorldDraft, plan: Plan, base: Path, work: Path) -> Played:
    """Run every call of `plan` in `work`, a linked copy of `base`, and grade."""
    for path in draft.files:
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        os.link(base / path, work / path)
    world = open_world(draft.services, draft.state, draft.frozen_time, draft.seed)
    granted = {t["function"]["name"]: t["function"]["parameters"] for t in world.tools()}
    played = Played(met={}, rewards={}, turns=len(plan.steps))
    for step in plan.steps:
        for call in step.calls:
            if call.tool in granted and mistyped(granted[call.tool], call.arguments):
                played.invalid += 1
            elif call.tool in granted:
                answer = world.call(call.tool, call.arguments)
                if not answer.ok:
                    played.errors.append(answer.error)
            else:
                _native(call.tool, {k: str(v) for k, v in call.arguments.items()}, work, played)
    end = world.freeze()
    written = {
        str(f.relative_to(work)): f.read_bytes()
        for f in work.rglob("*")
        if f.is_file() and (str(f.relative_to(work)) not in draft.files or f.stat().st_nlink == 1)
    }
    deleted = frozenset(path for path in draft.files if not (work / path).exists())
    evidence = SealedEvidence(
        episode="test", seal_digest="", base=base, written=written, deleted=deleted, state=end.state, ledger=end.ledger
    )
    evidence = with_answers_here(evidence, draft.rubric)
    for criterion in draft.rubric.criteria:
        assert isinstance(criterion.decide, Check)
        played.met[criterion.id] = decide(criterion.decide, evidence).met
    played.rewards = rewards(draft.rubric, raw_of(draft.rubric, played.met))
    return played


def _native(tool: str, arguments: dict[str, str], work: Path, played: Played) -> None:
    if tool == "read":
        if not (work / arguments["file_path"]).is_file():
            played.missing_reads.append(arguments["file_path"])
        played.written.add(arguments["file_path"])  # known, so it may be overwritten
    elif tool == "write":
        target = work / arguments["file_path"]
        if target.exists() and arguments["file_path"] not in played.written:
            played.errors.append(f"{arguments['file_path']} was not read before it is overwritten")
            return
        played.written.add(arguments["file_path"])
        target.unlink(missing_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(arguments["content"])
    elif tool == "bash":
        program = arguments["command"].removeprefix("python3 - <<'PY'\n").removesuffix("\nPY")
        with contextlib.chdir(work), contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(program, "plan", "exec"), {"__name__": "__main__"})
        played.characters += len(out.getvalue())
    elif tool != "glob":
        played.invalid += 1
