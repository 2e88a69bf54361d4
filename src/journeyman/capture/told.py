"""A client's history as a rolling hash: what was told before is recognised by one comparison, however long it is.

Items are hashed as they were spelled. Equal hashes are equal spellings; other spellings are compared as messages.
"""

import hashlib
import marshal
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


class Told(NamedTuple):
    """A history as a client told it: how many items they were, and how many recorded entries they stand for."""

    items: int
    entries: int
    digest: bytes


NOTHING_TOLD = Told(0, 0, hashlib.sha256().digest())


def _bytes(item: Any) -> bytes:
    return marshal.dumps(item, 2)  # order kept and no references: the same content has the same bytes


def spelling(item: Any) -> bytes:
    """Hash of one item."""
    return hashlib.sha256(_bytes(item)).digest()


def rolling(items: Sequence[Any], depths: Iterable[int]) -> dict[int, bytes]:
    """Hashes of items[:depth] for the depths that there are, and of all items, in one pass."""
    state, found, at = hashlib.sha256(), {}, 0
    for depth in sorted({depth for depth in depths if depth <= len(items)} | {len(items)}):
        for item in items[at:depth]:
            state.update(_bytes(item))
        at = depth
        found[depth] = state.digest()
    return found
