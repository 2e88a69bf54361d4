"""Checkpoints as safetensors on disk, without loading them: headers, keys, shards, slices and raw bytes.

This is the second code path: it parses files itself (8-byte length, JSON header, data) and never asks the safetensors
library, so what the library wrote or read is checked against an independent reading. Bytes are read by position, never
mapped, so memory holds one slice and no page of the file.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import torch
from pydantic import NonNegativeInt
from torch import Tensor

from journeyman.errors import UserError
from journeyman.merging.lineage import WHOLE
from journeyman.records.base import Record, first_fault
from journeyman.store.config_file import read_values

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
    _files: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    @property
    def total_bytes(self) -> int:
        """Sum of the stored sizes."""
        return sum(t.bytes for t in self.tensors.values())

    @property
    def config(self) -> dict[str, Any]:
        """config.json; empty where there is none."""
        path = self.directory / "config.json"
        return read_values(path, WHOLE) if path.exists() else {}

    def close(self) -> None:
        """Close the shards that were read."""
        while self._files:
            os.close(self._files.popitem()[1])

    def rows(self, key: str, first: int, last: int) -> Tensor:
        """A copy of rows [first, last) of a tensor's first dimension, by this module's own reading."""
        info = self.tensors[key]
        row = info.bytes // max(info.shape[0], 1)
        data = self._read(info, first * row, last * row)
        if not data:
            return torch.zeros((last - first, *info.shape[1:]), dtype=DTYPES[info.dtype])
        return torch.frombuffer(data, dtype=DTYPES[info.dtype]).reshape(last - first, *info.shape[1:])

    def tensor(self, key: str) -> Tensor:
        """A copy of a whole tensor, by this module's own reading."""
        info = self.tensors[key]
        if info.shape:
            return self.rows(key, 0, info.shape[0])
        return torch.frombuffer(self._read(info, 0, info.bytes), dtype=DTYPES[info.dtype]).reshape(())

    def _read(self, info: TensorInfo, first: int, last: int) -> bytearray:
        if info.shard not in self._files:
            self._files[info.shard] = os.open(self.directory / info.shard, os.O_RDONLY)
        data = bytearray(last - first)
        view, at = memoryview(data), 0
        while at < len(data):
            got = os.preadv(self._files[info.shard], [view[at:]], info.start + first + at)
            if not got:
                raise UserError(f"{self.directory / info.shard} became shorter while it was read: restore the file")
            at += got
        return data


class _Entry(Record):
    """What a header says of one tensor."""

    dtype: str
    shape: tuple[NonNegativeInt, ...]
    data_offsets: tuple[NonNegativeInt, NonNegativeInt]


def _header(path: Path) -> tuple[int, dict[str, _Entry]]:
    """Where the data begin, and the tensors in file order. Raises UserError."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > path.stat().st_size:
                raise ValueError("the header is longer than the file")
            header = json.loads(file.read(length))
        if not isinstance(header, dict):
            raise ValueError(f"its header is a {type(header).__name__}, not a table")
        found = {key: _entry(key, entry) for key, entry in header.items() if key != "__metadata__"}
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not a safetensors file ({error}): give {WHOLE}") from None
    return 8 + length, dict(sorted(found.items(), key=lambda item: item[1].data_offsets))


def _entry(key: str, entry: Any) -> _Entry:
    try:
        return _Entry.model_validate(entry)
    except ValueError as error:
        raise ValueError(f"{key}: {first_fault(error)}") from None


def read_layout(directory: Path) -> Layout:
    """Headers of all shards. Raises UserError for a missing, torn or inconsistent checkpoint, naming the key."""
    names = sorted(p.name for p in directory.glob("*.safetensors"))
    if (directory / "adapter_config.json").exists() or any("adapter" in name for name in names):
        raise UserError(
            f"{directory} holds an adapter, whose factors cannot be averaged one by one: merge it into its base first"
        )
    if not names:
        raise UserError(f"{directory} holds no *.safetensors: give a checkpoint directory")
    tensors: dict[str, TensorInfo] = {}
    for name in names:
        at, header = _header(directory / name)
        size = (directory / name).stat().st_size
        for key, entry in header.items():
            info = TensorInfo(key, entry.dtype, entry.shape, name, *(at + o for o in entry.data_offsets))
            _check(info, directory, size, tensors)
            tensors[key] = info
    _check_index(directory, tensors)
    return Layout(directory, tensors, tuple(names))


def _check(info: TensorInfo, directory: Path, size: int, seen: dict[str, TensorInfo]) -> None:
    if info.key in seen:
        raise UserError(f"{directory}: {info.key} is in {seen[info.key].shard} and in {info.shard}: one shard each")
    if ".lora_" in info.key:
        raise UserError(f"{directory}: {info.key} is a factor of an adapter: merge it into its base first")
    if info.dtype not in DTYPES:
        raise UserError(f"{directory}: {info.key} has dtype {info.dtype}, which is not merged: convert it first")
    if info.end > size or info.bytes != prod(info.shape) * DTYPES[info.dtype].itemsize:
        raise UserError(f"{directory}: {info.key} does not fit its file or shape: the shard {info.shard} is torn")


def _check_index(directory: Path, tensors: dict[str, TensorInfo]) -> None:
    path = directory / INDEX
    if not path.exists():
        return
    index = read_values(path, WHOLE).get("weight_map")
    if not isinstance(index, dict):
        raise UserError(f"{path} has no weight_map: give {WHOLE}")
    wrong = {k for k in index.keys() | tensors.keys() if k not in tensors or index.get(k) != tensors[k].shard}
    if wrong:
        raise UserError(f"{directory}: {sorted(wrong)[0]} is not where {INDEX} says: the checkpoint is incomplete")


def row_chunks(info: TensorInfo, chunk_bytes: int) -> Iterator[tuple[int, int]]:
    """Consecutive row ranges of at most `chunk_bytes` (at least one row) that together are the tensor, in order."""
    count = info.shape[0] if info.shape else 1
    rows = max(1, chunk_bytes // max(1, info.bytes // max(count, 1)))
    for at in range(0, count, rows):
        yield at, min(at + rows, count)
