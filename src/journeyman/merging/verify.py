"""Written shards are opened again by our own parser and recomputed from the parents; every bit must agree.

Checked: the key set is the union of the parents', each key in one shard, byte totals, sha256 of every file, and the
value of `sample` tensors (all by default), recomputed slice by slice from raw bytes.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from pathlib import Path

import torch

from journeyman.errors import JourneymanError
from journeyman.merging.base import MergeMethod
from journeyman.merging.layout import INDEX, Layout, read_layout, slices
from journeyman.merging.plan import Plan
from journeyman.merging.streaming import accumulation, merge_slice


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
    for name, digest in files.items():
        with (out / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                raise MergeBroken(f"{out / name} is not what was written")
    written = read_layout(out)
    _accounts(written, plan, parents)
    chosen = plan.steps
    if sample is not None and sample < len(chosen):
        chosen = random.Random(0).sample(chosen, sample)
    for step in chosen:
        found = written.tensor(step.key)
        values = [parents[i].tensor(step.key) for i in step.owners]
        if step.treatment != "merged":
            expected = values[0]
            if not torch.equal(expected.reshape(-1).view(torch.uint8), found.reshape(-1).view(torch.uint8)):
                raise MergeBroken(f"{step.key} in {out} is not its owner's, byte for byte")
            continue
        infos = [parents[i].tensors[step.key] for i in step.owners]
        ancestor = None
        if base is not None:
            ancestor = base.tensor(step.key)
            infos.append(base.tensors[step.key])
        for where in slices(step.like, method.elementwise, step.like.bytes or 1):
            parts = [value[where] for value in values]
            merged = merge_slice(
                step, method, parts, None if ancestor is None else ancestor[where], accumulation(infos)
            )
            if not torch.equal(merged, found[where]):
                raise MergeBroken(f"{step.key} in {out} is not the {method.name} of its parents")
    return len(chosen)


def _accounts(written: Layout, plan: Plan, parents: Sequence[Layout]) -> None:
    union = {key for parent in parents for key in parent.tensors}
    if missing := sorted(union - set(written.tensors)):
        raise MergeBroken(f"{missing[0]} of the parents is not in {written.directory}")
    if extra := sorted(set(written.tensors) - union):
        raise MergeBroken(f"{extra[0]} in {written.directory} is in no parent")
    for step in plan.steps:
        found = written.tensors[step.key]
        if (found.dtype, found.shape) != (step.like.dtype, step.like.shape):
            raise MergeBroken(f"{step.key} was written as {found.dtype} {list(found.shape)}")
    if written.total_bytes != plan.total_bytes:
        raise MergeBroken(f"{written.directory} holds {written.total_bytes} bytes of tensors, not {plan.total_bytes}")
    index = written.directory / INDEX
    if index.exists() and json.loads(index.read_bytes())["metadata"]["total_size"] != written.total_bytes:
        raise MergeBroken(f"{index} states another total size than its shards have")
