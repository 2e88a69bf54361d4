"""The seam of trackers: figures in, pictures elsewhere. Standard library only, so that a tracker's process starts fast.

A tracker sees `ledger/figures.jsonl` and nothing else: it can fail, hang or be replaced without the run noticing.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

TRACKERS = {
    "tensorboard": "journeyman.pipeline.trackers.tensorboard:TensorBoard",
    "wandb": "journeyman.pipeline.trackers.wandb:Wandb",
    "trackio": "journeyman.pipeline.trackers.trackio:Trackio",
}
NEEDS = {"tensorboard": ("tensorboardX", "train"), "wandb": ("wandb", "wandb"), "trackio": ("trackio", "trackio")}
"""Tracker -> the package it needs, and our extra that brings it."""


class Session(NamedTuple):
    """What a tracker is told when it opens."""

    project: str
    run: str
    directory: Path
    """The run's own; a tracker writes below `directory/trackers` where it writes files."""
    config: Mapping[str, Any]
    """The resolved recipe."""


class Tracker(Protocol):
    """Receives figures of one run. Construction opens it: `Class(session)`."""

    def log(self, phase: str, step: int, figures: Mapping[str, float]) -> None:
        """Figures of one step of a phase (sft, rl, evaluate), each phase with steps of its own."""
        ...

    def close(self) -> None:
        """Everything logged is where it belongs after this."""
        ...


def installed(name: str) -> bool:
    """Whether the tracker's package is here; one given as `module:Class` says so itself."""
    return name not in NEEDS or find_spec(NEEDS[name][0]) is not None


def make_tracker(name: str, session: Session) -> Tracker:
    """The tracker `name`, or one given as `module:Class`, opened."""
    module, _, attribute = TRACKERS.get(name, name).partition(":")
    made: Tracker = getattr(import_module(module), attribute)(session)
    return made
