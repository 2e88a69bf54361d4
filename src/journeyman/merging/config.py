"""What a merge is told. Torch-free."""

from pathlib import Path
from typing import Any

from journeyman.records.base import Record


class MergeConfig(Record):
    """`python -m journeyman.merging --config FILE`."""

    parents: tuple[Path, ...]  # policy directories of one lineage
    out: Path  # create-only
    method: str | dict[str, Any] = "soup"  # a name, or {"name": ..., settings}
    base: Path | None = None  # the common ancestor, for methods on task vectors
    keep: int = 0  # index of the parent whose config, tokenizer, dtypes and shard layout are kept
    name: str = "merged"
    slice_bytes: int = 1 << 19  # of one parent's tensor in memory at a time (elementwise methods): fits a cache
    verify: int | None = None  # tensors recomputed after writing; None: all of them
    recipe_digest: str = ""
