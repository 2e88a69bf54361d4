"""Ablations: cells share tasks and SFT policy, one mistake stops all before the first starts, finished cells stay."""

from pathlib import Path

import pytest

from journeyman.errors import UserError
from journeyman.evaluation.rows import EpisodeRow
from journeyman.pipeline.ablation import Ablation, cells, load_ablation, shared_recipe
from journeyman.pipeline.ablation_table import at_equal_accuracy
from journeyman.records.episode import EpisodeSpec, Sampling, Usage
from tests.pipeline.conftest import Made, typed
from tests.pipeline.miniature import write_policy

ROOT = Path(__file__).parents[2]

MINIATURE = """
name = "mini"
seeds = [7]

[recipe.policy]
base = "{policy}"
max_tokens = 24

[recipe.tasks]
from_release = "{release}"
types = ["finance.board_forecast"]

[recipe.tracking]
to = []

[recipe.expert]
per_task = 1

[recipe.sft]
epochs = 1
batch_rows = 4
optimiser = {{ lr = 1e-5 }}

[recipe.rl]
steps = 2
groups_per_step = 1
group_size = 4
count_filtered_groups = true
optimiser = {{ lr = 1e-4 }}

[recipe.evaluation]
attempts = 1
temperatures = [1.0]

[recipe.options]
concurrency = 4

[methods.cispo]
objective = {{ name = "cispo" }}

[methods.sao]
groups_per_step = 4
group_size = 1
objective = {{ name = "sao", critic = {{ pretrain_steps = 1 }} }}
"""


def test_the_recipe_that_ships_names_every_method_with_its_own_credit() -> None:
    ablation = load_ablation(ROOT / "recipes" / "ablation.toml")
    planned = cells(ablation, Path("runs/ablation"))
    assert len(planned) == 18
    assert list(ablation.methods) == ["cispo", "grpo", "dr_grpo", "reinforce", "hdpo", "sao"]
    credit = {cell.method: cell.recipe.rl.credit.advantage for cell in planned}
    assert credit == {
        "cispo": "centred",
        "grpo": "grpo",
        "dr_grpo": "centred",
        "reinforce": "centred",
        "hdpo": "hdpo",
        "sao": "critic",
    }
    episodes = {cell.recipe.rl.groups_per_step * cell.recipe.rl.group_size for cell in planned}
    assert len(episodes) == 1
    shaping = {cell.recipe.rl.credit.shaping for cell in planned}
    assert len(shaping) == 1
    assert {cell.recipe.stages for cell in planned} == {("rl", "evaluate")}
    assert "rl" not in shared_recipe(ablation).stages


def test_cells_differ_in_method_and_seed_only() -> None:
    ablation = load_ablation(ROOT / "recipes" / "ablation.toml")
    planned = cells(ablation, Path("runs/ablation"))
    assert len({(cell.recipe.policy.base, cell.recipe.tasks.from_release) for cell in planned}) == 1
    assert len({cell.directory for cell in planned}) == 18
    assert sorted({cell.recipe.seed for cell in planned}) == [1, 2, 3]


def test_a_mistake_in_one_method_is_named_before_anything_runs() -> None:
    ablation = Ablation(name="a", recipe={}, methods={"cispo": {"stepz": 3}})
    with pytest.raises(UserError, match=r"cispo-1.*did you mean 'rl\.steps'"):
        cells(ablation, Path("out"))


def row(policy: str, task: str, reward: float, turns: int, attempt: int = 0) -> EpisodeRow:
    return EpisodeRow(
        spec=EpisodeSpec(job="j", policy=policy, task=task, group="g", attempt=attempt, sampling=Sampling()),
        environment_type="t",
        reward=reward,
        signed=reward,
        decided=(),
        usage=Usage(turns=turns),
        tool_errors=0,
        timing={},
        stop="finished",
        failure=None,
    )


def test_turns_are_compared_where_task_and_reward_are_alike() -> None:
    rows = [row("cispo", "a", 0.5, 6), row("hdpo", "a", 0.6, 4), row("cispo", "b", 1.0, 8), row("hdpo", "b", 1.0, 6)]
    rows += [row("hdpo", "c", 1.0, 1), row("cispo", "c", 0.0, 9)]  # unlike rewards: no pair
    line = at_equal_accuracy(rows, "hdpo", "cispo", 0.25)
    assert line is not None
    assert "-2.00" in line
    assert "over 2 pairs" in line
    assert at_equal_accuracy(rows[4:], "hdpo", "cispo", 0.25) is None


@pytest.mark.slow
def test_two_methods_run_to_a_table_and_run_again_repeat_nothing(made: Made, tmp_path: Path) -> None:
    recipe = tmp_path / "mini.toml"
    release = made.directory / "tasks" / "release"
    recipe.write_text(MINIATURE.format(policy=write_policy(tmp_path / "policy"), release=release))
    out = tmp_path / "runs"
    done = typed("ablate", recipe, "--out", out)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    for method in ("sft", "cispo", "sao"):
        assert f"{method}, T = 1" in done.stdout
    assert "sao - cispo, T = 1" in done.stdout
    assert (out / "report" / "index.html").exists()
    versions = sorted(p.name for p in (out / "cells" / "sao-7" / "weights" / "rl").iterdir())
    assert "v2" not in versions  # one of two batches trained the critic alone
    sealed = sorted(p.stat().st_mtime_ns for p in out.rglob("SEAL.json"))
    again = typed("ablate", recipe, "--out", out)
    assert again.returncode == 0, again.stderr[-2000:]
    assert sorted(p.stat().st_mtime_ns for p in out.rglob("SEAL.json")) == sealed
    assert again.stdout.splitlines()[-4:] == done.stdout.splitlines()[-4:]
