"""The heart: one attempt, provisioned, acted, finalised and sealed. Whatever happens, what exists is sealed.

Exactly one of `stop` (the policy's doing, graded) and `failure` (ours, quarantined, with the layer) is recorded.
"""

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from journeyman.errors import CaptureFailure, Failure, HarnessFailure, Layer, ServiceFailure, boundary
from journeyman.harnesses.base import Harness, HarnessExit, HarnessRun
from journeyman.records.base import canonical_json
from journeyman.records.episode import Episode, EpisodeSpec, Usage
from journeyman.records.outcome import FailureCause, StopReason
from journeyman.records.task import Task
from journeyman.records.turn import ToolEvent
from journeyman.sandbox.base import Sandbox, SandboxProvider, SandboxSpec, WorkspaceChange
from journeyman.services.base import ServiceWorld, WorldSnapshot
from journeyman.store.layout import Job
from journeyman.store.seal import is_sealed, seal


class Slot(Protocol):
    """An open place of the capture gateway for one episode (`capture.server`)."""

    url: str
    key: str
    failure: Failure | None  # the first failure of ours that a call met
    captured: Any  # counts (`capture.recorder.Captured`); None while the slot is open

    async def close(self) -> Any:
        """No token can land after this; returns counts (`capture.recorder.Captured`)."""
        ...


class Gateway(Protocol):
    """The capture gateway, as an attempt sees it."""

    engine_identity: dict[str, Any]

    def open(self, spec: EpisodeSpec, directory: Path, context_tokens: int) -> Slot:
        """Open a slot that records into `directory`."""
        ...


class Services(Protocol):
    """The service host, as an attempt sees it."""

    async def open(self, episode: str, grants: Any, initial_state: Any, frozen_time: str, seed: int) -> ServiceWorld:
        """Start all of an episode's services."""
        ...


@dataclass(frozen=True)
class ReadyTask:
    """A task with what provisioning needs, loaded once and shared by its attempts."""

    task: Task
    directory: Path
    workspace: Path  # public lower layer of /workspace
    initial_state: dict[str, Any]  # service -> table -> rows
    grader_digest: str  # identity of the official grader, frozen before the first rollout


@dataclass(frozen=True)
class Workplace:
    """The collaborators of every attempt of a job."""

    job: Job
    sandboxes: SandboxProvider
    services: Services | None
    gateway: Gateway
    harness: Harness

    @cached_property
    def harness_digest(self) -> str:
        """The manifest's identity, worked out once for all attempts."""
        return self.harness.manifest.digest()


def _cause(failure: Failure) -> FailureCause:
    return FailureCause(layer=failure.layer, cause=failure.cause, detail=failure.detail[:2000])


@dataclass
class _Attempt:
    spec: EpisodeSpec
    ready: ReadyTask
    place: Workplace
    directory: Path
    timing: dict[str, float] = field(default_factory=dict)
    sandbox: dict[str, Any] = field(default_factory=dict)
    exit: HarnessExit | None = None
    failure: FailureCause | None = None
    usage: Usage = field(default_factory=Usage)

    def fail(self, failure: Failure) -> None:
        """Keep the first failure: later ones follow from it."""
        if self.failure is None:
            self.failure = _cause(failure)

    def header(self) -> Episode:
        exit_ = self.exit
        stop: StopReason | None = exit_.stop if exit_ is not None and self.failure is None else None
        if stop is None and self.failure is None:
            self.fail(HarnessFailure("no_exit", "the harness returned nothing"))
        return Episode(
            spec=self.spec,
            task_digest=self.ready.task.content_digest,
            grader_digest=self.ready.grader_digest,
            harness_digest=self.place.harness_digest,
            engine=self.place.gateway.engine_identity,
            sandbox=self.sandbox,
            stop=stop,
            failure=self.failure,
            usage=self.usage,
            timing={k: round(v, 6) for k, v in self.timing.items()},
            final_message=exit_.final_message if exit_ is not None else "",
        )


async def run_one(spec: EpisodeSpec, ready: ReadyTask, place: Workplace) -> Path:
    """Run one attempt and seal it; returns the sealed directory.

    A sealed directory is returned as it is; the remains of a killed process (never sealed) are cleared first.
    """
    directory = place.job.episode_dir(spec.key)
    if is_sealed(directory):
        return directory
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
    attempt = _Attempt(spec, ready, place, directory)
    started = time.monotonic()
    try:
        with boundary("harness"):
            await _provision_and_act(attempt)
    except Failure as failure:
        attempt.fail(failure)
    attempt.timing["total"] = time.monotonic() - started
    (directory / "episode.json").write_bytes(attempt.header().canonical())
    await asyncio.to_thread(seal, directory)  # it waits for the disk, and other attempts need not
    return directory


