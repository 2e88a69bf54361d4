"""The rubric is usable and mapped both ways to the request (R-01 light, T-04)."""

from journeyman.admission.gates.base import Candidate, verdict
from journeyman.grading.overlap import overlaps
from journeyman.grading.propositions import figure_faults
from journeyman.records.admission import GateResult
from journeyman.tasks.references import orphans
from journeyman.tasks.rubric_lint import rubric_faults


class RubricLint:
    """Weights, wording, duplicates, orphans, figures nobody says; overlaps are told with effective weights (Z-04)."""

    name = "rubric_lint"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name each orphan requirement or criterion and each unusable criterion."""
        task = candidate.task
        faults = [*orphans(task), *rubric_faults(task.rubric), *figure_faults(task.rubric)]
        negative = sum(c.weight < 0 for c in task.rubric.criteria)
        doubled = {"+".join(o.criteria): o.weight for o in overlaps(task.rubric)}
        positive = len(task.rubric.criteria) - negative
        return verdict(self.name, faults, positive=positive, negative=negative, effective_weights=doubled)
