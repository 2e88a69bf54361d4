"""The seams of an attempt, each wrapped so that it breaks under chosen tries; everything else stays the real part.

A fault is injected as it happens: a box's processes are killed, the service host is killed, the gateway's address is
dead, an exception is raised inside a call. What the driver makes of it is the driver's own code.
"""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from journeyman.engines.base import Engine, SampleChunk, SampleRequest
from journeyman.episodes.run_one import Gateway, ReadyTask, Services, Workplace
from journeyman.errors import Layer
from journeyman.grading.base import Contract
from journeyman.grading.combine import Grader
from journeyman.grading.episode import grade_episode, outcome_of
from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.programs import BoxPrograms
from journeyman.harnesses.base import Harness, HarnessExit, HarnessRun
from journeyman.records.episode import EpisodeSpec
from journeyman.records.grade import Grade, GraderIdentity
from journeyman.records.outcome import Outcome
from journeyman.sandbox.base import Sandbox, SandboxProvider, SandboxSpec, WorkspaceChange
from journeyman.services.base import ServiceResult, ServiceWorld, WorldSnapshot
from journeyman.store.layout import Job

Hits = Callable[[str], bool]
"""Whether the try with this key (policy/task/group/attempt.try) is broken."""

GradeIt = Callable[[Path, ReadyTask], Awaitable[Outcome]]


class Broken(RuntimeError):
    """What an injected part raises."""


def key_of(episode: str) -> str:
    """The key of an episode id."""
    return episode.partition("/")[2]


class FaultyHarness:
    """The real harness; under a broken try it is handed a broken run, or raises."""

    def __init__(self, real: Harness, hits: Hits, broken: Callable[[HarnessRun], HarnessRun]) -> None:
        self.manifest = real.manifest
        self._real, self._hits, self._broken = real, hits, broken

    async def run(self, run: HarnessRun) -> HarnessExit:
        return await self._real.run(self._broken(run) if self._hits(key_of(run.episode)) else run)


class SwallowingHarness:
    """A black-box agent that ends well whatever its model calls answered."""

    def __init__(self, real: Harness) -> None:
        self.manifest = real.manifest
        self._real = real

    async def run(self, run: HarnessRun) -> HarnessExit:
        from journeyman.errors import Failure
        from journeyman.records.outcome import StopReason

        try:
            return await self._real.run(run)
        except Failure:
            return HarnessExit(stop=StopReason.FINISHED, final_message="all good")


class DoomedBox:
    """A real box whose processes are killed at the call numbered `at`, before it is served."""

    def __init__(self, real: Sandbox, at: int) -> None:
        self.identity = real.identity
        self._real, self._at, self._calls = real, at, 0

    async def call(self, op: str, args: dict[str, Any], timeout_seconds: float = 120.0) -> dict[str, Any]:
        self._calls += 1
        if self._calls == self._at:
            started = self._real.started  # type: ignore[attr-defined]
            os.kill(started.pid, signal.SIGKILL)
            await asyncio.wait({started.exit}, timeout=10.0)
        return await self._real.call(op, args, timeout_seconds)

    async def kill_agent(self) -> None:
        await self._real.kill_agent()

    async def collect(self) -> WorkspaceChange:
        return await self._real.collect()

    async def close(self) -> None:
        await self._real.close()


class DoomedWorld:
    """Real services whose host is killed at the first call, or (`at_freeze`) when the world is to be frozen."""

    def __init__(self, real: ServiceWorld, pid: Callable[[], int], at_freeze: bool) -> None:
        self._real, self._pid, self._at_freeze = real, pid, at_freeze

    async def tools(self) -> list[dict[str, Any]]:
        return await self._real.tools()

    async def call(self, tool: str, arguments: dict[str, Any], call_id: str = "") -> ServiceResult:
        if not self._at_freeze:
            os.kill(self._pid(), signal.SIGKILL)
        return await self._real.call(tool, arguments, call_id)

    async def freeze(self) -> WorldSnapshot:
        if self._at_freeze:
            os.kill(self._pid(), signal.SIGKILL)
        return await self._real.freeze()

    async def close(self) -> None:
        await self._real.close()


class FaultyServices:
    """The real host; opening fails, or the world it opens is doomed."""

    def __init__(self, real: Services, hits: Hits, at_open: bool = False) -> None:
        self._real, self._hits, self._at_open = real, hits, at_open

    async def open(self, episode: str, grants: Any, initial_state: Any, frozen_time: str, seed: int) -> ServiceWorld:
        if self._at_open and self._hits(key_of(episode)):
            raise Broken("the host does not start")
        world = await self._real.open(episode, grants, initial_state, frozen_time, seed)
        if self._hits(key_of(episode)):
            return DoomedWorld(world, lambda: self._real.pid, at_freeze=True)  # type: ignore[attr-defined]
        return world


class ParticularBox:
    """A real box one of whose methods raises."""

    def __init__(self, real: Sandbox, method: str) -> None:
        self._real, self._method = real, method

    def __getattr__(self, name: str) -> Any:
        if name != self._method:
            return getattr(self._real, name)

        async def broken(*_: Any, **__: Any) -> Any:
            if name == "close":
                await self._real.close()
            raise Broken(f"{name} is broken")

        return broken


class FaultySandboxes:
    """The real provider; starting fails, or the box it starts has one broken method."""

    def __init__(self, real: SandboxProvider, hits: Hits, method: str = "start") -> None:
        self._real, self._hits, self._method = real, hits, method

    async def start(self, spec: SandboxSpec) -> Any:
        hit = self._hits(spec.label)
        if hit and self._method == "start":
            raise Broken("no box can be started")
        box = await self._real.start(spec)
        return ParticularBox(box, self._method) if hit else box


