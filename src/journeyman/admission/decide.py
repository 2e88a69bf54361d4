"""Gates in order, the first failure ends it, every step with a reason: the recorded decision to admit a task."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from journeyman.admission.gates import GATES, gate
from journeyman.admission.gates.base import Candidate, Execute
from journeyman.errors import UserError
from journeyman.records.admission import Admission, GateResult


async def admit(directory: Path, execute: Execute, gates: Sequence[str] = tuple(GATES)) -> Admission:
    """Decide one package. Raises UserError only for a gate that does not exist."""
    candidate = Candidate(directory, execute)
    results: list[GateResult] = []
    for check in [gate(name) for name in gates]:
        try:
            result = await check.check(candidate)
        except UserError as error:
            result = GateResult(gate=check.name, passed=False, reason=str(error))
        results.append(result)
        if not result.passed:
            break
    return Admission(task=directory.name, content_digest=_digest(candidate), gates=tuple(results))


def _digest(candidate: Candidate) -> str:
    try:
        return candidate.task.content_digest
    except UserError:
        return ""


async def admit_all(
    directories: Sequence[Path],
    execute: Execute,
    *,
    gates: Sequence[str] = tuple(GATES),
    concurrency: int = 4,
    on_decided: Callable[[Admission], None] = lambda admission: None,
) -> tuple[Admission, ...]:
    """Decide many packages, `concurrency` at a time, in the order given; `on_decided` is called as each is decided."""
    free = asyncio.Semaphore(concurrency)

    async def one(directory: Path) -> Admission:
        async with free:
            admission = await admit(directory, execute, gates)
        on_decided(admission)
        return admission

    return tuple(await asyncio.gather(*(one(d) for d in directories)))
