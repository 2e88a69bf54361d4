"""SFT runs: the loss falls, and a run that was stopped anywhere ends with the same weights."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from journeyman.errors import UserError
from journeyman.training.config import OptimiserConfig, SftTrainConfig
from journeyman.training.optim import NotFinite
from journeyman.training.sft import SftRun, plan_updates, train
from journeyman.training.state import StateStore

from .conftest import VOCABULARY, random_row, write_rl, write_sft


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    prefix = rng.integers(0, VOCABULARY, 40).tolist()
    return write_sft(tmp_path / "data", [random_row(rng, prefix, length=12) for _ in range(10)])


def config(policy: Path, dataset: Path, root: Path, **changes: Any) -> SftTrainConfig:
    values: dict[str, Any] = {
        "dataset": dataset,
        "initial": policy,
        "out": root / "out",
        "state": root / "state",
        "epochs": 3,
        "batch_packs": 4,
        "optimiser": OptimiserConfig(lr=5e-3, weight_decay=0.1),
        "save_every": 2,
    }
    return SftTrainConfig(**(values | changes))


def test_the_first_loss_is_the_mean_over_trained_tokens(policy: Path, dataset: Path, tmp_path: Path) -> None:
    work = SftRun(config(policy, dataset, tmp_path, batch_packs=10))
    model = AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32)
    total, n = 0.0, 0
    for row in work.rows:
        with torch.no_grad():
            logits = model(torch.from_numpy(row.ids)[None]).logits[0]
        total -= float(torch.log_softmax(logits, -1)[row.targets - 1, row.ids[row.targets]].sum())
        n += len(row.targets)
    assert work.update()["loss"] == pytest.approx(total / n, abs=1e-5)


def test_the_loss_falls_and_the_checkpoint_names_its_parent(policy: Path, dataset: Path, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = []
    out = train(config(policy, dataset, tmp_path, epochs=20, progress_every=1), lines.append)
    losses = [line["loss"] for line in lines if line["event"] == "progress"]
    assert losses[-1] < losses[0] - 1
    marker = json.loads((out / "CHECKPOINT.json").read_bytes())
    assert marker["objective"] == "sft"
    assert len(marker["parents"]) == 1
    assert lines[-1]["event"] == "done"


def test_a_finished_or_begun_run_of_other_settings_is_refused_and_kept(
    policy: Path, dataset: Path, tmp_path: Path
) -> None:
    first = config(policy, dataset, tmp_path, epochs=1)
    out = train(first, lambda _: None)
    marker = (out / "CHECKPOINT.json").read_bytes()
    lines: list[dict[str, Any]] = []
    train(first.model_copy(update={"threads": 2, "save_every": 9}), lines.append)
    assert lines[-1]["resumed"]
    other = write_sft(tmp_path / "more", [random_row(np.random.default_rng(1), [1, 2, 3], length=12)])
    for changes in ({"seed": 4}, {"epochs": 2}, {"dataset": other}, {"recipe_digest": "another"}):
        with pytest.raises(UserError, match="holds another checkpoint and is create-only"):
            train(first.model_copy(update=changes), lines.append)
    with pytest.raises(UserError, match="holds a training with other settings"):
        train(first.model_copy(update={"seed": 4, "out": tmp_path / "elsewhere"}), lines.append)
    assert (out / "CHECKPOINT.json").read_bytes() == marker
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("stop", [1, 2, 3, 5])
def test_a_run_stopped_anywhere_ends_with_the_same_weights(
    policy: Path, dataset: Path, tmp_path: Path, stop: int
) -> None:
    train(config(policy, dataset, tmp_path / "straight"), lambda _: None)
    broken = config(policy, dataset, tmp_path / "broken")
    work = SftRun(broken)
    for _ in range(stop):
        work.update()
        if work.done % broken.save_every == 0:
            work.save()
    train(broken, lambda _: None)
    a, b = (load_file(tmp_path / n / "out" / "model.safetensors") for n in ("straight", "broken"))
    assert all(torch.equal(a[k], b[k]) for k in a)


@pytest.mark.parametrize(
    ("changes", "kept"), [({"save_seconds": 0}, {1, 2}), ({"save_every": 1}, {2}), ({"save_seconds": 1e9}, {0})]
)
def test_a_killed_run_has_a_state_of_not_long_ago(
    policy: Path,
    dataset: Path,
    tmp_path: Path,
    changes: dict[str, Any],
    kept: set[int],
) -> None:
    class Killed(SftRun):
        def update(self) -> dict[str, float]:
            if self.done == 2:
                raise KeyboardInterrupt
            return super().update()

    wanted = config(policy, dataset, tmp_path, **({"save_every": 1000} | changes))
    with pytest.raises(KeyboardInterrupt):
        train(wanted, lambda _: None, Killed)
    saved = StateStore(wanted.state).load()
    assert (0 if saved is None else saved[1]["step"]) in kept


def test_every_epoch_visits_every_row_once(policy: Path, dataset: Path, tmp_path: Path) -> None:
    for keys in ({"batch_packs": 4}, {"batch_rows": 3}):
        work = config(policy, dataset, tmp_path, epochs=2, **keys)
        run = SftRun(work)
        updates = plan_updates(run.dataset, work)
        assert sorted(r for u in updates for r in u) == sorted([*range(10)] * 2)
        assert sorted(r for u in updates[: len(updates) // 2] for r in u) == list(range(10))


def test_an_out_that_is_somebody_elses_is_refused_before_training(policy: Path, dataset: Path, tmp_path: Path) -> None:
    wanted = config(policy, dataset, tmp_path)
    wanted.out.mkdir()
    (wanted.out / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="out exists and is no checkpoint"):
        train(wanted, lambda _: None)
    assert (wanted.out / "notes.txt").read_text() == "mine"
    assert not wanted.state.exists()


def test_an_update_that_is_not_finite_ends_the_run_and_keeps_nothing(
    policy: Path, dataset: Path, tmp_path: Path
) -> None:
    bad = Path(shutil.copytree(policy, tmp_path / "bad"))
    weights = load_file(bad / "model.safetensors")
    weights["model.norm.weight"][0] = float("inf")
    save_file(weights, bad / "model.safetensors", metadata={"format": "pt"})
    wanted = config(bad, dataset, tmp_path, save_every=1)
    with pytest.raises(NotFinite, match=r"SFT update 1 of 9: the loss of the policy is nan .*model\.norm\.weight has"):
        train(wanted, lambda _: None)
    assert not wanted.out.exists()
    assert not list(wanted.state.iterdir())


def test_a_damaged_state_is_one_line(policy: Path, dataset: Path, tmp_path: Path) -> None:
    wanted = config(policy, dataset, tmp_path)
    work = SftRun(wanted)
    work.update()
    work.save()
    (held,) = wanted.state.glob("*.pt")
    data = bytearray(held.read_bytes())
    data[2000] ^= 1
    held.write_bytes(data)
    with pytest.raises(UserError, match=r"state-000001\.pt changed after it was written"):
        train(wanted, lambda _: None)
    assert not wanted.out.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"epochs": 0.001}, r"epochs = 0\.001 of 3 updates makes none: give 0\.33 or more"),
        ({"epochs": 0.4, "schedule": {"kind": "cosine", "floor": 0.0}}, "learning rate is 0 at 1 step: raise floor"),
    ],
)
def test_a_run_that_would_train_nothing_is_refused_before_any_work(
    dataset: Path, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    wanted = config(tmp_path / "no policy is read", dataset, tmp_path, **changes)
    with pytest.raises(UserError, match=said):
        train(wanted, lambda _: None)
    assert not wanted.out.exists()
    assert not wanted.state.exists()


def test_a_dataset_without_rows_is_refused(tmp_path: Path) -> None:
    empty = write_sft(tmp_path / "empty", [])
    with pytest.raises(UserError, match="empty holds no rows"):
        train(config(tmp_path, empty, tmp_path / "run"), lambda _: None)


def test_an_rl_batch_is_refused(policy: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rl = write_rl(tmp_path / "rl", {"g": [(0.1, [random_row(rng, [1, 2])])]})
    with pytest.raises(UserError, match="kind 'rl'"):
        SftRun(config(policy, rl, tmp_path))


def test_the_process_prints_json_lines_and_exits_2_on_a_users_mistake(
    policy: Path, dataset: Path, write_config: Callable[..., Path], tmp_path: Path
) -> None:
    values = config(policy, dataset, tmp_path, epochs=1).model_dump(mode="json")
    command = [sys.executable, "-m", "journeyman.training.sft", "--config"]
    path = write_config("sft.json", **values)
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=True)
    events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    assert (events[0], events[-1]) == ("start", "done")
    again = subprocess.run([*command, str(path)], capture_output=True, text=True, check=True)
    assert json.loads(again.stdout)["resumed"] is True
    wrong = write_config("wrong.json", **(values | {"epocs": 2}))
    failed = subprocess.run([*command, str(wrong)], capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert "did you mean 'epochs'" in failed.stderr
    assert "Traceback" not in failed.stderr
