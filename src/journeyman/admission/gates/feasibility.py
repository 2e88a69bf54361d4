"""The task can be done with what an attempt has: capabilities, keys, budget, readable material (H-07).

Invariant: what the task declares is compared with what the installation gives, and its request and files with what it
declares; an image nobody can see, or a key nobody has, is found before a policy is blamed for it.
"""

import re
from collections.abc import Iterator

from journeyman.admission.gates.base import Candidate, verdict
from journeyman.office.rendered import kind_of
from journeyman.records.admission import GateResult
from journeyman.records.task import Task

_NEEDS = {
    "network": re.compile(
        r"\b(?:search the (?:web|internet)|look (?:it )?up online|download|browse)\b|https?://(?!localhost)", re.I
    ),
    "vision": re.compile(r"\b(?:look at|describe|read) the (?:image|photo|picture|screenshot|scan)\b", re.I),
    "secrets": re.compile(r"\b[A-Z][A-Z0-9_]*_(?:API_)?(?:KEY|TOKEN|SECRET)\b"),
}
_IMAGES = frozenset({"png", "jpg", "jpeg", "gif", "tif", "tiff", "bmp", "webp"})
_OFFICE = frozenset({"docx", "xlsx", "pptx", "pdf"})
CHARACTERS_PER_TOKEN = 1.5  # the least that any tokenizer met here packs into a token


class Feasibility:
    """No unavailable capability is asked for, and the reference fits the budget an attempt has."""

    name = "feasibility"

    async def check(self, candidate: Candidate) -> GateResult:
        """Name each capability that is needed and missing, and each budget the reference would exceed."""
        task = candidate.task
        available = candidate.context.capabilities
        faults = [
            f"the task needs {need}, which no attempt here has ({', '.join(sorted(available))})"
            for need in task.metadata.capabilities
            if need not in available
        ]
        declared = set(task.metadata.capabilities)
        faults += [
            f"{why} needs {need}, which the task does not declare" for need, why in _needs(task) if need not in declared
        ]
        turns = len(candidate.reference.steps)
        if turns > task.budget.max_turns:
            faults.append(f"the reference takes {turns} turns of {task.budget.max_turns}")
        said = sum(len(s.text) + sum(len(str(c.arguments)) for c in s.calls) for s in candidate.reference.steps)
        if said / CHARACTERS_PER_TOKEN > 4 * task.budget.max_sampled_tokens:
            faults.append(
                f"the reference writes {said} characters with {task.budget.max_sampled_tokens} tokens to sample"
            )
        return verdict(self.name, faults, turns=turns)


def _needs(task: Task) -> Iterator[tuple[str, str]]:
    for need, pattern in _NEEDS.items():
        if found := pattern.search(task.instruction):
            yield need, f"the request ({found.group(0)!r})"
    evidence = {path.partition("#")[0] for c in task.rubric.criteria for path in c.evidence}
    for path in sorted(evidence):
        if kind_of(path) in _IMAGES:
            yield "vision", f"the evidence {path}"
    for path in task.metadata.deliverables:
        if kind_of(path) in _OFFICE:
            yield "office", f"the deliverable {path}"
