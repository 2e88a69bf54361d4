"""Datasets on disk: create-only, typed arrays, marker last. What training reads is exactly what datasets wrote.

tokens.i32 | mask.u8 | logprobs.f32 | versions.i32 (equal lengths), samples.jsonl, groups.jsonl, packs.jsonl,
manifest.json, DATASET.json (sha256 of every file; without it there is no dataset). Where rows carry routed experts:
experts.LAYERSxTOPK.u16, one row for every id but a segment's last, 65535 where none was recorded.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from journeyman.errors import UserError
from journeyman.records.base import sha256_hex
from journeyman.records.batch import DatasetManifest, Group, Pack
from journeyman.records.episode import Seal
from journeyman.records.sample import Sample
from journeyman.store.atomic import write_atomic
from journeyman.store.reading import Damaged, read_record, read_records
from journeyman.store.unfinished import begin, finish

MARKER = "DATASET.json"
AGAIN = "build it again"  # the remedy for a dataset that is damaged
UNROUTED = 65_535  # in the experts' file: nothing was recorded at this position
_RECORDS = ("samples.jsonl", "groups.jsonl", "packs.jsonl")
_ARRAYS = (("tokens.i32", "<i4"), ("mask.u8", "u1"), ("logprobs.f32", "<f4"), ("versions.i32", "<i4"))
_FILES = (*(name for name, _ in _ARRAYS), *_RECORDS, "manifest.json")


class RowTokens(NamedTuple):
    """One row. Arrays of equal length T."""

    ids: npt.NDArray[np.int32]  # [T]
    mask: npt.NDArray[np.uint8]  # [T], 1 iff the token is trained in this row
    logprobs: npt.NDArray[np.float32]  # [T], behaviour log-probs; NaN where mask is 0 or the source gave none
    versions: npt.NDArray[np.int32]  # [T], weight version that sampled the token; -1 where mask is 0


def write_dataset(
    directory: Path,
    manifest: DatasetManifest,
    samples: Sequence[Sample],
    rows: Sequence[RowTokens],
    groups: Sequence[Group] = (),
    packs: Sequence[Pack] = (),
    routes: Sequence[npt.NDArray[Any] | None] = (),
) -> None:
    """Write a dataset, marker last. Raises UserError where anything is there but what a killed call of this left.

    `routes`: per row [T - 1, layers, top_k] experts (-1: not recorded) or None; empty: no row has any.
    """
    if (directory / MARKER).exists():
        raise UserError(f"{directory} holds a finished dataset and is create-only: choose another name")
    begin(directory, "dataset")
    files: dict[str, bytes] = {}
    for index, (name, dtype) in enumerate(_ARRAYS):
        column = [row[index] for row in rows]
        files[name] = (np.concatenate(column) if column else np.zeros(0)).astype(dtype).tobytes()
    for name, records in zip(_RECORDS, (samples, groups, packs), strict=True):
        files[name] = b"".join(record.canonical() + b"\n" for record in records)
    files["manifest.json"] = manifest.canonical()
    files |= _experts(rows, routes)
    for name, data in files.items():
        (directory / name).write_bytes(data)
    marker = Seal(format="journeyman-dataset-1", files={name: sha256_hex(data) for name, data in files.items()})
    write_atomic(directory / MARKER, marker.canonical())
    finish(directory)


def _experts(rows: Sequence[RowTokens], routes: Sequence[npt.NDArray[Any] | None]) -> dict[str, bytes]:
    """The experts' file by name; none where no row has routes. Raises UserError for rows of two shapes."""
    shapes = {r.shape[1:] for r in routes if r is not None}
    if not shapes:
        return {}
    if len(shapes) > 1:
        raise UserError(f"routed experts of shapes {sorted(shapes)} in one dataset: build one dataset per model")
    (layers, top_k) = shape = shapes.pop()
    parts = []
    for row, given in zip(rows, routes, strict=True):
        part = np.full((len(row.ids) - 1, *shape), UNROUTED, dtype="<u2")
        if given is not None:
            part[: len(given)] = np.where(given < 0, UNROUTED, given)[: len(part)]
        parts.append(part)
    return {f"experts.{layers}x{top_k}.u16": np.concatenate(parts).tobytes()}


