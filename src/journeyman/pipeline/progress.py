"""How a stage tells what it does: plain calls that the command line draws and tests read."""

from collections.abc import Mapping
from typing import Protocol


class Progress(Protocol):
    """Receives what happens; never decides anything."""

    def stage(self, name: str, what: str) -> None:
        """A stage begins."""
        ...

    def step(self, done: int, total: int, note: str = "") -> None:
        """The stage advanced."""
        ...

    def say(self, line: str) -> None:
        """One line worth keeping."""
        ...

    def figures(self, phase: str, step: int, values: Mapping[str, float]) -> None:
        """What a step of a phase (sft, rl, evaluate) measured."""
        ...


class Silent:
    """Keeps the lines, shows nothing."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def stage(self, name: str, what: str) -> None:
        """Keep the heading."""
        self.lines.append(f"[{name}] {what}")

    def step(self, done: int, total: int, note: str = "") -> None:
        """Ignored."""

    def say(self, line: str) -> None:
        """Keep the line."""
        self.lines.append(line)

    def figures(self, phase: str, step: int, values: Mapping[str, float]) -> None:
        """Ignored."""
