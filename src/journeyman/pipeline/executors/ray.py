"""Rollouts on Ray: the attempts of one job, dealt out to workers that share its directory; same job, same records.

Every worker opens a whole workplace of its own (engine or server connection, gateway, service host, sandboxes) and
seals into the job. A worker that dies is started again by Ray; what it had sealed is read, not run.
"""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from journeyman.engines.scripted import ScriptedEngine
from journeyman.episodes.run_many import Finished
from journeyman.errors import JourneymanError, UserError
from journeyman.pipeline.attempts import runner
from journeyman.pipeline.engines import policy_engine
from journeyman.pipeline.plans import PlanBook
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import Recipe
from journeyman.pipeline.rollout import SCRIPTS, Wish, check_same, identity_of, plan_of, planned, weights_of
from journeyman.pipeline.state import TASK_SOURCES, Run
from journeyman.pipeline.workplace import open_workplace, ready_task
from journeyman.records.episode import EpisodeSpec
from journeyman.records.outcome import Outcome
from journeyman.store.atomic import append_line, read_lines
from journeyman.store.layout import Job
from journeyman.store.lock import hold

_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)
RETRIES = 2  # of a worker that died


class Cluster(NamedTuple):
    """Which cluster, and how many workers on it."""

    workers: int = 2
    address: str | None = None  # None: a local one, started here and stopped at the end
    cpus_per_worker: float = 1.0


class Share(NamedTuple):
    """What one worker is handed: plain values, so that any process can read them."""

    root: str  # of the job, a path every worker sees
    recipe: str
    policy: str
    weights: str
    attempts: list[tuple[str, str]]  # EpisodeSpec as JSON, task directory


def work(share: Share) -> list[tuple[str, str, str]]:
    """Run a share to its end in this process: (spec, episode directory, outcome) of every attempt, as JSON."""
    finished = asyncio.run(_work(share))
    return [
        (one.spec.model_dump_json(), str(one.directory), _OUTCOME.dump_json(one.outcome).decode()) for one in finished
    ]


async def _work(share: Share) -> list[Finished]:
    recipe = Recipe.model_validate_json(share.recipe)
    run = Run(recipe, Job(Path(share.root)), Silent())
    weights, book = Path(share.weights), PlanBook()
    attempts = []
    for text, directory in share.attempts:
        spec = EpisodeSpec.model_validate_json(text)
        if share.policy in SCRIPTS:
            book.assign(spec, plan_of(share.policy, Path(directory)))
        attempts.append((spec, ready_task(Path(directory))))
    script = nullcontext(ScriptedEngine(book.answer))
    async with script if share.policy in SCRIPTS else policy_engine(recipe, weights, weights) as engine:
        async with open_workplace(run.job, engine, weights, sandbox=recipe.options.sandbox) as opened:
            return await runner(run, opened.place).all(attempts)


async def rollout_on_ray(run: Run, wish: Wish, cluster: Cluster) -> list[Finished]:
    """`pipeline.rollout.rollout` on a cluster: the same attempts in the same order. Raises UserError without Ray."""
    try:
        ray: Any = import_module("ray")
    except ImportError as error:
        raise UserError(f"rollouts on Ray need ray ({error}): pip install ray==2.60.0") from None
    attempts = planned(run, wish)
    if (known := identity_of(run.recipe, wish)) is not None:
        check_same(run, wish, known, attempts)
    run.progress.stage("rollout", f"{len(attempts)} episodes of {wish.label} on {cluster.workers} Ray workers")
    lock = hold(run.job.ledger / "lock", of=run.job.root)
    ours = not ray.is_initialized()
    try:
        source = str(wish.tasks.resolve()).encode()
        if source not in read_lines(run.job.ledger / TASK_SOURCES):
            append_line(run.job.ledger / TASK_SOURCES, source)
        if ours:
            _start(ray, cluster)
        shares = [_share(run, wish, attempts[n :: cluster.workers]) for n in range(cluster.workers)]
        remote = ray.remote(num_cpus=cluster.cpus_per_worker, max_retries=RETRIES)(work)
        return await _gather(ray, remote, [s for s in shares if s.attempts], run, [spec for spec, _ in attempts])
    finally:
        if ours and ray.is_initialized():
            await asyncio.to_thread(ray.shutdown)
        lock.close()


def _start(ray: Any, cluster: Cluster) -> None:
    if cluster.address is not None:
        ray.init(address=cluster.address, log_to_driver=False)
        return
    cpus = max(1, round(cluster.workers * cluster.cpus_per_worker))
    ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20)


def _share(run: Run, wish: Wish, attempts: Sequence[tuple[EpisodeSpec, Path]]) -> Share:
    return Share(
        root=str(run.job.root.resolve()),
        recipe=run.recipe.model_dump_json(),
        policy=wish.policy,
        weights=str(weights_of(wish.policy).resolve()),
        attempts=[(spec.model_dump_json(), str(directory.resolve())) for spec, directory in attempts],
    )


async def _gather(ray: Any, remote: Any, shares: list[Share], run: Run, order: list[EpisodeSpec]) -> list[Finished]:
    waiting = [remote.remote(share) for share in shares]
    found: dict[str, Finished] = {}
    while waiting:
        done, waiting = await asyncio.to_thread(ray.wait, waiting)
        for one in done:
            try:
                told = await asyncio.to_thread(ray.get, one)
            except ray.exceptions.RayTaskError as error:
                raise _told(error) from None
            for spec, directory, outcome in told:
                finished = Finished(
                    EpisodeSpec.model_validate_json(spec), Path(directory), _OUTCOME.validate_json(outcome)
                )
                found[_attempt(finished.spec)] = finished
            run.progress.step(len(found), len(order))
    return [found[_attempt(spec)] for spec in order]


def _told(error: Any) -> JourneymanError:
    """What went wrong on a worker, in our own words where they are ours."""
    cause = error.cause
    return cause if isinstance(cause, JourneymanError) else JourneymanError(f"a Ray worker failed: {error}")


def _attempt(spec: EpisodeSpec) -> str:
    """The attempt, whatever its try."""
    return spec.id.rpartition(".")[0]
