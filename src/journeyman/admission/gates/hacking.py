"""No known shortcut pays: the detectors of `admission.screens` find nothing (G-12, H-09)."""

from journeyman.admission.gates.base import Candidate, quarantined, setting_of, verdict
from journeyman.admission.screens import DETECTORS, identity, screened
from journeyman.records.admission import GateResult
from journeyman.records.outcome import Quarantined


class Hacking:
    """Screens a task for ways to earn its reward without doing its work."""

    name = "hacking"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name each shortcut, by the detector that found it."""
        setting = await setting_of(candidate)
        if isinstance(setting, Quarantined):
            return quarantined(self.name, candidate.reference, setting)
        return verdict(self.name, screened(setting), detectors=list(DETECTORS), screen=identity())
