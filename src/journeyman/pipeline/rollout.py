"""One job over many episodes outside a recipe: a policy, or a script, on the tasks of a release or a directory."""

from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from typing import NamedTuple

from journeyman.admission.release import is_release, verify_release
from journeyman.engines.base import EngineIdentity
from journeyman.engines.scripted import ScriptedEngine
from journeyman.episodes.run_many import Finished
from journeyman.episodes.run_one import ReadyTask
from journeyman.errors import UserError
from journeyman.harnesses.whitebox.loop import native_harness
from journeyman.pipeline.admitting import package_dirs
from journeyman.pipeline.attempts import counted, runner, seed_of
from journeyman.pipeline.engines import policy_engine
from journeyman.pipeline.naming import check_label
from journeyman.pipeline.plans import PlanBook
from journeyman.pipeline.recipe import Recipe
from journeyman.pipeline.state import SHIPPED_POLICY, TASK_SOURCES, Run
from journeyman.pipeline.workplace import embedded_engine, open_workplace, ready_task
from journeyman.records.episode import Episode, EpisodeSpec, Sampling
from journeyman.records.task import Plan
from journeyman.store.atomic import append_line, read_lines
from journeyman.store.layout import exists
from journeyman.store.lock import hold
from journeyman.store.sealed import SealedEpisode
from journeyman.tasks.package import plans

SCRIPTS = ("reference", "no-op")


def label_of(policy: str) -> str:
    """The policy segment of the episodes of base, a script or a directory. Raises UserError where its name is none."""
    path = Path(policy)
    label = path.name if path.name not in ("", "..") else path.resolve().name
    check_label(label)
    return label


class Wish(NamedTuple):
    """What to roll out."""

    tasks: Path  # a release, a package, or a directory of packages
    policy: str  # base, reference, no-op, or a Hugging Face directory
    split: str | None
    attempts: int
    temperature: float
    seed: int

    @property
    def label(self) -> str:
        """The policy segment of the episodes."""
        return label_of(self.policy)


def _directories(wish: Wish) -> Sequence[Path]:
    if is_release(wish.tasks):
        found: Sequence[Path] = verify_release(wish.tasks).task_dirs(wish.split)  # type: ignore[arg-type]
    else:
        found = [d for d in package_dirs(wish.tasks) if wish.split in (None, ready_task(d).task.metadata.split)]
    if not found:
        raise UserError(f"{wish.tasks} has no task of split {wish.split!r}: leave --split out to take all")
    return found


def weights_of(policy: str) -> Path:
    """The weights directory a user named. Raises UserError."""
    if policy in ("base", *SCRIPTS):
        return SHIPPED_POLICY
    if not exists(Path(policy) / "config.json"):
        raise UserError(f"policy {policy!r}: give base, {', '.join(SCRIPTS)}, or a directory with config.json")
    return Path(policy)


def plan_of(policy: str, directory: Path) -> Plan:
    """What a scripted policy does in a task."""
    return plans(directory)[0] if policy == "reference" else Plan(name="no-op", kind="negative", steps=())


def planned(run: Run, wish: Wish) -> list[tuple[EpisodeSpec, Path]]:
    """Every attempt of a wish with its task's directory, in order."""
    found = []
    for directory in _directories(wish):
        slug = ready_task(directory).task.slug
        for attempt in range(wish.attempts):
            spec = EpisodeSpec(
                job=run.job.name,
                policy=wish.label,
                task=slug,
                group=f"rollout.t{wish.temperature:g}",
                attempt=attempt,
                sampling=Sampling(temperature=wish.temperature),
                seed=seed_of(wish.seed, slug, attempt),
            )
            found.append((spec, directory))
    return found


def identity_of(recipe: Recipe, wish: Wish) -> EngineIdentity | None:
    """What will sample, as an episode's header says it; None where a server has to be asked."""
    if wish.policy in SCRIPTS:
        return ScriptedEngine(PlanBook().answer).identity
    return embedded_engine(recipe, weights_of(wish.policy)).identity if recipe.engine.kind == "embedded" else None


def check_same(run: Run, wish: Wish, identity: EngineIdentity, attempts: Sequence[tuple[EpisodeSpec, Path]]) -> None:
    """Raise UserError where what is sealed under the wish's label is not of what is asked for: it would be read as it.

    Same are weights, engine and harness of all of it, and the seed, sampling and task of every attempt.
    """
    asked = {spec.key.rpartition(".")[0]: (spec, directory) for spec, directory in attempts}
    harness = native_harness().manifest.digest()
    for sealed in run.job.sealed(wish.label):
        there = SealedEpisode.open(sealed, verify=False).episode
        pair = asked.get(there.spec.key.rpartition(".")[0])
        differing = [*_other_policy(there, identity, harness), *(_other_attempt(there, *pair) if pair else ())]
        if differing:
            raise UserError(
                f"{run.job.root} holds attempts of {wish.label!r} with {', and '.join(differing)}: "
                "give another --out, or ask for what is there"
            )


def _other_policy(there: Episode, identity: EngineIdentity, harness: str) -> Iterator[str]:
    for key in ("kind", "model", "weights_digest", "tokenizer_digest"):
        had, now = str(there.engine.get(key, "")), str(getattr(identity, key))
        untold = key == "tokenizer_digest" and not (had and now)  # an engine need not say: its gateway does
        if had != now and not untold:
            yield f"{'engine' if key == 'kind' else key} {had[:16] or 'unknown'} (asked for: {now[:16] or 'unknown'})"
    if there.harness_digest != harness:
        yield f"harness {there.harness_digest[:16]} (asked for: {harness[:16]})"


def _other_attempt(there: Episode, spec: EpisodeSpec, directory: Path) -> Iterator[str]:
    if there.spec.seed != spec.seed:
        yield "another --seed"
    if there.spec.sampling != spec.sampling:
        yield f"temperature {there.spec.sampling.temperature!r} (asked for: {spec.sampling.temperature!r})"
    if there.task_digest != ready_task(directory).task.content_digest:
        yield f"another task called {spec.task}"


async def rollout(run: Run, wish: Wish) -> list[Finished]:
    """Run, seal and grade every attempt; what is sealed already is not run again. Raises as `check_same`."""
    weights = weights_of(wish.policy)
    book = PlanBook()
    specs: list[tuple[EpisodeSpec, ReadyTask]] = []
    attempts = planned(run, wish)
    known = identity_of(run.recipe, wish)
    if known is not None:
        check_same(run, wish, known, attempts)
    for spec, directory in attempts:
        if wish.policy in SCRIPTS:
            book.assign(spec, plan_of(wish.policy, directory))
        specs.append((spec, ready_task(directory)))
    run.progress.stage("rollout", f"{len(specs)} episodes of {wish.label}")
    scripted = wish.policy in SCRIPTS
    lock = hold(run.job.ledger / "lock", of=run.job.root)
    async with AsyncExitStack() as stack:
        stack.callback(lock.close)
        source = str(wish.tasks.resolve()).encode()
        if source not in read_lines(run.job.ledger / TASK_SOURCES):
            append_line(run.job.ledger / TASK_SOURCES, source)
        script = nullcontext(ScriptedEngine(book.answer))
        engine = await stack.enter_async_context(script if scripted else policy_engine(run.recipe, weights, weights))
        if known is None:
            check_same(run, wish, engine.identity, attempts)
        place = open_workplace(run.job, engine, weights, sandbox=run.recipe.options.sandbox)
        opened = await stack.enter_async_context(place)
        return await runner(run, opened.place).all(specs, counted(run, len(specs)))
