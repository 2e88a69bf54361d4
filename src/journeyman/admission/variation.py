"""What the sealed reference would have left had it done one thing otherwise, decided without running anything again.

Invariant: a variation changes deliverables and service calls of the sealed reference and nothing else; services are
replayed from their initial state by the code that serves them, and checks are decided by the code that grades. Judged
criteria, and programs that grading runs, are as the reference is meant to have them, or missed where it is not there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from journeyman.grading.checks import decide
from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.programs import programs_of
from journeyman.grading.rubric import raw_of, rewards
from journeyman.office.render import render
from journeyman.office.rendered import Rendered
from journeyman.records.grade import OPTIMISED
from journeyman.records.rubric import Criterion, Judged
from journeyman.records.task import Task
from journeyman.services.base import LedgerEntry
from journeyman.services.definitions import load_service
from journeyman.services.world import open_world
from journeyman.store.sealed import SealedEpisode
from journeyman.tasks.draft import State
from journeyman.tasks.package import initial_state, public_workspace


class ServiceCall(NamedTuple):
    """One call of a service's tool."""

    service: str
    tool: str
    arguments: Mapping[str, Any]

    @property
    def writes(self) -> bool:
        """Whether the tool declares that it changes state."""
        tool = load_service(self.service).tools.get(self.tool)
        return tool is not None and tool.writes

    @property
    def repeatable(self) -> bool:
        """Whether the tool declares that repeating it leaves one effect."""
        tool = load_service(self.service).tools.get(self.tool)
        return tool is None or tool.idempotent


class Work(NamedTuple):
    """What an attempt did that can be graded: files it wrote, and its service calls in order."""

    files: Mapping[str, bytes]
    calls: tuple[ServiceCall, ...]


@dataclass(frozen=True)
class Sealed:
    """The sealed reference of a task."""

    task: Task
    state: State  # services before the attempt
    evidence: SealedEvidence

    @classmethod
    def of(cls, task: Task, directory: Path, episode: Path) -> "Sealed":
        """The reference's sealed episode. Raises SealBroken."""
        evidence = SealedEvidence.of(SealedEpisode.open(episode), public_workspace(directory))
        return cls(task, initial_state(directory), evidence)

    @cached_property
    def work(self) -> Work:
        """What the reference did."""
        files = {p: d if isinstance(d, bytes) else d.read_bytes() for p, d in self.evidence.written.items()}
        return Work(files, tuple(ServiceCall(e.service, e.tool, e.arguments) for e in self.evidence.ledger))

    @cached_property
    def deliverables(self) -> dict[str, Rendered]:
        """Files the reference wrote that a criterion may read, as a reader sees them."""
        return {path: render(path, data) for path, data in self.work.files.items()}

    @cached_property
    def verdicts(self) -> dict[str, bool]:
        """The reference's own verdicts by criterion; judged ones as the reference is meant to get them."""
        return self._decided(self.evidence)

    @cached_property
    def reward(self) -> float:
        """The reference's optimised reward."""
        return self.reward_of(self.verdicts)

    def reward_of(self, verdicts: Mapping[str, bool]) -> float:
        """The optimised reward of a full set of verdicts."""
        return rewards(self.task.rubric, raw_of(self.task.rubric, verdicts))[OPTIMISED]

    def verdicts_of(self, work: Work) -> dict[str, bool]:
        """Verdicts had the attempt done `work`. Raises ServiceFailure where a service crashes."""
        state, ledger = self.replayed(work.calls) if work.calls != self.work.calls else (None, ())
        evidence = replace(
            self.evidence,
            written=dict(work.files),
            state=self.evidence.state if state is None else state,
            ledger=self.evidence.ledger if state is None else ledger,
            _bytes={},
            _rendered={p: r for p, r in self.deliverables.items() if work.files.get(p) == self.work.files.get(p)},
        )
        return self._decided(evidence)

    def replayed(self, calls: Sequence[ServiceCall]) -> tuple[Mapping[str, Any], tuple[LedgerEntry, ...]]:
        """Final state and ledger after `calls`, from the task's initial state and with its declared faults."""
        about = self.task.metadata
        world = open_world(self.task.services, self.state, about.frozen_time, about.seed)
        for number, call in enumerate(calls):
            world.call(f"{call.service}__{call.tool}", dict(call.arguments), f"v{number}")
        snapshot = world.freeze()
        world.close()
        return snapshot.state, snapshot.ledger

    def _decided(self, evidence: SealedEvidence) -> dict[str, bool]:
        return {c.id: self._met(c, evidence) for c in self.task.rubric.criteria}

    def _met(self, criterion: Criterion, evidence: SealedEvidence) -> bool:
        """A judged criterion is taken as the reference has it unless what it reads was not delivered at all; one on
        programs, unless they are not the reference's own.
        """
        if isinstance(criterion.decide, Judged):
            there = all(evidence.file(path) for path in criterion.decide.deliverables)
            return there and criterion.weight > 0
        run = {program.path for program in programs_of(criterion.decide)}
        if run:
            return criterion.weight > 0 and all(evidence.file(path) == self.evidence.file(path) for path in run)
        return decide(criterion.decide, evidence).met
