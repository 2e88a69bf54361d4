"""Criteria of one sign that reward (or punish) the same proposition twice, and what it then really weighs (Z-04).

Invariant: grouping is symmetric and depends on the wording alone; weights only enter the sums that are reported.
"""

import re
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from journeyman.grading.text import fold
from journeyman.records.rubric import Criterion, Rubric

_WORD = re.compile(r"[a-z0-9][\w.]*")
_EMPTY_WORDS = """
a an and are as at be by does each for from has have in into is it its not of on or than that the their then there this
to was were which with work uses use used states state says presents present treats treat
"""
_EMPTY = frozenset(_EMPTY_WORDS.split())
SHARED = 1 / 3  # of the shorter proposition's content words


class Overlap(NamedTuple):
    """Criteria about one proposition; `weight` is what it counts in all."""

    criteria: tuple[str, ...]
    weight: float


def _content(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """(identifiers and numbers, other content words cut to a stem)."""
    words = {word.rstrip(".") for word in _WORD.findall(fold(text))}
    named = frozenset(word for word in words if any(c.isdigit() for c in word))
    return named, frozenset(word[:5] for word in words - named - _EMPTY if len(word) > 2)


def overlapping(left: Criterion, right: Criterion) -> bool:
    """Same sign, the same identifiers and numbers, and enough of the same content words."""
    if (left.weight > 0) != (right.weight > 0):
        return False
    (named_left, words_left), (named_right, words_right) = _content(left.proposition), _content(right.proposition)
    shorter = min(len(words_left), len(words_right))
    if named_left != named_right or not shorter:
        return False
    shared = len(words_left & words_right) / shorter
    return shared >= (SHARED if named_left else 2 * SHARED)


def overlaps(rubric: Rubric) -> tuple[Overlap, ...]:
    """Groups of two or more overlapping criteria, in the rubric's order, each with its effective weight."""
    group = {c.id: c.id for c in rubric.criteria}
    for left, right in combinations(rubric.criteria, 2):
        if overlapping(left, right):
            old, new = group[right.id], group[left.id]
            group = {name: new if of == old else of for name, of in group.items()}
    return tuple(_overlap(rubric, [n for n, of in group.items() if of == first]) for first in _repeated(group))


def _repeated(group: dict[str, str]) -> list[str]:
    named = list(group.values())
    return [first for first in dict.fromkeys(named) if named.count(first) > 1]


def _overlap(rubric: Rubric, names: Sequence[str]) -> Overlap:
    return Overlap(tuple(names), sum(c.weight for c in rubric.criteria if c.id in names))
