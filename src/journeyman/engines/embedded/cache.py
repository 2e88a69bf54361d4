"""The sampler's KV memory: rows that are being decoded, and a store of finished prefixes by lineage.

Invariant: a stored prefix is reused only if every key and value in it was computed by the version that asks.

Shapes: L layers, R rows, H key-value heads, D head size, C context. Keys are kept transposed, [L, R, H, D, C], because
decoding reads them column-wise; values are [L, R, H, C, D].
"""

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Ids = NDArray[np.int32]


@dataclass
class Prefix:
    """Keys [L, H, D, n] and values [L, H, n, D] of `ids` [n], all computed by `version`."""

    ids: Ids
    keys: Tensor
    values: Tensor
    version: int


@dataclass
class Piece:
    """Ids [n] to be computed at positions start.. of a row whose earlier positions are there already."""

    row: int
    start: int
    ids: Ids


def causal_mask(start: int, new: int, device: torch.device) -> Tensor:
    """What `new` tokens after `start` may see of start + new positions: additive, [1, 1, new, start + new]."""
    seen = torch.arange(start + new, device=device) <= torch.arange(start, start + new, device=device)[:, None]
    return torch.zeros(1, 1, new, start + new, device=device).masked_fill_(~seen, -torch.inf)


class Rows:
    """Preallocated buffers of the calls being decoded; a row belongs to one call at a time."""

    def __init__(
        self,
        layers: int,
        rows: int,
        heads: int,
        head_size: int,
        context: int,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.keys = torch.zeros(layers, rows, heads, head_size, context, device=device, dtype=dtype)
        self.values = torch.zeros(layers, rows, heads, context, head_size, device=device, dtype=dtype)
        self.context = context

    def restore(self, row: int, prefix: Prefix, length: int) -> None:
        """Copy the first `length` positions of `prefix` into `row`."""
        self.keys[:, row, :, :, :length] = prefix.keys[..., :length]
        self.values[:, row, :, :length] = prefix.values[:, :, :length]

    def copy(self, source: int, row: int, length: int) -> None:
        """Copy the first `length` positions of row `source` into `row`."""
        self.keys[:, row, :, :, :length] = self.keys[:, source, :, :, :length]
        self.values[:, row, :, :length] = self.values[:, source, :, :length]

    def take(self, row: int, ids: Ids, version: int) -> Prefix:
        """A copy of the first len(ids) positions of `row`."""
        n = len(ids)
        return Prefix(ids, self.keys[:, row, :, :, :n].clone(), self.values[:, row, :, :n].clone(), version)


def common_length(a: Ids, b: Ids) -> int:
    """Length of the longest common prefix of two id arrays."""
    n = min(len(a), len(b))
    differs = np.flatnonzero(a[:n] != b[:n])
    return int(differs[0]) if len(differs) else n


class Store:
    """Finished prefixes by lineage, least recently used out first. `capacity_tokens` bounds the memory."""

    def __init__(self, capacity_tokens: int) -> None:
        self.capacity_tokens = capacity_tokens
        self._held: OrderedDict[str, Prefix] = OrderedDict()
        self._tokens = 0

    def __len__(self) -> int:
        return len(self._held)

    def get(self, lineage: str) -> Prefix | None:
        """The lineage's own prefix; None where it has none."""
        return self._held.get(lineage)

    def put(self, lineage: str, prefix: Prefix) -> None:
        """Keep the lineage's newest prefix."""
        self.drop(lineage)
        self._held[lineage] = prefix
        self._tokens += len(prefix.ids)
        while self._tokens > self.capacity_tokens and self._held:
            _, gone = self._held.popitem(last=False)
            self._tokens -= len(gone.ids)

    def drop(self, lineage: str) -> None:
        """Forget a lineage; unknown ones are ignored."""
        gone = self._held.pop(lineage, None)
        if gone is not None:
            self._tokens -= len(gone.ids)

    def drop_all(self) -> None:
        """Forget everything (the weights changed)."""
        self._held.clear()
        self._tokens = 0

    def best(self, lineage: str, ids: Ids, version: int) -> tuple[Prefix | None, int]:
        """The prefix that covers most of `ids` (never all of it), and how much. The lineage's own is tried first."""
        own = self._held.get(lineage)
        if own is not None and own.version == version:
            self._held.move_to_end(lineage)
            return own, min(common_length(own.ids, ids), len(ids) - 1)
        found, most = None, 0
        for prefix in self._held.values():
            if prefix.version == version:
                covered = min(common_length(prefix.ids, ids), len(ids) - 1)
                if covered > most:
                    found, most = prefix, covered
        return found, most
