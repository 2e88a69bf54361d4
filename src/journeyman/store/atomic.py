"""Writing so that a crash leaves the old bytes or the new ones, never half of either."""

import contextlib
import os
from pathlib import Path

from journeyman.errors import UserError


def write_atomic(path: Path, data: bytes) -> None:
    """Replace `path` with `data` in one step (temporary file in the same directory, then rename)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    _fill(temporary, path, data)
    temporary.replace(path)


def _fill(temporary: Path, path: Path, data: bytes) -> None:
    """Write a new file, down to the disk. An OSError names `path`, and nothing of it is left."""
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        error.filename = str(path)
        raise


def create_only(path: Path, data: bytes, beside: Path | None = None) -> None:
    """Create `path` with `data` in one step. Raises UserError where it exists already.

    `beside`: the directory for the temporary file, of the same file system; None: the directory of `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = (beside or path.parent) / f".{path.parent.name}.{path.name}.{os.getpid()}.tmp"
    _fill(temporary, path, data)
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise UserError(f"{path} exists and is create-only: choose another name, nothing was written") from None
    finally:
        temporary.unlink()


def append_line(path: Path, line: bytes) -> None:
    """Append one newline-terminated line in a single write call."""
    with path.open("ab", buffering=0) as file:
        file.write(line + b"\n")


def read_lines(path: Path) -> list[bytes]:
    """Complete lines of an append-only log; a torn last line (no newline) is left out. Missing file: none."""
    if not path.exists():
        return []
    data = path.read_bytes()
    return data[: data.rfind(b"\n") + 1].splitlines()
