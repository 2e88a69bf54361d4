"""Every criterion keeps its accept set: the same answer written otherwise counts alike, an empty one does not."""

from journeyman.admission.alternatives import echoed, equivalents, partial_answers
from journeyman.admission.denials import asks_for_words, denied
from journeyman.admission.gates.base import Candidate, quarantined, setting_of, verdict
from journeyman.grading.checks import leaves
from journeyman.records.admission import GateResult
from journeyman.records.outcome import Quarantined
from journeyman.records.rubric import Check, Criterion

_READING = frozenset({"field_equals", "text_contains", "states", "number_near", "cell_equals"})


class AcceptSet:
    """Correct alternatives, partial answers, an empty answer and the opposite in words, criterion by criterion."""

    name = "accept_set"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name each criterion that refuses the same answer, or pays one that knows nothing."""
        setting = await setting_of(candidate)
        if isinstance(setting, Quarantined):
            return quarantined(self.name, candidate.reference, setting)
        sealed, criteria = setting.sealed, candidate.task.rubric.criteria
        faults, tried = [], 0
        for how, work in equivalents(setting):
            tried += 1
            found = sealed.verdicts_of(work)
            faults += [
                f"criterion {c.id} tells the same answer apart ({how})"
                for c in criteria
                if found[c.id] != sealed.verdicts[c.id]
            ]
        if (work_echoed := echoed(setting)) is not None:
            found = sealed.verdicts_of(work_echoed)
            faults += [
                f"criterion {c.id} is met by handing the request back" for c in criteria if found[c.id] and _pays(c)
            ]
        worded = [c for c in criteria if asks_for_words(c)]
        faults += [f"criterion {c.id} is met by its opposite ({how})" for c in worded for how in denied(sealed, c)]
        lost = {key: sealed.verdicts_of(work) for key, work in partial_answers(setting)}
        raised = [key for key, found in lost.items() if sealed.reward_of(found) > sealed.reward]
        faults += [f"a wrong {key!r} earns more than the right one" for key in raised]
        ungraded = [key for key, found in lost.items() if found == sealed.verdicts]
        return verdict(
            self.name, faults, alternatives=tried, partial=len(lost), denied=len(worded), ungraded_fields=ungraded
        )


def _pays(criterion: Criterion) -> bool:
    if criterion.weight < 0 or not isinstance(criterion.decide, Check):
        return False
    return any(leaf.kind in _READING for leaf, _ in leaves(criterion.decide))
