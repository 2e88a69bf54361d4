"""TensorBoard: event files in the run's own directory, written without TensorFlow or torch."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from journeyman.pipeline.trackers.base import Session


class TensorBoard:
    """One event file a session below `trackers/tensorboard`: `tensorboard --logdir RUN/trackers/tensorboard`."""

    def __init__(self, session: Session) -> None:
        directory = session.directory / "trackers" / "tensorboard"
        library: Any = import_module("tensorboardX")
        self._writer = library.SummaryWriter(str(directory), flush_secs=10)

    def log(self, phase: str, step: int, figures: Mapping[str, float]) -> None:
        """One scalar a figure, named PHASE/FIGURE."""
        for name, value in figures.items():
            self._writer.add_scalar(f"{phase}/{name}", value, step)

    def close(self) -> None:
        """Flush and close the file."""
        self._writer.close()
