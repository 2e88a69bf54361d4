"""What the terminal shows: rich progress on anything long, plain lines otherwise, and the next command to type."""

import asyncio
import math
import os
import re
import shlex
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import click
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from journeyman.cli.live import rows

T = TypeVar("T")
console = Console(highlight=False)


PLAIN = ("by type", "critic")
"""Rows of figures that are printed with every tenth where there is no terminal."""


class _Bars(Progress):
    """Progress bars with the figures of the newest step below them."""

    figures: tuple[tuple[str, str], ...] = ()

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bars, then the figures where a step told some."""
        yield from super().get_renderables()
        if self.figures:
            grid = Table.grid(padding=(0, 2))
            for label, text in self.figures:
                grid.add_row(f"  {label}", text)
            yield grid


class Display:
    """`pipeline.progress.Progress` on the terminal; a context manager."""

    def __init__(self, verbose: bool = True) -> None:
        self._verbose = verbose
        self._bars = _Bars(
            TextColumn("{task.description:<15}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=False,
            disable=not (verbose and console.is_terminal),
        )
        self._current: Any = None
        self._name = ""
        self._last_printed = -1

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.figures = ()
        self._bars.stop()

    def stage(self, name: str, what: str) -> None:
        """A heading and a fresh bar."""
        self._name, self._last_printed = name, -1
        self._bars.figures = ()
        if self._verbose:
            console.print(f"[bold]{name}[/bold]  {what}")
        self._current = self._bars.add_task(name, total=None, note="")

    def step(self, done: int, total: int, note: str = "") -> None:
        """Advance the bar; without a terminal, a line every tenth part."""
        if self._current is None:
            self._current = self._bars.add_task(self._name or "working", total=total, note=note)
        self._bars.update(self._current, completed=done, total=total, note=note)
        tenth = done * 10 // max(total, 1)
        if self._verbose and not console.is_terminal and tenth > self._last_printed:
            self._last_printed = tenth
            print(f"  {self._name} {done}/{total} {note}".rstrip(), flush=True)
            for label, text in self._bars.figures:
                if label in PLAIN:
                    print(f"    {label}: {text}", flush=True)

    def figures(self, phase: str, step: int, values: Mapping[str, float]) -> None:
        """Show the step's figures below the bars."""
        self._bars.figures = tuple(rows(values))

    def say(self, line: str) -> None:
        """One line that stays."""
        if self._verbose:
            console.print(line, markup=False, soft_wrap=True)


class NewPlace(click.Path):
    """A path to write below: it has a name, and neither it nor what it lies in may be a file or closed to us."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Fails where it, or what it would lie in, is no directory that can be written."""
        if not os.fspath(value):
            self.fail("'' names no directory", param, ctx)
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.name in ("", ".."):  # the directory has a name of its own, and what is made is called by it
            path = path.resolve()
        if not path.name:
            self.fail(f"{path} is the root of the file system: give a directory below it", param, ctx)
        there = next(p for p in (path, *path.absolute().parents) if p.exists() or p.is_symlink())
        if not there.is_dir():
            self.fail(f"{there} is no directory: give another path", param, ctx)
        if not os.access(there, os.W_OK | os.X_OK) or there.absolute().is_relative_to("/proc"):
            self.fail(f"{there} cannot be written to: give another path", param, ctx)
        return path


class NewRun(NewPlace):
    """A new place for episodes, which are told apart by its name: JOB/policy/task/group/attempt.try#run.segment."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Fails as a `NewPlace`, and where its last part could not stand in an episode's id."""
        path = super().convert(value, param, ctx)
        if re.search(r"[#\x00-\x1f\x7f]", path.name):
            self.fail(
                f"{str(path)!r}: episodes go by its last part, give one without # and control characters", param, ctx
            )
        return path


class Name(click.types.StringParamType):
    """One plain name: of a policy in a run, or of a grader; no path and no pattern."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name. Fails where it is none."""
        value = super().convert(value, param, ctx)
        if value.strip() in ("", ".", "..") or re.search(r"[/*?\[\x00-\x1f\x7f]", value):
            self.fail(f"{value!r} is no name: give one without / * ? [ and control characters", param, ctx)
        return value


class Real(click.FloatRange):
    """A finite number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Fails for nan and infinities."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


def finish(coroutine: Coroutine[Any, Any, T], loop: Callable[[], asyncio.AbstractEventLoop] | None = None) -> T:
    """Run to the end, on a loop that `loop` makes; of errors raised together, the first that is ours is shown."""
    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(coroutine)
    except BaseExceptionGroup as group:
        raise _first(group) from group


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table; the first column is left-aligned, the rest right-aligned."""
    made = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    for number, column in enumerate(columns):
        made.add_column(column, justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        made.add_row(*row)
    console.print(made)


def next_step(command: str, *paths: str | Path) -> None:
    """The closing line of every verb: what to type next. `paths` stand for the `{}` in it, as a shell needs them."""
    sys.stdout.flush()
    typed = command.format(*(shlex.quote(str(path)) for path in paths)) if paths else command
    console.print(f"next: {typed}", style="bold", markup=False, soft_wrap=True)
