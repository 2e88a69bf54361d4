"""The reference solution, through the public interfaces, gets full marks (T-06, G-07)."""

from journeyman.admission.gates.base import Candidate, quarantined, verdict
from journeyman.records.admission import GateResult
from journeyman.records.grade import REPORTED
from journeyman.records.outcome import Quarantined


class Reference:
    """Every positive criterion MET, no negative one."""

    name = "reference"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name each criterion the reference misses or violates."""
        grade = await candidate.run(candidate.reference)
        if isinstance(grade, Quarantined):
            return quarantined(self.name, candidate.reference, grade)
        weights = {c.id: c.weight for c in candidate.task.rubric.criteria}
        faults = [
            f"the reference {'violates' if v.met else 'misses'} {v.criterion} ({v.evidence})"
            for v in grade.verdicts
            if v.met is (weights[v.criterion] < 0)
        ]
        return verdict(self.name, faults, reward=grade.rewards[REPORTED], raw=grade.raw)
