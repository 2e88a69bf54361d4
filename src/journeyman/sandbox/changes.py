"""What a box changed, read from its overlay's upper layer on the host.

Invariant: no link in the layer is followed by the host: a link counts as the file
it names inside /workspace, or not at all.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from journeyman.sandbox.base import WorkspaceChange

MAX_FILE_BYTES = 64 << 20
MAX_TOTAL_BYTES = 256 << 20
OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")


def collect(upper: Path, lowers: Sequence[Path]) -> WorkspaceChange:
    """Files created, changed and deleted below /workspace. `lowers`: first is the base, later ones overlay it.

    Files over MAX_FILE_BYTES, and whatever exceeds MAX_TOTAL_BYTES in path order, are left out; devices, sockets and
    pipes too.
    """
    written: dict[str, bytes] = {}
    links: dict[str, str] = {}
    deleted: list[str] = []
    room = MAX_TOTAL_BYTES
    for path, entry in _walk(upper, "", lowers, deleted):
        info = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(info.st_mode):
            links[path] = str(Path(entry.path).readlink())
        elif stat.S_ISREG(info.st_mode) and info.st_size <= min(MAX_FILE_BYTES, room):
            data = _read(entry.path, info)
            room -= len(data)
            if data != lower_bytes(lowers, path):
                written[path] = data
    for path, target in links.items():
        content = _through(path, target, links, written, lowers, deleted)
        if content is not None and content != lower_bytes(lowers, path):
            written[path] = content
    return WorkspaceChange(written=dict(sorted(written.items())), deleted=tuple(sorted(set(deleted) - set(written))))


def _walk(
    upper: Path, prefix: str, lowers: Sequence[Path], deleted: list[str]
) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """Entries of the layer in path order, without directories and whiteouts; what those hide goes to `deleted`."""
    names = set()
    with os.scandir(upper) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        names.add(entry.name)
        path = prefix + entry.name
        info = entry.stat(follow_symlinks=False)
        if stat.S_ISCHR(info.st_mode) and info.st_rdev == 0:
            deleted.extend(_lower_files(lowers, path))
        elif stat.S_ISDIR(info.st_mode):
            if os.access(entry.path, os.R_OK | os.X_OK):
                yield from _walk(Path(entry.path), path + "/", lowers, deleted)
        else:
            if any((lower / path).is_dir() for lower in lowers):  # a file took a directory's place
                deleted.extend(_lower_files(lowers, path))
            yield path, entry
    if prefix and _opaque(upper):
        hidden = _lower_files(lowers, prefix.rstrip("/"))
        deleted.extend(name for name in hidden if name[len(prefix) :].split("/")[0] not in names)


def _opaque(directory: Path) -> bool:
    for name in OPAQUE:
        try:
            if os.getxattr(directory, name, follow_symlinks=False) == b"y":
                return True
        except OSError:
            continue
    return False


def _lower_files(lowers: Sequence[Path], path: str) -> list[str]:
    """Relative paths of the files that the lower layers hold at or below `path`."""
    found: set[str] = set()
    for lower in lowers:
        top = lower / path
        if top.is_symlink() or top.is_file():
            found.add(path)
        elif top.is_dir():
            found.update(str(item.relative_to(lower)) for item in top.rglob("*") if item.is_symlink() or item.is_file())
    return sorted(found)


def lower_bytes(lowers: Sequence[Path], path: str) -> bytes | None:
    """Content of a regular file of the topmost lower layer that holds one; None where none does."""
    for lower in reversed(lowers):
        file = lower / path
        if file.is_file() and not file.is_symlink():
            return file.read_bytes()
    return None


def _read(path: str, expected: os.stat_result) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_ino != expected.st_ino:
            return b""
        return file.read(MAX_FILE_BYTES)


def _through(
    path: str,
    target: str,
    links: dict[str, str],
    written: dict[str, bytes],
    lowers: Sequence[Path],
    deleted: Sequence[str],
) -> bytes | None:
    """Content a link names inside /workspace (at most 8 links on), resolved by name only."""
    for _ in range(8):
        if target.startswith("/workspace/"):
            path = os.path.normpath(target[len("/workspace/") :])
        elif target.startswith("/"):
            return None
        else:
            path = os.path.normpath(f"{os.path.dirname(path)}/{target}".lstrip("/"))  # noqa: PTH120
        if path.startswith(".."):
            return None
        if path in written:
            return written[path]
        if path not in links:
            return None if path in deleted else lower_bytes(lowers, path)
        target = links[path]
    return None
