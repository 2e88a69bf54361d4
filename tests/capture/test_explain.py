"""What was captured can be asked about: an episode, a segment, a row, a token; and the answer says why it trains."""

import re
import shlex
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from journeyman.capture.by_hand import seal_by_hand
from journeyman.datasets.base import Rows
from journeyman.engines.scripted import SeededEngine
from journeyman.errors import EngineFailure, UserError
from journeyman.pipeline.explaining import explained
from journeyman.pipeline.selecting import attempts_of
from journeyman.records.batch import DatasetManifest
from journeyman.records.sample import Sample, SegmentRef
from journeyman.store.dataset import RowTokens, write_dataset
from journeyman.store.layout import SEAL_NAME
from journeyman.store.seal import seal
from journeyman.store.sealed import SealedEpisode

from .conftest import Opener


@pytest.fixture
async def captured(opened: Opener, seeded: SeededEngine) -> SealedEpisode:
    """A root with a rewrite and a length cut, a child, and an edited history in a second child."""
    async with opened(seeded) as place:
        await place.ask(headers={"X-Journeyman-Turn": "first"})
        place.tell("more")
        await place.ask(max_tokens=5)
        summary = {"X-Journeyman-Event": "summary", "X-Journeyman-Summary-By": "policy"}
        await place.ask([{"role": "user", "content": "so far: b"}], headers=summary)
        child = {"X-Journeyman-Run": "finder", "X-Journeyman-Handoff": "call_7"}
        await place.ask([{"role": "user", "content": "find"}], headers=child)
        editor = {"X-Journeyman-Run": "editor"}
        await place.ask([{"role": "user", "content": "edit"}], headers=editor)
        edited = [{"role": "user", "content": "edit!"}, {"role": "user", "content": "on"}]
        await place.ask(edited, headers=editor)
        return await place.sealed()


def _told(what: object, runs: Path) -> str:
    return "\n".join(explained(str(what), runs)[0])


async def test_an_episode_is_told_by_directory_and_by_id(captured: SealedEpisode, tmp_path: Path) -> None:
    by_id = _told(captured.episode.spec.id, tmp_path)
    assert by_id == _told(captured.directory, tmp_path)
    for said in (
        "run       0: the root",
        "run       1 'finder': child of run 0, forked after turn ~2, handed over by call_7",
        "segment   0.0: opened by start; 2 turns",
        "segment   0.1: opened by summary, written by the policy, follows 0.0 at ids",
        "certificate: exact, ids",
        "first: context [0,",
        "ended by length, closed by 1 unsampled",
        "by v0",
        "          trainable",
        "NOT trainable: history changed without a declared event: message 0: content differs",
        "first differing token",
    ):
        assert said in by_id, said


