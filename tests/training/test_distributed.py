"""Several processes over gloo, the model whole on each or split (FSDP2): losses, weights, records are those of one."""

import json
import os
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

from journeyman.errors import UserError
from journeyman.records.sample import Update
from journeyman.store.atomic import read_lines
from journeyman.training.config import LearnerConfig, OptimiserConfig, SftTrainConfig
from journeyman.training.distributed import TeamLearner
from journeyman.training.distributed_sft import TeamSft
from journeyman.training.learner import Learner
from journeyman.training.optim import NotFinite
from journeyman.training.sft import SftRun, train
from journeyman.training.team import Team

from .conftest import learner_config, random_row, write_sft
from .teams import together

MakeBatch = Callable[[int], Path]
SAO = {"name": "sao", "critic": {"pretrain_steps": 0, "optimiser": {"lr": 1e-3}}}
NEAR = 2e-5
"""Relative: fp32 sums in another order. A whole factor would be a wrong reduction."""


def sft_config(policy: Path, root: Path, **changes: Any) -> SftTrainConfig:
    rng = np.random.default_rng(0)
    dataset = root.parent / "sft"
    if not dataset.exists():
        write_sft(dataset, [random_row(rng, [1, 2, 3], length=12) for _ in range(7)])
    values: dict[str, Any] = {
        "dataset": dataset,
        "initial": policy,
        "out": root / "out",
        "state": root / "state",
        "epochs": 2,
        "batch_packs": 3,
        "optimiser": OptimiserConfig(lr=1e-3, epsilon=1e-5, weight_decay=0.1),
        "save_every": 2,
        "progress_every": 1,
    }
    return SftTrainConfig(**(values | changes))


def alike(ours: Path, theirs: Path, tolerance: float = NEAR) -> bool:
    a, b = load_file(ours / "model.safetensors"), load_file(theirs / "model.safetensors")
    scale = max(float(t.abs().max()) for t in b.values())
    return a.keys() == b.keys() and all(torch.allclose(a[k], b[k], atol=tolerance * scale, rtol=0) for k in a)


def agree(found: dict[str, float], metrics: dict[str, float]) -> None:
    assert found.keys() == metrics.keys()
    names = {"loss", "gradient_norm", "ratio_mean", "ratio_max", "entropy", "k3", "ess"}
    for name in names | found.keys() & {"value_loss", "value_mean", "critic_gradient_norm", "explained_variance"}:
        assert found[name] == pytest.approx(metrics[name], rel=NEAR, abs=1e-7), name


def launched(processes: int, settings: LearnerConfig, batches: list[Path], first: int = 0) -> list[dict[str, Any]]:
    """Answers of the learner on so many processes, ready line first."""
    path = settings.ledger.parent / f"config{processes}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(settings.model_dump_json())
    asked = [{"step": n, "batch": str(b)} for n, b in enumerate(batches, start=first)]
    command = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", str(processes)]
    command += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    command += ["--module", "journeyman.training.distributed", "--config", str(path)]
    done = subprocess.run(
        command,
        input="".join(json.dumps(line) + "\n" for line in asked),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.mark.slow
def test_two_launched_processes_learn_what_one_does(policy: Path, rl_batches: MakeBatch, tmp_path: Path) -> None:
    batches = [rl_batches(0), rl_batches(1)]
    alone = Learner(learner_config(policy, tmp_path / "one"))
    expected = [alone.step(n, batch)["metrics"] for n, batch in enumerate(batches)]
    settings = learner_config(policy, tmp_path / "two", sharded=True)
    answers = launched(2, settings, batches[:1])
    answers += launched(2, settings, batches[1:], first=1)[1:]  # killed in between: the state is found again
    assert [a["event"] for a in answers] == ["ready", "step", "step"]
    for answer, metrics in zip(answers[1:], expected, strict=True):
        agree(answer["metrics"], metrics)
    assert alike(tmp_path / "two" / "weights" / "v2", tmp_path / "one" / "weights" / "v2")
    ledger = [Update.parse(line) for line in read_lines(settings.ledger)]
    assert [(u.step, u.version_after) for u in ledger] == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("world", "changes"),
    [
        (2, {"sharded": False, "objective": {"name": "gspo"}}),
        (2, {"objective": {"name": "gspo"}, "forward": {"kind": "rows", "micro_tokens": 100}}),
        (3, {"forward": {"micro_tokens": 64}}),  # eight members over three: unequal work, one micro-batch each
        (2, {"model": {"lora": {"rank": 4}}}),
        (2, {"optimiser": OptimiserConfig(kind="muon", lr=1e-3)}),
        (2, {"objective": SAO}),
        (3, {"objective": SAO, "forward": {"kind": "rows", "micro_tokens": 100}}),
        (9, {"objective": SAO, "sharded": False}),  # more processes than members: one has nothing to do
    ],
    ids=["whole", "rows", "three", "lora", "muon", "critic", "critic rows", "critic whole"],
)
def test_processes_that_stop_after_every_step_learn_what_one_does(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path, world: int, changes: dict[str, Any]
) -> None:
    batches = [rl_batches(0), rl_batches(1)]
    alone = Learner(learner_config(policy, tmp_path / "one", **(changes | {"sharded": False})))
    expected = [alone.step(n, batch)["metrics"] for n, batch in enumerate(batches)]
    many = learner_config(policy, tmp_path / "two", **({"sharded": True} | changes))

    def learn(team: Team) -> list[dict[str, Any]]:
        return [TeamLearner(many, team).step(n, batch) for n, batch in enumerate(batches)]

    for reply, metrics in zip(together(learn, world)[0], expected, strict=True):
        agree(reply["metrics"], metrics)
    assert alike(tmp_path / "two" / "weights" / "v2", tmp_path / "one" / "weights" / "v2")
    moved = learner_config(policy, tmp_path / "two", **(changes | {"sharded": False}))
    assert Learner(moved).version == 2  # what several left, one takes up


