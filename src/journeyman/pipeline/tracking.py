"""What a run measures goes into its ledger and, from there, to trackers; no tracker can hold up or end a run.

`ledger/figures.jsonl` is the record: one line a step of a phase. Trackers are processes that read it as it grows.
"""

import json
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from journeyman.errors import UserError
from journeyman.pipeline.recipe import TrackingRecipe
from journeyman.pipeline.state import Run
from journeyman.pipeline.trackers.base import NEEDS, installed
from journeyman.records.base import canonical_json
from journeyman.store.atomic import append_line, write_atomic

CLOSING_SECONDS = 60.0
"""How long a tracker may take to put away what it was told, after the run."""


def chosen(recipe: TrackingRecipe) -> tuple[str, ...]:
    """The trackers of a recipe. Raises UserError where one it names is not installed."""
    if recipe.to is None:
        return ("tensorboard",) if installed("tensorboard") else ()
    for name in recipe.to:
        if not installed(name):
            package, extra = NEEDS[name]
            raise UserError(f"tracker {name!r} needs the package {package}: pip install 'journeyman[{extra}]'")
    return recipe.to


@contextmanager
def tracked(run: Run) -> Iterator[Run]:
    """The run with a progress that keeps and tracks its figures; trackers have finished after this."""
    progress = Tracked(run)
    try:
        yield replace(run, progress=progress)
    finally:
        progress.close()


class Tracked:
    """`Progress` of a run that keeps figures in the ledger and starts its trackers with the first of them."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._shown = run.progress
        self._names = chosen(run.recipe.tracking)
        self._started: dict[str, subprocess.Popen[bytes]] = {}

    def stage(self, name: str, what: str) -> None:
        """Passed on."""
        self._shown.stage(name, what)

    def step(self, done: int, total: int, note: str = "") -> None:
        """Passed on."""
        self._shown.step(done, total, note)

    def say(self, line: str) -> None:
        """Passed on."""
        self._shown.say(line)

    def figures(self, phase: str, step: int, values: Mapping[str, float]) -> None:
        """Append what is a number to the ledger, then pass on."""
        values = {name: value for name, value in values.items() if math.isfinite(value)}
        path = self._run.job.ledger / "figures.jsonl"
        if self._names and not self._started:
            offset = path.stat().st_size if path.exists() else 0
            self._started = {name: self._start(name, path, offset) for name in self._names}
        append_line(path, canonical_json({"phase": phase, "step": step, "figures": values}))
        self._shown.figures(phase, step, values)
        for name, process in list(self._started.items()):
            if process.poll() is not None:
                self._lost(name)

    def _start(self, name: str, figures: Path, offset: int) -> subprocess.Popen[bytes]:
        run = self._run
        config = {
            "tracker": name,
            "project": run.recipe.tracking.project,
            "run": run.job.root.resolve().name,
            "directory": str(run.job.root.resolve()),
            "figures": str(figures.resolve()),
            "offset": offset,
            "recipe": run.recipe.model_dump(mode="json"),
        }
        path = run.job.ledger / f"tracker-{name.replace(':', '.')}.json"
        write_atomic(path, json.dumps(config, indent=1).encode())
        with path.with_suffix(".log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "journeyman.pipeline.trackers", "--config", str(path)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is the run's: it closes the pipe, and the tracker puts things away
            )

    def _lost(self, name: str) -> None:
        process = self._started.pop(name)
        self._names = tuple(kept for kept in self._names if kept != name)
        if process.stdin is not None:
            process.stdin.close()
        log = self._run.job.ledger / f"tracker-{name.replace(':', '.')}.log"
        words = log.read_text(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(words) if line.strip()), f"exit code {process.returncode}")
        self.say(f"tracker {name} ended ({last[:200]}); the run goes on without it, see {log}")

    def close(self) -> None:
        """Let every tracker finish; one that does not is ended."""
        for process in self._started.values():
            if process.stdin is not None:
                process.stdin.close()
        for name, process in list(self._started.items()):
            try:
                process.wait(CLOSING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.returncode:
                self._lost(name)
