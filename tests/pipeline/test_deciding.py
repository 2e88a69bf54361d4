"""Deciding over processes: the same decisions for any number of them, and none outlives the one that asked."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from journeyman.pipeline.deciding import Decided, decide
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import Recipe, TasksRecipe
from journeyman.pipeline.stages.making import make_one, wanted
from journeyman.pipeline.state import Run
from journeyman.store.layout import Job

pytestmark = pytest.mark.slow


def _packages(root: Path, count: int) -> list[Path]:
    return [make_one(want, root) for want in wanted(TasksRecipe(train=count, heldout=0, seed=900))]


def _decided(root: Path, packages: list[Path], processes: int) -> Decided:
    run = Run(Recipe(name="deciding"), Job(root), Silent())
    return asyncio.run(decide(run, packages, processes=processes, part=2))


def test_the_decisions_are_the_same_in_one_process_and_in_two(tmp_path: Path) -> None:
    packages = _packages(tmp_path / "packages", 4)
    broken = packages[1] / "instruction.md"
    broken.write_text(broken.read_text() + "\n{{unfilled}}\n")
    alone, shared = (_decided(tmp_path / f"job{n}", packages, n) for n in (1, 2))
    assert [a.admitted for a in alone.admissions].count(False) == 1
    assert [a.model_dump() for a in shared.admissions] == [a.model_dump() for a in alone.admissions]
    assert shared.cpu_seconds > 0


_SCRIPT = """
import sys
from pathlib import Path
from tests.pipeline.test_deciding import _decided

if __name__ == "__main__":
    root = Path(sys.argv[1])
    _decided(root / "job", sorted((root / "packages").iterdir()), 2)
"""


def _children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _deciding(pid: int) -> list[int]:
    return [c for c in _children(pid) if "spawn_main" in Path(f"/proc/{c}/cmdline").read_text()]


def test_a_process_that_decides_ends_with_the_one_that_asked(tmp_path: Path) -> None:
    _packages(tmp_path / "packages", 16)
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    asked = subprocess.Popen([sys.executable, str(script), str(tmp_path)], env=env)
    deadline = time.monotonic() + 60
    while not any((tmp_path / "job").rglob("SEAL.json")):
        assert asked.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    deciding = _deciding(asked.pid)
    assert len(deciding) == 2
    asked.send_signal(signal.SIGKILL)
    asked.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in deciding):
        assert time.monotonic() < deadline
        time.sleep(0.05)
