"""Gates in order, the first failure ends it, every step with a reason: the recorded decision to admit a task."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from journeyman.admission.contamination import HeldOut
from journeyman.admission.context import Context
from journeyman.admission.gates import GATES, gate
from journeyman.admission.gates.base import Candidate, Execute, lost
from journeyman.admission.gates.contamination import fingerprint_of
from journeyman.errors import Failure, JourneymanError, UserError, boundary
from journeyman.records.admission import Admission, GateResult
from journeyman.records.outcome import Quarantined
from journeyman.records.task import Plan


async def admit(
    directory: Path, execute: Execute, gates: Sequence[str] = tuple(GATES), context: Context | None = None
) -> Admission:
    """Decide one package; a gate that breaks quarantines it. Raises UserError only for a gate that does not exist."""
    candidate = Candidate(directory, execute, context or Context())
    results: list[GateResult] = []
    for check in [gate(name) for name in gates]:
        try:
            with boundary("grader"):  # a fault of ours in one task's gates never loses the others
                result = await check.check(candidate)
        except UserError as error:
            result = GateResult(gate=check.name, passed=False, reason=str(error))
        except Failure as failure:
            result = lost(check.name, failure)
        results.append(result)
        if not result.passed:
            break
    return Admission(task=directory.name, content_digest=_digest(candidate), gates=tuple(results))


def _digest(candidate: Candidate) -> str:
    with contextlib.suppress(JourneymanError), boundary("grader"):
        return candidate.task.content_digest
    return ""


def held_out_of(directories: Iterable[Path], suites: Iterable[Path] = ()) -> HeldOut:
    """The index of the held-out packages among `directories`, and of all packages of other `suites`.

    A package among `directories` that does not load is left to its own decision. Raises UserError for one in a suite.
    """

    async def nothing(directory: Path, plan: Plan) -> Quarantined:
        return Quarantined(layer="sandbox", cause="not_executed", detail=f"{directory.name}: {plan.name}")

    found = [fingerprint_of(Candidate(directory, nothing)) for directory in suites]
    for directory in directories:
        candidate = Candidate(directory, nothing)
        with contextlib.suppress(JourneymanError), boundary("grader"):
            if candidate.task.metadata.split == "heldout":
                found.append(fingerprint_of(candidate))
    return HeldOut(tuple(found))


async def admit_all(
    directories: Sequence[Path],
    execute: Execute,
    *,
    gates: Sequence[str] = tuple(GATES),
    context: Context | None = None,
    concurrency: int = 4,
    on_decided: Callable[[Admission], None] = lambda admission: None,
) -> tuple[Admission, ...]:
    """Decide many packages, `concurrency` at a time, in the order given; `on_decided` is called as each is decided."""
    free = asyncio.Semaphore(concurrency)

    async def one(directory: Path) -> Admission:
        async with free:
            admission = await admit(directory, execute, gates, context)
        on_decided(admission)
        return admission

    return tuple(await asyncio.gather(*(one(d) for d in directories)))
