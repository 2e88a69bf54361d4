"""The Tinker API as a second learner: through the real client, against a stand-in server, the update is our own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from journeyman.errors import UserError
from journeyman.records.sample import Checkpoint, Update
from journeyman.store.atomic import read_lines
from journeyman.training.config import LearnerConfig, OptimiserConfig
from journeyman.training.learner import Learner
from journeyman.training.tinker import TinkerConfig, TinkerLearner

MakeBatch = Callable[[int], Path]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def server(policy: Path, tmp_path: Path) -> Iterator[str]:
    pytest.importorskip("tinker", reason="tinker is not installed here (pip install tinker==0.38.0)")
    port = tmp_path / "port"
    command = [sys.executable, "-m", "tests.training.tinker_server", str(policy), str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        deadline = time.monotonic() + 600  # only against a hang: a busy machine imports for minutes
        while not port.exists() or not port.read_text():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port.read_text()}"
    finally:
        process.kill()
        process.wait()


def values(policy: Path, root: Path, **changes: Any) -> dict[str, Any]:
    return {
        "initial": policy,
        "weights": root / "weights",
        "state": root / "state",
        "ledger": root / "ledger.jsonl",
        "optimiser": OptimiserConfig(lr=1e-3),
        **changes,
    }


@pytest.mark.slow
def test_two_steps_through_the_client_are_two_steps_of_our_own_learner(
    server: str, policy: Path, rl_batches: MakeBatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", "tml-stand-in")
    monkeypatch.setenv("TINKER_TELEMETRY", "0")
    batches = [rl_batches(0), rl_batches(1)]
    own = Learner(LearnerConfig(**values(policy, tmp_path / "own")))
    expected = [own.step(n, batch)["metrics"] for n, batch in enumerate(batches)]
    config = TinkerConfig(base_model="tiny", base_url=server, **values(policy, tmp_path / "far"))
    replies = [TinkerLearner(config).step(0, batches[0])]
    resumed = TinkerLearner(config)  # a new process finds the service's state by its name
    assert (resumed.step_done, resumed.version) == (0, 1)
    assert resumed.step(0, batches[0]) == replies[0]
    replies.append(resumed.step(1, batches[1]))
    for reply, metrics in zip(replies, expected, strict=True):
        found = reply["metrics"]
        for name in ("loss", "ratio_mean", "ratio_max", "k3", "ess", "clip_fraction", "surprise"):
            assert found[name] == pytest.approx(metrics[name], rel=1e-4, abs=1e-6), name
        assert "entropy" not in found
    marker = Checkpoint.parse((tmp_path / "far" / "weights" / "v2" / "CHECKPOINT.json").read_bytes())
    assert (marker.version, marker.objective) == (2, "cispo")
    assert "tinker://" in (tmp_path / "far" / "weights" / "v2" / "TINKER.json").read_text()
    ledger = [Update.parse(line) for line in read_lines(config.ledger)]
    assert [(u.step, u.version_before, u.version_after) for u in ledger] == [(0, 0, 1), (1, 1, 2)]


def test_what_the_service_does_not_compute_is_refused(policy: Path, tmp_path: Path) -> None:
    for changes in ({"objective": {"name": "gspo"}}, {"objective": {"name": "cispo", "policies": 3}}):
        with pytest.raises(UserError, match="choose cispo"):
            TinkerLearner(TinkerConfig(base_model="tiny", **values(policy, tmp_path, **changes)))
    muon = TinkerConfig(base_model="tiny", **values(policy, tmp_path, optimiser=OptimiserConfig(kind="muon")))
    with pytest.raises(UserError, match="asked for adamw"):
        TinkerLearner(muon)
