"""Nothing private stands in the public part: no criterion, plan, expected deliverable or construction record (T-08)."""

from collections.abc import Iterator

from journeyman.admission.gates.base import Candidate, verdict
from journeyman.grading.text import fold
from journeyman.records.admission import GateResult
from journeyman.records.rubric import Judged
from journeyman.records.task import Plan, Task

MIN_CHARS = 20  # shorter private strings are ordinary words


def private_strings(task: Task, reference: Plan, negatives: tuple[Plan, ...]) -> dict[str, str]:
    """Private text of a task, folded, by where it comes from; what no prompt, observation or box may ever hold."""
    found = dict(_private(task, reference, negatives))
    return {where: text for where, value in found.items() if len(text := fold(value)) >= MIN_CHARS}


def _private(task: Task, reference: Plan, negatives: tuple[Plan, ...]) -> Iterator[tuple[str, str]]:
    for criterion in task.rubric.criteria:
        yield f"criterion {criterion.id}", criterion.proposition
        yield f"check of {criterion.id}", criterion.decide.model_dump_json()
        if isinstance(criterion.decide, Judged):
            for i, text in enumerate((*criterion.decide.accept, *criterion.decide.reject)):
                yield f"judge's note {i} of {criterion.id}", text
    for plan in (reference, *negatives):
        for i, step in enumerate(plan.steps):
            yield f"text of step {i} of plan {plan.name}", step.text
            for call in step.calls:
                if call.tool == "write":
                    yield f"deliverable of plan {plan.name}", str(call.arguments.get("content", ""))
    for name, value in task.metadata.lineage.items():
        if len(value) == 64:
            yield f"lineage {name}", value


class Leakage:
    """Every private string is searched in every public text."""

    name = "leakage"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name the private field and the public place it leaked to."""
        private = private_strings(candidate.task, candidate.reference, candidate.negatives)
        public = candidate.public_texts
        faults = [
            f"{where} stands in {place}" for where, text in private.items() for place, t in public.items() if text in t
        ]
        return verdict(self.name, faults, private=len(private), public=len(public))
