"""Records read from disk: one that is missing, unreadable or not what was written is one line with what to type."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from journeyman.errors import UserError
from journeyman.records.base import Record, first_fault
from journeyman.store.atomic import read_lines

R = TypeVar("R", bound=Record)
ANEW = "bring back a whole copy of it, or choose another name and begin anew"
"""The remedy for what a training goes on from."""


class Damaged(UserError):
    """Something on disk is not what was written: `what` says how, the message also what to type."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what}: {remedy}" if remedy else what)
        self.what = what


class Unreadable(Damaged):
    """A file that its reader cannot take."""


def recheck(path: Path) -> str:
    """The remedy for a damaged sealed episode or run."""
    return f"type journeyman verify {path}"


@contextmanager
def reading(path: Path, remedy: str) -> Iterator[None]:
    """Whatever reading the file at `path` finds wrong is raised as Unreadable, naming it and the remedy."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise Unreadable(f"{path} is missing", remedy) from None
    except (ValueError, OSError, RecursionError) as error:
        found = first_fault(error) if isinstance(error, ValueError) else str(error)
        raise Unreadable(f"{path} is unreadable: {found}", remedy) from None


def read_record(path: Path, kind: type[R], remedy: str) -> R:
    """The record in a file of its own. Raises Unreadable."""
    with reading(path, remedy):
        return kind.parse(path.read_bytes())


def read_records(path: Path, kind: type[R], remedy: str) -> tuple[R, ...]:
    """The records of an append-only log; none where there is no file. Raises Unreadable naming the line."""
    found = []
    with reading(path, remedy):
        held = read_lines(path)
    for number, line in enumerate(held, start=1):
        try:
            found.append(kind.parse(line))
        except ValueError as error:
            raise Unreadable(f"{path} is unreadable: line {number}: {first_fault(error)}", remedy) from None
    return tuple(found)
