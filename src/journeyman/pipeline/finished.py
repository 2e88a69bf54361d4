"""What a run says of itself, and whether that is there: recipe, finished stages, optimiser steps, what each left.

Invariant: a run that was killed at any moment lacks nothing that is asked for here, nor does a job that is no run.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from journeyman.admission.release import MARKER as RELEASED
from journeyman.admission.release import open_release
from journeyman.errors import UserError
from journeyman.grading.episode import grade_path, outcome_of
from journeyman.pipeline.actors import POLICY as TRAINED
from journeyman.pipeline.deciding import POLICY as ADMITTED
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import load_recipe
from journeyman.pipeline.stages.evaluate import group
from journeyman.pipeline.stages.report import policies_of
from journeyman.pipeline.state import Run
from journeyman.records.base import Record, first_fault
from journeyman.records.episode import Episode
from journeyman.records.outcome import Quarantined
from journeyman.records.sample import Update
from journeyman.store.atomic import read_lines
from journeyman.store.dataset import MARKER as DATASET
from journeyman.store.layout import Job
from journeyman.store.unfinished import UNFINISHED
from journeyman.tasks.package import load_task

CHECKPOINT = "CHECKPOINT.json"
EXPERT = "expert"
HELDOUT = "heldout.t"  # how the groups of an evaluation begin
COPIED = ("base", "base.partial")  # weights that come from a package and carry no marker
T = TypeVar("T")


class _Ended(Record):
    """One line of groups.jsonl: a group of RL that ended, trained on or not."""

    group: str
    task: str
    rewards: tuple[float | None, ...]
    dropped: str


class _Shown(Record):
    """One line of figures.jsonl."""

    phase: str
    step: int
    figures: dict[str, float]


class Told(NamedTuple):
    """What a run says of itself."""

    run: Run
    finished: dict[str, dict[str, Any]]  # stage -> its figures
    policies: tuple[str, ...]  # labels of the evaluated ones
    updates: tuple[Update, ...]
    ended: tuple[_Ended, ...]
    spent: frozenset[str]  # stages that told what they used

    @property
    def version(self) -> int:
        """The newest policy version that a step made."""
        return self.updates[-1].version_after if self.updates else 0

    @property
    def kept(self) -> set[int]:
        """Versions that are never pruned."""
        newest, every = self.version, self.run.recipe.rl.keep_every
        return {n for n in range(1, newest + 1) if n >= newest - 1 or n % every == 0}

    @property
    def stages(self) -> dict[str, str]:
        """Which stage an episode's policy belongs to."""
        return {ADMITTED: "tasks", EXPERT: "demonstrations", TRAINED: "rl"} | dict.fromkeys(self.policies, "evaluate")

    def over(self, key: str) -> bool:
        """Whether what the episode was for is finished: its stage, or its group of RL."""
        policy, _, name, _ = key.split("/")
        if policy == TRAINED:
            return any(name == one.group for one in self.ended) or any(name in update.groups for update in self.updates)
        stage = self.stages.get(policy)
        return stage in self.finished and (stage != "evaluate" or name.startswith(HELDOUT))

    def going(self, key: str) -> bool:
        """Whether a kill may have left the attempt half done, to be made again on --resume."""
        return key.split("/")[0] in self.stages and not self.over(key)

    def settled(self, directory: Path) -> bool:
        """False: a step that was not committed, or pruning, may have left part of it when the run was killed."""
        job, number = self.run.job, directory.name.removeprefix("v")
        if number.isdigit() and directory.parent == job.weights / "rl":
            return int(number) in self.kept
        if number.isdigit() and directory.parent == job.data / "rl":
            return int(number) < len(self.updates)
        return True


def read_told(job: Job) -> tuple[Told | None, list[str]]:
    """What a run says, and what of it is damaged. None where the job is no run, or does not say."""
    stages = job.ledger / "stages"
    if not job.config.exists():
        return None, [f"{job.config} is missing, and {stages} has the stages of a run"] if stages.exists() else []
    if not job.ledger.is_dir():
        return None, [f"{job.ledger} is missing: nothing says what the run has finished"]
    faults: list[str] = []
    try:
        run = Run(load_recipe(job.config), job, Silent())
    except UserError as error:
        return None, [str(error)]
    finished: dict[str, dict[str, Any]] = {}
    policies: tuple[str, ...] = ()
    for name in run.recipe.stages:
        try:
            if (figures := run.figures(name)) is not None:
                finished[name] = figures
        except UserError as error:
            faults.append(str(error))
    if not faults:
        policies = tuple(policies_of(run))
    updates = _lines(job.ledger / "updates.jsonl", Update.parse, faults)
    ended = _lines(job.ledger / "groups.jsonl", _Ended.parse, faults)
    _lines(job.ledger / "figures.jsonl", _Shown.parse, faults)
    spent = _lines(job.ledger / "spent.jsonl", _spent, faults)
    return Told(run, finished, policies, tuple(updates), tuple(ended), frozenset(spent)), faults


