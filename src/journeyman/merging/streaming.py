"""Merging one slice at a time: parents are read by the safetensors library, the output is written as it is computed.

Memory: one slice per parent. Accumulation is wide (fp32; fp64 where a parent is fp32 or wider), the cast happens once.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from journeyman.merging.base import MergeMethod
from journeyman.merging.layout import DTYPES, INDEX, Layout, TensorInfo, slices
from journeyman.merging.plan import Plan, Step

Read = Callable[[str, tuple[slice, ...]], Tensor]


def accumulation(infos: Sequence[TensorInfo]) -> torch.dtype:
    """fp32 for 16-bit parents, fp64 where one is wider: exact enough that M copies average to themselves."""
    return torch.float64 if any(DTYPES[i.dtype].itemsize >= 4 for i in infos) else torch.float32


def merge_slice(
    step: Step, method: MergeMethod, parents: Sequence[Tensor], base: Tensor | None, wide: torch.dtype
) -> Tensor:
    """The merged slice in the output's dtype."""
    merged = method.combine([p.to(wide) for p in parents], None if base is None else base.to(wide))
    return merged.to(DTYPES[step.like.dtype])


def _reader(layout: Layout, stack: ExitStack) -> Read:
    files: dict[str, Any] = {}

    def read(key: str, where: tuple[slice, ...]) -> Tensor:
        shard = layout.tensors[key].shard
        if shard not in files:
            files[shard] = stack.enter_context(safe_open(layout.directory / shard, framework="pt"))
        if not where:
            tensor: Tensor = files[shard].get_tensor(key)
            return tensor
        part: Tensor = files[shard].get_slice(key)[where if len(where) > 1 else where[0]]
        return part

    return read


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


def _to_bytes(tensor: Tensor) -> bytes:
    flat = tensor.contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def write_merged(
    plan: Plan,
    parents: Sequence[Layout],
    base: Layout | None,
    method: MergeMethod,
    out: Path,
    slice_bytes: int,
    progress: Callable[[int, int], None],
) -> dict[str, str]:
    """Write all shards (and the index where the kept parent has several). Returns file -> sha256."""
    digests: dict[str, str] = {}
    done = 0
    with ExitStack() as stack:
        readers = [_reader(parent, stack) for parent in parents]
        base_reader = None if base is None else _reader(base, stack)
        for name, steps in plan.shards.items():
            digest = hashlib.sha256()
            with (out / name).open("wb") as file:
                for chunk in _shard(steps, parents, base, readers, base_reader, method, slice_bytes):
                    file.write(chunk)
                    digest.update(chunk)
                    done += len(chunk)
                    progress(done, plan.total_bytes)
                file.flush()
                os.fsync(file.fileno())
            digests[name] = digest.hexdigest()
    if len(plan.shards) > 1:
        weight_map = {step.key: name for name, steps in plan.shards.items() for step in steps}
        index = {"metadata": {"total_size": plan.total_bytes}, "weight_map": dict(sorted(weight_map.items()))}
        data = json.dumps(index, indent=2).encode()
        (out / INDEX).write_bytes(data)
        digests[INDEX] = hashlib.sha256(data).hexdigest()
    return digests


def _shard(
    steps: Sequence[Step],
    parents: Sequence[Layout],
    base: Layout | None,
    readers: Sequence[Read],
    base_reader: Read | None,
    method: MergeMethod,
    slice_bytes: int,
) -> Iterator[bytes]:
    yield _header(steps)
    for step in steps:
        whole = method.elementwise or step.treatment != "merged"
        infos = [parents[i].tensors[step.key] for i in step.owners]
        if base is not None and step.treatment == "merged":
            infos.append(base.tensors[step.key])
        wide = accumulation(infos)
        for where in slices(step.like, whole, slice_bytes):
            if step.treatment != "merged":
                yield _to_bytes(readers[step.owners[0]](step.key, where))
                continue
            values = [readers[i](step.key, where) for i in step.owners]
            ancestor = None if base_reader is None else base_reader(step.key, where)
            yield _to_bytes(merge_slice(step, method, values, ancestor, wide))
