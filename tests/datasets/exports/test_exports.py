"""Exports: the exact fields of each project, nothing lost in silence, nothing re-tokenised, never overwritten."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from journeyman.datasets.exports.base import RL, make_target, rows
from journeyman.datasets.exports.trl import Replay, prompts, recorded_reward
from journeyman.datasets.exports.write import MARKER, ROWS, Export, export, read_rows
from journeyman.errors import UserError
from journeyman.store.dataset import Dataset

from .made import rl_dataset, sft_dataset

# The fields of each project's record, from their sources (harness of the ecosystem study, 2026-11).
PROJECT_FIELDS = {
    "trl": {"prompt", "prompt_ids", "completion_ids", "logprobs", "env_mask", "recorded_reward", "group", "episode"},
    "skyrl": {
        "prompt_token_ids",
        "response_ids",
        "rewards",
        "loss_masks",
        "stop_reasons",
        "rollout_metrics",
        "rollout_logprobs",
        "trajectory_ids",
        "rollout_expert_indices",
        "is_last_step",
    },
    "slime": {
        "group_index",
        "index",
        "prompt",
        "tokens",
        "response",
        "response_length",
        "label",
        "reward",
        "loss_mask",
        "weight_versions",
        "rollout_log_probs",
        "rollout_routed_experts",
        "remove_sample",
        "status",
        "metadata",
        "train_metadata",
        "session_id",
        "rollout_id",
    },
    "verl": {
        "prompt_ids",
        "response_ids",
        "response_mask",
        "response_logprobs",
        "routed_experts",
        "reward_score",
        "num_turns",
        "metrics",
        "extra_fields",
    },
    "prime-rl": {
        "token_ids",
        "mask",
        "logprobs",
        "temperatures",
        "env_name",
        "ref_logprobs",
        "routed_experts",
        "rl_weights",
        "ce_weights",
        "ref_kl_weights",
        "advantages",
        "reward",
    },
}


def exported(dataset: Dataset, to: str, out: Path, kind: str = "rl") -> list[dict[str, Any]]:
    advantages = {row.episode: (row.reward or 0.0) - 0.5 for row in rows(dataset)}
    export(dataset, make_target(kind, to), out, advantages)
    return list(read_rows(out))


@pytest.mark.parametrize("to", list(RL))
def test_every_row_has_only_fields_the_project_has(tmp_path: Path, to: str) -> None:
    found = exported(rl_dataset(tmp_path / "d"), to, tmp_path / "out")
    assert found
    for row in found:
        assert set(row) <= PROJECT_FIELDS[to]
    marker = Export.parse((tmp_path / "out" / MARKER).read_bytes())
    assert (marker.rows, marker.kind, marker.reward_name) == (len(found), "rl", "signed.v1")


def test_lists_over_a_response_are_as_long_as_it_and_join_to_the_recorded_ids(tmp_path: Path) -> None:
    dataset = rl_dataset(tmp_path / "d")
    for number, row in enumerate(rows(dataset)):
        recorded = dataset.row(number)
        assert row.prompt + row.response == recorded.ids.tolist()
        assert [0] * len(row.prompt) + row.mask == recorded.mask.tolist()
        assert len(row.response) == len(row.mask) == len(row.logprobs) == len(row.versions)
        assert row.mask[0] == 1
        assert [lp for lp, m in zip(row.logprobs, row.mask, strict=True) if m] == pytest.approx(
            recorded.logprobs[recorded.mask == 1]
        )
        assert all(
            lp == 0.0 and v == -1 for lp, v, m in zip(row.logprobs, row.versions, row.mask, strict=True) if not m
        )


@pytest.mark.parametrize("to", ["trl", "verl"])
def test_projects_of_one_segment_leave_longer_episodes_out_whole_and_say_so(tmp_path: Path, to: str) -> None:
    found = exported(rl_dataset(tmp_path / "d"), to, tmp_path / "out")
    assert len(found) == 7
    marker = Export.parse((tmp_path / "out" / MARKER).read_bytes())
    assert marker.left_out == {f"{to} takes one segment per episode": 1}


def test_skyrl_has_the_reward_once_at_the_last_step_of_a_trajectory(tmp_path: Path) -> None:
    found = exported(rl_dataset(tmp_path / "d"), "skyrl", tmp_path / "out")
    steps = [r for r in found if r["trajectory_ids"] == ["g1", 1]]
    assert [(r["rewards"], r["is_last_step"]) for r in steps] == [(0.0, False), (1.0, True)]
    assert {r["stop_reasons"] for r in found} == {"stop", "length"}


def test_slime_segments_share_a_rollout_and_count_groups_in_order(tmp_path: Path) -> None:
    found = exported(rl_dataset(tmp_path / "d"), "slime", tmp_path / "out")
    assert [r["group_index"] for r in found] == [0] * 4 + [1] * 5
    assert [r["index"] for r in found] == list(range(9))
    assert found[5]["rollout_id"] == found[6]["rollout_id"] != found[7]["rollout_id"]
    assert found[0]["weight_versions"] == ["3", "4"]
    assert all(len(r["tokens"]) >= r["response_length"] == len(r["loss_mask"]) for r in found)


def test_prime_rl_arrays_are_as_long_as_the_ids_and_carry_our_advantage(tmp_path: Path) -> None:
    for row in exported(rl_dataset(tmp_path / "d"), "prime-rl", tmp_path / "out"):
        lengths = {len(row[k]) for k in ("token_ids", "mask", "logprobs", "temperatures", "advantages")}
        assert len(lengths) == 1
        assert set(row["temperatures"]) == {0.7}
        assert {a for a, m in zip(row["advantages"], row["mask"], strict=True) if m} == {row["reward"] - 0.5}
        assert all(a == 0 for a, m in zip(row["advantages"], row["mask"], strict=True) if not m)


def test_an_invalid_member_has_no_row_and_moves_nobody(tmp_path: Path) -> None:
    found = exported(rl_dataset(tmp_path / "d", invalid="job/rl/task-g0/g0/1.0"), "verl", tmp_path / "out")
    places = [(r["extra_fields"]["group"], r["extra_fields"]["attempt"]) for r in found]
    assert places == [("g0", 0), ("g0", 2), ("g0", 3), ("g1", 0), ("g1", 2), ("g1", 3)]


def test_sft_rows_are_ids_and_labels(tmp_path: Path) -> None:
    found = exported(sft_dataset(tmp_path / "d"), "trl", tmp_path / "out", kind="sft")
    assert [r["labels"] for r in found] == [[-100, -100, 7, 8], [-100, 11, -100, 13, 14], [-100, -100, -100, 18]]
    assert all(len(r["labels"]) == len(r["input_ids"]) for r in found)


def test_a_replay_gives_each_groups_rollouts_in_order(tmp_path: Path) -> None:
    exported(rl_dataset(tmp_path / "d"), "trl", tmp_path / "out")
    assert prompts(tmp_path / "out") == [{"prompt": "g0"}, {"prompt": "g1"}]
    replay = Replay(tmp_path / "out")
    given = replay(["g0", "g0", "g1", "g0"])
    assert given["recorded_reward"] == [1.0, 0.5, 0.0, -0.25]
    assert recorded_reward(completions=[], recorded_reward=given["recorded_reward"]) == [1.0, 0.5, 0.0, -0.25]
    with pytest.raises(UserError, match=r"g1.*has 3 rollouts"):
        replay(["g1"] * 4)


def test_exports_are_create_only_and_checked_when_read(tmp_path: Path) -> None:
    dataset = rl_dataset(tmp_path / "d")
    exported(dataset, "verl", tmp_path / "out")
    with pytest.raises(UserError, match="create-only"):
        exported(dataset, "verl", tmp_path / "out")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("x")
    with pytest.raises(UserError, match="create-only"):
        exported(dataset, "verl", mine)
    assert (mine / "thesis.txt").exists()
    path = tmp_path / "out" / ROWS
    path.write_bytes(path.read_bytes().replace(b"1", b"2", 1))
    with pytest.raises(UserError, match=r"not what EXPORT\.json says"):
        list(read_rows(tmp_path / "out"))
    (tmp_path / "out" / MARKER).unlink()
    with pytest.raises(UserError, match="not a finished export"):
        list(read_rows(tmp_path / "out"))
    exported(dataset, "verl", tmp_path / "again")
    assert (tmp_path / "again" / ROWS).read_bytes().replace(b"1", b"2", 1) == path.read_bytes()


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="rl export target 'trll' is unknown"):
        make_target("rl", "trll")
    with pytest.raises(UserError, match="cannot be imported"):
        make_target("rl", "nowhere:Thing")
    with pytest.raises(UserError, match="sft export target 'verl' is unknown"):
        make_target("sft", "verl")


def test_slime_samples_come_in_groups(tmp_path: Path) -> None:
    """Against a stand-in for slime's record with its `from_dict`, whose source this follows: slime needs CUDA."""

    class Sample:
        @staticmethod
        def from_dict(data: dict[str, Any]) -> "Sample":
            made = Sample()
            made.__dict__.update(data)
            return made

    modules = {name: ModuleType(name) for name in ("slime", "slime.utils", "slime.utils.types")}
    modules["slime.utils.types"].Sample = Sample  # type: ignore[attr-defined]
    exported(rl_dataset(tmp_path / "d"), "slime", tmp_path / "out")
    sys.modules.update(modules)
    try:
        from journeyman.datasets.exports.slime import samples

        assert [len(group) for group in samples(tmp_path / "out")] == [4, 5]
    finally:
        for name in modules:
            del sys.modules[name]


def test_rows_are_plain_json_lines(tmp_path: Path) -> None:
    exported(rl_dataset(tmp_path / "d"), "skyrl", tmp_path / "out")
    lines = (tmp_path / "out" / ROWS).read_text().splitlines()
    assert all(isinstance(json.loads(line), dict) for line in lines)
