"""A grader whose verdicts are a pytest verifier's: one criterion a test, run in a fresh box on what was sealed."""

import time
from dataclasses import dataclass
from pathlib import Path

from journeyman.errors import GraderFailure, UserError
from journeyman.grading.base import OFFICIAL, Contract
from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.rubric import aggregate
from journeyman.records.grade import Grade, GraderIdentity
from journeyman.records.rubric import Rubric, Verdict
from journeyman.sandbox.base import SandboxProvider
from journeyman.tasks.clawbench import load_prepared, verifier_spec
from journeyman.tasks.package import public_workspace
from journeyman.tasks.verifier import run_verifier

VERIFIER_VERSION = "pytest-verifier.v1"
STRICT = "verifier.pass"  # 1 iff every test passed: the suite's own measure


@dataclass(frozen=True)
class VerifierGrader:
    """Grades prepared claw-bench tasks (`grading.base.Grades`). `site`: where pytest is imported from in the box."""

    sandboxes: SandboxProvider
    site: Path
    name: str = OFFICIAL

    def contract(self, task_dir: Path) -> Contract:
        """The contract of a prepared task. Raises UserError, GraderFailure where it changed since."""
        if not task_dir.is_dir():
            raise UserError(f"{task_dir}: no such prepared task")
        try:
            task = load_prepared(task_dir)
        except UserError as error:
            raise GraderFailure("task_changed", str(error)) from error
        return Contract(task_dir, task.rubric, public_workspace(task_dir), task.content_digest)

    def identity(self, rubric: Rubric) -> GraderIdentity:
        """The verifier's identity; its tests are bound by the task's content digest, their names by the rubric's."""
        return GraderIdentity(name=self.name, checks_version=VERIFIER_VERSION, rubric_digest=rubric.digest())

    async def grade(self, evidence: SealedEvidence, contract: Contract, identity: GraderIdentity) -> Grade:
        """Run the verifier once. Raises GraderFailure where it crashed, timed out, or left a test without a result."""
        started = time.perf_counter()
        spec = verifier_spec(contract.directory, self.site, load_prepared(contract.directory).budget.policy_seconds)
        tests = tuple(c.id for c in contract.rubric.criteria)
        results = await run_verifier(
            spec, tests, self.sandboxes, contract.workspace, evidence.written, evidence.deleted
        )
        verdicts = tuple(
            Verdict(criterion=r.test, met=r.outcome == "passed", evidence=r.detail or r.outcome, source="verifier")
            for r in results
        )
        raw, rewards = aggregate(contract.rubric, verdicts)
        return Grade(
            episode=evidence.episode,
            seal_digest=evidence.seal_digest,
            grader=identity,
            verdicts=verdicts,
            raw=raw,
            rewards=rewards | {STRICT: float(all(v.met for v in verdicts))},
            seconds=time.perf_counter() - started,
        )
