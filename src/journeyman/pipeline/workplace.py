"""Opening and closing the collaborators of a job's attempts: sandboxes, service host, engine, gateway, harness."""

import os
import resource
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from journeyman.engines.embedded.client import EmbeddedEngine, EmbeddedOptions
from journeyman.episodes.run_one import ReadyTask, Workplace
from journeyman.errors import UserError
from journeyman.grading.combine import Grader
from journeyman.grading.episode import grade_episode, outcome_of
from journeyman.grading.programs import BoxPrograms
from journeyman.pipeline.naming import check_sandbox
from journeyman.pipeline.recipe import Recipe
from journeyman.records.grade import REPORTED
from journeyman.records.outcome import Outcome, Quarantined
from journeyman.sandbox.base import SandboxProvider
from journeyman.store.checkpoint import tokenizer_digest
from journeyman.store.layout import Job
from journeyman.tasks.package import initial_state, load_task, public_workspace, stamp


@dataclass(frozen=True)
class Opened:
    """A workplace and what measures it."""

    place: Workplace
    sandboxes: Any  # its provider, which knows what boxes cost
    host_pid: int | None

    def outside_cpu_seconds(self) -> float:
        """CPU seconds spent outside the model so far: this process, the boxes with their launcher, the service host."""
        own = resource.getrusage(resource.RUSAGE_SELF)
        host = _process_cpu(self.host_pid) if self.host_pid is not None else 0.0
        return own.ru_utime + own.ru_stime + float(self.sandboxes.cpu_seconds()) + host


def _process_cpu(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sandbox_provider(name: str) -> Any:
    """The provider of a recipe's `options.sandbox`. Raises UserError saying what to type where it cannot run."""
    check_sandbox(name)
    if name == "local":
        from journeyman.sandbox.local import LocalProvider

        return LocalProvider(asked_by_name=True)
    from journeyman.sandbox.bubblewrap import BubblewrapProvider
    from journeyman.sandbox.detect import detect

    readiness = detect()
    if not readiness.ready:
        raise UserError(readiness.line())
    return BubblewrapProvider()


def embedded_engine(recipe: Recipe, weights: Path, version: int = 0) -> EmbeddedEngine:
    """The sampler of a recipe's policy, not started yet."""
    options = EmbeddedOptions(
        rows=recipe.options.concurrency,
        threads=recipe.options.sampler_threads,
        device=recipe.policy.device,
        dtype=recipe.policy.dtype,
    )
    return EmbeddedEngine(weights, version=version, options=options)


@asynccontextmanager
async def open_workplace(
    job: Job, engine: Any, policy: Path, *, sandbox: str = "bubblewrap", services: bool = True
) -> AsyncIterator[Opened]:
    """Everything an attempt needs, around one engine; `policy` holds the tokenizer and chat template."""
    from journeyman.capture.server import Gateway
    from journeyman.harnesses.whitebox.loop import native_harness
    from journeyman.services.client import ServiceHost
    from journeyman.tokens.choosing import renderer_for

    async with AsyncExitStack() as stack:
        sandboxes = await stack.enter_async_context(sandbox_provider(sandbox))
        host = await stack.enter_async_context(ServiceHost()) if services else None
        sockets = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jm-gateway-")))
        made = Gateway(engine, renderer_for(policy), socket_dir=sockets, tokenizer_digest=tokenizer_digest(policy))
        gateway = await stack.enter_async_context(made)
        place = Workplace(job=job, sandboxes=sandboxes, services=host, gateway=gateway, harness=native_harness())
        yield Opened(place, sandboxes, host.pid if host is not None else None)


@lru_cache(maxsize=4096)
def _ready(directory: Path, _stamp: tuple[int, ...]) -> ReadyTask:
    task = load_task(directory)
    return ReadyTask(
        task=task,
        directory=directory,
        workspace=public_workspace(directory),
        initial_state=initial_state(directory),
        grader_digest=Grader().identity(task.rubric).digest(),
    )


def ready_task(directory: Path) -> ReadyTask:
    """A task package ready for attempts, its official grader bound; checked byte for byte once a process."""
    return _ready(directory, stamp(directory))


async def graded(
    job: Job, directory: Path, ready: ReadyTask, sandboxes: SandboxProvider, reward_name: str = REPORTED
) -> Outcome:
    """The outcome of a sealed episode; it is graded now if its official grader has not graded it yet."""
    grades = job.grades_dir(job.key_of(directory))
    outcome = outcome_of(directory, grades, reward_name)
    if isinstance(outcome, Quarantined) and (outcome.layer, outcome.cause) == ("grader", "ungraded"):
        await grade_episode(directory, ready.directory, grades, Grader(programs=BoxPrograms(sandboxes)))
        outcome = outcome_of(directory, grades, reward_name)
    return outcome
