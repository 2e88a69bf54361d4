"""Written shards are opened again by our own parser and recomputed from the parents; every bit must agree.

Checked: every key and byte of every parent is in the output or named as left out, each key in one shard, byte totals,
sha256 of every file, and the value of `sample` tensors (all by default), recomputed slice by slice from raw bytes.
Experts are found again in what was written, by its own shapes, and compared projection by projection.
"""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from journeyman.errors import JourneymanError
from journeyman.merging.base import MergeMethod
from journeyman.merging.experts import Block, canonical, find_blocks
from journeyman.merging.layout import INDEX, Layout, read_layout, row_chunks
from journeyman.merging.plan import Plan, Spread, Step
from journeyman.merging.streaming import merge_slice, wide_for
from journeyman.store.checkpoint import sha256_file

_CHUNK = 1 << 20


class MergeBroken(JourneymanError):
    """What was written is not the merge of its parents; the message names the first key or file."""


class Verified(NamedTuple):
    """What was found equal."""

    tensors: int  # recomputed from the parents
    digests: dict[str, str]  # file -> sha256 of what lies on disk


def verify(
    out: Path,
    names: Iterable[str],
    plan: Plan,
    parents: Sequence[Layout],
    base: Layout | None,
    method: MergeMethod,
    sample: int | None = None,
    expected: Mapping[str, str] | None = None,
) -> Verified:
    """Verify a written merge: `names` are its files, `expected` their digests where they are known already.

    Raises MergeBroken, for a file before a tensor.
    """
    with ThreadPoolExecutor(1) as hasher:
        futures = {name: hasher.submit(sha256_file, out / name) for name in names}
        try:
            count = _recomputed(out, plan, parents, base, method, sample)
        finally:
            digests = {name: future.result() for name, future in futures.items()}
            for name, digest in (expected or {}).items():
                if digests.get(name) != digest:
                    raise MergeBroken(f"{out / name} is not what was written")
    return Verified(count, digests)


def _recomputed(
    out: Path,
    plan: Plan,
    parents: Sequence[Layout],
    base: Layout | None,
    method: MergeMethod,
    sample: int | None,
) -> int:
    written = read_layout(out)
    _accounts(written, plan, parents)
    chosen = plan.steps
    if sample is not None and sample < len(chosen):
        chosen = random.Random(0).sample(chosen, sample)
    recompute = _Recompute(written, parents, base, method, find_blocks(written))
    try:
        for step in chosen:
            recompute.check(step)
    finally:
        written.close()
    return len(chosen)


class _Recompute:
    """Tensors of a written merge against their parents."""

    def __init__(
        self,
        written: Layout,
        parents: Sequence[Layout],
        base: Layout | None,
        method: MergeMethod,
        blocks: dict[str, Block],
    ) -> None:
        self.written, self.parents, self.base, self.method, self.blocks = written, parents, base, method, blocks

    def check(self, step: Step) -> None:
        """Raises MergeBroken where one bit differs."""
        if step.treatment != "merged":
            for rows in row_chunks(step.like, _CHUNK):
                expected = self._rows(self.parents[step.giver], step.keys[step.owners.index(step.giver)], rows)
                if not same_bits(expected, self._rows(self.written, step.key, rows)):
                    raise MergeBroken(f"{step.key} in {self.written.directory} is not its owner's, byte for byte")
            return
        wide = wide_for(step, self.parents, self.base)
        if step.spread is not None:
            self._experts(step, step.spread, wide)
            return
        for rows in row_chunks(step.like, _CHUNK if self.method.elementwise else max(step.like.bytes, 1)):
            values = [self._rows(self.parents[i], key, rows) for i, key in zip(step.owners, step.keys, strict=True)]
            below = None if self.base is None else self._rows(self.base, step.base_key, rows)
            merged = merge_slice(step, self.method, values, below, wide)
            self._equal(step, merged, self._rows(self.written, step.key, rows))

    @staticmethod
    def _rows(layout: Layout, key: str, rows: tuple[int, int]) -> Tensor:
        return layout.rows(key, *rows) if layout.tensors[key].shape else layout.tensor(key)

    def _equal(self, step: Step, merged: Tensor, found: Tensor) -> None:
        if not same_bits(merged, found):
            raise MergeBroken(f"{step.key} in {self.written.directory} is not the {self.method.name} of its parents")

    def _experts(self, step: Step, spread: Spread, wide: torch.dtype) -> None:
        home = self.blocks[spread.home.name]
        for expert, projections in spread.parts:
            found = home.read(self.written.rows, expert, projections)
            for number, projection in enumerate(projections):
                values = [
                    b.read(self.parents[i].rows, expert, (projection,))[0].contiguous()
                    for i, b in zip(step.owners, spread.blocks, strict=True)
                ]
                below = None
                if spread.base is not None and self.base is not None:
                    below = spread.base.read(self.base.rows, expert, (projection,))[0].contiguous()
                self._equal(step, merge_slice(step, self.method, values, below, wide), found[number].contiguous())


def same_bits(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same bytes (also where they are NaN)."""
    left, right = a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8)
    if len(left) == len(right) and len(left) % 8 == 0:
        left, right = left.view(torch.int64), right.view(torch.int64)  # eight times as fast
    return torch.equal(left, right)


def _names(layout: Layout) -> dict[str, str]:
    """What a checkpoint holds, whatever its layout: canonical names and blocks of experts -> a stored key."""
    found = {}
    inside = {key: block.name for block in find_blocks(layout).values() for key in block.keys.values()}
    for key in layout.tensors:
        found[inside.get(key) or canonical(key)] = key
    return found


def _accounts(written: Layout, plan: Plan, parents: Sequence[Layout]) -> None:
    union = {name: key for parent in reversed(parents) for name, key in _names(parent).items()}
    here = _names(written)
    if missing := sorted(union.keys() - here.keys()):
        raise MergeBroken(f"{union[missing[0]]} of the parents is not in {written.directory}")
    if extra := sorted(here.keys() - union.keys()):
        raise MergeBroken(f"{here[extra[0]]} in {written.directory} is in no parent")
    for step in plan.steps:
        found = written.tensors.get(step.key)
        if found is None:
            raise MergeBroken(f"{step.key} is not in {written.directory}")
        if (found.dtype, found.shape) != (step.like.dtype, step.like.shape):
            raise MergeBroken(f"{step.key} was written as {found.dtype} {list(found.shape)}")
    if written.total_bytes != plan.total_bytes:
        raise MergeBroken(f"{written.directory} holds {written.total_bytes} bytes of tensors, not {plan.total_bytes}")
    index = written.directory / INDEX
    if index.exists() and json.loads(index.read_bytes())["metadata"]["total_size"] != written.total_bytes:
        raise MergeBroken(f"{index} states another total size than its shards have")
