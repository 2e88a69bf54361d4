"""Trackers for tests: one that keeps what it is told in a file, and one that breaks after its first figures."""

from collections.abc import Mapping

from journeyman.pipeline.trackers.base import Session


class Keeps:
    """Writes a line a call to `trackers/kept.txt`."""

    def __init__(self, session: Session) -> None:
        path = session.directory / "trackers" / "kept.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a")
        self._file.write(f"open {session.project}/{session.run} {session.config['name']}\n")

    def log(self, phase: str, step: int, figures: Mapping[str, float]) -> None:
        """One line."""
        self._file.write(f"{phase} {step} {dict(figures)}\n")

    def close(self) -> None:
        """The last line."""
        self._file.write("closed\n")
        self._file.close()


class Breaks:
    """Cannot take a figure."""

    def __init__(self, session: Session) -> None:
        pass

    def log(self, phase: str, step: int, figures: Mapping[str, float]) -> None:
        """Break."""
        raise RuntimeError("the server said no")

    def close(self) -> None:
        """Never reached."""