async def test_the_token_command_of_an_explanation_can_be_typed(
    captured: SealedEpisode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = tmp_path / "other runs" / "moved"
    moved.parent.mkdir()
    (tmp_path / "job").rename(moved)
    monkeypatch.chdir(moved)
    (line,) = (text for text in _told(".", tmp_path).splitlines() if text.startswith("a token"))
    _, _, _, _, token, *more = shlex.split(line)
    assert more == ["--runs", str(moved.parent)]
    assert "id " in _told(token.replace("POSITION", "5"), moved.parent)


async def test_a_segment_is_told_alone(captured: SealedEpisode, tmp_path: Path) -> None:
    told = _told(f"{captured.episode.spec.id}#0.1", tmp_path)
    assert "segment   0.1" in told
    assert "segment   0.0:" not in told
    with pytest.raises(UserError, match=r"no segment 7\.0"):
        _told(f"{captured.episode.spec.id}#7.0", tmp_path)


async def test_a_token_of_an_episode_without_a_task_is_told(captured: SealedEpisode, tmp_path: Path) -> None:
    tokens = captured.segment_tokens(0, 0)
    sampled, rendered = int(np.flatnonzero(tokens.mask)[3]), int(np.flatnonzero(tokens.mask == 0)[0])
    told = _told(f"{captured.episode.spec.id}#0.0:{sampled}", tmp_path)
    assert f"id {tokens.ids[sampled]}, sampled by policy version 0 with log-prob" in told
    assert "turn    first" in told
    assert "trainable no: its engine is not token-exact" in told  # the header of this test names no engine
    told = _told(f"{captured.episode.spec.id}#0.0:{rendered}", tmp_path)
    assert "rendered, not sampled, so its mask is 0" in told
    with pytest.raises(UserError, match="tokens"):
        _told(f"{captured.episode.spec.id}#0.0:99999", tmp_path)


@pytest.mark.parametrize("failed", [False, True])
async def test_a_token_of_a_failed_episode_is_not_trainable(
    opened: Opener, seeded: SeededEngine, tmp_path: Path, failed: bool
) -> None:
    async with opened(seeded) as place:
        await place.ask()
        captured = asdict(await place.slot.close())
    captured["failure"] = EngineFailure("aborted", "gone") if failed else None
    seal_by_hand(place.directory, place.spec, captured, {"kind": "seeded", "token_exact": True})
    sampled = int(np.flatnonzero(SealedEpisode.open(place.directory).segment_tokens(0, 0).mask)[0])
    why = "its episode is quarantined, failure engine: aborted"
    token = _told(f"{place.spec.id}#0.0:{sampled}", tmp_path).splitlines()
    assert token[-1] == (f"trainable no: {why}" if failed else "trainable yes")
    for part in (place.spec.id, f"{place.spec.id}#0.0"):
        told = _told(part, tmp_path).splitlines()
        assert (f"          NOT trainable: {why}" in told, "          trainable" in told) == (failed, not failed)


@pytest.mark.parametrize("honest", [True, False])
async def test_a_row_is_told_with_the_segment_it_is_of(captured: SealedEpisode, tmp_path: Path, honest: bool) -> None:
    tokens, rows = captured.segment_tokens(0, 0), Rows()
    ref = SegmentRef(
        episode=captured.episode.spec.id, seal_digest=captured.seal_digest if honest else "0" * 64, run=0, segment=0
    )
    trained = int(tokens.mask.sum())
    sample = Sample(ref=ref, kind="sft", offset=0, length=len(tokens.ids), trained_tokens=trained)
    rows.add(sample, RowTokens(tokens.ids, tokens.mask, tokens.logprobs, tokens.versions))
    out = tmp_path / "job" / "data" / "rows"
    manifest = DatasetManifest(kind="sft", rows=1, tokens=len(tokens.ids), trained_tokens=trained)
    write_dataset(out, manifest, rows.samples, rows.tokens)
    told = _told(f"{out}:0", tmp_path)
    assert told.startswith(f"row       0 of {out} (sft): {len(tokens.ids)} tokens, {trained} trained")
    assert ("its ids are the sealed segment's" if honest else "its ids ARE NOT the sealed") in told
    assert "segment   0.0: opened by start" in told
    with pytest.raises(UserError, match="has 1 rows"):
        _told(f"{out}:4", tmp_path)


async def test_a_broken_episode_is_told_as_broken(captured: SealedEpisode, tmp_path: Path) -> None:
    path = captured.directory / "logprobs.f32"
    path.write_bytes(path.read_bytes()[:-4] + b"\0\0\x80\x3f")
    with pytest.raises(Exception, match=r"logprobs\.f32"):
        _told(captured.directory, tmp_path)


Damage = Callable[[bytes], bytes | None]  # None: the file is deleted


def _damage(directory: Path, name: str, damage: Damage, resealed: bool) -> None:
    path = directory / name
    if (left := damage(path.read_bytes())) is None:
        path.unlink()
    else:
        path.write_bytes(left)
    if resealed:
        (directory / SEAL_NAME).unlink()
        seal(directory)


def _span(end: bytes) -> Damage:
    return lambda data: re.sub(rb'"end":\d+', b'"end":' + end, data, count=1)


DAMAGED: dict[str, tuple[str, Damage, bool]] = {
    "a byte of the header": ("episode.json", lambda data: b"\xff" + data[1:], False),
    "no header": ("episode.json", lambda data: None, False),
    "no header, sealed again": ("episode.json", lambda data: None, True),
    "a header of another shape": ("episode.json", lambda data: b"[]", True),
    "half a turn": ("turns.jsonl", lambda data: data[:40] + b"\n", True),
    "a span of no number": ("turns.jsonl", _span(b'"x"'), True),
    "a span before the ids": ("turns.jsonl", _span(b"-7"), True),
    "a span beyond the ids": ("turns.jsonl", _span(b"1000000000000"), True),
    "segments that are none": ("segments.jsonl", lambda data: b"5\n", True),
    "other lengths": ("tokens.i32", lambda data: data[:-4], True),
    "no ids": ("tokens.i32", lambda data: None, True),
}


@pytest.mark.parametrize(("name", "damage", "resealed"), DAMAGED.values(), ids=DAMAGED)
async def test_a_damaged_record_is_one_line_with_its_file_and_what_to_type(
    captured: SealedEpisode, tmp_path: Path, name: str, damage: Damage, resealed: bool
) -> None:
    episode = captured.episode.spec.id
    _damage(captured.directory, name, damage, resealed)
    for what in (episode, f"{episode}#0.0:3"):
        with pytest.raises(UserError, match=r"^[^\n]+$") as refused:
            _told(what, tmp_path)
        assert str(refused.value).startswith(str(captured.directory / name))
        assert str(refused.value).endswith(f": type journeyman verify {captured.directory}")


async def test_a_header_that_is_unreadable_stops_a_dataset_in_one_line(captured: SealedEpisode) -> None:
    _damage(captured.directory, "episode.json", lambda data: data[:-1], True)
    with pytest.raises(UserError, match=r"^[^\n]+episode\.json is unreadable[^\n]+journeyman verify"):
        attempts_of(captured.directory.parents[4], "p")


async def test_what_is_not_there_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no sealed episode"):
        _told("job/p/t/g/0.0", tmp_path)
    with pytest.raises(UserError, match="is no token"):
        _told("nonsense", tmp_path)
