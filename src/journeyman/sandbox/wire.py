"""Frames between host and executor. Invariant: bytes from a box are parsed, never evaluated or unmarshalled."""

import marshal
from typing import Any

MAX_REPLY_BYTES = 256 << 20
MAX_DEPTH = 8


class WireError(Exception):
    """The bytes are not a reply an executor writes."""


def request(op: str, args: dict[str, Any]) -> bytes:
    """One request frame: 4-byte big-endian length, marshal of (op, args)."""
    body = marshal.dumps((op, args))
    return len(body).to_bytes(4, "big") + body


def reply(body: bytes) -> dict[str, Any]:
    """Read one reply body (without its length). Raises WireError."""
    try:
        value, end = _parse(body, 0, 0)
    except (ValueError, IndexError, UnicodeDecodeError, TypeError) as error:
        raise WireError(f"unreadable reply: {error}") from error
    if end != len(body) or not isinstance(value, dict):
        raise WireError("a reply is one dict and nothing after it")
    return value


def _length(body: bytes, at: int, end_mark: bytes) -> tuple[int, int]:
    end = body.index(end_mark, at, at + 24)
    return int(body[at:end]), end + 1


def _parse(body: bytes, at: int, depth: int) -> tuple[Any, int]:
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    tag = body[at : at + 1]
    at += 1
    if tag in b"ntf" and tag:
        return {b"n": None, b"t": True, b"f": False}[tag], at
    if tag == b"i":
        return _length(body, at, b";")
    size, at = _length(body, at, b":")
    if size < 0 or size > len(body) - at:
        raise ValueError("length beyond the frame")
    if tag in (b"s", b"b"):
        data = body[at : at + size]
        return (data.decode() if tag == b"s" else data), at + size
    if tag == b"l":
        items = []
        for _ in range(size):
            item, at = _parse(body, at, depth + 1)
            items.append(item)
        return items, at
    if tag == b"d":
        pairs: dict[str, Any] = {}
        for _ in range(size):
            key, at = _parse(body, at, depth + 1)
            if not isinstance(key, str):
                raise ValueError("a key is a string")
            pairs[key], at = _parse(body, at, depth + 1)
        return pairs, at
    raise ValueError(f"unknown tag {tag!r}")