def _lines(path: Path, read: Callable[[bytes], T], faults: list[str]) -> list[T]:
    found = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            found.append(read(line))
        except ValueError as error:
            faults.append(f"{path}, line {number} is unreadable: {first_fault(error)}")
    return found


def _spent(line: bytes) -> str:
    told = json.loads(line)
    if not isinstance(told, dict) or not isinstance(told.get("stage"), str) or "seconds" not in told:
        raise ValueError("a stage and its seconds are asked for")
    if odd := [name for name, value in told.items() if name != "stage" and not isinstance(value, int | float)]:
        raise ValueError(f"{odd[0]} is no number")
    return str(told["stage"])


def missing(told: Told, sealed: Set[str], graded: Set[str]) -> Iterator[str]:
    """What is not there. `sealed`: keys of the episodes that are; `graded`: of those that are not asked for a grade."""
    yield from _markers(told)
    bare = set(unmarked(told.run.job, told))
    for path in (*sorted(bare), *(path for path in _left(told) if path not in bare and not path.exists())):
        yield f"{path} is missing"
    yield from _logs(told)
    yield from _steps(told)
    yield from _attempts(told, sealed)
    yield from _ungraded(told, sealed, graded)


def unmarked(job: Job, told: Told | None) -> Iterator[Path]:
    """Missing markers of directories that hold weights or rows and are not marked as being written either."""
    for root, marker, signs in (
        (job.weights, CHECKPOINT, ("model.safetensors", "config.json")),
        (job.data, DATASET, ("tokens.i32", "samples.jsonl")),
    ):
        for directory in sorted({path.parent for sign in signs for path in root.glob(f"**/{sign}")}):
            marked = any((directory / name).exists() for name in (marker, UNFINISHED))
            copied = directory.parent == job.weights and directory.name in COPIED
            if not marked and not copied and (told is None or told.settled(directory)):
                yield directory / marker


def _begun(told: Told, stage: str) -> bool:
    """Whether anything is there that only this stage writes."""
    job = told.run.job
    paths = {
        "tasks": [job.tasks / "raw", job.tasks / "release"],
        "demonstrations": [job.episodes / EXPERT, job.data / "sft"],
        "sft": [job.ledger / "sft.json", job.weights / "sft"],
        "rl": [job.ledger / "rl.json", job.weights / "rl", job.data / "rl", job.episodes / TRAINED],
        "merge": [job.ledger / "merge.json", job.weights / "merged"],
    }
    if stage == "evaluate":
        return any(any((job.episodes / policy).glob(f"*/{HELDOUT}*")) for policy in told.policies)
    return any(path.exists() for path in paths.get(stage, []))


def _markers(told: Told) -> Iterator[str]:
    """No stage begins before the one before it is finished."""
    stages = told.run.recipe.stages
    begun = [n for n, stage in enumerate(stages) if told.run.stage_marker(stage).exists() or _begun(told, stage)]
    for stage in stages[: max(begun, default=0)]:
        if not (path := told.run.stage_marker(stage)).exists():
            yield f"{path} is missing, and {stages[max(begun)]} has begun after it"


def _left(told: Told) -> Iterator[Path]:
    """What every finished stage left."""
    job = told.run.job
    if "tasks" in told.finished and not told.run.recipe.tasks.from_release:
        yield told.run.release / RELEASED
    if "demonstrations" in told.finished:
        yield job.data / "sft" / DATASET
    if "sft" in told.finished:
        yield job.weights / "sft" / CHECKPOINT
    if "merge" in told.finished and "skipped" not in told.finished["merge"]:
        yield job.weights / "merged" / CHECKPOINT
    if "report" in told.finished:
        yield job.report / "report.json"
        yield job.report / "index.html"
    for update in told.updates:
        yield job.data / "rl" / f"{update.step:05d}" / DATASET
    for version in sorted(told.kept):
        yield job.weights / "rl" / f"v{version}" / CHECKPOINT


