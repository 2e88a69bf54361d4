"""Directories written once, files only: marked while they are written, so that nobody else's is ever removed."""

from pathlib import Path

from journeyman.errors import UserError

UNFINISHED = ".unfinished"


def check_free(directory: Path, what: str) -> None:
    """Raise UserError where something lies at `directory` that no killed writer of ours left there."""
    if not directory.exists():
        return
    if directory.is_dir():
        found = list(directory.iterdir())
        if not found or ((directory / UNFINISHED).exists() and all(path.is_file() for path in found)):
            return
    raise UserError(
        f"{directory} exists and is no {what} that was left unfinished here: choose another name, nothing was written"
    )


def begin(directory: Path, what: str) -> None:
    """An empty directory, marked as being written; what a killed writer left is removed. Raises as `check_free`."""
    check_free(directory, what)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / UNFINISHED).touch()
    for path in directory.iterdir():
        if path.name != UNFINISHED:
            path.unlink()


def finish(directory: Path) -> None:
    """The directory is whole; call after its own marker was written."""
    (directory / UNFINISHED).unlink(missing_ok=True)
