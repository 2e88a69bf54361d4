"""Generated errors get strictly less than the reference: the rubric tells apart what nobody wrote a negative for."""

from collections.abc import Mapping

from journeyman.admission.gates.base import Candidate, quarantined, setting_of, verdict
from journeyman.admission.mutations import KINDS, generated
from journeyman.records.admission import GateResult
from journeyman.records.outcome import Quarantined

# What nobody asked for has no end. One such act has to be told apart; the others stand in the figures.
BOUNDLESS = "unauthorised"


class Generated:
    """Constant, claim only, stale source, wrong entity, omitted, duplicate or unauthorised write, invented figures."""

    name = "generated"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name each generated error that gets as much as the reference, and each kind that does not apply."""
        setting = await setting_of(candidate)
        if isinstance(setting, Quarantined):
            return quarantined(self.name, candidate.reference, setting)
        sealed = setting.sealed
        scores = {name: round(sealed.reward_of(sealed.verdicts_of(work)), 6) for name, work in generated(setting)}
        faults = [
            f"{name} gets {reward:.3f}, the reference {sealed.reward:.3f}"
            for name, reward in scores.items()
            if reward >= sealed.reward and not (name.startswith(BOUNDLESS) and _told_apart(scores, sealed.reward))
        ]
        absent = [kind for kind in KINDS if not any(name.split("-")[0] == kind for name in scores)]
        return verdict(self.name, faults, reference=sealed.reward, not_applicable=absent, **scores)


def _told_apart(scores: Mapping[str, float], best: float) -> bool:
    return any(reward < best for name, reward in scores.items() if name.startswith(BOUNDLESS))
