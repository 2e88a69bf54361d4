"""Routed experts travel from the sealed episode to the training row, position by position, or set the episode aside."""

from pathlib import Path

import numpy as np

from journeyman.datasets.base import Attempt
from journeyman.datasets.rl import RlConfig, build_rl
from journeyman.records.turn import Span
from journeyman.store.dataset import Dataset
from journeyman.store.experts import experts_name
from journeyman.store.seal import seal
from journeyman.training.batch import train_row

from .conftest import EpisodeMaker, T

# ids 1 2 | 3 4 || 5 | 6: the engine saw all but the last, in two calls
EXPERTS = np.array([[[i % 4, (i + 1) % 4], [(i + 2) % 4, i % 4]] for i in range(5)], dtype=np.uint8)


def routed(make: EpisodeMaker, experts: np.ndarray, attempt: int = 0) -> Attempt:
    first = Span(start=0, end=min(3, len(experts)))
    turns = [
        T([1, 2], [3, 4], fields={"experts": first, "experts_from": 0}),
        T([5], [6], fields={"experts": Span(start=first.end, end=len(experts)), "experts_from": first.end}),
    ]
    made = make(turns, attempt=attempt)
    assert made.directory is not None
    (made.directory / experts_name(2, 2, 4)).write_bytes(experts.tobytes())
    (made.directory / "SEAL.json").unlink()
    seal(made.directory)
    return made


def test_a_row_has_the_experts_of_every_position_but_the_last(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    build_rl({"g": [routed(make_episode, EXPERTS)]}, tmp_path / "d")
    data = Dataset.open(tmp_path / "d")
    routes = data.routes(0)
    assert routes is not None
    np.testing.assert_array_equal(routes, EXPERTS)
    row = train_row(data.row(0), routes)
    assert row.routes is not None
    assert len(row.routes) == len(row.ids) - 1


def test_a_sampled_token_without_experts_sets_the_episode_aside(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    build_rl({"g": [routed(make_episode, EXPERTS[:4])]}, tmp_path / "d")
    (member,) = Dataset.open(tmp_path / "d").groups[0].members
    assert (member.valid, member.cause) == (False, "capture: no routed experts at position 4")


def test_one_expert_twice_sets_the_episode_aside(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    twice = EXPERTS.copy()
    twice[1] = 0
    build_rl({"g": [routed(make_episode, twice)]}, tmp_path / "d")
    assert "twice" in Dataset.open(tmp_path / "d").groups[0].members[0].cause


def test_rows_without_experts_stand_beside_rows_with(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    build_rl({"g": [routed(make_episode, EXPERTS), make_episode([T([1], [2, 3])], attempt=1)]}, tmp_path / "d")
    data = Dataset.open(tmp_path / "d")
    assert data.routes(1) is not None
    assert (data.routes(1) == -1).all()
    np.testing.assert_array_equal(data.routes(0), EXPERTS)


def test_a_dense_models_dataset_has_none_and_they_can_be_left_out(make_episode: EpisodeMaker, tmp_path: Path) -> None:
    build_rl({"g": [make_episode([T([1], [2])])]}, tmp_path / "dense")
    assert Dataset.open(tmp_path / "dense").routes(0) is None
    build_rl({"g": [routed(make_episode, EXPERTS, attempt=1)]}, tmp_path / "out", RlConfig(routes=False))
    assert Dataset.open(tmp_path / "out").routes(0) is None