@pytest.mark.parametrize("sharded", [False, True])
def test_sft_on_several_processes_is_sft_on_one(policy: Path, tmp_path: Path, sharded: bool) -> None:
    lines: list[dict[str, Any]] = []
    train(sft_config(policy, tmp_path / "one"), lines.append)
    many = sft_config(policy, tmp_path / "two", sharded=sharded, save_seconds=0)

    def killed(team: Team) -> None:
        work = TeamSft(many, team)
        for _ in range(3):
            work.update()
            if work.done == 2:
                work.save()

    def resumed(team: Team) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = []
        train(many, told.append, lambda settings: TeamSft(settings, team))
        return told

    together(killed)
    found = {line["step"]: line for line in together(resumed, 3)[0] if line["event"] == "progress"}
    assert sorted(found) == [3, 4, 5, 6]
    for line in lines:
        if line["event"] == "progress" and line["step"] in found:
            for name in ("loss", "gradient_norm", "tokens"):
                assert found[line["step"]][name] == pytest.approx(line[name], rel=NEAR), name
    assert alike(tmp_path / "two" / "out", tmp_path / "one" / "out")


def test_what_one_process_refuses_all_refuse_and_they_go_on(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path
) -> None:
    batch = rl_batches(0)
    settings = learner_config(policy, tmp_path / "run", sharded=True)

    def learn(team: Team) -> list[str]:
        learner = TeamLearner(settings, team)
        words = []
        for directory in (tmp_path / "nowhere", batch):
            try:
                learner.step(0, directory)
                words.append("stepped")
            except UserError as error:
                words.append(str(error))
        return words

    first, second = together(learn)
    assert first == second
    assert "nowhere is not a finished dataset" in first[0]
    assert first[1] == "stepped"


@pytest.mark.parametrize("sharded", [False, True])
def test_an_update_that_is_not_finite_is_refused_by_all(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path, sharded: bool
) -> None:
    bad = Path(shutil.copytree(policy, tmp_path / "bad"))
    weights = load_file(bad / "model.safetensors")
    weights["model.layers.0.mlp.up_proj.weight"][0, 0] = float("nan")
    save_file(weights, bad / "model.safetensors", metadata={"format": "pt"})
    batch, settings = rl_batches(0), learner_config(bad, tmp_path / "run", sharded=sharded)
    tuning = sft_config(bad, tmp_path / "tuned", sharded=sharded, save_every=1)

    def learn(team: Team) -> list[str]:
        words = []
        for attempt in (
            lambda: TeamLearner(settings, team).step(0, batch),
            lambda: train(tuning, lambda _: None, lambda told: TeamSft(told, team)),
        ):
            with pytest.raises(NotFinite) as refused:
                attempt()
            words.append(str(refused.value))
        return words

    for words in together(learn):
        assert "step 0: the loss of the policy is nan" in words[0]
        assert "SFT update 1 of 6: the loss of the policy is nan" in words[1]
    assert not (tmp_path / "run" / "weights").exists()
    assert not tuning.out.exists()


def test_a_damaged_state_is_refused_by_all(policy: Path, rl_batches: MakeBatch, tmp_path: Path) -> None:
    settings = learner_config(policy, tmp_path / "run")
    Learner(settings).step(0, rl_batches(0))
    (settings.state / "STATE.json").write_text("{}")

    def resume(team: Team) -> int:
        return TeamLearner(settings, team).version

    first, second = together(resume)
    assert first == second
    assert "STATE.json is unreadable: file: Field required" in first


def test_one_process_refuses_to_hold_a_part(policy: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"accelerate launch .* journeyman\.training\.distributed$"):
        Learner(learner_config(policy, tmp_path, sharded=True))
    with pytest.raises(UserError, match=r"journeyman\.training\.distributed_sft$"):
        SftRun(sft_config(policy, tmp_path / "run", sharded=True))


def test_alone_a_team_is_the_learner_itself(policy: Path, rl_batches: MakeBatch, tmp_path: Path) -> None:
    batch, settings = rl_batches(0), learner_config(policy, tmp_path / "one", sharded=True)
    (reply,) = together(lambda team: TeamLearner(settings, team).step(0, batch), 1)
    alone = Learner(learner_config(policy, tmp_path / "two")).step(0, batch)
    assert reply["metrics"]["loss"] == alone["metrics"]["loss"]