def _logs(told: Told) -> Iterator[str]:
    """Every finished stage told what it used, and RL every group that ended."""
    ledger, quiet = told.run.job.ledger, {"tasks"} if told.run.recipe.tasks.from_release else set()
    quiet |= {stage for stage, figures in told.finished.items() if "skipped" in figures}
    for stage in told.finished:
        if stage not in quiet | told.spent:
            yield f"{ledger / 'spent.jsonl'} has no line of {stage}, which is finished"
    asked, ended = told.finished.get("rl", {}).get("groups", 0), len({one.group for one in told.ended})
    if ended < asked:
        yield f"{ledger / 'groups.jsonl'} has {ended} of {asked} groups that ended"


def _steps(told: Told) -> Iterator[str]:
    """The learner's steps follow one another, and nothing is there of a later one than may have been going on."""
    job, before = told.run.job, 0
    path = job.ledger / "updates.jsonl"
    for number, update in enumerate(told.updates):
        if (update.step, update.version_before) != (number, before) or not 0 <= update.version_after - before <= 1:
            versions = f"version {update.version_before} -> {update.version_after}"
            yield f"{path}: step {update.step}, {versions}, does not follow step {number - 1}, version {before}"
            return
        before = update.version_after
    figures = told.finished.get("rl")
    done = (len(told.updates), told.version)
    if figures is not None and (figures.get("steps"), figures.get("version")) != done:
        yield (
            f"{path} ends after {done[0]} steps at version {done[1]}; {told.run.stage_marker('rl')} says "
            f"{figures.get('steps')} and {figures.get('version')}"
        )
        return
    open_ = figures is None  # then one step may have been going on
    for root, first in ((job.data / "rl", len(told.updates) + open_), (job.weights / "rl", told.version + 1 + open_)):
        numbered = (p for p in root.glob("*") if p.name.removeprefix("v").isdigit())
        for directory in sorted(p for p in numbered if int(p.name.removeprefix("v")) >= first):
            yield f"{path} says nothing of {directory}: it ends after {done[0]} steps at version {done[1]}"
            break


def _attempts(told: Told, sealed: Set[str]) -> Iterator[str]:
    """Attempts that a finished stage, or a group of RL that ended, must have sealed."""
    job = told.run.job
    tries = Counter(key.split("/")[0] for key in sealed)
    have: dict[tuple[str, str], set[tuple[str, int]]] = defaultdict(set)  # (policy, group) -> (task, attempt)
    for key in sealed:
        policy, task, name, attempt = key.split("/")
        have[policy, name].add((task, int(attempt.partition(".")[0])))
    for stage, policy in (("tasks", ADMITTED), ("demonstrations", EXPERT)):
        asked = told.finished.get(stage, {}).get("episodes", 0)
        if tries[policy] < asked:
            yield f"{job.episodes / policy}: {tries[policy]} of {asked} episodes are here"
    for one in told.ended:
        if (here := len(have[TRAINED, one.group])) < len(one.rewards):
            where = job.episodes / TRAINED / one.task / one.group
            yield f"{where}: {here} of {len(one.rewards)} attempts are here"
    if "evaluate" not in told.finished:
        return
    evaluation, tasks = told.run.recipe.evaluation, _heldout(told.run)
    for policy in told.policies:
        for temperature in evaluation.temperatures:
            each = range(evaluation.attempts if temperature else evaluation.greedy_attempts)
            gone = [(t, n) for t in tasks for n in each if (t, n) not in have[policy, group(temperature)]]
            if gone:
                asked, (slug, number) = len(tasks) * len(each), gone[0]
                first = job.episodes / policy / slug / group(temperature) / f"{number}.0"
                yield (
                    f"{job.episodes / policy}: {asked - len(gone)} of {asked} attempts at T = {temperature:g} are "
                    f"here; {first} is not"
                )


def _heldout(run: Run) -> list[str]:
    """Slugs of the held-out tasks of the types that the recipe names; none where the release is not here."""
    try:
        directories = open_release(run.release).task_dirs("heldout")
        types = run.recipe.tasks.types if run.recipe.tasks.from_release else ()
        of = [d for d in directories if not types or load_task(d, handlers=False).metadata.environment_type in types]
    except UserError:
        return []
    return [directory.name for directory in of]


def _ungraded(told: Told, sealed: Set[str], graded: Set[str]) -> Iterator[str]:
    """Sealed episodes of what is finished that have neither a grade nor a failure on record."""
    job = told.run.job
    for key in sorted(sealed - graded):
        if not told.over(key):
            continue
        directory, grades = job.episode_dir(key), job.grades_dir(key)
        outcome = outcome_of(directory, grades)
        if isinstance(outcome, Quarantined) and outcome.cause == "ungraded":
            digest = Episode.parse((directory / "episode.json").read_bytes()).grader_digest
            yield f"{grade_path(grades, digest)} is missing: {directory} is sealed, and what it was for is finished"
