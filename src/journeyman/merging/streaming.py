"""Merging one slice at a time: parents are read by the safetensors library, the output is written as it is computed.

Memory: one slice per parent. Accumulation is wide (fp32; fp64 where a parent is fp32 or wider), the cast happens once.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from io import FileIO
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from journeyman.errors import UserError
from journeyman.merging.base import MergeMethod
from journeyman.merging.experts import ReadRows
from journeyman.merging.layout import DTYPES, INDEX, Layout, TensorInfo, row_chunks
from journeyman.merging.plan import Plan, Spread, Step

REOPEN_BYTES = 32 << 20
"""A file is mapped anew after so many bytes, so that its pages do not stay in this process's memory."""
WAITING = 8  # slices computed and not yet written


def accumulation(infos: Sequence[TensorInfo]) -> torch.dtype:
    """fp32 for 16-bit parents, fp64 where one is wider: exact enough that M copies average to themselves."""
    return torch.float64 if any(DTYPES[i.dtype].itemsize >= 4 for i in infos) else torch.float32


def wide_for(step: Step, parents: Sequence[Layout], base: Layout | None) -> torch.dtype:
    """The accumulation type of a merged tensor."""
    keys = step.keys or tuple(next(iter(b.keys.values())) for b in (step.spread.blocks if step.spread else ()))
    infos = [parents[i].tensors[key] for i, key in zip(step.owners, keys, strict=True)]
    if base is not None:
        key = next(iter(step.spread.base.keys.values())) if step.spread and step.spread.base else step.base_key
        infos.append(base.tensors[key])
    return accumulation(infos)


def merge_slice(
    step: Step, method: MergeMethod, parents: Sequence[Tensor], base: Tensor | None, wide: torch.dtype
) -> Tensor:
    """The merged slice in the output's dtype. Raises UserError where it is not finite."""
    merged = method.combine([p.to(wide) for p in parents], None if base is None else base.to(wide))
    merged = merged.to(DTYPES[step.like.dtype])
    if not torch.isfinite(merged.sum(dtype=wide)):
        raise UserError(
            f"{step.key}: the {method.name} is not finite in {step.like.dtype}: a parent holds a NaN or an infinity, "
            "or the result does not fit: keep a parent of a wider dtype, or lower the scale"
        )
    return merged


class Reader:
    """Rows of one checkpoint's tensors by the safetensors library."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._name = ""
        self._file: Any = None
        self._left = 0

    def rows(self, key: str, first: int, last: int) -> Tensor:
        """Rows [first, last) of a tensor's first dimension; a scalar whole."""
        info = self._layout.tensors[key]
        if info.shard != self._name or self._left <= 0:
            self.close()
            self._file = safe_open(self._layout.directory / info.shard, framework="pt")
            self._file.__enter__()
            self._name, self._left = info.shard, REOPEN_BYTES
        self._left -= info.bytes // max(info.shape[0], 1) * (last - first) if info.shape else info.bytes
        if not info.shape:
            scalar: Tensor = self._file.get_tensor(key)
            return scalar
        part: Tensor = self._file.get_slice(key)[first:last]
        return part

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.__exit__(None, None, None)
            self._file = None


def _header(steps: Sequence[Step]) -> bytes:
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for step in steps:
        entries[step.key] = {
            "dtype": step.like.dtype,
            "shape": list(step.like.shape),
            "data_offsets": [at, at + step.like.bytes],
        }
        at += step.like.bytes
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def as_bytes(tensor: Tensor) -> memoryview:
    """The stored bytes of a tensor."""
    flat = tensor.contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().data if flat.numel() else memoryview(b"")


def write_merged(
    plan: Plan,
    parents: Sequence[Layout],
    base: Layout | None,
    method: MergeMethod,
    out: Path,
    slice_bytes: int,
    progress: Callable[[int, int], None],
) -> tuple[str, ...]:
    """Write all shards (and the index where the kept parent has several), one ahead of the disk. Returns file names."""
    done = 0
    with ThreadPoolExecutor(1) as writer:
        for name, steps in plan.shards.items():
            with (out / name).open("wb", buffering=0) as file:
                waiting: list[Future[None]] = []
                for chunk in _shard(steps, parents, base, method, slice_bytes):
                    waiting.append(writer.submit(_put, file, memoryview(chunk)))
                    if len(waiting) > WAITING:
                        waiting.pop(0).result()
                    done += len(chunk)
                    progress(done, plan.total_bytes)
                for one in waiting:
                    one.result()
                os.fsync(file.fileno())
    if len(plan.shards) == 1:
        return tuple(plan.shards)
    weight_map = {step.key: name for name, steps in plan.shards.items() for step in steps}
    index = {"metadata": {"total_size": plan.total_bytes}, "weight_map": dict(sorted(weight_map.items()))}
    (out / INDEX).write_text(json.dumps(index, indent=2))
    return (*plan.shards, INDEX)


def _put(file: FileIO, data: memoryview) -> None:
    while data:
        data = data[file.write(data) :]


def _shard(
    steps: Sequence[Step],
    parents: Sequence[Layout],
    base: Layout | None,
    method: MergeMethod,
    slice_bytes: int,
) -> Iterator[memoryview | bytes]:
    readers = [Reader(parent) for parent in parents]
    ancestor = None if base is None else Reader(base)
    yield _header(steps)
    for step in steps:
        if step.treatment != "merged":
            for first, last in row_chunks(step.like, slice_bytes):
                given = readers[step.giver].rows(step.keys[step.owners.index(step.giver)], first, last)
                if step.like.floating and not torch.isfinite(given.sum(dtype=torch.float64)):
                    owner = parents[step.giver].directory
                    raise UserError(
                        f"{step.key} of {owner}, which would be inherited, holds a NaN or an infinity: mend it there"
                    )
                yield as_bytes(given)
            continue
        wide = wide_for(step, parents, base)
        if step.spread is not None:
            for parts in _experts(step, step.spread, method, readers, ancestor, wide):
                yield as_bytes(parts)
            continue
        size = slice_bytes if method.elementwise else max(step.like.bytes, 1)
        for first, last in row_chunks(step.like, size):
            values = [readers[i].rows(k, first, last) for i, k in zip(step.owners, step.keys, strict=True)]
            below = None if ancestor is None else ancestor.rows(step.base_key, first, last)
            yield as_bytes(merge_slice(step, method, values, below, wide))
    for reader in (*readers, *([ancestor] if ancestor else [])):
        reader.close()


def _experts(
    step: Step, spread: Spread, method: MergeMethod, readers: Sequence[Reader], base: Reader | None, wide: torch.dtype
) -> Iterator[Tensor]:
    """The stored tensor of experts, one expert at a time."""
    reads: list[ReadRows] = [readers[i].rows for i in step.owners]
    for expert, projections in spread.parts:
        values = [b.read(r, expert, projections) for b, r in zip(spread.blocks, reads, strict=True)]
        below = spread.base.read(base.rows, expert, projections) if spread.base and base else [None] * len(projections)
        merged = [
            merge_slice(step, method, [v[n].contiguous() for v in values], None if b is None else b.contiguous(), wide)
            for n, b in enumerate(below)
        ]
        yield spread.home.join(merged)
