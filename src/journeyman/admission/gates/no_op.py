"""Doing nothing earns nothing (G-07, I-05)."""

from journeyman.admission.gates.base import Candidate, quarantined, verdict
from journeyman.records.admission import GateResult
from journeyman.records.grade import OPTIMISED, REPORTED
from journeyman.records.outcome import Quarantined
from journeyman.records.task import Plan, PlanStep

NO_OP = Plan(name="admission_no_op", kind="negative", steps=(PlanStep(),))


class NoOp:
    """A policy that answers at once, with nothing done, gets 0 and meets no criterion."""

    name = "no_op"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name what a policy gets for nothing."""
        grade = await candidate.run(NO_OP)
        if isinstance(grade, Quarantined):
            return quarantined(self.name, NO_OP, grade)
        weights = {c.id: c.weight for c in candidate.task.rubric.criteria}
        faults = [
            f"doing nothing meets {v.criterion} ({v.evidence})"
            for v in grade.verdicts
            if v.met and weights[v.criterion] > 0
        ]
        if grade.rewards[REPORTED] != 0.0:
            faults.append(f"doing nothing gets {grade.rewards[REPORTED]:.3f}")
        return verdict(self.name, faults, reward=grade.rewards[REPORTED], signed=grade.rewards[OPTIMISED])