class ParticularSlot:
    """A real slot that cannot be closed."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def close(self) -> Any:
        await self._real.close()
        raise Broken("the log cannot be settled")


class FaultyGateway:
    """The real gateway; a slot cannot be opened, or cannot be closed."""

    def __init__(self, real: Gateway, hits: Hits, method: str) -> None:
        self.engine_identity = real.engine_identity
        self._real, self._hits, self._method = real, hits, method

    def open(self, spec: EpisodeSpec, directory: Path, context_tokens: int) -> Any:
        hit = self._hits(spec.key)
        if hit and self._method == "open":
            raise Broken("the disk is full")
        slot = self._real.open(spec, directory, context_tokens)
        return ParticularSlot(slot) if hit else slot


class FaultyEngine:
    """The real engine; under a broken try the call numbered `at` raises instead of sampling."""

    def __init__(self, real: Engine, hits: Hits, at: int = 2) -> None:
        self.identity = real.identity
        self._real, self._hits, self._at = real, hits, at
        self._calls: dict[str, int] = {}

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        number = self._calls[request.episode] = self._calls.get(request.episode, 0) + 1
        if self._hits(key_of(request.episode)) and number == self._at:
            raise Broken("CUDA error: an illegal memory access was encountered")
        async for chunk in self._real.sample(request):
            yield chunk

    async def load_weights(self, path: Path, version: int) -> None:
        await self._real.load_weights(path, version)

    async def release(self, lineage: str) -> None:
        await self._real.release(lineage)

    async def close(self) -> None:
        await self._real.close()


class FaultyGrader:
    """The official grader; grading a broken try raises."""

    name = "official"

    def __init__(self, hits: Hits, sandboxes: SandboxProvider) -> None:
        self._real, self._hits = Grader(programs=BoxPrograms(sandboxes)), hits

    def contract(self, task_dir: Path) -> Contract:
        return self._real.contract(task_dir)

    def identity(self, rubric: Any) -> GraderIdentity:
        return self._real.identity(rubric)

    async def grade(self, evidence: SealedEvidence, contract: Contract, identity: GraderIdentity) -> Grade:
        if self._hits(key_of(evidence.episode)):
            raise ZeroDivisionError("float division by zero")
        return await self._real.grade(evidence, contract, identity)


def grading(job: Job, sandboxes: SandboxProvider, hits: Hits = lambda key: False) -> GradeIt:
    """What a Runner grades with: the official grader, which breaks on the tries it is told to."""

    async def grade(directory: Path, ready: ReadyTask) -> Outcome:
        grades = job.grades_dir(job.key_of(directory))
        outcome = outcome_of(directory, grades)
        if outcome.kind == "quarantined" and outcome.cause == "ungraded":
            await grade_episode(directory, ready.directory, grades, FaultyGrader(hits, sandboxes))
        return outcome_of(directory, grades)

    return grade


def _dead_gateway(run: HarnessRun) -> HarnessRun:
    return replace(run, url=f"unix:{Path(tempfile.gettempdir()) / 'nobody-listens.sock'}")


def _raise(run: HarnessRun) -> HarnessRun:
    raise KeyError("tool_calls")


def _doom_box(run: HarnessRun) -> HarnessRun:
    return replace(run, sandbox=DoomedBox(run.sandbox, at=1))


Inject = Callable[[Workplace, Hits], Workplace]


@dataclass(frozen=True)
class Fault:
    """One way to break one layer; `place` breaks the workplace, engine and grader are broken where they are made."""

    name: str
    layer: Layer
    place: Inject = lambda place, hits: place
    services: bool = False  # needs a task with services
    graded: bool = False  # the try itself goes well, grading breaks

    def __str__(self) -> str:
        return self.name


def _harness(broken: Callable[[HarnessRun], HarnessRun]) -> Inject:
    return lambda place, hits: replace(place, harness=FaultyHarness(place.harness, hits, broken))


def _kill_host(place: Workplace, hits: Hits) -> Workplace:
    services: Any = place.services

    def broken(run: HarnessRun) -> HarnessRun:
        assert run.services is not None
        return replace(run, services=DoomedWorld(run.services, lambda: services.pid, at_freeze=False))

    return _harness(broken)(place, hits)


def _sandboxes(method: str) -> Inject:
    return lambda place, hits: replace(place, sandboxes=FaultySandboxes(place.sandboxes, hits, method))


def _gateway(method: str) -> Inject:
    return lambda place, hits: replace(place, gateway=FaultyGateway(place.gateway, hits, method))


def _services(at_open: bool) -> Inject:
    def inject(place: Workplace, hits: Hits) -> Workplace:
        assert place.services is not None
        return replace(place, services=FaultyServices(place.services, hits, at_open))

    return inject


ENGINE = Fault("engine raises at the second call", "engine")
GRADER = Fault("grader raises", "grader", graded=True)
SIX: Sequence[Fault] = (
    Fault("sandbox killed mid-run", "sandbox", _harness(_doom_box)),
    ENGINE,
    Fault("capture down", "capture", _harness(_dead_gateway)),
    Fault("service host killed", "service", _kill_host, services=True),
    Fault("harness raises", "harness", _harness(_raise)),
    GRADER,
)
MORE: Sequence[Fault] = (
    Fault("sandbox does not start", "sandbox", _sandboxes("start")),
    Fault("sandbox cannot be collected", "sandbox", _sandboxes("collect")),
    Fault("sandbox cannot be closed", "sandbox", _sandboxes("close")),
    Fault("capture cannot be opened", "capture", _gateway("open")),
    Fault("capture cannot be closed", "capture", _gateway("close")),
    Fault("services cannot be opened", "service", _services(at_open=True), services=True),
    Fault("service host killed at the freeze", "service", _services(at_open=False), services=True),
)
