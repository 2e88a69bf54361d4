"""Search inside the box: by content and by name, bounded, in path order, and saying so when it was cut."""

import posix
import re
import signal

from journeyman.sandbox.executor.paths import DIRECTORY, FILE, KIND, LINK, Root, Wrong, exists

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Args = dict[str, Any]
    Reply = dict[str, Any]

GREP_HITS, GREP_LINE_CHARS, GLOB_PATHS, SEARCH_FILE_BYTES = 100, 240, 200, 8 << 20
GREP_SECONDS = 20.0
SPECIAL = frozenset(".^$*+?{}[]\\|()")


class Search:
    """Walks the files below a directory; symlinked directories are not entered."""

    def __init__(self, root: Root) -> None:
        self.root = root

    def _files(self, top: str) -> "Iterator[str]":
        """Regular files below `top` in path order; symlinked directories are not entered."""
        for name in sorted(posix.listdir(top)):
            path = f"{top}/{name}" if top != "/" else f"/{name}"
            try:
                kind = posix.lstat(path).st_mode & KIND
                if kind == LINK:
                    kind = FILE if posix.stat(path).st_mode & KIND == FILE else 0
                if kind == FILE:
                    yield path
                elif kind == DIRECTORY:
                    yield from self._files(path)
            except OSError:
                continue

    def _below(self, name: "str | None") -> "Iterator[str]":
        top = self.root.path(name) if name else self.root.root
        if not exists(top):
            raise Wrong(f"no such path: {name}")
        return self._files(top) if posix.stat(top).st_mode & KIND == DIRECTORY else iter((top,))

    def grep(self, args: "Args") -> "Reply":
        """Lines that a regular expression matches, in path order, within GREP_SECONDS: {text, matches, truncated}."""
        signal.signal(signal.SIGALRM, _too_long)
        signal.setitimer(signal.ITIMER_REAL, GREP_SECONDS)
        try:
            return self._grep(args)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _grep(self, args: "Args") -> "Reply":
        pattern, only = args["pattern"], args.get("glob")
        find = _finder(pattern)
        hits: list[str] = []
        for path in self._below(args.get("path")):
            if only and not match_glob(only if "/" in only else f"**/{only}", self.root.show(path)):
                continue
            try:
                data = b"" if posix.stat(path).st_size > SEARCH_FILE_BYTES else self.root.load(path)
            except (Wrong, OSError):
                continue
            if b"\0" in data[:8192]:
                continue
            for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
                if find(line):
                    hits.append(f"{self.root.show(path)}:{number}:{line[:GREP_LINE_CHARS]}")
                    if len(hits) > GREP_HITS:
                        text = "\n".join(hits[:GREP_HITS]) + f"\n[truncated: more than {GREP_HITS} matches]"
                        return {"text": text, "matches": GREP_HITS, "truncated": True}
        return {"text": "\n".join(hits) or "no matches", "matches": len(hits), "truncated": False}

    def glob(self, args: "Args") -> "Reply":
        """Paths that a pattern names (`*`, `?`, `[..]`, `**`), sorted: {text, matches, truncated}."""
        top = self.root.path(args["path"]) if args.get("path") else self.root.root
        pattern = args["pattern"]
        if pattern.startswith("/"):
            pattern = self.root.path(pattern)
            top, pattern = (
                (self.root.root, pattern[len(self.root.root) + 1 :])
                if pattern.startswith(self.root.root + "/")
                else ("/", pattern[1:])
            )
        base = len(top.rstrip("/")) + 1
        paths: list[str] = []
        for path in self._below(top):
            if match_glob(pattern, path[base:]):
                paths.append(self.root.show(path))
                if len(paths) > GLOB_PATHS:
                    text = "\n".join(paths[:GLOB_PATHS]) + f"\n[truncated: more than {GLOB_PATHS} paths]"
                    return {"text": text, "matches": GLOB_PATHS, "truncated": True}
        return {"text": "\n".join(paths) or "no matches", "matches": len(paths), "truncated": False}


def _too_long(number: int, frame: object) -> None:
    raise Wrong(f"the search took longer than {GREP_SECONDS:.0f} s; narrow the pattern or path")


def _finder(pattern: str) -> "Callable[[str], object]":
    """A line test for a regular expression (plain text is searched as such)."""
    if not SPECIAL & set(pattern):
        return lambda line: pattern in line
    try:
        return re.compile(pattern).search
    except re.error as error:
        raise Wrong(f"not a regular expression: {pattern!r}: {error}") from None


def match_glob(pattern: str, path: str) -> bool:
    """Whether a path matches: `*`, `?` and `[..]` within one part, `**` for any number of parts."""
    return _match_parts(pattern.split("/"), path.split("/"))


def _match_parts(pattern: list[str], parts: list[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_match_parts(pattern[1:], parts[skip:]) for skip in range(len(parts) + 1))
    return bool(parts) and _match_name(pattern[0], parts[0]) and _match_parts(pattern[1:], parts[1:])


def _match_name(pattern: str, name: str) -> bool:
    """Shell wildcards on one path part, with one point of backtracking (linear in practice)."""
    p = n = 0
    star, mark = -1, 0
    while n < len(name):
        step = _match_one(pattern, p, name[n]) if p < len(pattern) and pattern[p] != "*" else 0
        if step:
            p, n = p + step, n + 1
        elif p < len(pattern) and pattern[p] == "*":
            star, mark, p = p, n, p + 1
        elif star >= 0:
            mark += 1
            p, n = star + 1, mark
        else:
            return False
    return not pattern[p:].strip("*")


def _match_one(pattern: str, at: int, char: str) -> int:
    """Length of the pattern element at `at` if it matches `char`, else 0."""
    if pattern[at] == "?":
        return 1
    end = pattern.find("]", at + 2) if pattern[at] == "[" else -1
    if end < 0:
        return int(pattern[at] == char)
    body = pattern[at + 1 : end]
    negate = body[0] in "!^"
    body = body[1:] if negate else body
    found, i = False, 0
    while i < len(body):
        if i + 2 < len(body) and body[i + 1] == "-":
            found |= body[i] <= char <= body[i + 2]
            i += 3
        else:
            found |= body[i] == char
            i += 1
    return (end - at + 1) if found != negate else 0
