"""Written shards are opened again by our own parser and recomputed from the parents; every bit must agree.

Checked: every key and byte of every parent is in the output or named as left out, each key in one shard, byte totals,
sha256 of every file, and the value of `sample` tensors (all by default), recomputed slice by slice from raw bytes.
Experts are found again in what was written, by its own shapes, and compared projection by projection.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import Tensor

from journeyman.errors import JourneymanError
from journeyman.merging.base import MergeMethod
from journeyman.merging.experts import Block, canonical, find_blocks
from journeyman.merging.layout import INDEX, Layout, read_layout, row_chunks
from journeyman.merging.plan import Plan, Spread, Step
from journeyman.merging.streaming import merge_slice, wide_for

_CHUNK = 4 << 20


class MergeBroken(JourneymanError):
    """What was written is not the merge of its parents; the message names the first key or file."""


def verify(
    out: Path,
    files: dict[str, str],
    plan: Plan,
    parents: Sequence[Layout],
    base: Layout | None,
    method: MergeMethod,
    sample: int | None = None,
) -> int:
    """Verify a written merge; returns the number of tensors recomputed. Raises MergeBroken."""
    with ThreadPoolExecutor(1) as hasher:
        digests = {name: hasher.submit(sha256_file, out / name) for name in files}
        try:
            written = read_layout(out)
            _accounts(written, plan, parents)
            chosen = plan.steps
            if sample is not None and sample < len(chosen):
                chosen = random.Random(0).sample(chosen, sample)
            recompute = _Recompute(written, parents, base, method, find_blocks(written))
            for step in chosen:
                recompute.check(step)
            written.close()
        finally:
            found = {name: future.result() for name, future in digests.items()}
            if wrong := [name for name, digest in found.items() if digest != files[name]]:
                raise MergeBroken(f"{out / wrong[0]} is not what was written")
    return len(chosen)


def sha256_file(path: Path) -> str:
    """Digest of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
        if step.spread is not None:
            self._experts(step, step.spread)
            return
        if not step.like.shape:
            self._slice(step, None)
            return
        whole = step.treatment == "merged" and not self.method.elementwise
        for rows in row_chunks(step.like, step.like.bytes or 1 if whole else _CHUNK):
            self._slice(step, rows)

    def _slice(self, step: Step, rows: tuple[int, int] | None) -> None:
        def read(layout: Layout, key: str) -> Tensor:
            return layout.tensor(key) if rows is None else layout.rows(key, *rows)

        found = read(self.written, step.key)
        if step.treatment != "merged":
            expected = read(self.parents[step.giver], step.keys[step.owners.index(step.giver)])
            if not same_bits(expected, found):
                raise MergeBroken(f"{step.key} in {self.written.directory} is not its owner's, byte for byte")
            return
        values = [read(self.parents[i], key) for i, key in zip(step.owners, step.keys, strict=True)]
        below = None if self.base is None else read(self.base, step.base_key)
        merged = merge_slice(step, self.method, values, below, wide_for(step, self.parents, self.base))
        if not torch.equal(merged, found):
            raise self._broken(step)

    def _experts(self, step: Step, spread: Spread) -> None:
        wide = wide_for(step, self.parents, self.base)
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
                if not torch.equal(merge_slice(step, self.method, values, below, wide), found[number]):
                    raise self._broken(step)

    def _broken(self, step: Step) -> MergeBroken:
        return MergeBroken(f"{step.key} in {self.written.directory} is not the {self.method.name} of its parents")


def same_bits(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same bytes (also where they are NaN)."""
    return torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))


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
