"""Typed token arrays of one episode, append-only deltas: no id is ever written twice or rewritten.

tokens.i32 | logprobs.f32 (NaN where not sampled) | versions.i32 (-1 where not sampled), little-endian, equal lengths.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from journeyman.records.turn import Span
from journeyman.store.append import AppendFile

_FILES = (("tokens.i32", "<i4"), ("logprobs.f32", "<f4"), ("versions.i32", "<i4"))


class TokenArrays(NamedTuple):
    """Arrays of equal length T."""

    ids: npt.NDArray[np.int32]  # [T]
    logprobs: npt.NDArray[np.float32]  # [T], NaN where not sampled
    versions: npt.NDArray[np.int32]  # [T], -1 where not sampled


class TokenLog:
    """The open arrays of an episode in progress; reopening continues after the last complete entry."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        paths = [directory / name for name, _ in _FILES]
        self.length = min((p.stat().st_size // 4 if p.exists() else 0) for p in paths)
        self._files = [AppendFile(p) for p in paths]
        self.cut(self.length)

    def append(
        self,
        ids: Sequence[int],
        logprobs: Sequence[float] | None = None,
        versions: Sequence[int] | None = None,
    ) -> Span:
        """Append ids (sampled ones with log-probs and versions) and return their span.

        Raises ValueError where lengths differ, OSError where there is no room; then nothing was appended.
        """
        n = len(ids)
        columns: tuple[Any, ...] = (
            ids,
            [float("nan")] * n if logprobs is None else logprobs,
            [-1] * n if versions is None else versions,
        )
        if any(len(column) != n for column in columns):
            raise ValueError(f"token arrays differ in length: {[len(c) for c in columns]}")
        try:
            for file, column, (_, dtype) in zip(self._files, columns, _FILES, strict=True):
                file.write(np.asarray(column, dtype=dtype).tobytes())
        except OSError:
            self.cut(self.length)
            raise
        span = Span(start=self.length, end=self.length + n)
        self.length += n
        return span

    def cut(self, length: int) -> None:
        """Go back to an earlier length. Raises OSError."""
        for file in self._files:
            file.cut(length * 4)
        self.length = length

    def flush(self) -> None:
        """Writes are unbuffered; nothing waits. Kept so that callers state where durability matters."""

    def close(self) -> None:
        """Close the files; idempotent."""
        for file in self._files:
            file.close()


def read_tokens(directory: Path) -> TokenArrays:
    """All token arrays of an episode. Raises ValueError where their lengths differ."""
    arrays = [np.fromfile(directory / name, dtype=dtype) for name, dtype in _FILES]
    if len({len(a) for a in arrays}) != 1:
        raise ValueError(f"{directory}: token arrays differ in length: {[len(a) for a in arrays]}")
    return TokenArrays(*arrays)
