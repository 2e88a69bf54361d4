"""Paths and bytes inside the box: what the policy names, made absolute; `/workspace` always means this box's root."""

import posix

KIND, FILE, DIRECTORY, LINK = 0o170000, 0o100000, 0o040000, 0o120000
LOAD_BYTES = 64 << 20  # largest file that is read whole


class Wrong(Exception):
    """The policy's mistake; its text is the reply."""


class Root:
    """The directory that `/workspace` names."""

    def __init__(self, root: str) -> None:
        self.root = root

    def path(self, name: object) -> str:
        """Absolute path of what the policy named (relative to the workspace). Raises Wrong."""
        if not isinstance(name, str) or "\0" in name or name == "":
            raise Wrong(f"not a path: {name!r}")
        if name == "/workspace" or name.startswith("/workspace/"):
            name = name[len("/workspace/") :]
        elif name == self.root or name.startswith(self.root + "/"):
            name = name[len(self.root) + 1 :]
        elif name.startswith("/"):
            return normal(name)
        return normal(f"{self.root}/{name}")

    def show(self, path: str) -> str:
        """A path as the policy names it: relative to the workspace where it lies below it."""
        return path[len(self.root) + 1 :] if path.startswith(self.root + "/") else path

    def load(self, path: str) -> bytes:
        """Content of a regular file. Raises Wrong."""
        try:
            fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
        except FileNotFoundError:
            raise Wrong(f"no such file: {self.show(path)}") from None
        try:
            info = posix.fstat(fd)
            if info.st_mode & KIND == DIRECTORY:
                raise Wrong(f"{self.show(path)} is a directory")
            if info.st_mode & KIND != FILE:
                raise Wrong(f"{self.show(path)} is not a regular file")
            data = read_all(fd, info.st_size, LOAD_BYTES)
        finally:
            posix.close(fd)
        if len(data) > LOAD_BYTES:
            raise Wrong(f"{self.show(path)} is larger than {LOAD_BYTES >> 20} MiB")
        return data


def normal(path: str) -> str:
    """Absolute path without `.`, `..` and doubled slashes (lexically)."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def read_all(fd: int, size: int = 0, most: int = LOAD_BYTES) -> bytes:
    """What an fd still gives, a little more than `most` bytes at most; `size` is a hint."""
    parts, total = [], 0
    while total <= most:
        data = posix.read(fd, min(max(4096, size + 1), most + 4096))
        if not data:
            break
        parts.append(data)
        total += len(data)
    return b"".join(parts) if len(parts) != 1 else parts[0]


def slurp(path: str) -> bytes:
    """A file's content, b"" where it cannot be read."""
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return read_all(fd)
    except OSError:
        return b""
    finally:
        posix.close(fd)


def store(path: str, data: bytes) -> None:
    """Write a whole file. Raises OSError."""
    fd = posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC, 0o644)
    try:
        view = memoryview(data)
        while view:
            view = view[posix.write(fd, view) :]
    finally:
        posix.close(fd)


def exists(path: str) -> bool:
    """Whether something is there (following links)."""
    try:
        posix.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def make_parents(path: str) -> None:
    """Create the directories above `path`."""
    parent = path.rpartition("/")[0]
    if parent and not exists(parent):
        make_parents(parent)
        posix.mkdir(parent, 0o755)
