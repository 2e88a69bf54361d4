"""Grading inside a Harbor verifier image: the agent's final /workspace against the rubric that came with the tests.

Invariant: reward.json appears only for a complete verdict set; whatever breaks leaves no reward file (Harbor
then reports an error, not a score), and a reward file found beforehand is removed first.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from journeyman.errors import GraderFailure, UserError
from journeyman.grading.combine import grade, identity_of
from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.programs import HerePrograms
from journeyman.records.base import canonical_json, first_fault, sha256_hex
from journeyman.records.grade import OPTIMISED, REPORTED, Grade
from journeyman.records.rubric import Check, Rubric
from journeyman.services.base import LedgerEntry
from journeyman.store.atomic import read_lines, write_atomic
from journeyman.tasks.references import checked_services

REWARD_JSON, REWARD_TXT, DETAIL = "reward.json", "reward.txt", "grade.json"
STATE, LEDGER = "services.json", "service_ledger.jsonl"


async def grade_harbor(tests: Path, workspace: Path, artifacts: Path, out: Path) -> Grade:
    """Grade and write out/reward.json (`reward`, both named rewards, one key per criterion) and out/grade.json.

    `tests` holds rubric.json and initial.json; `artifacts` the services' final record where the task has services.
    Raises UserError (files missing or unreadable), GraderFailure (a judged criterion, or services without a record).
    """
    if not next(p for p in (out, *out.parents) if p.exists()).is_dir():
        raise UserError(f"{out} is no directory: --out names where the reward is written")
    for stale in (REWARD_JSON, REWARD_TXT):
        (out / stale).unlink(missing_ok=True)
    rubric = _read_rubric(tests / "rubric.json")
    evidence = _evidence(tests / "initial.json", workspace, artifacts, rubric)
    result = await grade(evidence, rubric, identity_of(rubric), runs=HerePrograms(workspace))
    criteria = {f"criterion.{v.criterion}": float(v.met) for v in result.verdicts}
    named = {"reward": result.rewards[REPORTED], OPTIMISED: result.rewards[OPTIMISED], "raw": result.raw}
    write_atomic(out / DETAIL, canonical_json(result.model_dump(mode="json")))
    write_atomic(out / REWARD_JSON, canonical_json(criteria | named))
    return result


def _read_rubric(path: Path) -> Rubric:
    try:
        rubric = Rubric.parse(_read(path, "--tests names the directory with rubric.json and initial.json"))
    except ValidationError as error:
        raise UserError(f"{path}: {first_fault(error)}") from None
    judged = [c.id for c in rubric.criteria if not isinstance(c.decide, Check)]
    if judged:
        raise GraderFailure("no_judge", f"criterion {judged[0]} is judged; a verifier image has no judge")
    return rubric


def _read(path: Path, remedy: str) -> bytes:
    """The bytes of a file. Raises UserError with the remedy where there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise UserError(f"{path} is missing: {remedy}") from None


def _object(path: Path, remedy: str) -> dict[str, Any]:
    """A JSON object of a file. Raises UserError with the remedy where it is none."""
    try:
        found = json.loads(_read(path, remedy))
    except ValueError as error:
        raise UserError(f"{path} is not JSON ({error}): {remedy}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} holds no JSON object: {remedy}")
    return found


def _ledger(path: Path) -> tuple[LedgerEntry, ...]:
    try:
        return tuple(LedgerEntry.parse(line) for line in read_lines(path))
    except ValidationError as error:
        raise UserError(f"{path}: {first_fault(error)}") from None


def _evidence(initial: Path, workspace: Path, artifacts: Path, rubric: Rubric) -> SealedEvidence:
    if not workspace.is_dir():
        raise UserError(f"{workspace} is missing: --workspace names what the agent left")
    files = [path for path in sorted(workspace.rglob("*")) if path.is_file() and not path.is_symlink()]
    written: dict[str, bytes | Path] = {path.relative_to(workspace).as_posix(): path for path in files}
    digests = {path: sha256_hex(Path(found).read_bytes()) for path, found in written.items() if isinstance(found, Path)}
    before: dict[str, str] = _object(initial, "--tests names the directory with rubric.json and initial.json")
    record = artifacts / STATE
    if (wanted := checked_services(rubric)) and not record.exists():
        raise GraderFailure(
            "no_service_record", f"{record} is missing and the rubric checks {', '.join(sorted(wanted))}"
        )
    return SealedEvidence(
        episode="harbor",
        seal_digest=sha256_hex(canonical_json(digests)),
        written=written,
        deleted=frozenset(set(before) - set(written)),
        state=_object(record, "--artifacts names what the services left") if record.exists() else {},
        ledger=_ledger(artifacts / LEDGER),
        initial=before,
    )
