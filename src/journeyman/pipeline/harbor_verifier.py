"""Grading as a Harbor verifier does it: a task's tests/ and what the agent left in, one reward.json out.

No complete verdict set, no reward file: Harbor then reports an error, never a zero.
"""

import json
from pathlib import Path
from typing import Any

from journeyman.errors import UserError
from journeyman.grading.combine import grade, identity_of
from journeyman.grading.evidence import SealedEvidence
from journeyman.records.base import canonical_json, sha256_hex
from journeyman.records.grade import REPORTED
from journeyman.records.rubric import Rubric
from journeyman.services.base import LedgerEntry
from journeyman.store.atomic import read_lines, write_atomic


def _rubric(tests: Path) -> Rubric:
    try:
        return Rubric.parse((tests / "rubric.json").read_bytes())
    except FileNotFoundError:
        raise UserError(f"{tests / 'rubric.json'} is missing: --tests is a task package's tests directory") from None


def _state(artifacts: Path) -> dict[str, Any]:
    path = artifacts / "services.json"
    state: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
    return state


def _deleted(tests: Path, workspace: Path) -> frozenset[str]:
    path = tests / "initial.json"
    initial = json.loads(path.read_bytes()) if path.exists() else {}
    return frozenset(name for name in initial if not (workspace / name).exists())


async def verify(tests: Path, workspace: Path, artifacts: Path, out: Path) -> float:
    """Grade the workspace by tests/rubric.json; write out/reward.json and out/verdicts.json. Returns the reward.

    Raises UserError for missing parts, GraderFailure where a criterion could not be decided.
    """
    if not workspace.is_dir():
        raise UserError(f"{workspace} is no directory: --workspace is what the agent worked in")
    rubric = _rubric(tests)
    written = {p.relative_to(workspace).as_posix(): p for p in sorted(workspace.rglob("*")) if p.is_file()}
    ledger = tuple(LedgerEntry.parse(line) for line in read_lines(artifacts / "service_ledger.jsonl"))
    evidence = SealedEvidence(
        episode=workspace.name,
        seal_digest=sha256_hex(canonical_json({k: sha256_hex(p.read_bytes()) for k, p in written.items()})),
        written=written,
        deleted=_deleted(tests, workspace),
        state=_state(artifacts),
        ledger=ledger,
    )
    result = await grade(evidence, rubric, identity_of(rubric))
    reward = result.rewards[REPORTED]
    scores = {f"criterion.{v.criterion}": float(v.met) for v in result.verdicts}
    write_atomic(out / "verdicts.json", canonical_json(result.model_dump(mode="json")))
    write_atomic(out / "reward.json", canonical_json({"reward": reward, **scores}))
    return reward
