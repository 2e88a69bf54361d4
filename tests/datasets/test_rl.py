"""RL batches: what cannot be trained is set aside with its cause; it never becomes a reward."""

from pathlib import Path

import numpy as np
import pytest

from journeyman.datasets.base import Attempt
from journeyman.datasets.rl import RlConfig, build_rl
from journeyman.errors import UserError
from journeyman.records.batch import Member
from journeyman.records.episode import Sampling
from journeyman.records.outcome import Quarantined
from journeyman.records.turn import Segment
from journeyman.store.dataset import Dataset

from .conftest import EpisodeMaker, T


def only_member(attempt: Attempt, out: Path) -> Member:
    build_rl({"g": [attempt]}, out)
    return Dataset.open(out).groups[0].members[0]


def test_a_batch_holds_groups_members_and_their_rows(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    segments = [Segment(run=0, index=0, opened_by="start"), Segment(run=0, index=1, opened_by="pruning", predecessor=0)]
    split = make_episode([T([1], [2, 3]), T([1], [4], segment=1)], segments=segments, reward=-0.25, invalid_calls=2)
    whole = make_episode([T([1], [2])], attempt=1, reward=1.0)
    manifest = build_rl({"g": [split, whole]}, tmp_path / "d")
    data = Dataset.open(tmp_path / "d")
    first, second = data.groups[0].members
    assert (first.rows, second.rows) == ((0, 1), (2,))
    assert (first.reward, first.turns, first.sampled_tokens, first.invalid_calls) == (-0.25, 2, 3, 2)
    assert [s.reward for s in data.samples] == [-0.25, -0.25, 1.0]
    assert (manifest.temperature, manifest.reward_name, manifest.trained_tokens) == (1.0, "signed.v1", 4)
    assert data.row(0).versions.tolist() == [-1, 3, 3]


@pytest.mark.parametrize(
    ("turn", "cause"),
    [
        (T([1], [2], fields={"source": "scripted"}), "scripted"),
        (T([1], [2], fields={"source": "hosted"}), "hosted"),
        (T([1], [2], fields={"trainable": False, "untrainable_reason": "prefix diverged"}), "prefix diverged"),
        (T([1], [2], logprob=float("nan")), "finite"),
        (T([1], [2], logprob=float("-inf")), "finite"),
        (T([1], [2], logprob=0.5), "above 0"),
        (T([1], [2], version=-1), "version"),
        (T([1], [2], fields={"orphan": True}), "no turn"),
    ],
)
def test_untrainable_tokens_set_the_episode_aside(
    make_episode: EpisodeMaker, tmp_path: Path, turn: T, cause: str
) -> None:
    member = only_member(make_episode([turn]), tmp_path / "d")
    assert not member.valid
    assert member.reward is None
    assert member.rows == ()
    assert cause in member.cause


def test_an_untrainable_segment_and_an_inexact_engine_set_it_aside(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    segment = Segment(run=0, index=0, opened_by="start", trainable=False, untrainable_reason="undeclared divergence")
    assert "divergence" in only_member(make_episode([T([1], [2])], segments=[segment]), tmp_path / "a").cause
    hosted = make_episode([T([1], [2])], attempt=1, token_exact=False)
    assert "token-exact" in only_member(hosted, tmp_path / "b").cause


def test_a_quarantined_or_ungraded_sibling_changes_nothing_for_the_rest(
    make_episode: EpisodeMaker, tmp_path: Path
) -> None:
    good = make_episode([T([1], [2])], reward=0.75)
    attempts = [
        good,
        Attempt("job/rl/task/g0/1.0", None, Quarantined(layer="service", cause="crash")),
        Attempt("job/rl/task/g0/2.0", good.directory, None),
    ]
    build_rl({"g": attempts}, tmp_path / "d")
    data = Dataset.open(tmp_path / "d")
    assert [(m.valid, m.reward, m.cause) for m in data.groups[0].members] == [
        (True, 0.75, ""),
        (False, None, "service: crash"),
        (False, None, "grader: ungraded"),
    ]
    assert len(data.samples) == 1


def test_an_orphan_turn_is_left_out_and_the_rest_is_trained(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    episode = make_episode([T([1], [2]), T([3], [9], fields={"orphan": True}), T([3], [4])])
    build_rl({"g": [episode]}, tmp_path / "d")
    row = Dataset.open(tmp_path / "d").row(0)
    assert row.ids.tolist() == [1, 2, 3, 4]
    assert row.mask.tolist() == [0, 1, 0, 1]
    assert np.isfinite(row.logprobs[row.mask == 1]).all()


def test_reward_names_are_never_mixed(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    other = make_episode([T([1], [2])], attempt=1, reward_name="rubric.v1")
    with pytest.raises(UserError, match=r"rubric\.v1"):
        build_rl({"g": [make_episode([T([1], [2])]), other]}, tmp_path / "d")


def test_temperatures_and_truncated_supports_are_refused(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    one = make_episode([T([1], [2])])
    warm = make_episode([T([1], [2])], attempt=1, sampling=Sampling(temperature=0.7))
    with pytest.raises(UserError, match="temperatures"):
        build_rl({"g": [one, warm]}, tmp_path / "a")
    with pytest.raises(UserError, match="full support"):
        build_rl({"g": [make_episode([T([1], [2])], attempt=2, sampling=Sampling(top_p=0.9))]}, tmp_path / "b")


def test_one_episode_is_never_used_twice(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    episode = make_episode([T([1], [2])])
    with pytest.raises(UserError, match="exactly once"):
        build_rl({"g": [episode], "h": [episode]}, tmp_path / "d")


def test_a_batch_without_a_row_is_refused_where_one_must_be(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    attempts = [make_episode([T([1], [2], fields={"source": "scripted"})], attempt=n) for n in range(2)]
    with pytest.raises(UserError, match=r"no RL row is left .*'capture: scripted': 2"):
        build_rl({"g": attempts}, tmp_path / "d", RlConfig(may_be_empty=False))
    assert not (tmp_path / "d").exists()
