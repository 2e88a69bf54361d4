"""The package is whole: four parts, strict metadata, matching digest, installed handlers, checks of known kinds."""

from journeyman.admission.gates.base import Candidate, verdict
from journeyman.errors import UserError
from journeyman.grading.checks import leaves
from journeyman.records.admission import GateResult
from journeyman.records.rubric import Check, Rubric

MIN_NEGATIVES = 3


class Static:
    """Everything that can be told without reading meaning or executing (T-01, T-02, G-06)."""

    name = "static"

    async def check(self, candidate: Candidate) -> GateResult:
        """Load strictly, parse every check, and look at the plans' shape."""
        try:
            task = candidate.task
            faults = _malformed(task.rubric)
            kinds = {plan.name: plan.kind for plan in candidate.negatives}
        except UserError as error:
            return verdict(self.name, [str(error)])
        if candidate.reference.kind != "reference":
            faults.append(f"the reference plan is marked {candidate.reference.kind}")
        faults += [
            f"plan {name} stands among the negatives and is marked {k}" for name, k in kinds.items() if k != "negative"
        ]
        if len(kinds) < MIN_NEGATIVES:
            faults.append(f"{len(kinds)} negatives, at least {MIN_NEGATIVES} are needed")
        return verdict(self.name, faults, criteria=len(task.rubric.criteria), negatives=len(kinds))


def _malformed(rubric: Rubric) -> list[str]:
    found: list[str] = []
    for criterion in rubric.criteria:
        if isinstance(criterion.decide, Check):
            try:
                leaves(criterion.decide)
            except UserError as error:
                found.append(f"criterion {criterion.id}: {error}")
    return found
