"""What an answer needs can be seen: in the request, in a visible file, or in a granted system of record."""

import re
from collections.abc import Iterator

from journeyman.admission.gates.base import Candidate, verdict
from journeyman.grading.text import fold
from journeyman.records.admission import GateResult

_IDENTIFIER = re.compile(r"^[A-Za-z][\w-]*\d[\w-]*$")


class Visibility:
    """Load-bearing identifiers are discoverable, and the visible tree holds plain files only (T-03, G-09)."""

    name = "visibility"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name each identifier of a reference call that nothing visible holds, and each file that is not plain."""
        seen = "\n".join(_visible(candidate))
        faults = [
            f"the reference uses {value!r} in {tool}, which occurs nowhere the policy can look"
            for tool, value in _identifiers(candidate)
            if fold(value) not in seen
        ]
        faults += [f"{path.name} is a link" for path in candidate.directory.rglob("*") if path.is_symlink()]
        return verdict(self.name, list(dict.fromkeys(faults)))


def _visible(candidate: Candidate) -> Iterator[str]:
    yield from candidate.public_texts.values()
    for service, tables in candidate.state.items():
        if any(grant.service == service for grant in candidate.task.services):
            yield fold(str(tables))


def _identifiers(candidate: Candidate) -> Iterator[tuple[str, str]]:
    for step in candidate.reference.steps:
        for call in step.calls:
            if "__" in call.tool:
                for value in call.arguments.values():
                    if isinstance(value, str) and _IDENTIFIER.match(value):
                        yield call.tool, value
