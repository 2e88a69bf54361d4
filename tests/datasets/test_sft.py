"""SFT rows: loss on newly produced ids only, each once, whatever was rewritten in between."""

from pathlib import Path

import numpy as np
import pytest

from journeyman.datasets.base import Attempt
from journeyman.datasets.sft import SftConfig, build_sft
from journeyman.errors import UserError
from journeyman.records.outcome import Quarantined
from journeyman.records.turn import AgentRun, Segment
from journeyman.store.dataset import MARKER, Dataset
from journeyman.store.seal import SealBroken
from journeyman.store.unfinished import UNFINISHED

from .conftest import EpisodeMaker, T

SCRIPTED = {"source": "scripted"}


def test_only_sampled_ids_are_trained(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    episode = make_episode([T([1, 2, 3], [4, 5]), T([6], [7], closing=[8])])
    manifest = build_sft([episode], tmp_path / "d")
    row = Dataset.open(tmp_path / "d").row(0)
    assert row.ids.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert row.mask.tolist() == [0, 0, 0, 1, 1, 0, 1, 0]
    assert (manifest.rows, manifest.tokens, manifest.trained_tokens) == (1, 8, 3)


def test_after_a_rewrite_the_replayed_prefix_conditions_only(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    segments = [
        Segment(run=0, index=0, opened_by="start"),
        Segment(run=0, index=1, opened_by="summary", predecessor=0, summary_by="harness"),
    ]
    episode = make_episode([T([1, 2], [3, 4]), T([1, 2, 90, 91, 3, 4], [5], segment=1)], segments=segments)
    build_sft([episode], tmp_path / "d")
    data = Dataset.open(tmp_path / "d")
    assert data.row(0).mask.tolist() == [0, 0, 1, 1]
    assert data.row(1).mask.tolist() == [0] * 6 + [1]


def test_a_policy_written_summary_is_trained_where_it_was_sampled(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    segments = [
        Segment(run=0, index=0, opened_by="start"),
        Segment(run=0, index=1, opened_by="summary", predecessor=0, summary_by="policy"),
    ]
    episode = make_episode([T([1, 2], [50, 51]), T([1, 50, 51], [5], segment=1)], segments=segments)
    build_sft([episode], tmp_path / "d")
    data = Dataset.open(tmp_path / "d")
    assert [data.row(0).mask.tolist(), data.row(1).mask.tolist()] == [[0, 0, 1, 1], [0, 0, 0, 1]]


def test_orphans_hosted_turns_and_children_stay_out(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    runs = [AgentRun(run=0), AgentRun(run=1, parent=0)]
    segments = [Segment(run=0, index=0, opened_by="start"), Segment(run=1, index=0, opened_by="start")]
    turns = [
        T([1, 2], [3], fields=SCRIPTED),
        T([4], [9], fields={"orphan": True}),
        T([4], [5], fields={"source": "hosted"}),
        T([6], [7], fields={"trainable": False, "untrainable_reason": "diverged"}),
        T([8], [8], run=1),
    ]
    build_sft([make_episode(turns, segments=segments, runs=runs)], tmp_path / "d")
    data = Dataset.open(tmp_path / "d")
    assert len(data.samples) == 1
    assert data.row(0).ids.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert data.row(0).mask.tolist() == [0, 0, 1, 0, 0, 0, 0]


def test_over_long_rows_are_dropped_and_counted(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    short = make_episode([T([1], [2])])
    long = make_episode([T([1] * 9, [2, 3])], attempt=1)
    manifest = build_sft([short, long], tmp_path / "d", SftConfig(max_length=10))
    assert manifest.rows == 1
    assert manifest.excluded == {"longer than max_length": 1}
    assert [pack.rows for pack in Dataset.open(tmp_path / "d").packs] == [(0,)]


def test_a_demonstration_without_final_state_proof_is_left_out(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    good = make_episode([T([1], [2])])
    bad = make_episode([T([1], [2])], attempt=1)
    attempts = [
        good,
        Attempt(bad.episode, bad.directory, None),
        Attempt("job/rl/task/g0/2.0", None, Quarantined(layer="sandbox", cause="lost")),
    ]
    assert build_sft(attempts, tmp_path / "d").rows == 1


def test_empty_think_spans_are_out_of_the_loss(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    words = {1: "<|user|>", 2: "<think>", 3: "\n\n", 4: "</think>", 5: "Hello", 6: "<|end|>"}
    episode = make_episode([T([1, 1], [2, 3, 4, 3, 5, 6])])
    build_sft([episode], tmp_path / "d", decode=lambda ids: "".join(words[i] for i in ids))
    assert Dataset.open(tmp_path / "d").row(0).mask.tolist() == [0, 0, 0, 0, 0, 0, 1, 1]


def test_a_changed_byte_in_a_sealed_episode_stops_the_build(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    episode = make_episode([T([1], [2])])
    assert episode.directory is not None
    (episode.directory / "tokens.i32").write_bytes(np.array([1, 3], "<i4").tobytes())
    with pytest.raises(SealBroken, match=r"tokens\.i32"):
        build_sft([episode], tmp_path / "d")


def test_a_dataset_is_create_only_and_what_a_kill_left_is_replaced(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    episode = make_episode([T([1], [2])])
    out = tmp_path / "d"
    build_sft([episode], out)
    with pytest.raises(UserError, match="create-only"):
        build_sft([episode], out)
    (out / MARKER).unlink()
    with pytest.raises(UserError, match="not a finished dataset"):
        Dataset.open(out)
    with pytest.raises(UserError, match="exists and is no dataset"):
        build_sft([episode], out)  # not marked as being written: it may be anybody's
    (out / UNFINISHED).touch()
    build_sft([episode], out)
    assert not (out / UNFINISHED).exists()
    (out / "mask.u8").write_bytes(b"\1\1")
    with pytest.raises(UserError, match=r"mask\.u8"):
        Dataset.open(out)


def test_two_tokenizers_are_never_mixed(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    other = make_episode([T([1], [2])], attempt=1, tokenizer="other")
    with pytest.raises(UserError, match="tokenizer"):
        build_sft([make_episode([T([1], [2])]), other], tmp_path / "d")
