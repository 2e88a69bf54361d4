"""Makes files of the host reachable for a box's uid: copies of lower layers, links to sockets, binds of hidden trees.

Invariant: whatever is handed out here can be opened by the uid it was asked for, and the original is never changed.
"""

import itertools
import os
import shutil
import stat
from collections import OrderedDict, defaultdict
from collections.abc import Container, Iterator
from pathlib import Path

from journeyman.errors import SandboxFailure, UserError
from journeyman.sandbox.launcher import Launcher

CACHED_LAYERS = 2048
CACHED_BYTES = 512 << 20


def traversable(path: Path) -> bool:
    """Whether any uid may reach and read `path` (its own mode included)."""
    for part in (path, *path.parents):
        mode = part.stat().st_mode
        if not mode & stat.S_IXOTH and (stat.S_ISDIR(mode) or part != path):
            return False
    return bool(path.stat().st_mode & stat.S_IROTH)


class Reach:
    """Owns a directory in which boxes find what they need. `foreign`: boxes run under uids of their own."""

    def __init__(self, state: Path, launcher: Launcher, foreign: bool) -> None:
        self._state = state
        self._launcher = launcher
        self._foreign = foreign
        self._numbers = itertools.count(1)
        self._exposed: dict[Path, Path] = {}
        self._layers: OrderedDict[tuple[tuple[Path, object], int], tuple[Path, int]] = OrderedDict()
        self._owners: defaultdict[Path, set[int]] = defaultdict(set)  # uids that have a copy, by the original
        self._bytes = 0

    async def tree(self, path: Path) -> Path:
        """A readable tree: itself, or bound to a place that can be reached. Raises UserError."""
        path = path.resolve()
        if not self._foreign or traversable(path):
            return path
        if path not in self._exposed:
            target = self._state / "exposed" / str(next(self._numbers))
            target.parent.mkdir(exist_ok=True)
            if path.is_dir():
                target.mkdir()
            else:
                target.touch()
            problem = await self._launcher.bind(path, target)
            if problem:
                raise UserError(
                    f"{path} cannot be read by a sandbox's uid ({problem}); type: chmod o+rx on its parents"
                )
            self._exposed[path] = target
        return self._exposed[path]

    def layer(self, path: Path, uid: int) -> Path:
        """A lower layer whose files belong to `uid` (an overlay can only copy up what its user namespace maps)."""
        if not self._foreign:
            return path
        try:
            entries = tuple(_scan(path))
        except OSError as error:
            raise SandboxFailure("workspace_unreadable", str(error)) from error
        key = ((path, entries), uid)
        if key in self._layers:
            self._layers.move_to_end(key)
            return self._layers[key][0]
        copy = self._state / "layers" / str(next(self._numbers))
        copy.parent.mkdir(exist_ok=True)
        _copy(path, copy, uid)
        size = sum(entry[1] for entry in entries)
        self._layers[key] = (copy, size)
        self._owners[path].add(uid)
        self._bytes += size
        return copy

    def owner(self, path: Path, among: Container[int]) -> int | None:
        """A uid of `among` that has a copy of this layer already, so that none need be made."""
        return next((uid for uid in self._owners.get(path, ()) if uid in among), None)

    def full(self) -> bool:
        """Whether there are more copies than the bounds allow."""
        return len(self._layers) > CACHED_LAYERS or self._bytes > CACHED_BYTES

    def trim(self, in_use: set[Path]) -> None:
        """Drop the least recently used copies beyond the bounds, never one a running box needs."""
        unused = ((key, kept) for key, kept in list(self._layers.items()) if kept[0] not in in_use)
        for key, (copy, size) in unused:
            if not self.full():
                return
            del self._layers[key]
            (path, _), uid = key
            self._owners[path].discard(uid)
            self._bytes -= size
            shutil.rmtree(copy)

    def socket(self, path: Path, box: Path, ids: tuple[int, int] | None) -> Path:
        """A socket a box may connect to: a second name for it in the box's own directory, owned by the box's uid."""
        if ids is None:
            return path
        name = box / f"socket-{next(self._numbers)}"
        try:
            os.link(path, name)
            os.chown(name, *ids)
        except OSError as error:
            raise SandboxFailure(
                "socket_unreachable", f"{path}: {error.strerror}; it must lie in {self._state}"
            ) from error
        return name


def _scan(top: Path, prefix: str = "") -> Iterator[tuple[str, int, int]]:
    """(relative path, size, mtime in ns) of everything below a directory, in path order."""
    with os.scandir(top) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        info = entry.stat(follow_symlinks=False)
        yield prefix + entry.name, info.st_size, info.st_mtime_ns
        if entry.is_dir(follow_symlinks=False):
            yield from _scan(Path(entry.path), f"{prefix}{entry.name}/")


def _copy(source: Path, target: Path, uid: int) -> None:
    """Copy files, links and directories, owned by `uid`, times kept; devices, sockets and pipes are left out."""
    target.mkdir()
    with os.scandir(source) as scan:
        for entry in scan:
            to = target / entry.name
            if entry.is_symlink():
                to.symlink_to(Path(entry.path).readlink())
                os.chown(to, uid, uid, follow_symlinks=False)
            elif entry.is_dir():
                _copy(Path(entry.path), to, uid)
            elif entry.is_file():
                _copy_file(entry, to, uid)
    os.chown(target, uid, uid)


def _copy_file(entry: "os.DirEntry[str]", to: Path, uid: int) -> None:
    info = entry.stat()
    source = os.open(entry.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        target = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            while os.sendfile(target, source, None, 1 << 24):
                pass
            os.fchown(target, uid, uid)
            os.fchmod(target, (info.st_mode & 0o777) | 0o600)
            os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))
        finally:
            os.close(target)
    finally:
        os.close(source)
