"""What a policy is loaded from: exactly the weights its configuration names, as its marker says, or one line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from journeyman.errors import UserError
from journeyman.training.config import ModelConfig, SftTrainConfig
from journeyman.training.learner import Learner
from journeyman.training.policy import full_state, load_policy, publish
from journeyman.training.sft import SftRun

from .conftest import VOCABULARY, learner_config, random_row, write_rl, write_sft

Change = Callable[[dict[str, Tensor]], None]
LAYER = "model.layers.1.mlp.up_proj.weight"


def changed(policy: Path, to: Path, change: Change) -> Path:
    shutil.copytree(policy, to)
    weights = load_file(to / "model.safetensors")
    change(weights)
    save_file(weights, to / "model.safetensors", metadata={"format": "pt"})
    return to


def test_a_missing_an_extra_and_a_misshapen_tensor_are_refused(policy: Path, tmp_path: Path) -> None:
    def lose(weights: dict[str, Tensor]) -> None:
        del weights[LAYER]

    def add(weights: dict[str, Tensor]) -> None:
        weights["model.layers.1.mlp.other.weight"] = torch.ones(3)

    def cut(weights: dict[str, Tensor]) -> None:
        weights[LAYER] = weights[LAYER][:-1].clone()

    for what, change in (("missing", lose), ("unexpected", add), ("mismatched", cut)):
        with pytest.raises(UserError, match=rf"{what} model\.layers\.1\.mlp"):
            load_policy(changed(policy, tmp_path / what, change), ModelConfig())


def test_a_published_policy_with_one_bit_flipped_is_not_trained(policy: Path, tmp_path: Path) -> None:
    out = tmp_path / "v1"
    state = full_state(load_policy(policy, ModelConfig()))
    publish(state, policy, out, name="v1", version=1, step=0, objective="cispo", parents=())
    load_policy(out, ModelConfig())
    data = bytearray((out / "model.safetensors").read_bytes())
    data[-40] ^= 1
    (out / "model.safetensors").write_bytes(data)
    with pytest.raises(UserError, match=r"model\.safetensors is missing or changed after it was written"):
        load_policy(out, ModelConfig())


def test_files_that_are_no_policy_are_one_line(policy: Path, tmp_path: Path) -> None:
    for number, (name, data, said) in enumerate(
        (
            ("config.json", b"[]", "config.json is a list"),
            ("config.json", b"{", "config.json is not JSON"),
            ("config.json", json.dumps({"model_type": "nope"}).encode(), "give a whole policy directory"),
            ("model.safetensors", b"12345678", "give a whole policy directory"),
        )
    ):
        directory = shutil.copytree(policy, tmp_path / str(number))
        (directory / name).write_bytes(data)
        with pytest.raises(UserError, match=said) as told:
            load_policy(directory, ModelConfig())
        assert "\n" not in str(told.value)


def test_rows_of_another_tokenizer_are_not_trained(policy: Path, tmp_path: Path) -> None:
    initial = shutil.copytree(policy, tmp_path / "policy")
    rows = [random_row(np.random.default_rng(n), [1, 2, 3]) for n in range(2)]
    foreign = {"tokenizer_digest": "f" * 64}
    sft = write_sft(tmp_path / "sft", rows, **foreign)
    batch = write_rl(tmp_path / "rl", {"g": [(float(n), [row]) for n, row in enumerate(rows)]}, **foreign)
    for text in (None, "{}"):
        if text is not None:
            (initial / "tokenizer.json").write_text(text)
        own = "none" if text is None else "44136fa355b3678a"
        with pytest.raises(UserError, match=f"tokenizer ffffffffffffffff and .* has {own}"):
            SftRun(SftTrainConfig(dataset=sft, initial=initial, out=tmp_path / "out", state=tmp_path / "state"))
        with pytest.raises(UserError, match=f"tokenizer ffffffffffffffff and .* has {own}"):
            Learner(learner_config(initial, tmp_path)).step(0, batch)


def test_ids_beyond_the_vocabulary_and_batches_without_a_group_are_not_trained(policy: Path, tmp_path: Path) -> None:
    row = random_row(np.random.default_rng(0), [1, 2, VOCABULARY])
    sft = write_sft(tmp_path / "sft", [row])
    batch = write_rl(tmp_path / "rl", {"g": [(0.0, [row]), (1.0, [row])]})
    empty = write_rl(tmp_path / "empty", {})
    said = f"holds id {VOCABULARY} and .* has ids below {VOCABULARY}"
    with pytest.raises(UserError, match=said):
        SftRun(SftTrainConfig(dataset=sft, initial=policy, out=tmp_path / "out", state=tmp_path / "state"))
    learner = Learner(learner_config(policy, tmp_path))
    with pytest.raises(UserError, match=said):
        learner.step(0, batch)
    with pytest.raises(UserError, match="holds no group"):
        learner.step(0, empty)
