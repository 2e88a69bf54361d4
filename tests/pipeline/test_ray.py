"""Rollouts on a local Ray cluster: the same job and the same records as in one process."""

import json
from pathlib import Path
from typing import Any

import pytest

from journeyman.errors import UserError
from journeyman.pipeline.executors.ray import Cluster, rollout_on_ray
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import Options, Recipe
from journeyman.pipeline.rollout import Wish
from journeyman.pipeline.state import Run
from journeyman.sandbox.detect import detect
from journeyman.store.layout import Job
from tests.pipeline.conftest import typed

NEEDS = "ray is not installed here (pip install ray==2.60.0): rollouts on a cluster are not shown"


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not detect().ready:
        pytest.skip(detect().line())
    out = tmp_path_factory.mktemp("made") / "tasks"
    types = ("--type", "finance.board_forecast", "--type", "operations.warehouse_exception")
    made = typed("tasks", "make", *types, "--train", "2", "--heldout", "0", "--out", out)
    assert made.returncode == 0, made.stderr
    return out


@pytest.fixture
def cluster() -> Cluster:
    pytest.importorskip("ray", reason=NEEDS)
    return Cluster(workers=2)


def wish(tasks: Path, policy: str = "reference") -> Wish:
    return Wish(tasks=tasks, policy=policy, split=None, attempts=2, temperature=1.0, seed=0)


def run_in(root: Path) -> Run:
    return Run(Recipe(name=root.name, stages=(), options=Options(concurrency=4)), Job(root), Silent())


def records(root: Path) -> dict[str, dict[str, Any]]:
    """Every sealed episode by its place, without what a clock says."""
    found = {}
    for seal in sorted(root.glob("episodes/*/*/*/*/SEAL.json")):
        directory = seal.parent
        episode = json.loads((directory / "episode.json").read_bytes())
        kept = {k: episode[k] for k in ("spec", "task_digest", "grader_digest", "harness_digest", "stop", "failure")}
        kept["spec"]["job"] = ""
        kept["files"] = sorted(json.loads(seal.read_bytes())["files"])
        for name in ("tokens.i32", "deleted.json"):
            if (directory / name).exists():
                kept[name] = (directory / name).read_bytes()
        place = directory.relative_to(root).as_posix()
        kept["grades"] = sorted(p.name for p in (root / place.replace("episodes", "grades", 1)).glob("*.json"))
        found[place] = kept
    return found


@pytest.mark.slow
async def test_a_job_on_ray_has_the_records_of_one_process(tasks: Path, tmp_path: Path, cluster: Cluster) -> None:
    finished = await rollout_on_ray(run_in(tmp_path / "on-ray"), wish(tasks), cluster)
    assert [one.reward for one in finished] == [1.0] * 4
    alone = typed("rollout", tasks, "--policy", "reference", "--attempts", "2", "--out", tmp_path / "alone")
    assert alone.returncode == 0, alone.stderr
    assert records(tmp_path / "on-ray") == records(tmp_path / "alone")
    assert typed("verify", tmp_path / "on-ray").returncode == 0
    seals = {p: p.read_bytes() for p in (tmp_path / "on-ray").rglob("SEAL.json")}
    again = await rollout_on_ray(run_in(tmp_path / "on-ray"), wish(tasks), cluster)
    assert [(a.spec, a.outcome) for a in again] == [(b.spec, b.outcome) for b in finished]
    assert {p: p.read_bytes() for p in (tmp_path / "on-ray").rglob("SEAL.json")} == seals


@pytest.mark.slow
async def test_what_a_user_must_mend_comes_back_in_one_line(tasks: Path, tmp_path: Path, cluster: Cluster) -> None:
    run = run_in(tmp_path / "bad")
    broken = Run(run.recipe.model_copy(update={"options": Options(sandbox="nowhere")}), run.job, run.progress)
    with pytest.raises(UserError, match="no sandbox 'nowhere'"):
        await rollout_on_ray(broken, wish(tasks), cluster)
