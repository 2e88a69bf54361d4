"""What criteria rest on can be read: evidence files are readable text, and the visible tree holds plain files only."""

from journeyman.admission.gates.base import Candidate, verdict
from journeyman.records.admission import GateResult


class Visibility:
    """Every piece of evidence that is a file gives a reader something (T-03)."""

    name = "visibility"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name each evidence file that cannot be read, and each file that is not plain."""
        evidence = {
            path.removeprefix("/workspace/").partition("#")[0]
            for criterion in candidate.task.rubric.criteria
            for path in criterion.evidence
        }
        faults = []
        for path in sorted(evidence & candidate.rendered.keys()):
            document = candidate.rendered[path]
            if not document.plain.strip():
                why = document.warnings[0] if document.warnings else "it is empty"
                faults.append(f"{path} is evidence and gives nothing to read: {why}")
        faults += [f"{path.name} is a link" for path in candidate.directory.rglob("*") if path.is_symlink()]
        return verdict(self.name, faults, evidence=len(evidence))
