"""How alike worlds are once names and figures are masked. Invariant: the same drafts always give the same similarity.

MinHash (Broder 1997) over three-word shingles of what a policy can see; 128 permutations, standard error below .05.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from journeyman.records.task import Split
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.lexicon import companies, people

NEAR = 0.8
_PERMUTATIONS = 128
_WORD = re.compile(r"\w+")
_PRIME = (1 << 31) - 1
_SPLITS: tuple[Split, ...] = ("train", "validation", "heldout")


@cache
def _names() -> frozenset[str]:
    """Every word of every entity's name."""
    whole = [name for split in _SPLITS for name in (*companies(split), *people(split))]
    return frozenset(word for name in whole for word in name.split())


def shown_values(state: object) -> Iterator[str]:
    """Every value in a state of services, in order; names of tables and columns are the schema's."""
    if isinstance(state, dict):
        for value in state.values():
            yield from shown_values(value)
    elif isinstance(state, list):
        for value in state:
            yield from shown_values(value)
    else:
        yield str(state)


def masked(draft: WorldDraft) -> str:
    """What a policy can see of a compact world, names as "@" and everything with a digit as "0"."""
    seen = [draft.instruction]
    for path in sorted(draft.files):
        seen += [path, draft.files[path].data.decode()]
    seen += shown_values(draft.state)
    words = _WORD.findall(" ".join(seen))
    return " ".join("@" if w in _names() else "0" if any(c.isdigit() for c in w) else w.casefold() for w in words)


def sketch(text: str) -> np.ndarray:
    """MinHash of a text's three-word shingles: int64 of shape (128,)."""
    words = text.split()
    shingles = {" ".join(words[i : i + 3]) for i in range(max(1, len(words) - 2))}
    hashed = np.array([zlib.crc32(s.encode()) % _PRIME for s in sorted(shingles)], dtype=np.int64)
    drawn = np.random.default_rng(7).integers(1, _PRIME, size=(2, _PERMUTATIONS))
    return np.asarray(((hashed[:, None] * (drawn[0] % 65536) + drawn[1]) % _PRIME).min(axis=0))


def near_duplicates(drafts: Sequence[WorldDraft]) -> int:
    """How many drafts are nearly an earlier one (similarity >= 0.8)."""
    sketches = np.stack([sketch(masked(draft)) for draft in drafts])
    alike = [i for i in range(1, len(sketches)) if (sketches[:i] == sketches[i]).mean(axis=1).max() >= NEAR]
    return len(alike)
