"""Recipes: closed, typed, one line per mistake; speed is no part of what a recipe is."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from journeyman.errors import UserError
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import STAGES, Options, Recipe, load_recipe, write_resolved
from journeyman.pipeline.run import STAGE_FUNCTIONS, open_run
from journeyman.pipeline.stages.merge import parents

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))
SHIPPED = [path for path in RECIPES if not {"methods", "policies"} & set(tomllib.loads(path.read_text()))]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_recipe_loads(path: Path) -> None:
    recipe = load_recipe(path)
    assert recipe.name == path.stem
    assert set(recipe.stages) <= set(STAGES)


def test_every_stage_has_a_function() -> None:
    assert set(STAGE_FUNCTIONS) == set(STAGES)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[rl]\nstep = 3", "unknown key 'rl.step': did you mean 'rl.steps'?"),
        ("policies = 1", "unknown key 'policies': did you mean 'evaluation.policies'?"),
        ("[sft]\nseed = 1", "unknown key 'sft.seed': did you mean 'seed'?"),
        ("[sft]\noptimizer = 1", "unknown key 'sft.optimizer': did you mean 'sft.optimiser'?"),
        ("[rl]\nsteps = 'many'", "rl.steps = 'many'"),
        ("[rl]\nsteps = -1", "rl.steps = -1"),
        ("[rl]\ngroup_size = 0", "rl.group_size = 0"),
        ("[rl]\ngroup_size = 1", "group_size = 1 leaves nothing to compare with"),
        ("[methods.cispo]", "journeyman ablate"),
        ("[rl.credit.shaping]\nturn_capp = 3", "did you mean 'rl.credit.shaping.turn_cap'?"),
        ("[tasks]\nsize = 'huge'", "tasks.size = 'huge'"),
        ("stages = ['tasks', 'sftt']", "no stage 'sftt'"),
        ("[options]\nconcurrency = 0", "options.concurrency = 0"),
        ("name = ", "is not TOML"),
        ("[tracking]\nto = ['tensorbord']", "no tracker 'tensorbord': did you mean 'tensorboard'?"),
        ("seed = 1.5", "seed = 1.5"),
        ("seed = -1", "seed = -1"),
        ("[policy]\ndevice = 'gpu9'", "device = 'gpu9' is no device: write cpu, cuda or cuda:N"),
        (
            "[engine]\nkind = 'nope'\nurls = ['http://h']",
            "engine.kind = 'nope' is none that can be used: choose embedded",
        ),
        ("[tasks]\ntypes = ['finance.board_forcast']", "did you mean 'finance.board_forecast'?"),
        ("[rl.objective]\nname = 'nope'", "objective 'nope' is unknown: choose one of cispo, grpo"),
        (
            "[rl]\nreward_name = 'nope'",
            "rl.reward_name = 'nope' is none that can be used: choose signed.v1 or rubric.v1",
        ),
        ("[rl.credit]\nadvantage = 'nope'", "'nope' is unknown: choose one of centred, grpo"),
        ("[merge]\nmethod = 'nope'", "choose soup, slerp or module:Class"),
        ("[merge]\nmethod = 'ties'", "choose soup, slerp or module:Class"),
        ("[merge]\nmethod = 'slerp'\nsteps_back = [0, 1, 2]", "merges exactly two policies, 3 are named"),
        ("[merge]\nsteps_back = []", "merge.steps_back = []"),
        ("[rl]\nsteps = 0", "stage 'merge' has no checkpoints to merge (rl.steps = 0)"),
        ("stages = ['tasks', 'merge']", "stage 'merge' has no checkpoints to merge (no stage 'rl')"),
        ("stages = ['tasks', 'evaluate']", "evaluation.policies has 'sft', which stage 'sft' makes"),
        ("[options]\nsandbox = 'nope'", "no sandbox 'nope': choose bubblewrap, or local"),
        ("[evaluation]\npolicies = []", "evaluation.policies = []"),
        ("rl.objective = { name = 'sft' }", "objective 'sft' is unknown"),
        ("rl.objective = { name = 'cispo', clip_hihg = 5.0 }", "unknown key 'clip_hihg': did you mean 'clip_high'?"),
        ("rl.objective = { name = 'gspo', whole_members = false }", "unknown key 'whole_members'"),
        ("rl.objective = { name = 'sao', critic = { alpha = 0 } }", "critic.alpha = 0"),
        ("rl.objective = { name = 'hdpo', settings = { epsilon_high = 0 } }", "settings of dis: the bounds (0.2, 1)"),
        ("rl.optimiser = { clip_norm = -1.0 }", "rl.optimiser.clip_norm = -1.0"),
        ("rl.optimiser = { betas = [1.5, 0.9] }", "rl.optimiser.betas.0 = 1.5"),
        ("rl.model = { lora = { rank = 0 } }", "rl.model.lora.rank = 0"),
        ("[evaluation]\ntemperatures = []", "evaluation.temperatures = []"),
        ("[evaluation]\ntemperatures = [-1.0]", "evaluation.temperatures.0 = -1.0"),
        (
            "[evaluation]\npolicies = ['bogus']",
            "'bogus' is none that can be used: choose base, sft, rl, merged, rl@VERSION or LABEL=DIR",
        ),
        ("[evaluation]\npolicies = ['base', '../x=somewhere']", "policy label '../x' is no name of one path segment"),
        ("[evaluation]\npolicies = ['base', 'x*=somewhere']", "policy label 'x*' is no name of one path segment"),
        ("[evaluation]\npolicies = ['base', 'base=somewhere']", "evaluation.policies has 'base' twice"),
        ("[evaluation]\ntemperatures = [1.0, 1.0000001]", "evaluation.temperatures has '1' twice"),
        ("[tasks]\ntypes = ['finance.loan_loss', 'finance.loan_loss']", "tasks.types has 'finance.loan_loss' twice"),
        ("name = '../../escaped'", "name '../../escaped' is no name of one path segment"),
        ("name = ''", "name '' is no name of one path segment"),
        ("name = '..'", "name '..' is no name of one path segment"),
    ],
)
def test_a_mistake_in_a_recipe_is_one_line_that_names_it(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        load_recipe(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_recipe_that_is_not_there_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"does not exist: give a \.toml file"):
        load_recipe(tmp_path / "nothing.toml")
    with pytest.raises(UserError, match="Is a directory"):
        load_recipe(tmp_path)


@pytest.mark.parametrize("damaged", [b"\xff", b"name = [", b"a = " + b"[" * 5000, b"name = 3"])
def test_a_run_whose_recipe_was_damaged_is_one_line_and_stays_as_it_is(tmp_path: Path, damaged: bytes) -> None:
    target = tmp_path / "config.toml"
    target.write_bytes(damaged)
    with pytest.raises(UserError, match=re.escape(str(target))):
        write_resolved(Recipe(name="r"), target)
    assert target.read_bytes() == damaged


def test_overrides_are_toml_values_and_unknown_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text("[rl]\nsteps = 3\n")
    recipe = load_recipe(path, ("rl.steps=5", "policy.base=here", "evaluation.temperatures=[1.0]"))
    assert (recipe.rl.steps, recipe.policy.base, recipe.evaluation.temperatures) == (5, "here", (1.0,))
    for override in ("rl.stepz=1", "rl.steps", "=3", "name.x=1", "rl.steps=[}"):
        with pytest.raises(UserError):
            load_recipe(path, (override,))


def test_options_change_speed_and_nothing_else() -> None:
    recipe = Recipe(name="r")
    faster = recipe.model_copy(update={"options": Options(concurrency=7, sampler_threads=3)})
    assert faster.identity() == recipe.identity()
    assert recipe.model_copy(update={"seed": 9}).identity() != recipe.identity()


def test_the_resolved_recipe_is_written_and_reads_back_as_itself(tmp_path: Path) -> None:
    for path in SHIPPED:
        recipe = load_recipe(path)
        target = tmp_path / path.stem / "config.toml"
        write_resolved(recipe, target)
        assert load_recipe(target) == recipe
        assert tomllib.loads(target.read_text())["rl"]["credit"]["shaping"]


def test_a_run_of_another_recipe_in_the_same_place_is_refused(tmp_path: Path) -> None:
    recipe = Recipe(name="r")
    open_run(recipe, tmp_path / "run", Silent(), resume=False)
    with pytest.raises(UserError, match="holds a run already: add --resume"):
        open_run(recipe, tmp_path / "run", Silent(), resume=False)
    with pytest.raises(UserError, match="holds a run of another recipe"):
        open_run(recipe.model_copy(update={"seed": 5}), tmp_path / "run", Silent(), resume=True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policy": {"base": "nope"}}, "policy.base = 'nope'"),
        ({"stages": ["evaluate"], "evaluation": {"policies": ["x=nope"]}}, "policy 'x=nope'"),
    ],
)
def test_a_policy_that_is_not_there_is_told_before_anything_is_written(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        open_run(Recipe(name="r", **changes), tmp_path / "run", Silent(), resume=False)
    assert not (tmp_path / "run").exists()


def test_one_process_works_in_a_run_at_a_time(tmp_path: Path) -> None:
    recipe = Recipe(name="r")
    first = open_run(recipe, tmp_path / "run", Silent(), resume=False)
    with pytest.raises(UserError, match="in use by another process"):
        open_run(recipe, tmp_path / "run", Silent(), resume=True)
    assert first.lock is not None
    first.lock.close()
    open_run(recipe, tmp_path / "run", Silent(), resume=True)


def test_a_recipe_is_read_and_refused_without_torch() -> None:
    code = (
        "import sys; from pathlib import Path; from journeyman.pipeline.recipe import load_recipe;"
        f"load_recipe(Path({str(SHIPPED[0])!r})); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_rl_that_took_no_step_leaves_the_merge_one_parent(tmp_path: Path) -> None:
    run = open_run(Recipe(name="r"), tmp_path / "run", Silent(), resume=False)
    run.complete("rl", {"weights": str(run.base_policy())})
    assert parents(run) == [run.base_policy()]
