"""What one check found: met or not, and the one line of evidence that decided it."""

from collections.abc import Mapping
from typing import NamedTuple


class Finding(NamedTuple):
    """`evidence` names what was looked at and what was there, one line."""

    met: bool
    evidence: str


def brief(value: object, limit: int = 80) -> str:
    """`value` as one line of plain words, at most `limit` characters: `status active, dock D2 or D4`."""
    text = " ".join(_words(value).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def counted(number: int, what: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _words(value: object, joint: str = ", ") -> str:
    if isinstance(value, Mapping):
        return joint.join(f"{name} {_words(one, ' or ')}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return joint.join(_words(one, ", ") for one in value)
    return "nothing" if value is None else str(value)