class Dataset:
    """A finished dataset, read-only."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @classmethod
    def open(cls, directory: Path, verify: bool = True) -> "Dataset":
        """Open after checking every byte against the marker, and that rows, groups and packs lie within the arrays.

        Raises UserError naming the file that differs or the row that does not.
        """
        marker = directory / MARKER
        if not marker.exists():
            raise UserError(f"{directory} is not a finished dataset (no {MARKER}): {AGAIN}")
        found = cls(directory)
        if verify:
            files = read_record(marker, Seal, AGAIN).files
            if lacking := [name for name in _FILES if name not in files]:
                raise Damaged(f"{marker} does not speak of {lacking[0]}", AGAIN)
            for name, digest in files.items():
                path = directory / name
                if not path.exists() or sha256_hex(path.read_bytes()) != digest:
                    what = f"it is not what {MARKER} says"
                    raise UserError(f"{path} is missing or changed since the dataset was written ({what}): {AGAIN}")
            if fault := found._fault():
                raise Damaged(f"{directory} is no sound dataset: {fault}", AGAIN)
        return found

    def _fault(self) -> str:
        """What points outside the arrays or cannot be an id; "" where nothing does."""
        sizes = {n: (self.directory / n).stat().st_size / np.dtype(dtype).itemsize for n, dtype in _ARRAYS}
        tokens, rows = self.manifest.tokens, len(self.samples)
        if odd := next((name for name, size in sizes.items() if size != tokens), ""):
            return f"{odd} holds {sizes[odd]:g} values, the manifest says {tokens} tokens"
        if rows != self.manifest.rows:
            return f"samples.jsonl holds {rows} rows, the manifest says {self.manifest.rows}"
        if len(self.groups) != self.manifest.groups:
            return f"groups.jsonl holds {len(self.groups)} groups, the manifest says {self.manifest.groups}"
        for index, sample in enumerate(self.samples):
            if sample.offset < 0 or sample.length < 1 or sample.offset + sample.length > tokens:
                return f"row {index} is of {sample.length} tokens from {sample.offset} on, there are {tokens}"
        named = [(f"group {g.id!r}", i) for g in self.groups for m in g.members for i in m.rows]
        named += [(f"pack {number}", i) for number, pack in enumerate(self.packs) for i in pack.rows]
        if outside := next((f"{where} has row {i}" for where, i in named if not 0 <= i < rows), ""):
            return f"{outside}, there are {rows}"
        ids, mask = self._arrays[:2]
        if tokens and (ids.min() < 0 or mask.max() > 1):
            return f"an id is {ids.min()}" if ids.min() < 0 else f"a mask is {mask.max()}, not 0 or 1"
        path = next(self.directory.glob("experts.*.u16"), None)
        shape = None if path is None else re.fullmatch(r"experts\.(\d+)x(\d+)\.u16", path.name)
        each = 2 * int(shape[1]) * int(shape[2]) if shape else 0
        if path is not None and path.stat().st_size != each * sum(s.length - 1 for s in self.samples):
            return f"{path.name} holds another number of experts than the rows have"
        return ""

    @property
    def largest_id(self) -> int:
        """The largest token id of all rows; -1 where there is none."""
        return int(self._arrays[0].max(initial=-1))

    @cached_property
    def digest(self) -> str:
        """Identity of the dataset: sha256 of its marker."""
        return sha256_hex((self.directory / MARKER).read_bytes())

    @cached_property
    def manifest(self) -> DatasetManifest:
        """What this dataset is."""
        return read_record(self.directory / "manifest.json", DatasetManifest, AGAIN)

    def _records(self, name: str, kind: type[Any]) -> tuple[Any, ...]:
        return read_records(self.directory / name, kind, AGAIN)

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """One per row."""
        return self._records("samples.jsonl", Sample)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Groups with valid and invalid members; none for SFT."""
        return self._records("groups.jsonl", Group)

    @cached_property
    def packs(self) -> tuple[Pack, ...]:
        """Which rows share a packed sequence; none for RL."""
        return self._records("packs.jsonl", Pack)

    @cached_property
    def _arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return tuple(np.fromfile(self.directory / name, dtype=dtype) for name, dtype in _ARRAYS)

    def row(self, index: int) -> RowTokens:
        """The arrays of one row (views)."""
        sample = self.samples[index]
        ids, mask, logprobs, versions = (a[sample.offset : sample.offset + sample.length] for a in self._arrays)
        return RowTokens(ids, mask, logprobs, versions)

    @cached_property
    def _routes(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]] | None:
        """All experts and where each row's begin; None where no row has any."""
        path = next(self.directory.glob("experts.*.u16"), None)
        if path is None:
            return None
        layers, top_k = (int(n) for n in path.name.split(".")[1].split("x"))
        starts = np.cumsum([0, *(sample.length - 1 for sample in self.samples)])
        return np.fromfile(path, dtype="<u2").reshape(-1, layers, top_k), starts

    def routes(self, index: int) -> npt.NDArray[np.int64] | None:
        """[T - 1, layers, top_k] experts of one row, -1 where none was recorded; None where the dataset has none."""
        if self._routes is None:
            return None
        held, starts = self._routes
        found = held[starts[index] : starts[index + 1]].astype(np.int64)
        found[found == UNROUTED] = -1
        return found
