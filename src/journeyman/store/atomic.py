"""Writing so that a crash leaves the old bytes or the new ones, never half of either."""

import os
from pathlib import Path

from journeyman.errors import UserError


def write_atomic(path: Path, data: bytes) -> None:
    """Replace `path` with `data` in one step (temporary file in the same directory, then rename)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def create_only(path: Path, data: bytes, beside: Path | None = None) -> None:
    """Create `path` with `data` in one step. Raises UserError where it exists already.

    `beside`: the directory for the temporary file, of the same file system; None: the directory of `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = (beside or path.parent) / f".{path.parent.name}.{path.name}.{os.getpid()}.tmp"
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
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
