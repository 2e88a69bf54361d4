"""The learner's resumable state: parameters, optimiser, RNG, cursor, consumed groups. The pointer is written last.

A crash anywhere leaves the previous state whole; what was half done after it is done again from the same bytes.
The pointer carries the digest of the file and its own: a state that changed on disk is never gone on with.
"""

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from journeyman.errors import UserError
from journeyman.records.base import Checked, sha256_hex
from journeyman.store.atomic import write_atomic
from journeyman.store.reading import ANEW, Unreadable, read_record, reading

POINTER = "STATE.json"


class Pointer(Checked):
    """Which state is the last complete one. States of before there were digests have none and are taken."""

    file: str
    sha256: str = ""  # of the file
    cursor: dict[str, Any]


def check_made_with(cursor: dict[str, Any], made_with: str, directory: Path) -> None:
    """Raise UserError where a saved state came about with other settings; one that does not say is taken."""
    if cursor.get("made_with", made_with) != made_with:
        raise UserError(f"{directory} holds a training with other settings: give those, or choose another name")


class StateStore:
    """State files of one training process in `directory`; keeps the newest two."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def save(self, step: int, tensors: dict[str, Any], cursor: dict[str, Any]) -> None:
        """Write tensors (anything `torch.load(weights_only=True)` reads) and the JSON cursor, then point at both."""
        name = f"state-{step:06d}.pt"
        buffer = io.BytesIO()
        torch.save(tensors, buffer)
        data = buffer.getvalue()
        write_atomic(self.directory / name, data)
        pointer = Pointer(file=name, sha256=sha256_hex(data), cursor=cursor)
        write_atomic(self.directory / POINTER, pointer.checked().canonical())
        for old in sorted(self.directory.glob("state-*.pt"))[:-2]:
            if old.name != name:
                old.unlink()

    def load(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """(tensors, cursor) of the last complete state; None at the beginning. Raises Unreadable where damaged."""
        path = self.directory / POINTER
        if not path.exists():
            return None
        pointer = read_record(path, Pointer, ANEW)
        if pointer.check and not pointer.is_what(path.read_bytes()):
            raise Unreadable(f"{path} changed after it was written", ANEW)
        held = self.directory / pointer.file
        with reading(held, ANEW), held.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if pointer.sha256 not in ("", digest):
            raise Unreadable(f"{held} changed after it was written", ANEW)
        with self.taking_up():
            tensors: dict[str, Any] = torch.load(held, map_location="cpu", weights_only=True)
        return tensors, pointer.cursor

    @contextmanager
    def taking_up(self) -> Iterator[None]:
        """Whatever a state does not hold, or holds in another shape than it is needed, is raised as Unreadable."""
        try:
            yield
        except (KeyError, TypeError, ValueError, RuntimeError, EOFError, UnpicklingError) as error:
            found = f"{type(error).__name__}: {error}".splitlines()[0]
            raise Unreadable(f"the state in {self.directory} cannot be gone on with: {found}", ANEW) from None
