"""`journeyman check learner` prints every gap, exits 0 where all hold and 1 where one does not, naming it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def check(objective: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "journeyman.cli.main", "check", "learner", "--workers", "1"]
    return subprocess.run(
        [*command, "--objective", objective],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "160"},
    )


def test_what_ships_holds() -> None:
    done = check("cispo")
    assert done.returncode == 0, done.stdout + done.stderr
    for invariance in ("splitting a trajectory", "inserting observations", "packing", "micro-batch split", "resume"):
        assert invariance in done.stdout
    assert "8 checks hold" in done.stdout
    assert "V7g DIS gradient" in done.stdout
    assert "and 46 known values" in done.stdout


def test_a_broken_objective_is_named() -> None:
    done = check("tests.training.test_invariances:MicroBatchMean")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "MicroBatchMean: micro-batch split" in done.stdout.replace("\n", " ")


def test_an_unknown_objective_is_the_users_to_fix() -> None:
    done = check("cipso")
    assert done.returncode == 2
    assert "'cipso' is unknown" in done.stderr
