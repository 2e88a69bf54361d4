"""Rows that begin alike are computed once: a batch becomes a forest of pieces, each continuing its parent. Torch-free.

Invariant: walking a row's pieces from the root gives exactly the row's ids; every predictor of a trained token has one
place in the packed sequence, shared by all rows that agree up to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TrainRow:
    """One row to be scored: ids [T] and the positions of its trained tokens (ascending, each >= 1)."""

    ids: IntArray  # [T]
    targets: IntArray  # [n]
    routes: IntArray | None = None  # [T - 1, layers, top_k] experts as sampled, -1 where not recorded; None: no replay


@dataclass(frozen=True)
class Piece:
    """A run of ids at positions start..start+len-1 that continues `parent` (index of an earlier piece, -1: none)."""

    ids: IntArray
    start: int
    parent: int


@dataclass(frozen=True)
class Forest:
    """Pieces in packed order and, per row, the pieces that make it up."""

    pieces: tuple[Piece, ...]
    chains: tuple[tuple[int, ...], ...]  # per row

    @property
    def tokens(self) -> int:
        """Ids that are computed (shared ones once)."""
        return sum(len(p.ids) for p in self.pieces)


def common_length(rows: Sequence[IntArray]) -> int:
    """Length of the longest prefix that all rows share."""
    first, last = min(rows, key=lambda r: r.tobytes()), max(rows, key=lambda r: r.tobytes())
    n = min(min(len(r) for r in rows), len(first), len(last))
    shared = n
    for row in rows:
        differ = np.flatnonzero(row[:shared] != rows[0][:shared])
        shared = int(differ[0]) if len(differ) else shared
    return shared


def order(rows: Sequence[TrainRow]) -> list[int]:
    """Row indexes so that rows with long common prefixes are neighbours; stable."""
    return sorted(range(len(rows)), key=lambda i: (rows[i].ids.tolist(), i))


def forest(rows: Sequence[TrainRow], root: int = 0, min_share: int = 24) -> Forest:
    """Split rows into shared pieces. The first `root` ids are someone else's (already computed) and are left out.

    A prefix becomes a piece of its own only where sharing it saves at least `min_share` ids.
    """
    pieces: list[Piece] = []
    chains: list[list[int]] = [[] for _ in rows]

    def emit(members: list[int], start: int, end: int, parent: int) -> int:
        if end <= start:
            return parent
        pieces.append(Piece(rows[members[0]].ids[start:end], start, parent))
        for m in members:
            chains[m].append(len(pieces) - 1)
        return len(pieces) - 1

    stack: list[tuple[list[int], int, int, int]] = [(list(range(len(rows))), root, root, -1)] if rows else []
    while stack:
        members, start, depth, parent = stack.pop()
        if len(members) == 1:
            emit(members, start, len(rows[members[0]].ids), parent)
            continue
        shared = depth + common_length([rows[m].ids[depth:] for m in members])
        if (shared - start) * (len(members) - 1) >= min_share:
            parent, start = emit(members, start, shared, parent), shared
        ended = [m for m in members if len(rows[m].ids) == shared]
        if ended:
            emit(ended, start, shared, parent)
        going = sorted((m for m in members if len(rows[m].ids) > shared), key=lambda m: (int(rows[m].ids[shared]), m))
        for _, branch in groupby(going, key=lambda m: int(rows[m].ids[shared])):
            stack.append((list(branch), start, shared, parent))
    return Forest(tuple(pieces), tuple(tuple(c) for c in chains))
