"""Recipes: closed, typed, one line per mistake; speed is no part of what a recipe is."""

import tomllib
from pathlib import Path

import pytest

from journeyman.errors import UserError
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import STAGES, Options, Recipe, load_recipe, write_resolved
from journeyman.pipeline.run import STAGE_FUNCTIONS, open_run

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
    with pytest.raises(UserError, match=r"no recipe at .*give a \.toml file"):
        load_recipe(tmp_path / "nothing.toml")
    with pytest.raises(UserError, match="Is a directory"):
        load_recipe(tmp_path)


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


def test_one_process_works_in_a_run_at_a_time(tmp_path: Path) -> None:
    recipe = Recipe(name="r")
    first = open_run(recipe, tmp_path / "run", Silent(), resume=False)
    with pytest.raises(UserError, match="in use by another process"):
        open_run(recipe, tmp_path / "run", Silent(), resume=True)
    assert first.lock is not None
    first.lock.close()
    open_run(recipe, tmp_path / "run", Silent(), resume=True)
