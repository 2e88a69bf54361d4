"""What a learner refuses: damaged states and policies, and numbers that are not finite. One line, nothing written."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from journeyman.errors import UserError
from journeyman.store.config_file import parse_config
from journeyman.store.dataset import RowTokens
from journeyman.training.config import LearnerConfig, OptimiserConfig
from journeyman.training.learner import Learner, serve
from journeyman.training.optim import NotFinite, Optimiser

from .conftest import learner_config, random_row, write_rl
from .test_learner import MakeBatch, ask, ledger, start, weights


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"total_steps": 0}, "total_steps = 0: Input should be greater than or equal to 1"),
        ({"total_steps": 1, "schedule": {"kind": "cosine", "floor": 0}}, "learning rate is 0 at 1 step: raise floor"),
        ({"threads": 0}, "threads = 0: Input should be greater than or equal to 1"),
        ({"forward": {"micro_tokens": 0}}, r"forward\.micro_tokens = 0: Input should"),
        ({"model": {"lora": {"rank": 0}}}, r"model\.lora\.rank = 0: Input should"),
        ({"model": {"lora": {"targets": []}}}, r"model\.lora\.targets = \[\]: Tuple should have at least 1 item"),
    ],
)
def test_what_cannot_train_is_refused_when_the_config_is_read(
    policy: Path, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    values = learner_config(policy, tmp_path).model_dump(mode="json") | changes
    with pytest.raises(UserError, match=said):
        parse_config(values, LearnerConfig)


def shortened(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def reshaped(path: Path) -> None:
    save_file(load_file(path) | {"model.norm.weight": torch.ones(7)}, path, metadata={"format": "pt"})


def without_a_weight(path: Path) -> None:
    held = load_file(path)
    del held["model.layers.1.mlp.up_proj.weight"]
    save_file(held, path, metadata={"format": "pt"})


def settings_of(**changes: Any) -> Callable[[Path], object]:
    return lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("damaged", "damage", "said"),
    [
        ("model.safetensors", shortened, "holds no model that can be loaded .SafetensorError: "),
        (
            "model.safetensors",
            lambda path: path.write_bytes(b""),
            "holds no model that can be loaded .SafetensorError: ",
        ),
        ("model.safetensors", reshaped, r"mismatched model\.norm\.weight"),
        ("model.safetensors", without_a_weight, r"missing model\.layers\.1\.mlp\.up_proj\.weight"),
        ("config.json", shortened, r"config\.json is not JSON"),
        ("config.json", lambda path: path.write_text("3"), "is a int, not a table"),
        ("config.json", settings_of(model_type="nonsense"), "holds no model that can be loaded .ValueError: "),
        ("config.json", settings_of(num_attention_heads=0), "holds no model that can be loaded .ZeroDivisionError: "),
        ("config.json", settings_of(num_hidden_layers=3), r"missing model\.layers\.2\."),
    ],
)
def test_a_damaged_policy_is_one_line_and_never_filled_up_with_chance(
    policy: Path, tmp_path: Path, damaged: str, damage: Callable[[Path], object], said: str
) -> None:
    bad = Path(shutil.copytree(policy, tmp_path / "bad"))
    damage(bad / damaged)
    with pytest.raises(UserError, match=said) as refused:
        Learner(learner_config(bad, tmp_path))
    told = str(refused.value)
    assert "is not JSON: " in told or told.endswith(": give a whole policy directory, as train or merge writes it")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("target", ["nowhere", "norm"])
def test_adapters_on_what_is_not_there_are_refused(policy: Path, tmp_path: Path, target: str) -> None:
    with pytest.raises(UserError, match=rf"model\.lora\.targets = \['{target}'\] .*: name linear layers") as refused:
        Learner(learner_config(policy, tmp_path, model={"lora": {"targets": [target]}}))
    assert "\n" not in str(refused.value)


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x40
    path.write_bytes(data)


def rewritten(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def other_version(path: Path) -> None:
    path.write_text(path.read_text().replace('"version":1', '"version":0'))


@pytest.mark.parametrize(
    ("damaged", "damage", "said"),
    [
        ("state/state-000000.pt", flipped, r"state-000000\.pt changed after it was written: bring back"),
        ("state/state-000000.pt", shortened, r"state-000000\.pt changed after it was written: bring back"),
        ("state/state-000000.pt", Path.unlink, r"state-000000\.pt is missing: bring back"),
        ("state/STATE.json", shortened, r"STATE\.json is unreadable: .*: bring back"),
        ("state/STATE.json", rewritten(b"{}"), r"STATE\.json is unreadable: file: Field required: bring back"),
        ("state/STATE.json", rewritten(b"\xff\xfe"), r"STATE\.json is unreadable"),
        ("state/STATE.json", other_version, r"STATE\.json changed after it was written: bring back"),
        ("ledger.jsonl", rewritten(b"garbage\n"), r"ledger\.jsonl is unreadable: line 1: .*: bring back"),
    ],
)
def test_a_damaged_state_or_ledger_is_one_line_and_nothing_is_trained_on_it(
    policy: Path,
    rl_batches: MakeBatch,
    tmp_path: Path,
    damaged: str,
    damage: Callable[[Path], object],
    said: str,
) -> None:
    Learner(learner_config(policy, tmp_path)).step(0, rl_batches(0))
    damage(tmp_path / damaged)
    with pytest.raises(UserError, match=said) as refused:
        Learner(learner_config(policy, tmp_path))
    assert "\n" not in str(refused.value)


def test_a_state_of_before_there_were_digests_is_gone_on_with_where_it_holds_what_is_needed(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path
) -> None:
    Learner(learner_config(policy, tmp_path)).step(0, rl_batches(0))
    pointer = tmp_path / "state" / "STATE.json"
    told = json.loads(pointer.read_bytes())
    pointer.write_text(json.dumps({"file": told["file"], "cursor": told["cursor"]}))
    assert Learner(learner_config(policy, tmp_path)).version == 1
    pointer.write_text(json.dumps({"file": told["file"], "cursor": {"step": 0}}))
    with pytest.raises(UserError, match=r"state cannot be gone on with: KeyError: 'version': bring back"):
        Learner(learner_config(policy, tmp_path))
    flipped(pointer.with_name(told["file"]))
    shortened(pointer.with_name(told["file"]))
    with pytest.raises(UserError, match="state cannot be gone on with"):
        Learner(learner_config(policy, tmp_path))


@pytest.fixture
def poisoned(policy: Path, tmp_path: Path) -> Path:
    """The policy with one weight that is no number."""
    made = Path(shutil.copytree(policy, tmp_path / "poisoned"))
    held = weights(made)
    held["model.layers.1.mlp.up_proj.weight"][3, 4] = float("nan")
    save_file(held, made / "model.safetensors", metadata={"format": "pt"})
    return made


@pytest.mark.parametrize("objective", [{"name": "cispo"}, {"name": "sao", "critic": {"pretrain_steps": 1}}])
def test_what_is_not_finite_is_refused_before_anything_is_written(
    poisoned: Path, rl_batches: MakeBatch, tmp_path: Path, objective: dict[str, Any]
) -> None:
    learner = Learner(learner_config(poisoned, tmp_path, objective=objective))
    batch = rl_batches(0)
    asked = iter([json.dumps({"step": 0, "batch": str(batch)}), json.dumps({"step": 0, "batch": str(batch)})])
    lines: list[dict[str, Any]] = []
    with pytest.raises(
        NotFinite, match=r"step 0: the loss of the (policy|critic) is nan .*1\.mlp\.up_proj\.weight has"
    ):
        serve(learner, asked, lines.append)
    assert [line["event"] for line in lines] == ["ready", "error"]  # and nothing more is asked of it
    assert not (tmp_path / "weights").exists()
    assert not (tmp_path / "state" / "STATE.json").exists()
    assert not ledger(tmp_path)


def test_a_gradient_or_a_weight_that_is_not_finite_is_named(policy: Path) -> None:
    held = nn.Linear(2, 2)
    optimiser = Optimiser(held, OptimiserConfig(lr=1e-3))
    before = held.weight.detach().clone()
    held.weight.grad = torch.full((2, 2), float("inf"))
    with pytest.raises(NotFinite, match="the gradient norm of the policy is"):
        optimiser.step(1.0, 0.5)
    assert torch.equal(held.weight, before)
    with torch.no_grad():
        held.bias[0] = float("inf")  # nothing reads it, so that neither loss nor gradient tell
    held.weight.grad = torch.ones(2, 2)
    with pytest.raises(NotFinite, match=r"norm of the weights of the policy is inf .*: bias has weights"):
        optimiser.step(1.0, 0.5)


def test_an_advantage_that_no_float_holds_is_refused_by_name(policy: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    members: list[tuple[float | None, list[RowTokens]]] = [(r, [random_row(rng, [1, 2])]) for r in (1e308, -1e308)]
    with pytest.raises(UserError, match=r"0\.0: reward 1e\+308 gives advantage 1e\+308"):
        Learner(learner_config(policy, tmp_path)).step(0, write_rl(tmp_path / "b", {"g": members}))
    assert not (tmp_path / "weights").exists()


def test_the_process_ends_with_exit_code_2_where_a_step_is_not_finite(
    poisoned: Path, rl_batches: MakeBatch, write_config: Callable[..., Path], tmp_path: Path
) -> None:
    path = write_config("learner.json", **learner_config(poisoned, tmp_path).model_dump(mode="json"))
    process = start(path)
    try:
        assert ask(process)["event"] == "ready"
        assert "step 0: the loss" in ask(process, {"step": 0, "batch": str(rl_batches(0))})["message"]
        assert process.wait(120) == 2
    finally:
        process.kill()
        process.wait()
