"""Contract fuzz: a granted service that does not do what it declares admits no task (T-05).

The fuzz starts from the task's own state, so that the decision about a task never depends on the tasks before it.
"""

from journeyman.admission.gates.base import Candidate, verdict
from journeyman.records.admission import GateResult
from journeyman.services.contract import fuzz_contract

CALLS = 24  # a service and task; over the tasks of a release this adds up


class Contract:
    """Reads read, repeats leave one effect, refusals leave none, results have the declared shape, nothing crashes."""

    name = "contract"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name each broken promise of each granted service."""
        seed = int(candidate.task.content_digest[:8], 16)
        faults = [
            f"service {grant.service}: {lie}"
            for grant in candidate.task.services
            for lie in fuzz_contract(grant.service, candidate.state, calls=CALLS, seed=seed)
        ]
        return verdict(self.name, faults, services=len(candidate.task.services))
