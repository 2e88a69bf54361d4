"""Seals: SEAL.json lists the sha256 of every file of a directory and is written last. Sealed bytes never change."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from journeyman.records.base import first_fault, sha256_hex
from journeyman.records.episode import Seal
from journeyman.store.atomic import create_only
from journeyman.store.layout import SEAL_NAME
from journeyman.store.reading import Damaged, recheck


class SealBroken(Damaged):
    """A sealed directory is not what was sealed; the message names the first file that differs, as does `path`."""

    def __init__(self, what: str, remedy: str = "", path: Path | None = None) -> None:
        super().__init__(what, remedy)
        self.path = path  # None: no file of its own differs


def _refused(error: OSError) -> None:
    raise error


def _files(directory: Path) -> Iterator[str]:
    for base, folders, names in os.walk(directory, onerror=_refused):
        folders.sort()
        for name in sorted(names):
            path = Path(base, name).relative_to(directory).as_posix()
            if path != SEAL_NAME:
                yield path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_sealed(directory: Path) -> bool:
    """Whether the directory has its seal."""
    return (directory / SEAL_NAME).exists()


def seal(directory: Path) -> Seal:
    """Seal `directory`. Raises UserError where it is sealed already."""
    record = Seal(files={path: _sha256(directory / path) for path in _files(directory)})
    create_only(directory / SEAL_NAME, record.canonical(), beside=directory.parent)  # a kill leaves nothing inside
    return record


def _unreadable(error: OSError, path: Path) -> SealBroken:
    return SealBroken(f"{error.filename or path} cannot be read: {error.strerror}")


def read_seal(directory: Path) -> Seal:
    """The seal of a directory. Raises SealBroken where there is none or it is unreadable."""
    path = directory / SEAL_NAME
    try:
        return Seal.parse(path.read_bytes())
    except FileNotFoundError:
        raise SealBroken(f"{path} is missing: the directory was never sealed") from None
    except OSError as error:
        raise _unreadable(error, path) from None
    except ValueError as error:
        raise SealBroken(f"{path} is unreadable: {first_fault(error)}", recheck(directory)) from None


def seal_digest(directory: Path) -> str:
    """sha256 of the seal file's bytes: the identity of what was sealed."""
    return sha256_hex((directory / SEAL_NAME).read_bytes())


def verify_seal(directory: Path) -> Seal:
    """Recheck every byte. Raises SealBroken naming the first changed, missing, added or unreadable file."""
    record = read_seal(directory)
    try:
        _compare(directory, record)
    except OSError as error:
        raise _unreadable(error, directory) from None
    return record


def _compare(directory: Path, record: Seal) -> None:
    present, remedy = set(_files(directory)), recheck(directory)
    for path, digest in sorted(record.files.items()):
        if path not in present:
            text = f"{directory / path} is missing, and {directory / SEAL_NAME} has it: one of them changed"
            raise SealBroken(text, remedy)
        if _sha256(directory / path) != digest:
            text = f"{directory / path} changed after sealing: it is not what {SEAL_NAME} says"
            raise SealBroken(text, remedy, directory / path)
    if extra := sorted(present - set(record.files)):
        raise SealBroken(f"{directory / extra[0]} was added after sealing: {SEAL_NAME} has it not", remedy)
