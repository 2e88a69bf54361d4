"""Which experts a mixture-of-experts engine used, row by absolute position: row j belongs to input token j.

An engine that saw T tokens returns rows for positions [start, T - 1): the last sampled token is never fed back.
Invariant: rows held are a gapless run from position 0; a reply that leaves a hole is refused, never padded.
Design: rollout routing replay (arXiv 2510.11370).
"""

import base64
import binascii

import numpy as np
import numpy.typing as npt

from journeyman.errors import EngineFailure
from journeyman.records.base import Record

Rows = npt.NDArray[np.uint16]  # [n, layers, top_k]


class ExpertShape(Record):
    """The routers of a model: `experts` bounds the ids, which are stored in one byte where they fit."""

    layers: int
    top_k: int
    experts: int

    @property
    def dtype(self) -> str:
        """uint8 up to 256 experts, uint16 above."""
        return "uint8" if self.experts <= 256 else "<u2"


class Routes(Record):
    """Rows [rows, layers, top_k] for absolute positions start.. of a call's tokens, little-endian."""

    start: int
    rows: int
    shape: ExpertShape
    data: bytes

    def array(self) -> Rows:
        """Expert ids as uint16 [rows, layers, top_k]."""
        flat = np.frombuffer(self.data, self.shape.dtype).astype(np.uint16)
        return flat.reshape(self.rows, self.shape.layers, self.shape.top_k)


def routes_from(ids: npt.NDArray[np.integer], start: int, tokens: int, shape: ExpertShape) -> Routes:
    """Check an engine's rows and pack them: they must be exactly those of [start, tokens - 1).

    `ids`: any integer array of rows * layers * top_k. `tokens`: prompt plus sampled. Raises EngineFailure("routes").
    """
    rows = tokens - 1 - start
    if ids.size != rows * shape.layers * shape.top_k:
        per_row = shape.layers * shape.top_k
        text = f"{ids.size / per_row:g} rows of {shape.layers}x{shape.top_k} for positions {start}..{tokens - 1}"
        raise EngineFailure("routes", text)
    if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) < shape.experts:
        raise EngineFailure("routes", f"expert ids from {ids.min()} to {ids.max()}, the model has {shape.experts}")
    return Routes(start=start, rows=rows, shape=shape, data=ids.astype(shape.dtype).tobytes())


def decode_int32(text: str) -> npt.NDArray[np.int32]:
    """Expert ids from base64 of raw little-endian int32. Raises EngineFailure("routes")."""
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), dtype="<i4")
    except (binascii.Error, ValueError) as error:
        raise EngineFailure("routes", f"routed experts cannot be read: {error}") from error


class RouteBook:
    """A lineage's rows as its turns come. Later replies replace nothing that is held: they only append."""

    def __init__(self, shape: ExpertShape) -> None:
        self.shape = shape
        self._parts: list[Rows] = []
        self.rows = 0

    def add(self, routes: Routes) -> None:
        """Keep the rows from the first missing position on. Raises EngineFailure("routes") where some are skipped."""
        if routes.start > self.rows:
            raise EngineFailure("routes", f"positions {self.rows}..{routes.start} of the lineage have no experts")
        if (new := routes.start + routes.rows - self.rows) > 0:
            self._parts.append(routes.array()[-new:])
            self.rows += new

    def covered(self, tokens: int) -> Rows:
        """Rows [tokens - 1, layers, top_k] of a segment of that many tokens. Raises EngineFailure("routes")."""
        if self.rows < tokens - 1:
            raise EngineFailure("routes", f"{self.rows} rows for a segment of {tokens} tokens")
        empty = np.zeros((0, self.shape.layers, self.shape.top_k), dtype=np.uint16)
        return np.concatenate([empty, *self._parts])[: tokens - 1]
