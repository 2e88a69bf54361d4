"""Two processes under `accelerate launch` over gloo: the losses, weights and records are those of one."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from journeyman.records.sample import Update
from journeyman.store.atomic import read_lines
from journeyman.training.config import LearnerConfig, OptimiserConfig
from journeyman.training.learner import Learner

MakeBatch = Callable[[int], Path]


def config(policy: Path, root: Path, objective: str) -> LearnerConfig:
    return LearnerConfig(
        initial=policy,
        weights=root / "weights",
        state=root / "state",
        ledger=root / "ledger.jsonl",
        objective={"name": objective},
        optimiser=OptimiserConfig(lr=1e-3),
    )


def launched(processes: int, settings: LearnerConfig, batches: list[Path], first: int = 0) -> list[dict[str, object]]:
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
        timeout=300,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["cispo", "gspo"])
def test_two_processes_learn_what_one_does(policy: Path, rl_batches: MakeBatch, tmp_path: Path, objective: str) -> None:
    batches = [rl_batches(0), rl_batches(1)]
    alone = Learner(config(policy, tmp_path / "one", objective))
    expected = [alone.step(n, batch)["metrics"] for n, batch in enumerate(batches)]
    together = config(policy, tmp_path / "two", objective)
    answers = launched(2, together, batches[:1])
    answers += launched(2, together, batches[1:], first=1)[1:]  # killed in between: the state is found again
    assert [a["event"] for a in answers] == ["ready", "step", "step"]
    for answer, metrics in zip(answers[1:], expected, strict=True):
        found = answer["metrics"]
        assert isinstance(found, dict)
        assert found.keys() == metrics.keys()
        for name in ("loss", "gradient_norm", "ratio_mean", "ratio_max", "entropy", "k3", "ess"):
            assert found[name] == pytest.approx(metrics[name], rel=2e-5, abs=1e-7), name
    ours, theirs = (
        load_file(root / "weights" / "v2" / "model.safetensors") for root in (tmp_path / "one", tmp_path / "two")
    )
    scale = max(float(t.abs().max()) for t in theirs.values())
    assert all(torch.allclose(ours[k], theirs[k], atol=2e-5 * scale, rtol=0) for k in ours)
    ledger = [Update.parse(line) for line in read_lines(together.ledger)]
    assert [(u.step, u.version_after) for u in ledger] == [(0, 1), (1, 2)]


@pytest.mark.slow
def test_a_batch_refused_by_one_is_refused_by_all_and_they_go_on(
    policy: Path, rl_batches: MakeBatch, tmp_path: Path
) -> None:
    answers = launched(2, config(policy, tmp_path / "one", "cispo"), [tmp_path / "nowhere", rl_batches(0)])
    assert [a["event"] for a in answers] == ["ready", "error", "step"]


def test_alone_a_team_is_the_learner_itself(policy: Path, rl_batches: MakeBatch, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from journeyman.training.config import LearnerConfig\n"
        "from journeyman.training.distributed import Team, TeamLearner\n"
        "team = Team(cpu=True); learner = TeamLearner(LearnerConfig.model_validate_json(sys.argv[1]), team)\n"
        "print(learner.step(0, Path(sys.argv[2]))['metrics']['loss'])"
    )
    settings = config(policy, tmp_path / "one", "cispo").model_dump_json()
    done = subprocess.run(
        [sys.executable, "-c", code, settings, str(rl_batches(0))], capture_output=True, text=True, check=True
    )
    alone = Learner(config(policy, tmp_path / "two", "cispo")).step(0, tmp_path / "batch0")
    assert float(done.stdout.splitlines()[-1]) == alone["metrics"]["loss"]
