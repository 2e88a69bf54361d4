"""What one check found: met or not, and the one line of evidence that decided it."""

from typing import NamedTuple


class Finding(NamedTuple):
    """`evidence` names what was looked at and what was there, one line."""

    met: bool
    evidence: str


def brief(value: object, limit: int = 80) -> str:
    """`value` on one line of at most `limit` characters."""
    text = " ".join(str(value).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
