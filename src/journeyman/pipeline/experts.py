"""Policies made from one another: experts trained apart, merged, trained on. One base, one lineage, nothing done twice.

OUT/tasks is an ordinary run that makes and admits the tasks; OUT/policies/NAME makes one policy, from the base, from
an earlier policy or by merging several; OUT/evaluation has all of them on the same held-out tasks.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from journeyman.admission.release import open_release
from journeyman.errors import UserError
from journeyman.evaluation.rows import EpisodeRow, read_rows
from journeyman.pipeline.experts_table import told
from journeyman.pipeline.naming import check_segment
from journeyman.pipeline.progress import Progress
from journeyman.pipeline.recipe import RECIPE_FILE, Recipe, check_merge, parse_recipe, with_overrides
from journeyman.pipeline.run import carry_out
from journeyman.pipeline.state import Run
from journeyman.pipeline.training_runs import process
from journeyman.records.base import Record
from journeyman.store.atomic import write_atomic
from journeyman.store.config_file import parse_config, read_values
from journeyman.store.layout import Job
from journeyman.store.lock import hold
from journeyman.tasks.package import load_task
from journeyman.worlds.registry import DEFAULT_TYPES

Section = dict[str, Any]


class PolicyPlan(Record):
    """How one policy comes about. Keys of a section replace those of the shared recipe's."""

    start: str = ""
    """An earlier policy; empty: `recipe.policy.base`."""
    merge: tuple[str, ...] = ()
    """Earlier policies that are merged; then nothing is trained."""
    method: str | dict[str, Any] = "soup"
    keep: int = Field(0, ge=0)
    """Which of the merged policies' tokenizer and configuration are kept."""
    stages: tuple[Literal["demonstrations", "sft", "rl"], ...] = ()
    types: tuple[str, ...] = ()
    """Environment types it trains on; empty: all of the recipe's."""
    expert: Section = Field(default_factory=dict)
    sft: Section = Field(default_factory=dict)
    rl: Section = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_way(self) -> "PolicyPlan":
        if self.merge and (self.stages or self.start):
            raise ValueError("a policy is merged or trained: take merge out, or stages and start")
        if len(self.merge) == 1:
            raise ValueError(f"merge names {self.merge[0]!r} only: a merge needs at least two policies")
        if self.merge:
            method = self.method if isinstance(self.method, str) else str(self.method.get("name", "soup"))
            check_merge("method", method, len(self.merge))
        if not self.merge and not {"sft", "rl"} & set(self.stages):
            raise ValueError("nothing trains it: give stages, e.g. ['demonstrations', 'sft'], or merge")
        return self

    @property
    def parents(self) -> tuple[str, ...]:
        """The policies it is made from."""
        return self.merge or ((self.start,) if self.start else ())


class Experts(Record):
    """A recipe for several policies, in the order in which they are made."""

    name: str
    recipe: dict[str, Any]
    """An ordinary recipe without stages: what all policies share."""
    policies: dict[str, PolicyPlan] = Field(min_length=1)

    @model_validator(mode="after")
    def _earlier(self) -> "Experts":
        check_segment("name", self.name)
        known: list[str] = []
        for name, plan in self.policies.items():
            if name == "base" or not name.replace("-", "").isalnum():
                raise ValueError(f"policy {name!r}: a name has letters, digits and dashes, and base is taken")
            if missing := [parent for parent in plan.parents if parent not in known]:
                raise ValueError(
                    f"policy {name!r} is made from {missing[0]!r}: earlier are {', '.join(known) or 'none'}"
                )
            known.append(name)
        return self

    def ancestors(self, name: str) -> tuple[str, ...]:
        """All policies that `name` comes from, in the order in which they are made."""
        found = set(self.policies[name].parents)
        for parent in self.policies[name].parents:
            found |= set(self.ancestors(parent))
        return tuple(known for known in self.policies if known in found)


def parse_experts(data: dict[str, Any], path: Path) -> Experts:
    """Check a recipe of several policies, and every recipe it will run. Raises UserError naming `path`."""
    try:
        experts = parse_config({"name": path.stem, **data}, Experts)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    recipes = [tasks_recipe(experts), evaluation_recipe(experts, Path(), {})]
    recipes += [policy_recipe(experts, name, Path(), "embedded") for name, p in experts.policies.items() if p.stages]
    known = set(recipes[0].tasks.types or DEFAULT_TYPES)
    for name, plan in experts.policies.items():
        if odd := sorted(set(plan.types) - known):
            raise UserError(f"{path}: policy {name!r} trains on {odd[0]}, which recipe.tasks.types does not name")
    return experts


