"""Policies made from one another: mistakes show before anything runs; one lineage, losses marked, none made twice."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from journeyman.errors import UserError
from journeyman.evaluation.rows import EpisodeRow
from journeyman.pipeline.experts import load_experts, parse_experts, policy_recipe
from journeyman.pipeline.experts_table import told
from journeyman.records.episode import EpisodeSpec, Sampling, Usage
from journeyman.records.sample import Checkpoint
from tests.pipeline.conftest import Made, typed
from tests.pipeline.miniature import write_policy

ROOT = Path(__file__).parents[2]

MINIATURE = """
name = "few"

[recipe]
tracking = {{ to = [] }}
policy = {{ base = "{policy}", max_tokens = 24 }}
tasks = {{ from_release = "{release}", types = ["finance.board_forecast", "operations.warehouse_exception"] }}
expert = {{ per_task = 1 }}
sft = {{ epochs = 1, batch_rows = 4, optimiser = {{ lr = 1e-4 }} }}
evaluation = {{ attempts = 1, temperatures = [1.0] }}
options = {{ concurrency = 4 }}

[policies.long]
types = ["operations.warehouse_exception"]
stages = ["demonstrations", "sft"]

[policies.broad]
types = ["finance.board_forecast"]
stages = ["demonstrations", "sft"]

[policies.soup]
merge = ["long", "broad"]

[policies.final]
start = "soup"
stages = ["rl"]

