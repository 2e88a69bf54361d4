"""Files inside the box: numbered reads that record a fingerprint of the whole file, changes that require it to hold."""

import posix

from journeyman.sandbox.executor.paths import DIRECTORY, FILE, KIND, LINK, Root, Wrong, exists, make_parents, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Args = dict[str, Any]
    Reply = dict[str, Any]

READ_LINES, READ_CHARS, LINE_CHARS = 2_000, 30_000, 2_000
IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff")
NO_VISION = "Images cannot be viewed here: vision is not available in this environment."


class Files:
    """Reads and changes files; `seen` holds size and hash of each file as it was last read or written through here."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.seen: dict[str, tuple[int, int]] = {}

    def read(self, args: "Args") -> "Reply":
        """Numbered lines [offset, offset + limit) and a fingerprint of the whole file: {text, lines, truncated}."""
        path = self.root.path(args["path"])
        if path.lower().endswith(IMAGES):
            self.root.load(path)
            return {"text": NO_VISION, "lines": 0, "truncated": False}
        data = self.root.load(path)
        if b"\0" in data[:8192]:
            raise Wrong(f"{self.root.show(path)} is not a text file ({len(data)} bytes)")
        self.seen[path] = (len(data), hash(data))
        lines = data.decode("utf-8", "replace").split("\n")
        if lines[-1] == "":
            lines.pop()
        first = max(1, int(args.get("offset") or 1))
        count = int(args.get("limit") or READ_LINES)
        if first > max(1, len(lines)):
            raise Wrong(f"offset {first} is beyond the end: {self.root.show(path)} has {len(lines)} lines")
        shown: list[str] = []
        room = READ_CHARS
        for number, line in enumerate(lines[first - 1 : first - 1 + max(1, count)], first):
            line = line.rstrip("\r")
            if len(line) > LINE_CHARS:
                line = line[:LINE_CHARS] + f" [... {len(line) - LINE_CHARS} more characters]"
            room -= len(line) + 8
            if room < 0 and shown:
                break
            shown.append(f"{number}\t{line}")
        last = first - 1 + len(shown)
        cut = last < len(lines)
        text = "\n".join(shown) if lines else "[the file is empty]"
        if cut:
            text += f"\n[lines {first}-{last} of {len(lines)}; the rest starts at offset {last + 1}]"
        return {"text": text, "lines": len(lines), "truncated": cut}

    def _current(self, path: str) -> bytes:
        """The file's content, if it is the content that was read last; otherwise the policy must read it (again)."""
        data = self.root.load(path)
        seen = self.seen.get(path)
        if seen is None:
            raise Wrong(f"{self.root.show(path)} has not been read; read it before changing it")
        if seen != (len(data), hash(data)):
            raise Wrong(f"{self.root.show(path)} has changed since it was read; read it again before changing it")
        return data

    def _store(self, path: str, data: bytes) -> None:
        store(path, data)
        self.seen[path] = (len(data), hash(data))

    def write(self, args: "Args") -> "Reply":
        """Create a file (and its directories), or overwrite one that was read and has not changed: {lines, created}."""
        path, data = self.root.path(args["path"]), args["content"].encode("utf-8", "surrogatepass")
        created = not exists(path)
        if not created:
            self._current(path)
        else:
            make_parents(path)
        self._store(path, data)
        return {"lines": data.count(b"\n") + (not data.endswith(b"\n") and data != b""), "created": created}

    def edit(self, args: "Args") -> "Reply":
        """Replace old by new: exactly one match, or every match with `all`: {replaced}."""
        path = self.root.path(args["path"])
        old, new = args["old"].encode("utf-8", "surrogatepass"), args["new"].encode("utf-8", "surrogatepass")
        if not old:
            raise Wrong("old_string is empty; use write to create a file")
        if old == new:
            raise Wrong("old_string and new_string are the same")
        data = self._current(path)
        found = data.count(old)
        if found == 0:
            raise Wrong(f"old_string was not found in {self.root.show(path)}")
        if found > 1 and not args.get("all"):
            raise Wrong(
                f"old_string matches {found} places in {self.root.show(path)}; make it unique or set replace_all"
            )
        self._store(path, data.replace(old, new))
        return {"replaced": found}

    def stat(self, args: "Args") -> "Reply":
        """{kind, size, mode} of a path; kind is file, directory, link, other or absent."""
        path = self.root.path(args["path"])
        try:
            info = posix.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return {"kind": "absent", "size": 0, "mode": 0}
        kinds = {FILE: "file", DIRECTORY: "directory", LINK: "link"}
        kind = kinds.get(info.st_mode & KIND, "other")
        return {"kind": kind, "size": info.st_size, "mode": info.st_mode & 0o7777}

    def put(self, args: "Args") -> "Reply":
        """Write many files in one round trip: files is {path: bytes}."""
        for name, data in args["files"].items():
            path = self.root.path(name)
            make_parents(path)
            self._store(path, data)
            self.seen.pop(path, None)
        return {}

    def get(self, args: "Args") -> "Reply":
        """Read many files in one round trip: {files: {path: bytes}}; absent ones are left out."""
        files: dict[str, bytes] = {}
        for name in args["paths"]:
            try:
                files[name] = self.root.load(self.root.path(name))
            except (Wrong, OSError):
                continue
        return {"files": files}
