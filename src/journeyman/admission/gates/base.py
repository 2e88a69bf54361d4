"""The gate seam: one check of one candidate task with a reason. Gates read; only the injected `execute` acts.

Invariant: a gate that could not look because something of ours failed says so (`quarantined`); that is never a verdict
about the task.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

from journeyman.admission.context import Context
from journeyman.admission.mutations import Setting
from journeyman.admission.variation import Sealed
from journeyman.errors import Failure
from journeyman.grading.text import fold
from journeyman.office.render import render
from journeyman.office.rendered import Rendered
from journeyman.records.admission import GateResult
from journeyman.records.grade import Grade
from journeyman.records.outcome import Quarantined
from journeyman.records.task import Plan, Task
from journeyman.tasks.draft import State
from journeyman.tasks.package import initial_state, load_task, plans, public_workspace


class Executed(NamedTuple):
    """One executed plan: its grade, and the sealed episode the grade was given for."""

    grade: Grade
    episode: Path


Execute = Callable[[Path, Plan], Awaitable[Executed | Quarantined]]


@dataclass(frozen=True)
class Candidate:
    """A task package under admission; its parts are read once, when a gate first asks. Properties raise UserError."""

    directory: Path
    execute: Execute  # runs a plan through the public interfaces, seals, grades
    context: Context = field(default_factory=Context)

    @cached_property
    def task(self) -> Task:
        """The loaded task, every byte checked."""
        return load_task(self.directory, handlers=False)  # the gate `schemas` says which handlers answer

    @cached_property
    def _plans(self) -> tuple[Plan, tuple[Plan, ...], tuple[Plan, ...]]:
        return plans(self.directory)

    @property
    def reference(self) -> Plan:
        """The plan that must get full marks."""
        return self._plans[0]

    @property
    def negatives(self) -> tuple[Plan, ...]:
        """Plans that must get strictly less."""
        return self._plans[1]

    @cached_property
    def public_files(self) -> Mapping[str, bytes]:
        """Visible files by path below /workspace."""
        root = public_workspace(self.directory)
        return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}

    @cached_property
    def rendered(self) -> Mapping[str, Rendered]:
        """Every visible file as a reader sees it, by path; rendered once for all gates."""
        return {path: render(path, data) for path, data in self.public_files.items()}

    @cached_property
    def public_texts(self) -> Mapping[str, str]:
        """Everything a policy is shown before it acts, folded, by where it stands: request, paths, text and bytes."""
        texts = {"instruction": fold(self.task.instruction)}
        for path, data in self.public_files.items():
            rendered = self.rendered[path]
            raw = data.decode("utf-8", errors="ignore")
            texts[path] = fold(f"{path}\n{rendered.text}" + ("" if raw == rendered.text else f"\n{raw}"))
        return texts

    @cached_property
    def state(self) -> State:
        """Initial service state."""
        return initial_state(self.directory)

    @cached_property
    def _executed(self) -> dict[str, Executed | Quarantined]:
        return {}

    async def run(self, plan: Plan) -> Grade | Quarantined:
        """The grade of one plan on this task; each plan is executed once per admission."""
        found = await self._run(plan)
        return found if isinstance(found, Quarantined) else found.grade

    async def _run(self, plan: Plan) -> Executed | Quarantined:
        if plan.name not in self._executed:
            self._executed[plan.name] = await self.execute(self.directory, plan)
        return self._executed[plan.name]

    async def sealed_reference(self) -> Sealed | Quarantined:
        """What the reference left behind, sealed: the work that generated errors and alternatives are variations of."""
        found = await self._run(self.reference)
        if isinstance(found, Quarantined):
            return found
        if "sealed" not in self.__dict__:
            self.__dict__["sealed"] = Sealed.of(self.task, self.directory, found.episode)
        sealed: Sealed = self.__dict__["sealed"]
        return sealed


async def setting_of(candidate: Candidate) -> Setting | Quarantined:
    """What errors and alternatives of the candidate are generated from; the reference is executed once."""
    sealed = await candidate.sealed_reference()
    if isinstance(sealed, Quarantined):
        return sealed
    return Setting(sealed, candidate.public_texts, candidate.rendered)


class Gate(Protocol):
    """One check."""

    name: str

    async def check(self, candidate: Candidate) -> GateResult:
        """Whether the candidate passes, and why not. Raises UserError where the package itself is unusable."""
        ...


def verdict(gate: str, faults: tuple[str, ...] | list[str], **figures: object) -> GateResult:
    """Passed iff there are no faults; the reason names the first and how many more there are."""
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    reason = f"{faults[0]}{more}" if faults else ""
    return GateResult(gate=gate, passed=not faults, reason=reason, figures=dict(figures))


def quarantined(gate: str, plan: Plan, failure: Quarantined) -> GateResult:
    """The gate could not look: an executed plan ended in a failure of ours."""
    reason = f"quarantined: plan {plan.name}: {failure.layer}: {failure.cause} {failure.detail}".strip()
    return GateResult(gate=gate, passed=False, reason=reason, figures={"quarantined": failure.layer})


def lost(gate: str, failure: Failure) -> GateResult:
    """The gate could not look: something of ours broke while it did."""
    reason = f"quarantined: {failure.layer}: {failure}".strip()
    return GateResult(gate=gate, passed=False, reason=reason, figures={"quarantined": failure.layer})
