"""Frames: what an executor packs is read back, and nothing else is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeyman.sandbox import wire
from journeyman.sandbox.executor.serve import pack

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(min_value=-(2**63), max_value=2**63) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def packed(value: Any) -> bytes:
    out: list[bytes] = []
    pack(value, out)
    return b"".join(out)


def depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(depth, inner), default=0)


@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=4))
def test_a_reply_is_read_back(value: dict[str, Any]) -> None:
    if depth(value) <= wire.MAX_DEPTH:
        assert wire.reply(packed(value)) == value


@given(st.binary(max_size=200))
def test_bytes_that_are_no_reply_are_refused(data: bytes) -> None:
    try:
        value = wire.reply(data)
    except wire.WireError:
        return
    assert isinstance(value, dict)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"s1:a",
        b"d1:s1:a",
        b"d1:i1;n",
        b"d0:x",
        b"d1:s1:as999999999:x",
        b"d1:s1:al99999999999999999999999:",
        b"d1:s1:ai12",
        b"d1:s1:as-1:",
        b"d1:s1:as1:\xff",
        b"d1:s1:a" + b"l1:" * 50 + b"n",
    ],
)
def test_malformed_replies_are_refused(data: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.reply(data)
