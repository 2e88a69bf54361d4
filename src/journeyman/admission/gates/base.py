"""The gate seam: one check of one candidate task with a reason. Gates read; only the injected `execute` acts.

Invariant: a gate that could not look because something of ours failed says so (`quarantined`); that is never a verdict
about the task.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from journeyman.grading.text import fold
from journeyman.office.render import render
from journeyman.records.admission import GateResult
from journeyman.records.grade import Grade
from journeyman.records.outcome import Quarantined
from journeyman.records.task import Plan, Task
from journeyman.tasks.draft import State
from journeyman.tasks.package import initial_state, load_task, plans, public_workspace

Execute = Callable[[Path, Plan], Awaitable[Grade | Quarantined]]


@dataclass(frozen=True)
class Candidate:
    """A task package under admission; its parts are read once, when a gate first asks. Properties raise UserError."""

    directory: Path
    execute: Execute  # runs a plan through the public interfaces, seals, grades

    @cached_property
    def task(self) -> Task:
        """The loaded task, every byte checked."""
        return load_task(self.directory)

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
    def public_texts(self) -> Mapping[str, str]:
        """Everything a policy is shown before it acts, folded, by where it stands: request, paths, text and bytes."""
        texts = {"instruction": fold(self.task.instruction)}
        for path, data in self.public_files.items():
            rendered = render(path, data)
            raw = data.decode("utf-8", errors="ignore")
            texts[path] = fold(f"{path}\n{rendered.text}" + ("" if raw == rendered.text else f"\n{raw}"))
        return texts

    @cached_property
    def state(self) -> State:
        """Initial service state."""
        return initial_state(self.directory)

    @cached_property
    def _graded(self) -> dict[str, Grade | Quarantined]:
        return {}

    async def run(self, plan: Plan) -> Grade | Quarantined:
        """The grade of one plan on this task; each plan is executed once per admission."""
        if plan.name not in self._graded:
            self._graded[plan.name] = await self.execute(self.directory, plan)
        return self._graded[plan.name]


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