[policies.final.rl]
steps = 1
groups_per_step = 4
group_size = 1
objective = {{ name = "sao", critic = {{ pretrain_steps = 0 }} }}
"""


def test_the_recipe_that_ships_makes_two_experts_their_soup_and_rl_on_it() -> None:
    experts = load_experts(ROOT / "recipes" / "experts.toml")
    assert experts is not None
    assert {name: plan.parents for name, plan in experts.policies.items()} == {
        "ground": (),
        "long": ("ground",),
        "broad": ("ground",),
        "soup": ("long", "broad"),
        "final": ("soup",),
    }
    assert experts.ancestors("final") == ("ground", "long", "broad", "soup")
    recipes = {n: policy_recipe(experts, n, Path(), "embedded") for n, p in experts.policies.items() if p.stages}
    assert recipes["long"].rl.credit.advantage == "hdpo"
    assert recipes["final"].rl.credit.advantage == "critic"
    assert {recipe.rl.credit.shaping for recipe in recipes.values()} == {recipes["ground"].rl.credit.shaping}
    assert not set(recipes["long"].tasks.types) & set(recipes["broad"].tasks.types)
    assert {len(recipes[name].tasks.types) for name in ("ground", "final")} == {8}


def shipped(**policies: dict[str, Any]) -> dict[str, Any]:
    return {"recipe": {"tasks": {"types": ["finance.board_forecast"]}}, "policies": policies}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (shipped(a={"stages": ["sft"]}, b={"merge": ["a", "c"]}), "'b' is made from 'c': earlier are a"),
        (shipped(a={"stages": ["sft"]}, b={"merge": ["a"]}), "a merge needs at least two"),
        (shipped(a={"stages": ["sft"], "merge": ["x", "y"]}), "merged or trained"),
        (shipped(a={"stages": ["demonstrations"]}), "nothing trains it"),
        (shipped(a={"stages": ["rl"], "rl": {"stepz": 1}}), "did you mean 'rl.steps'"),
        (shipped(a={"stages": ["sft"], "types": ["law.breach_notice"]}), "which recipe.tasks.types does not name"),
        (shipped(base={"stages": ["sft"]}), "base is taken"),
        (
            shipped(a={"stages": ["sft"]}, b={"stages": ["sft"]}, c={"merge": ["a", "b"], "method": "nope"}),
            "or module:Class",
        ),
        ({"name": "", **shipped(a={"stages": ["sft"]})}, "name '' is no name"),
        (shipped(), "policies"),
    ],
)
def test_a_mistake_in_any_policy_is_named_before_the_first_is_made(data: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said.replace(".", r"\.")):
        parse_experts(data, Path("few.toml"))


def test_an_ordinary_recipe_is_none_of_several_policies() -> None:
    assert load_experts(ROOT / "recipes" / "quickstart.toml") is None


def row(policy: str, kind: str, task: int, reward: float) -> EpisodeRow:
    return EpisodeRow(
        spec=EpisodeSpec(job="j", policy=policy, task=f"{kind}{task}", group="g", attempt=0, sampling=Sampling()),
        environment_type=kind,
        reward=reward,
        signed=reward,
        decided=(),
        usage=Usage(),
        tool_errors=0,
        timing={},
        stop="finished",
        failure=None,
    )


def test_what_a_policy_lost_against_those_it_comes_from_is_marked_and_counted() -> None:
    rows = []
    for task in range(6):
        wobble = task / 100
        rows += [row("long", "x", task, 0.8 + wobble), row("broad", "x", task, 0.1), row("soup", "x", task, 0.5)]
        rows += [row("long", "y", task, 0.1), row("broad", "y", task, (task % 2) * 0.8)]
        rows += [row("soup", "y", task, 0.39)]
    lines = list(told(rows, ["long", "broad", "soup"], {"soup": ("long", "broad")}, {"types of long": ["x"]}))
    x, y, group, _ = [line for line in lines if line.startswith("| ")][1:]
    assert x.startswith("| x | 6 | 0.83 [")
    assert x.endswith("▼long |")  # every task lower than the long-horizon expert, none lower than the broad one
    assert y.endswith("▽broad |")
    assert group.startswith("| **types of long** | 6 |")
    assert "- soup against long: better on 1, worse on 1, no difference shown on 0 of 2 types" in lines
    assert "- soup against broad: better on 1, worse on 0, no difference shown on 1 of 2 types" in lines


def parents(directory: Path) -> tuple[str, ...]:
    return Checkpoint.parse((directory / "CHECKPOINT.json").read_bytes()).parents


def digest(directory: Path) -> str:
    return Checkpoint.parse((directory / "CHECKPOINT.json").read_bytes()).digest()


@pytest.mark.slow
def test_two_experts_their_soup_and_rl_on_it_are_one_lineage_and_none_is_made_twice(made: Made, tmp_path: Path) -> None:
    recipe = tmp_path / "few.toml"
    release = made.directory / "tasks" / "release"
    recipe.write_text(MINIATURE.format(policy=write_policy(tmp_path / "policy"), release=release))
    assert tomllib.loads(recipe.read_text())["policies"]["soup"]
    out = tmp_path / "runs"
    done = typed("run", recipe, "--out", out)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    policies = out / "policies"
    long, broad = policies / "long" / "weights" / "sft", policies / "broad" / "weights" / "sft"
    soup, final = policies / "soup" / "weights" / "merged", policies / "final" / "weights" / "rl" / "v1"
    assert parents(soup) == (digest(long), digest(broad))
    assert parents(final) == (digest(soup),)
    assert parents(long) == parents(broad)
    slugs = {d.name for d in (policies / "long" / "episodes" / "expert").iterdir()}
    assert slugs
    assert all("warehouse" in slug for slug in slugs)
    table = (out / "table.md").read_text()
    assert "| | tasks | base | long | broad | soup | final |" in table
    assert "soup against long: better on" in table
    sealed = sorted(p.stat().st_mtime_ns for p in out.rglob("SEAL.json"))
    refused = typed("run", recipe, "--out", out)
    assert refused.returncode == 2
    assert "--resume" in refused.stderr
    again = typed("run", recipe, "--out", out, "--resume")
    assert again.returncode == 0, again.stderr[-2000:]
    assert sorted(p.stat().st_mtime_ns for p in out.rglob("SEAL.json")) == sealed
    assert (out / "table.md").read_text() == table
