"""Trackio: a local database (`TRACKIO_DIR`), shown by `trackio show`; remote only where its environment says so."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from journeyman.pipeline.trackers.base import Session


class Trackio:
    """A run of a project, taken up again where one of that name is there."""

    def __init__(self, session: Session) -> None:
        self._library: Any = import_module("trackio")
        self._library.init(
            project=session.project,
            name=session.run,
            config=dict(session.config),
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )

    def log(self, phase: str, step: int, figures: Mapping[str, float]) -> None:
        """One row at the phase's step, named PHASE/FIGURE."""
        self._library.log({f"{phase}/{name}": value for name, value in figures.items()}, step=step)

    def close(self) -> None:
        """Write what is left."""
        self._library.finish()