def load_experts(path: Path, overrides: tuple[str, ...] = ()) -> Experts | None:
    """The recipe of several policies at `path`; None where it is an ordinary one. As `load_recipe` otherwise."""
    data = read_values(path, RECIPE_FILE)
    return parse_experts(with_overrides(data, overrides), path) if "policies" in data else None


def _recipe(experts: Experts, part: str, changes: dict[str, Any]) -> Recipe:
    """The shared recipe with `changes`; a section's keys replace the shared section's."""
    shared = experts.recipe
    overlaid = {k: {**shared.get(k, {}), **v} if isinstance(v, dict) else v for k, v in changes.items()}
    name = f"{experts.name}-{part}"
    return parse_recipe({**shared, **overlaid, "name": name}, Path(f"{experts.name} ({part})"))


def tasks_recipe(experts: Experts) -> Recipe:
    """All tasks, made and admitted once."""
    return _recipe(experts, "tasks", {"stages": ["tasks"]})


def policy_recipe(experts: Experts, name: str, release: Path, base: str) -> Recipe:
    """How `name` is trained from `base` on its types' tasks of `release`."""
    plan = experts.policies[name]
    tasks: Section = {"from_release": str(release)} | ({"types": plan.types} if plan.types else {})
    changes = {"stages": plan.stages, "policy": {"base": base}, "tasks": tasks}
    return _recipe(experts, name, {**changes, "expert": plan.expert, "sft": plan.sft, "rl": plan.rl})


def evaluation_recipe(experts: Experts, release: Path, weights: dict[str, Path]) -> Recipe:
    """Every policy on the held-out tasks of all types."""
    policies = ["base", *(f"{name}={directory}" for name, directory in weights.items())]
    changes = {"tasks": {"from_release": str(release)}, "evaluation": {"policies": policies}}
    return _recipe(experts, "evaluation", {"stages": ["evaluate", "report"], **changes})


async def execute_experts(experts: Experts, out: Path, progress: Progress, resume: bool) -> list[str]:
    """Make every policy that is not made yet, then compare. Returns the table's lines; OUT/table.md has them too."""
    out = out.resolve()
    if (out / "tasks").exists() and not resume:
        raise UserError(f"{out} holds a run already: add --resume to go on with it, or give another --out")
    lock = hold(out / "lock", of=out)
    try:
        made = await carry_out(tasks_recipe(experts), out / "tasks", progress)
        weights: dict[str, Path] = {}
        for number, (name, plan) in enumerate(experts.policies.items()):
            progress.say(f"policy {number + 1} of {len(experts.policies)}: {name}, {_origin(plan)}")
            weights[name] = await _made(experts, name, out / "policies" / name, made.release, weights, progress)
        recipe = evaluation_recipe(experts, made.release, weights)
        compared = await carry_out(recipe, out / "evaluation", progress)
        lines = list(_table(experts, compared))
    finally:
        lock.close()
    write_atomic(out / "table.md", "".join(f"{line}\n" for line in lines).encode())
    return lines


def _origin(plan: PolicyPlan) -> str:
    if plan.merge:
        return f"merged from {' and '.join(plan.merge)}"
    return f"{', '.join(plan.stages)} from {plan.start or 'the base policy'}"


async def _made(
    experts: Experts, name: str, directory: Path, release: Path, weights: dict[str, Path], progress: Progress
) -> Path:
    """The weights of one policy, made where they are not there yet."""
    plan = experts.policies[name]
    if not plan.merge:
        base = str(weights[plan.start]) if plan.start else experts.recipe.get("policy", {}).get("base", "embedded")
        run = await carry_out(policy_recipe(experts, name, release, base), directory, progress)
        return run.policy("rl" if "rl" in plan.stages else "sft").resolve()
    merged = directory / "weights" / "merged"
    progress.stage("merge", f"{plan.method} of {', '.join(plan.merge)}")
    parents = [str(weights[parent]) for parent in plan.merge]
    config = {"parents": parents, "out": str(merged), "method": plan.method, "keep": plan.keep, "name": name}
    merged.parent.mkdir(parents=True, exist_ok=True)
    await process("journeyman.merging", config, merged, progress)  # a finished one is verified again, not repeated
    return merged


def _table(experts: Experts, run: Run) -> Iterator[str]:
    """Rows of the held-out attempts as the table of all policies by environment type."""
    tasks = {d.name: load_task(d, handlers=False) for d in open_release(run.release).task_dirs("heldout")}
    policies = ["base", *experts.policies]
    rows: list[EpisodeRow] = []
    for policy in policies:
        rows += read_rows(Job(run.job.root), run.job.sealed(policy), tasks)
    groups = {f"types of {name}": plan.types for name, plan in experts.policies.items() if plan.types}
    ancestors = {name: experts.ancestors(name) for name in experts.policies}
    return told(rows, policies, ancestors, groups)
