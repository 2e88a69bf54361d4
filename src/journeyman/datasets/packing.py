"""Best-fit decreasing packing of whole rows: nothing is split; the over-long is dropped and returned."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import NamedTuple

from journeyman.errors import UserError


class Packing(NamedTuple):
    """Bins of row indexes, in the order they were opened, and the indexes that fit nowhere."""

    bins: list[list[int]]
    dropped: list[int]


def pack(lengths: Sequence[int], capacity: int) -> Packing:
    """Pack `lengths` (tokens per row) into bins of `capacity` tokens; stable, ties by index.

    Each row goes where it leaves the least room. O(n log n). Raises UserError for a capacity below 1.
    """
    if capacity < 1:
        raise UserError(f"packing capacity {capacity} holds no token: give a maximum length of at least 1")
    bins: list[list[int]] = []
    dropped: list[int] = []
    room: list[tuple[int, int]] = []  # (free tokens, bin), sorted
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        length = lengths[index]
        if length > capacity:
            dropped.append(index)
            continue
        at = bisect_left(room, (length, -1))
        if at == len(room):
            bins.append([index])
            insort(room, (capacity - length, len(bins) - 1))
        else:
            free, where = room.pop(at)
            bins[where].append(index)
            insort(room, (free - length, where))
    return Packing(bins, sorted(dropped))