async def _provision_and_act(attempt: _Attempt) -> None:
    spec, ready, place = attempt.spec, attempt.ready, attempt.place
    started = time.monotonic()
    async with AsyncExitStack() as stack:
        budget = spec.budget or ready.task.budget
        with boundary("capture"):
            slot = place.gateway.open(spec, attempt.directory, budget.context_tokens)
        box: Sandbox | None = None
        world: ServiceWorld | None = None
        try:
            with boundary("sandbox"):
                box = await place.sandboxes.start(_box_spec(ready, spec))
                stack.push_async_callback(_within, "sandbox", box.close)
                attempt.sandbox = box.identity.model_dump(mode="json")
            if ready.task.services:
                world = await _open_world(attempt)
                stack.push_async_callback(_within, "service", world.close)
            attempt.timing["provision"] = time.monotonic() - started
            with boundary("harness"):
                attempt.exit = await place.harness.run(
                    HarnessRun(
                        episode=spec.id,
                        instruction=ready.task.instruction,
                        budget=budget,
                        sandbox=box,
                        services=world,
                        url=slot.url,
                        key=slot.key,
                        sampling=spec.sampling,
                        seed=spec.seed,
                    )
                )
        except Failure as failure:
            attempt.fail(failure)
        attempt.timing["act"] = time.monotonic() - started - attempt.timing.get("provision", 0.0)
        await _finalise(attempt, slot, box, world)


async def _within(layer: Layer, close: Callable[[], Awaitable[None]]) -> None:
    with boundary(layer):
        await close()


def _box_spec(ready: ReadyTask, spec: EpisodeSpec) -> SandboxSpec:
    return SandboxSpec(workspace=(ready.workspace,), capabilities=ready.task.metadata.capabilities, label=spec.key)


async def _open_world(attempt: _Attempt) -> ServiceWorld:
    task = attempt.ready.task
    with boundary("service"):
        if attempt.place.services is None:
            raise ServiceFailure("no_service_host", "the task needs services and no host runs")
        return await attempt.place.services.open(
            attempt.spec.id,
            task.services,
            attempt.ready.initial_state,
            task.metadata.frozen_time,
            task.metadata.seed,
        )


async def _finalise(attempt: _Attempt, slot: Slot, box: Sandbox | None, world: ServiceWorld | None) -> None:
    """Close capture first, then kill what the agent left, freeze services, collect; each layer on its own."""
    started = time.monotonic()
    captured = None
    try:
        with boundary("capture"):
            if slot.captured is not None:
                raise CaptureFailure("gateway_closed", "the gateway closed this episode while its agent ran")
            captured = await slot.close()
    except Failure as failure:
        attempt.fail(failure)
    if slot.failure is not None:  # whatever the agent made of it, its model did not answer
        attempt.failure = _cause(slot.failure)
    elif captured is not None and not captured.turns:
        attempt.fail(HarnessFailure("no_model_call", "the agent ended without a single model call"))
    try:
        if box is not None:
            with boundary("sandbox"):
                await box.kill_agent()
    except Failure as failure:
        attempt.fail(failure)
    try:
        if box is not None:
            with boundary("sandbox"):
                _write_changes(attempt.directory, await box.collect())
    except Failure as failure:
        attempt.fail(failure)
    try:
        if world is not None:
            with boundary("service"):
                _write_services(attempt.directory, await world.freeze())
    except Failure as failure:
        attempt.fail(failure)
    events = attempt.exit.events if attempt.exit is not None else []
    _write_dispatch(attempt.directory, events)
    if captured is not None:
        attempt.usage = _usage(captured, events)
    if attempt.exit is not None:
        attempt.timing["engine"] = attempt.exit.engine_seconds
    attempt.timing["collect"] = time.monotonic() - started


def _usage(captured: Any, events: list[ToolEvent]) -> Usage:
    return Usage(
        turns=captured.turns,
        prompt_tokens=captured.prompt_tokens,
        cached_tokens=captured.cached_tokens,
        sampled_tokens=captured.sampled_tokens,
        tool_calls=len(events),
        invalid_calls=sum(not e.valid for e in events),
        segments=captured.segments,
    )


def _write_changes(directory: Path, change: WorkspaceChange) -> None:
    for path, content in change.written.items():
        target = directory / "workspace" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    if change.deleted:
        (directory / "deleted.json").write_bytes(canonical_json(sorted(change.deleted)))


def _write_services(directory: Path, snapshot: WorldSnapshot) -> None:
    (directory / "services.json").write_bytes(canonical_json(snapshot.state))
    (directory / "service_ledger.jsonl").write_bytes(b"".join(e.canonical() + b"\n" for e in snapshot.ledger))


def _write_dispatch(directory: Path, events: list[ToolEvent]) -> None:
    if events:
        (directory / "dispatch.jsonl").write_bytes(b"".join(e.canonical() + b"\n" for e in events))
