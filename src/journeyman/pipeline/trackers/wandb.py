"""Weights & Biases: one run, each phase along its own steps; `WANDB_MODE=offline` keeps it on this machine."""

import hashlib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from journeyman.pipeline.trackers.base import Session


class Wandb:
    """A run that is taken up again where the same directory is tracked again. Its files lie below `trackers/wandb`."""

    def __init__(self, session: Session) -> None:
        library: Any = import_module("wandb")
        directory = session.directory / "trackers"
        directory.mkdir(parents=True, exist_ok=True)
        mark = hashlib.sha256(str(session.directory).encode()).hexdigest()[:8]
        self._run = library.init(
            project=session.project,
            name=session.run,
            id=f"{session.run}-{mark}",
            dir=str(directory),
            config=dict(session.config),
            resume="allow",
        )
        self._phases: set[str] = set()

    def log(self, phase: str, step: int, figures: Mapping[str, float]) -> None:
        """One row; PHASE/step is the axis of all PHASE/FIGURE."""
        if phase not in self._phases:
            self._phases.add(phase)
            self._run.define_metric(f"{phase}/step")
            self._run.define_metric(f"{phase}/*", step_metric=f"{phase}/step")
        self._run.log({f"{phase}/step": step, **{f"{phase}/{name}": value for name, value in figures.items()}})

    def close(self) -> None:
        """Send what is left, or leave it for `wandb sync`."""
        self._run.finish()
