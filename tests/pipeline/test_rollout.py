"""One job outside a recipe: what is sealed is not run again, and later verbs find its tasks where they were."""

from pathlib import Path

import pytest

from journeyman.sandbox.detect import detect
from tests.pipeline.conftest import typed


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "tasks"
    types = ("--type", "finance.board_forecast", "--type", "operations.warehouse_exception")
    made = typed("tasks", "make", *types, "--train", "2", "--heldout", "0", "--out", out)
    assert made.returncode == 0, made.stderr
    return out


def test_a_rollout_is_sealed_graded_resumed_verified_and_graded_again_beside(tasks: Path, tmp_path: Path) -> None:
    if not detect().ready:
        pytest.skip(detect().line())
    out = tmp_path / "rolled"
    done = typed("rollout", tasks, "--policy", "reference", "--attempts", "2", "--out", out)
    assert "4 of 4 attempts graded, mean reward 1.000" in done.stdout, done.stdout + done.stderr
    seals = {p: p.read_bytes() for p in out.rglob("SEAL.json")}
    again = typed("rollout", tasks, "--policy", "reference", "--attempts", "2", "--out", out)
    assert again.returncode == 0
    assert {p: p.read_bytes() for p in out.rglob("SEAL.json")} == seals
    assert typed("verify", out).returncode == 0
    second = typed("grade", out, "--grader", "second")
    assert second.returncode == 0, second.stderr
    assert len(list(out.glob("grades/*/*/*/*/*.json"))) == 8
    assert typed("verify", out).returncode == 0


def test_no_op_gets_nothing(tasks: Path, tmp_path: Path) -> None:
    if not detect().ready:
        pytest.skip(detect().line())
    done = typed("rollout", tasks, "--policy", "no-op", "--out", tmp_path / "idle")
    assert "2 of 2 attempts graded, mean reward 0.000" in done.stdout, done.stdout + done.stderr
