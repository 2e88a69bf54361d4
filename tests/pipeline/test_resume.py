"""A run that is killed and goes on seals the same attempts once each and trains on the same groups in order."""

import random
from pathlib import Path

import pytest

from journeyman.sandbox.detect import detect
from tests.pipeline.killing import compare, finish, kill_at, progress
from tests.pipeline.miniature import write_policy, write_recipe

pytestmark = pytest.mark.slow


def test_a_run_killed_twice_is_the_run_that_was_left_alone(tmp_path: Path) -> None:
    if not detect().ready:
        pytest.skip(detect().line())
    stages = ("tasks", "demonstrations", "sft", "rl")
    recipe = write_recipe(tmp_path / "miniature.toml", write_policy(tmp_path / "policy"), stages=stages)
    whole, killed, log = tmp_path / "whole" / "run", tmp_path / "killed" / "run", tmp_path / "log"
    for path in (whole, killed):
        path.parent.mkdir()
    finish(recipe, whole, log)
    rng = random.Random(4)
    total = progress(whole)
    early, late = rng.randrange(total // 2), total - 4  # once anywhere, once while RL steps are being taken
    kills = [kill_at(n, recipe, killed, mark, rng.random(), log, 300.0) for n, mark in enumerate((early, late), 1)]
    finish(recipe, killed, log)
    assert kills[0] is not None
    assert all(kill.survivors == 0 for kill in kills if kill is not None)
    assert [one.what for one in compare(recipe, whole, killed) if not one.holds] == []
