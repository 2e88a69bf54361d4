"""The grader seam: who reads a task's contract and turns sealed evidence into a complete grade."""

from pathlib import Path
from typing import NamedTuple, Protocol

from journeyman.grading.evidence import SealedEvidence
from journeyman.records.grade import Grade, GraderIdentity
from journeyman.records.rubric import Rubric

OFFICIAL = "official"


class Contract(NamedTuple):
    """What of a task grading needs: the rubric, the files an episode began with, and the package's identity."""

    directory: Path
    rubric: Rubric
    workspace: Path
    content_digest: str


class Grades(Protocol):
    """One grader. The official one is bound into every episode before its first rollout; others grade beside it."""

    @property
    def name(self) -> str:
        """ "official", or the name of a grader beside it."""
        ...

    def contract(self, task_dir: Path) -> Contract:
        """The contract on disk. Raises UserError (no task there), GraderFailure (no longer what was made)."""
        ...

    def identity(self, rubric: Rubric) -> GraderIdentity:
        """Frozen identity for one rubric. Raises UserError where the rubric needs what this grader lacks."""
        ...

    async def grade(self, evidence: SealedEvidence, contract: Contract, identity: GraderIdentity) -> Grade:
        """A complete grade. Raises GraderFailure; never a partial one."""
        ...
