"""Running a recipe, killing its whole process group at chosen moments, going on, and comparing what was sealed.

A moment is a mark: how much of the run is on disk (sealed episodes, optimiser steps, finished stages), plus a delay.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from journeyman.pipeline.actors import POLICY, group_name, task_order
from journeyman.pipeline.attempts import tasks_of
from journeyman.pipeline.explain import updates
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import load_recipe
from journeyman.pipeline.state import Run
from journeyman.pipeline.verification import verify_path
from journeyman.store.atomic import read_lines
from journeyman.store.layout import Job

MARK = "JOURNEYMAN_KILLED_RUN"
POLL_SECONDS = 0.1


def progress(root: Path) -> int:
    """Sealed episodes, optimiser steps and finished stages of a run directory."""
    sealed = sum(1 for _ in root.glob("episodes/*/*/*/*/SEAL.json"))
    steps = len(read_lines(root / "ledger" / "updates.jsonl"))
    return sealed + steps + sum(1 for _ in root.glob("ledger/stages/*.json"))


def start(recipe: Path, out: Path, log: Path) -> "subprocess.Popen[bytes]":
    """`journeyman run RECIPE --out OUT --resume` as the leader of its own process group."""
    with log.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "journeyman.cli.main", "run", str(recipe), "--out", str(out), "--resume"],
            stdout=file,
            stderr=file,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", MARK: str(out)},
        )


def left_behind(out: Path) -> list[int]:
    """Processes that still carry the mark of a run of `out` (a box has none: its environment is scrubbed)."""
    mark = f"{MARK}={out}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@dataclass(frozen=True)
class Kill:
    """One kill: when it was, what was going on, and what was still running five seconds later."""

    number: int
    seconds: float  # since this leg began
    mark: int  # progress at the kill
    stage: str
    survivors: int


def _stage(root: Path, stages: tuple[str, ...]) -> str:
    return next((s for s in stages if not (root / "ledger" / "stages" / f"{s}.json").exists()), "done")


def kill_at(number: int, recipe: Path, out: Path, mark: int, delay: float, log: Path, limit: float) -> Kill | None:
    """Run until progress reaches `mark`, wait `delay`, kill -9 the group. None where the run ended before."""
    began = time.monotonic()
    process = start(recipe, out, log)
    while process.poll() is None and progress(out) < mark and time.monotonic() - began < limit:
        time.sleep(POLL_SECONDS)
    time.sleep(delay)
    if process.poll() is not None:
        return None
    stages = load_recipe(recipe).stages
    found = progress(out), _stage(out, stages)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    seconds = time.monotonic() - began
    for _ in range(50):
        if not left_behind(out):
            break
        time.sleep(0.1)
    return Kill(number, seconds, found[0], found[1], len(left_behind(out)))


def run_killed(recipe: Path, out: Path, total: int, kills: int, rng: random.Random, log: Path) -> list[Kill]:
    """Kill the run `kills` times at random marks below `total`, then let it end. Raises RuntimeError where it fails."""
    done = []
    for number, mark in enumerate(sorted(rng.sample(range(total), kills)), start=1):
        kill = kill_at(number, recipe, out, mark, rng.uniform(0, 1.5), log, limit=600.0)
        if kill is not None:
            done.append(kill)
    finish(recipe, out, log)
    return done


def finish(recipe: Path, out: Path, log: Path) -> float:
    """Let the run end. Returns seconds. Raises RuntimeError with its last words where it fails."""
    began = time.monotonic()
    if start(recipe, out, log).wait():
        raise RuntimeError(f"the run in {out} failed: {' | '.join(log.read_text(errors='replace').splitlines()[-4:])}")
    return time.monotonic() - began


def attempts(root: Path) -> Counter[tuple[str, str, str, str]]:
    """(policy, task, group, attempt) -> sealed tries without a failure, of everything but RL's own rollouts."""
    counted: Counter[tuple[str, str, str, str]] = Counter()
    for directory in Job(root).sealed():
        policy, task, group, attempt = Job(root).key_of(directory).split("/")
        if policy != POLICY:
            failed = json.loads((directory / "episode.json").read_bytes())["failure"] is not None
            counted[policy, task, group, attempt.split(".")[0]] += not failed
    return counted


@dataclass(frozen=True)
class Held:
    """One thing that must be the same in a run that was killed."""

    what: str
    whole: str
    killed: str
    holds: bool


def compare(recipe: Path, whole: Path, killed: Path) -> Iterator[Held]:
    """What a killed run must share with one that was left alone."""
    expected, found = attempts(whole), attempts(killed)
    yield Held(
        "attempts sealed (policy, task, attempt)", str(len(expected)), str(len(found)), expected.keys() == found.keys()
    )
    once = max(found.values(), default=0)
    yield Held("times each was sealed well", "1", str(once), set(found.values()) == {1} == set(expected.values()))
    if "rl" in load_recipe(recipe).stages:
        yield from _compare_rl(recipe, whole, killed)
    faults = verify_path(killed).faults
    yield Held("faults that verify finds", "0", str(len(faults)), not faults)


def _compare_rl(recipe: Path, whole: Path, killed: Path) -> Iterator[Held]:
    steps = [[u.step for u in updates(Job(root))] for root in (whole, killed)]
    yield Held("RL steps", str(len(steps[0])), str(len(steps[1])), steps[0] == steps[1] == list(range(len(steps[0]))))
    used = [[*u.groups, *u.dropped] for u in updates(Job(killed))]
    flat = sorted(group for step in used for group in step)
    twice = len(flat) - len(set(flat))
    yield Held("groups used twice", "0", str(twice), not twice)
    skipped = _skipped(recipe, killed, used)
    yield Held("groups of the cursor skipped or out of order", "0", str(len(skipped)), not skipped)
    wrong = _wrong_tasks(recipe, killed, flat)
    yield Held("groups whose task is not the cursor's", "0", str(len(wrong)), not wrong)
    ref = [u.model_dump(include={"groups", "dropped"}, mode="json") for u in updates(Job(whole))]
    same = [sorted([*u["groups"], *u["dropped"]]) for u in ref] == [sorted(step) for step in used]
    if load_recipe(recipe).rl.count_filtered_groups:
        yield Held("each step's groups", "the cursor's", "the same" if same else "others", same)


def _skipped(recipe: Path, root: Path, used: list[list[str]]) -> list[str]:
    """Groups before the last used one that were neither used nor recorded as without signal, or used too late."""
    flat = [group for step in used for group in step]
    lines = [json.loads(line) for line in read_lines(root / "ledger" / "groups.jsonl")]
    dropped = {str(line["group"]) for line in lines if line["dropped"]}
    over = set(flat) if load_recipe(recipe).rl.count_filtered_groups else set(flat) | dropped
    last = max(flat, default="")
    number, missing = 0, []
    while (name := group_name(number)) <= last:
        if name not in over:
            missing.append(name)
        number += 1
    late = [max(a) for a, b in pairwise(used) if a and b and max(a) > min(b)]
    return missing + late


def _wrong_tasks(recipe: Path, root: Path, groups: list[str]) -> list[str]:
    loaded = load_recipe(recipe)
    tasks = tasks_of(Run(loaded, Job(root), Silent()), "train")
    expected = {group: task_order(tasks, loaded.seed, int(group[1:])).task.slug for group in groups}
    return [g for g, slug in expected.items() if not list((root / "episodes" / POLICY / slug).glob(f"{g}/*/SEAL.json"))]
