"""A file that only grows, a piece at a time: a piece is in it whole or not at all, on a full disk too."""

from pathlib import Path


class AppendFile:
    """An open log. `size`: its bytes, all of them whole pieces. Nothing is buffered."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self.size = self._file.tell()

    def write(self, piece: bytes) -> None:
        """Append a piece. Raises OSError where there is no room for all of it; then none of it is there."""
        try:
            written = self._file.write(piece)
            while written < len(piece):  # the next write says why, or goes on
                written += self._file.write(memoryview(piece)[written:])
        except OSError:
            self.cut(self.size)
            raise
        self.size += written

    def cut(self, size: int) -> None:
        """Go back to an earlier size. Raises OSError."""
        self._file.truncate(size)
        self.size = size

    def close(self) -> None:
        """Idempotent."""
        self._file.close()
