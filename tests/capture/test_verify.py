"""Verification needs no model, and names the first fault of an episode."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from journeyman.capture.verify import certificates, verify_episode, verify_job
from journeyman.engines.scripted import SeededEngine
from journeyman.store.seal import seal
from journeyman.tokens.certificate import CertificateError

from .conftest import Opener, Place


async def _episode(place: Place) -> None:
    """Two runs, a declared rewrite, a length cut; sealed."""
    await place.ask()
    place.tell("more")
    await place.ask(max_tokens=5)
    await place.ask([{"role": "user", "content": "so far: b"}], headers={"X-Journeyman-Event": "summary"})
    await place.ask([{"role": "user", "content": "find"}], headers={"X-Journeyman-Run": "child"})
    await place.sealed()


@pytest.fixture
async def sealed(opened: Opener, seeded: SeededEngine) -> Path:
    async with opened(seeded) as place:
        await _episode(place)
        directory: Path = place.directory
        return directory


def _edit(directory: Path, name: str, change: Callable[[list[Any]], None]) -> None:
    """Change a log's records and seal again: what a careless writer, not a thief, would leave."""
    path = directory / name
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    change(records)
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    _reseal(directory)


def _reseal(directory: Path) -> None:
    (directory / "SEAL.json").unlink()
    seal(directory)


async def test_an_exact_episode_has_a_certificate_for_every_segment(sealed: Path) -> None:
    assert verify_episode(sealed) is None
    assert [(c.run, c.segment) for c in certificates(sealed)] == [(0, 0), (0, 1), (1, 0)]
    job = sealed.parents[4]
    found = verify_job(job)
    assert (found.episodes, found.segments, found.turns, found.faults) == (1, 3, 4, [])
    assert found.sampled == 24 * 3 + 5


async def test_a_flipped_bit_in_any_file_is_found_and_named(sealed: Path) -> None:
    for path in sorted(p for p in sealed.rglob("*") if p.is_file()):
        kept = path.read_bytes()
        for at in (0, len(kept) // 2, len(kept) - 1):
            path.write_bytes(kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1 :])
            fault = verify_episode(sealed)
            assert fault is not None, (path.name, at)
            assert fault.name == "seal"
            assert path.name in fault.detail or path.name == "SEAL.json"
        path.write_bytes(kept)
    assert verify_episode(sealed) is None


async def test_a_missing_seal_is_found(sealed: Path) -> None:
    (sealed / "SEAL.json").unlink()
    (fault,) = verify_job(sealed.parents[4]).faults
    assert (fault.name, "never sealed" in fault.detail) == ("seal", True)


def _set(at: int, **values: Any) -> Callable[[list[Any]], None]:
    return lambda records: records[at].update(values)


def _drop(at: int) -> Callable[[list[Any]], None]:
    return lambda records: records.pop(at)


@pytest.mark.parametrize(
    ("file", "change", "name"),
    [
        ("turns.jsonl", _drop(3), "spans"),
        ("turns.jsonl", _drop(0), "spans"),
        ("turns.jsonl", lambda r: r.append(r[0]), "spans"),
        ("turns.jsonl", _set(1, prompt_tokens=3), "prefix"),
        ("turns.jsonl", _set(1, segment=7), "lineage"),
        ("turns.jsonl", _set(1, closing=None), "spans"),
        ("turns.jsonl", _set(0, orphan=True), "mask"),
        ("turns.jsonl", _set(0, orphan=True, trainable=False), "prefix"),
        ("turns.jsonl", _set(0, unheard="of"), "records"),
        ("segments.jsonl", _set(1, prefix_before="0" * 64), "rewrite"),
        ("segments.jsonl", _set(1, prefix_after="0" * 64), "rewrite"),
        ("segments.jsonl", _set(1, predecessor=None), "rewrite"),
        ("segments.jsonl", _drop(1), "lineage"),
        ("segments.jsonl", lambda r: r.append(r[0]), "lineage"),
        ("runs.jsonl", _drop(1), "lineage"),
        ("runs.jsonl", _set(1, parent=9), "lineage"),
        ("runs.jsonl", _set(1, fork_turn="nobody"), "lineage"),
    ],
)
async def test_a_record_that_does_not_fit_is_named(sealed: Path, file: str, change: Any, name: str) -> None:
    _edit(sealed, file, change)
    fault = verify_episode(sealed)
    assert fault is not None
    assert fault.name == name
    with pytest.raises(CertificateError, match=name):
        certificates(sealed)


