"""One job over many episodes outside a recipe: a policy, or a script, on the tasks of a release or a directory."""

from collections.abc import Sequence
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from typing import NamedTuple

from journeyman.admission.release import MARKER, open_release
from journeyman.engines.scripted import ScriptedEngine
from journeyman.episodes.run_many import Finished
from journeyman.episodes.run_one import ReadyTask
from journeyman.errors import UserError
from journeyman.pipeline.admitting import package_dirs
from journeyman.pipeline.attempts import counted, runner, seed_of
from journeyman.pipeline.engines import policy_engine
from journeyman.pipeline.naming import check_label
from journeyman.pipeline.plans import PlanBook
from journeyman.pipeline.state import SHIPPED_POLICY, TASK_SOURCES, Run
from journeyman.pipeline.workplace import open_workplace, ready_task
from journeyman.records.episode import EpisodeSpec, Sampling
from journeyman.records.task import Plan
from journeyman.store.atomic import append_line, read_lines
from journeyman.store.layout import exists
from journeyman.store.lock import hold
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
    if (wish.tasks / MARKER).exists():
        found: Sequence[Path] = open_release(wish.tasks).task_dirs(wish.split)  # type: ignore[arg-type]
    else:
        found = [d for d in package_dirs(wish.tasks) if wish.split in (None, ready_task(d).task.metadata.split)]
    if not found:
        raise UserError(f"{wish.tasks} has no task of split {wish.split!r}: leave --split out to take all")
    return found


def label_of(policy: str) -> str:
    """What episodes of a policy that a user named are filed under."""
    path = Path(policy)
    return path.name if path.name not in ("", "..") else path.resolve().name


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


async def rollout(run: Run, wish: Wish) -> list[Finished]:
    """Run, seal and grade every attempt; what is sealed already is not run again."""
    weights = weights_of(wish.policy)
    book = PlanBook()
    specs: list[tuple[EpisodeSpec, ReadyTask]] = []
    for spec, directory in planned(run, wish):
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
        place = open_workplace(run.job, engine, weights, sandbox=run.recipe.options.sandbox)
        opened = await stack.enter_async_context(place)
        return await runner(run, opened.place).all(specs, counted(run, len(specs)))
