"""Checkpoints as safetensors on disk, without loading them: headers, keys, shards, slices and raw bytes.

This is the second code path: it parses files itself (8-byte length, JSON header, data) and never asks the safetensors
library, so what the library wrote or read is checked against an independent reading.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from journeyman.errors import UserError

INDEX = "model.safetensors.index.json"
DTYPES: dict[str, torch.dtype] = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
FLOATS = {"F64", "F32", "F16", "BF16"}


@dataclass(frozen=True)
class TensorInfo:
    """One stored tensor."""

    key: str
    dtype: str  # safetensors name
    shape: tuple[int, ...]
    shard: str  # file name
    start: int  # of its bytes in the file
    end: int

    @property
    def floating(self) -> bool:
        """Whether it is averaged."""
        return self.dtype in FLOATS

    @property
    def bytes(self) -> int:
        """Stored size."""
        return self.end - self.start


@dataclass(frozen=True)
class Layout:
    """All tensors of a checkpoint directory, in shard and file order."""

    directory: Path
    tensors: dict[str, TensorInfo]
    shards: tuple[str, ...]

    @property
    def total_bytes(self) -> int:
        """Sum of the stored sizes."""
        return sum(t.bytes for t in self.tensors.values())

    @cached_property
    def _maps(self) -> dict[str, np.memmap[Any, np.dtype[np.uint8]]]:
        return {name: np.memmap(self.directory / name, dtype=np.uint8, mode="r") for name in self.shards}

    def raw(self, key: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """A tensor's stored bytes."""
        info = self.tensors[key]
        return self._maps[info.shard][info.start : info.end]

    def tensor(self, key: str) -> Tensor:
        """A copy of a tensor, by this module's own reading."""
        info = self.tensors[key]
        if not info.bytes:
            return torch.zeros(info.shape, dtype=DTYPES[info.dtype])
        return torch.frombuffer(bytearray(self.raw(key)), dtype=DTYPES[info.dtype]).reshape(info.shape)


def _header(path: Path) -> tuple[int, dict[str, Any]]:
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > path.stat().st_size:
                raise ValueError("the header is longer than the file")
            return 8 + length, json.loads(file.read(length))
    except ValueError as error:
        raise UserError(f"{path} is not a safetensors file ({error}): give a checkpoint directory") from None


def read_layout(directory: Path) -> Layout:
    """Headers of all shards. Raises UserError for a missing, torn or inconsistent checkpoint, naming the key."""
    names = sorted(p.name for p in directory.glob("*.safetensors"))
    if not names:
        raise UserError(f"{directory} holds no *.safetensors: give a checkpoint directory")
    tensors: dict[str, TensorInfo] = {}
    for name in names:
        at, header = _header(directory / name)
        size = (directory / name).stat().st_size
        for key, entry in sorted(
            ((k, v) for k, v in header.items() if k != "__metadata__"), key=lambda kv: kv[1]["data_offsets"]
        ):
            info = TensorInfo(
                key, entry["dtype"], tuple(entry["shape"]), name, *(at + o for o in entry["data_offsets"])
            )
            _check(info, directory, size, tensors)
            tensors[key] = info
    _check_index(directory, tensors)
    return Layout(directory, tensors, tuple(names))


def _check(info: TensorInfo, directory: Path, size: int, seen: dict[str, TensorInfo]) -> None:
    if info.key in seen:
        raise UserError(f"{directory}: {info.key} is in {seen[info.key].shard} and in {info.shard}: one shard each")
    if info.dtype not in DTYPES:
        raise UserError(f"{directory}: {info.key} has dtype {info.dtype}, which is not merged: convert it first")
    if info.end > size or info.bytes != prod(info.shape) * DTYPES[info.dtype].itemsize:
        raise UserError(f"{directory}: {info.key} does not fit its file or shape: the shard {info.shard} is torn")


def _check_index(directory: Path, tensors: dict[str, TensorInfo]) -> None:
    path = directory / INDEX
    if not path.exists():
        return
    index: dict[str, str] = json.loads(path.read_bytes())["weight_map"]
    wrong = {k for k in index.keys() | tensors.keys() if k not in tensors or index.get(k) != tensors[k].shard}
    if wrong:
        raise UserError(f"{directory}: {sorted(wrong)[0]} is not where {INDEX} says: the checkpoint is incomplete")


def slices(info: TensorInfo, elementwise: bool, slice_bytes: int) -> Iterator[tuple[slice, ...]]:
    """Consecutive slices of the leading dimensions that together are the tensor, in storage order.

    Elementwise methods take row chunks of at most `slice_bytes`. Others take what one projection is: fused experts
    `gate_up_proj [E, 2I, H]` by expert and half, `down_proj [E, H, I]` by expert, everything else whole.
    """
    if not info.shape:
        yield ()
    elif elementwise:
        rows = max(1, slice_bytes // max(1, info.bytes // max(info.shape[0], 1)))
        for at in range(0, info.shape[0], rows):
            yield (slice(at, min(at + rows, info.shape[0])),)
    elif len(info.shape) == 3 and info.key.endswith("experts.gate_up_proj"):
        half = info.shape[1] // 2
        for e in range(info.shape[0]):
            yield (slice(e, e + 1), slice(0, half))
            yield (slice(e, e + 1), slice(half, info.shape[1]))
    elif len(info.shape) == 3 and info.key.endswith("experts.down_proj"):
        for e in range(info.shape[0]):
            yield (slice(e, e + 1),)
    else:
        yield tuple(slice(0, n) for n in info.shape[:1])
