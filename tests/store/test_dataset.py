"""Damaged datasets: whatever was torn, emptied, or re-hashed around a wrong number is one line when it is opened."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.training.conftest import random_row, write_rl, write_sft

from journeyman.errors import UserError
from journeyman.records.base import canonical_json, sha256_hex
from journeyman.store.dataset import MARKER, Dataset

Change = Callable[[dict[str, Any]], None]


def made(directory: Path, kind: str = "rl") -> Path:
    rows = [random_row(np.random.default_rng(n), [1, 2, 3]) for n in range(3)]
    if kind == "sft":
        return write_sft(directory, rows)
    return write_rl(directory, {"g": [(float(n), [row]) for n, row in enumerate(rows)]})


def rehashed(directory: Path) -> None:
    """A marker that agrees with what lies there."""
    marker = json.loads((directory / MARKER).read_bytes())
    marker["files"] = {name: sha256_hex((directory / name).read_bytes()) for name in marker["files"]}
    (directory / MARKER).write_bytes(canonical_json(marker))


def refused(directory: Path) -> str:
    with pytest.raises(UserError) as told:
        Dataset.open(directory)
    assert "\n" not in str(told.value)
    assert "build it again" in str(told.value)
    return str(told.value)


@pytest.mark.parametrize(
    "name", ["tokens.i32", "mask.u8", "versions.i32", "samples.jsonl", "groups.jsonl", "manifest.json", MARKER]
)
def test_a_torn_file_is_told_also_where_the_marker_was_made_to_agree(tmp_path: Path, name: str) -> None:
    directory = made(tmp_path / "d")
    data = (directory / name).read_bytes()
    (directory / name).write_bytes(data[: len(data) // 2])
    assert name in refused(directory)
    if name != MARKER:
        rehashed(directory)
        refused(directory)


@pytest.mark.parametrize("marker", ["{}", "[]", '{"format": "journeyman-dataset-1", "files": {}}'])
def test_a_marker_that_speaks_of_nothing_is_told(tmp_path: Path, marker: str) -> None:
    directory = made(tmp_path / "d")
    (directory / MARKER).write_text(marker)
    assert MARKER in refused(directory)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("samples.jsonl", '"offset":0', '"offset":-5', "row 0 is of"),
        ("samples.jsonl", '"offset":0', '"offset":70', "row 0 is of"),
        ("samples.jsonl", '"length":27', '"length":0', "row 0 is of 0 tokens"),
        ("groups.jsonl", '"rows":[1]', '"rows":[3]', "has row 3, there are 3"),
        ("groups.jsonl", '"rows":[1]', '"rows":[-1]', "has row -1, there are 3"),
        ("packs.jsonl", '"rows":[2]', '"rows":[7]', "pack 2 has row 7"),
        ("manifest.json", '"rows":3', '"rows":4', "the manifest says 4"),
        ("manifest.json", '"tokens":81', '"tokens":82', "the manifest says 82"),
    ],
)
def test_what_points_outside_the_rows_is_told(tmp_path: Path, name: str, old: str, new: str, said: str) -> None:
    directory = made(tmp_path / "d", "sft" if name == "packs.jsonl" else "rl")
    text = (directory / name).read_text()
    assert old in text
    (directory / name).write_text(text.replace(old, new, 1))
    rehashed(directory)
    assert said in refused(directory)


def test_values_that_no_id_or_mask_has_are_told(tmp_path: Path) -> None:
    for name, dtype, value, said in (("tokens.i32", "<i4", -3, "an id is -3"), ("mask.u8", "u1", 2, "a mask is 2")):
        directory = made(tmp_path / name)
        values = np.fromfile(directory / name, dtype=dtype)
        values[4] = value
        values.tofile(directory / name)
        rehashed(directory)
        assert said in refused(directory)
