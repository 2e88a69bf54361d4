"""Every negative gets strictly less than the reference: the grader separates right from degenerate (T-06, G-07)."""

import asyncio

from journeyman.admission.gates.base import Candidate, quarantined, verdict
from journeyman.records.admission import GateResult
from journeyman.records.grade import OPTIMISED
from journeyman.records.outcome import Quarantined


class Negatives:
    """Each declared failure is told apart, on the reward that is optimised."""

    name = "negatives"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name each negative that gets as much as the reference."""
        best = await candidate.run(candidate.reference)
        if isinstance(best, Quarantined):
            return quarantined(self.name, candidate.reference, best)
        grades = await asyncio.gather(*(candidate.run(plan) for plan in candidate.negatives))
        rewards: dict[str, float] = {}
        for plan, grade in zip(candidate.negatives, grades, strict=True):
            if isinstance(grade, Quarantined):
                return quarantined(self.name, plan, grade)
            rewards[plan.name] = grade.rewards[OPTIMISED]
        top = best.rewards[OPTIMISED]
        faults = [
            f"negative {name} gets {r:.3f}, the reference {top:.3f}" for name, r in rewards.items() if not r < top
        ]
        return verdict(self.name, faults, reference=top, **rewards)
