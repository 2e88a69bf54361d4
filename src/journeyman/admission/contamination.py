"""Contamination: near-duplicates of held-out work in five places, by word shingles; and one ground truth in two splits.

Invariant: symmetric, deterministic, and blind to case, spacing and punctuation; figures and names are never masked, so
that another world of the same type is not a duplicate and a reworded copy is (G-08).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from journeyman.records.base import canonical_json
from journeyman.records.task import Task
from journeyman.tasks.draft import State

PLACES = ("prompt", "world", "interfaces", "grader", "lineage")
NEAR = 0.8  # Jaccard similarity of word shingles from which two texts count as one
SHINGLE, SKETCH = 5, 256  # words in a shingle; smallest hashes kept of a text
_WORD = re.compile(r"\w+")
_PARTICULAR = 24  # shingles below which a text says too little to be anybody's copy
_LINEAGE = ("ground_truth", "sources", "target")


class Fingerprint(NamedTuple):
    """One task in the five places. Sketches are the smallest hashes of a text's shingles, sorted."""

    task: str
    sketches: Mapping[str, frozenset[int]]  # place -> sketch; empty where the place says too little
    lineage: frozenset[str]  # digests of what the task was made from


class Found(NamedTuple):
    """A held-out task met again, where, and how alike (0 to 1)."""

    place: str
    task: str
    likeness: float


def sketch(text: str) -> frozenset[int]:
    """The smallest hashes of the text's word shingles: two sketches estimate the Jaccard similarity of two texts."""
    words = _WORD.findall(text.casefold())
    shingles = {" ".join(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)}
    if len(shingles) < _PARTICULAR:
        return frozenset()
    hashes = sorted(int.from_bytes(blake2b(s.encode(), digest_size=8).digest(), "big") for s in shingles)
    return frozenset(hashes[:SKETCH])


def likeness(left: frozenset[int], right: frozenset[int]) -> float:
    """Estimated Jaccard similarity; 0 where either text says too little."""
    if not left or not right:
        return 0.0
    union = sorted(left | right)[:SKETCH]
    return sum(h in left and h in right for h in union) / len(union)


def fingerprint(task: Task, texts: Mapping[str, str], state: State) -> Fingerprint:
    """A task's fingerprint. `texts`: visible texts by path, the request under "instruction"."""
    world = " ".join(text for path, text in texts.items() if path != "instruction")
    grader = " ".join(f"{c.proposition} {c.decide.model_dump_json()}" for c in task.rubric.criteria)
    rows = canonical_json({name: dict(tables) for name, tables in state.items() if any(tables.values())}).decode()
    asked = {"prompt": texts.get("instruction", ""), "world": world, "interfaces": rows, "grader": grader}
    made_from = {task.metadata.lineage[name] for name in _LINEAGE if task.metadata.lineage.get(name)}
    return Fingerprint(task.slug, {place: sketch(text) for place, text in asked.items()}, frozenset(made_from))


@dataclass(frozen=True)
class HeldOut:
    """Fingerprints of everything that is held out."""

    tasks: tuple[Fingerprint, ...] = ()

    def met(self, candidate: Fingerprint) -> tuple[Found, ...]:
        """Held-out work the candidate comes too close to, the closest of each place."""
        found = [Found("lineage", held.task, 1.0) for held in self.tasks if held.lineage & candidate.lineage][:1]
        for place in PLACES[:-1]:
            near = max(
                ((likeness(held.sketches[place], candidate.sketches[place]), held.task) for held in self.tasks),
                default=(0.0, ""),
            )
            if near[0] >= NEAR:
                found.append(Found(place, near[1], round(near[0], 3)))
        return tuple(found)
