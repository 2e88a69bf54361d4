"""How many combinations of axis values remain when some pairs are forbidden. Exact integers."""

from collections.abc import Mapping
from itertools import product
from math import prod

from journeyman.worlds.base import Pair


def combinations(axes: Mapping[str, tuple[str, ...]], forbidden: tuple[Pair, ...] = ()) -> int:
    """The product of the axes' sizes less every combination in which some forbidden pair meets.

    Axes that stand in no pair multiply; the others are enumerated, one connected group of axes at a time.
    """
    pairs = [p for p in forbidden if all(axis in axes and value in axes[axis] for axis, value in p)]
    total = 1
    left = list(axes)
    while left:
        group = _connected(left[0], pairs)
        left = [axis for axis in left if axis not in group]
        total *= _count({axis: axes[axis] for axis in group}, pairs)
    return total


def _connected(axis: str, pairs: list[Pair]) -> list[str]:
    """The axes that hang together with `axis` through forbidden pairs, in a fixed order."""
    group = [axis]
    for member in group:
        for (a, _), (b, _) in pairs:
            for one, other in ((a, b), (b, a)):
                if one == member and other not in group:
                    group.append(other)
    return group


def _count(axes: Mapping[str, tuple[str, ...]], pairs: list[Pair]) -> int:
    mine = [p for p in pairs if p[0][0] in axes]
    if not mine:
        return prod(len(values) for values in axes.values())
    names = tuple(axes)
    drawn = (dict(zip(names, values, strict=True)) for values in product(*axes.values()))
    return sum(not any(d[a] == x and d[b] == y for (a, x), (b, y) in mine) for d in drawn)
