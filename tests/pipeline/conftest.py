"""One miniature run of the whole loop, made once by the command line itself and shared by the tests that read it."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from journeyman.sandbox.detect import detect
from tests.pipeline.miniature import write_policy, write_recipe

PRICED = "\n[tracking]\nusd_per_device_hour = 3600.0\n"
Type = Callable[..., subprocess.CompletedProcess[str]]


def typed(*arguments: str | Path, timeout: float = 600.0) -> subprocess.CompletedProcess[str]:
    """`journeyman ARGUMENTS` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "journeyman.cli.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"},
    )


@dataclass(frozen=True)
class Made:
    """The finished run, its recipe, and what the terminal showed."""

    directory: Path
    recipe: Path
    shown: str


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A whole run, from tasks to report."""
    if not detect().ready:
        pytest.skip(detect().line())
    root = tmp_path_factory.mktemp("miniature")
    recipe = write_recipe(root / "miniature.toml", write_policy(root / "policy"), tracking=PRICED)
    done = typed("run", recipe, "--out", root / "runs" / "quickstart")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return Made(root / "runs" / "quickstart", recipe, done.stdout)