@pytest.mark.parametrize(
    ("file", "dtype", "at", "value", "name"),
    [
        ("logprobs.f32", "<f4", 0, -1.0, "mask"),
        ("logprobs.f32", "<f4", -1, np.nan, "logprobs"),
        ("versions.i32", "<i4", -1, -1, "versions"),
        ("versions.i32", "<i4", -2, 4, "versions"),
        ("tokens.i32", "<i4", 0, 9, "rewrite"),
    ],
)
async def test_an_array_that_does_not_fit_is_named(
    sealed: Path, file: str, dtype: str, at: int, value: float, name: str
) -> None:
    array = np.fromfile(sealed / file, dtype=dtype)
    array[at] = value
    array.tofile(sealed / file)
    _reseal(sealed)
    fault = verify_episode(sealed)
    assert fault is not None
    assert fault.name == name


async def test_arrays_of_different_length_are_named(sealed: Path) -> None:
    path = sealed / "versions.i32"
    path.write_bytes(path.read_bytes()[:-4])
    _reseal(sealed)
    fault = verify_episode(sealed)
    assert fault is not None
    assert fault.name == "lengths"


async def test_a_header_that_counts_other_turns_is_named(sealed: Path) -> None:
    header = json.loads((sealed / "episode.json").read_bytes())
    header["usage"]["turns"] += 1
    (sealed / "episode.json").write_text(json.dumps(header))
    _reseal(sealed)
    fault = verify_episode(sealed)
    assert fault is not None
    assert fault.name == "usage"


@pytest.mark.parametrize(("file", "turn"), [("tokens.i32", 1), ("logprobs.f32", 2), ("versions.i32", 3)])
async def test_the_turn_whose_bytes_changed_is_named_with_their_place(sealed: Path, file: str, turn: int) -> None:
    record = json.loads((sealed / "turns.jsonl").read_bytes().splitlines()[turn])
    start, end = record["context"]["start"] * 4, (record["closing"] or record["sampled"])["end"] * 4
    data = (sealed / file).read_bytes()
    (sealed / file).write_bytes(data[: end - 1] + bytes([data[end - 1] ^ 1]) + data[end:])
    fault = verify_episode(sealed)
    assert fault is not None
    assert f"{file} changed after sealing" in fault.detail
    assert f"first in turn {record['turn_id']}, bytes {start} to {end}" in fault.detail
    (sealed / file).write_bytes(data[:-8])
    fault = verify_episode(sealed)
    assert fault is not None
    assert f"the file at {len(data) - 8}" in fault.detail


async def test_the_line_and_byte_that_cannot_be_read_is_named(sealed: Path) -> None:
    path = sealed / "turns.jsonl"
    first, second, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join((first, second.replace(b'"run":', b'"run";', 1), *rest)))
    fault = verify_episode(sealed)
    assert fault is not None
    at = len(first) + second.index(b'"run":') + len('"run"')
    assert fault.detail.endswith(f"first unreadable at byte {at}, line 2")
    path.write_bytes(b"".join((first, second.replace(b'"run":0', b'"run":[]', 1), *rest)))
    fault = verify_episode(sealed)
    assert fault is not None
    assert f"line 2 (bytes {len(first)} to" in fault.detail


async def test_ids_changed_by_one_who_seals_again_are_found_by_their_turns_checksum(sealed: Path) -> None:
    path = sealed / "tokens.i32"
    array = np.fromfile(path, dtype="<i4")
    record = json.loads((sealed / "turns.jsonl").read_bytes().splitlines()[2])
    array[record["sampled"]["start"] + 1] += 1
    array.tofile(path)
    _reseal(sealed)
    fault = verify_episode(sealed)
    assert fault is not None
    assert (fault.name, f"first in turn {record['turn_id']}" in fault.detail) == ("bytes", True)
