"""Nothing held out comes back in work to train on: not in request, world, systems, grader or lineage."""

from journeyman.admission.contamination import Fingerprint, fingerprint
from journeyman.admission.gates.base import Candidate, verdict
from journeyman.records.admission import GateResult


def fingerprint_of(candidate: Candidate) -> Fingerprint:
    """A candidate's fingerprint."""
    return fingerprint(candidate.task, candidate.public_texts, candidate.state)


class Contamination:
    """A candidate that is not itself held out is unlike everything that is (G-03, G-08)."""

    name = "contamination"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name the place, the held-out task and the likeness."""
        held = candidate.context.heldout
        if candidate.task.metadata.split == "heldout" or not held.tasks:
            return verdict(self.name, [], compared=0)
        faults = [
            f"{found.place} is that of held-out {found.task} (likeness {found.likeness})"
            for found in held.met(fingerprint_of(candidate))
        ]
        return verdict(self.name, faults, compared=len(held.tasks))
