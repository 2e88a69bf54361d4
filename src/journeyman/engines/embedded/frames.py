"""Frames between driver and sampler: u32 length, u32 header length, a JSON header, then raw little-endian arrays."""

import json
import struct
from typing import Any, NamedTuple

_HEAD = struct.Struct("<II")
MAX_FRAME_BYTES = 64 * 1024 * 1024


class Frame(NamedTuple):
    """A message: what it is, and its arrays' bytes."""

    header: dict[str, Any]
    payload: bytes = b""


def pack(header: dict[str, Any], payload: bytes = b"") -> bytes:
    """One frame as bytes."""
    head = json.dumps(header, separators=(",", ":")).encode()
    return _HEAD.pack(4 + len(head) + len(payload), len(head)) + head + payload


class Unpacker:
    """Collects bytes and yields whole frames. Raises ValueError on a frame that cannot be one of ours."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Frames that `data` completes."""
        self._buffer += data
        frames = []
        while len(self._buffer) >= _HEAD.size:
            length, head_length = _HEAD.unpack_from(self._buffer)
            if length > MAX_FRAME_BYTES or head_length + 4 > length:
                raise ValueError(f"a frame of {length} bytes with a header of {head_length} is not ours")
            if len(self._buffer) < 4 + length:
                break
            head = bytes(self._buffer[_HEAD.size : _HEAD.size + head_length])
            payload = bytes(self._buffer[_HEAD.size + head_length : 4 + length])
            del self._buffer[: 4 + length]
            frames.append(Frame(json.loads(head), payload))
        return frames
