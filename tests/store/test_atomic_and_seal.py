"""Facts about atomic writes, token arrays and seals."""

import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from journeyman.errors import UserError
from journeyman.store.atomic import append_line, create_only, read_lines, write_atomic
from journeyman.store.seal import SealBroken, is_sealed, seal, verify_seal
from journeyman.store.token_log import TokenLog, read_tokens


def test_create_only_refuses_a_second_write_and_keeps_the_first(tmp_path: Path) -> None:
    create_only(tmp_path / "a", b"one")
    with pytest.raises(UserError, match="create-only"):
        create_only(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"one"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_write_atomic_replaces_and_leaves_no_temporary(tmp_path: Path) -> None:
    write_atomic(tmp_path / "x" / "a", b"one")
    write_atomic(tmp_path / "x" / "a", b"two")
    assert (tmp_path / "x" / "a").read_bytes() == b"two"
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["a"]


@pytest.mark.parametrize("write", [write_atomic, create_only])
def test_a_refused_write_names_the_file_and_leaves_nothing(
    tmp_path: Path, write: Callable[[Path, bytes], None]
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="too large") as refused:
            write(tmp_path / "a", b"x" * 11)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert refused.value.filename == str(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_torn_last_line_is_not_read(tmp_path: Path) -> None:
    append_line(tmp_path / "log", b"one")
    with (tmp_path / "log").open("ab") as file:
        file.write(b"tw")
    assert read_lines(tmp_path / "log") == [b"one"]


@pytest.mark.parametrize(
    "fault", ["flip", "remove", "add", "truncate", "unseal", "make it a directory", "make the seal a directory"]
)
def test_a_seal_names_the_file_that_is_not_what_was_sealed(tmp_path: Path, fault: str) -> None:
    box = tmp_path / "e"
    (box / "workspace").mkdir(parents=True)
    (box / "workspace" / "memo.txt").write_bytes(b"version: v7\n")
    (box / "episode.json").write_bytes(b"{}")
    seal(box)
    assert is_sealed(box)
    verify_seal(box)
    named = box / "workspace" / "memo.txt"
    if fault == "flip":
        named.write_bytes(b"version: v8\n")
    elif fault == "remove":
        named.unlink()
    elif fault == "make it a directory":
        named.unlink()
        named.mkdir()
    elif fault == "make the seal a directory":
        named = box / "SEAL.json"
        named.unlink()
        named.mkdir()
    elif fault == "truncate":
        named.write_bytes(b"")
    elif fault == "add":
        named = box / "late.txt"
        named.write_bytes(b"")
    else:
        named = box / "SEAL.json"
        named.unlink()
    with pytest.raises(SealBroken) as broken:
        verify_seal(box)
    assert str(named) in str(broken.value)


def test_a_second_seal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    seal(tmp_path)
    with pytest.raises(UserError):
        seal(tmp_path)


def test_token_arrays_round_trip_as_deltas_and_survive_a_torn_write(tmp_path: Path) -> None:
    log = TokenLog(tmp_path)
    first = log.append([1, 2, 3])
    second = log.append([4, 5], logprobs=[-0.5, -0.25], versions=[7, 8])
    log.close()
    with (tmp_path / "tokens.i32").open("ab") as file:
        file.write(b"\x01\x02\x03\x04\x05")
    log = TokenLog(tmp_path)
    third = log.append([6])
    log.close()
    arrays = read_tokens(tmp_path)
    assert (first.end, second.start, second.end, third.start) == (3, 3, 5, 5)
    assert arrays.ids.tolist() == [1, 2, 3, 4, 5, 6]
    assert np.isnan(arrays.logprobs[[0, 1, 2, 5]]).all()
    assert arrays.logprobs[3:5].tolist() == [-0.5, -0.25]
    assert arrays.versions.tolist() == [-1, -1, -1, 7, 8, -1]


def test_unequal_columns_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    log = TokenLog(tmp_path)
    with pytest.raises(ValueError, match="differ"):
        log.append([1, 2], logprobs=[0.0], versions=[0, 0])
    log.close()
    assert len(read_tokens(tmp_path).ids) == 0
