"""Everything the task refers to exists: paths, records, tables, granted tools (T-03)."""

from journeyman.admission.gates.base import Candidate, verdict
from journeyman.records.admission import GateResult
from journeyman.tasks.references import dangling


class Assets:
    """No reference dangles."""

    name = "assets"

    async def check(self, candidate: Candidate) -> GateResult:
        """Cite what is referred to and is not there."""
        plans = (candidate.reference, *candidate.negatives)
        faults = dangling(candidate.task, list(candidate.public_files), candidate.state, plans)
        return verdict(self.name, faults, files=len(candidate.public_files))
