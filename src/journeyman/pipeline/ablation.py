"""An ablation: several RL methods on the same tasks, from one SFT policy, several seeds each; every cell resumable.

OUT/shared is an ordinary run (tasks, demonstrations, SFT and its evaluation), OUT/cells/METHOD-SEED one per cell
(RL and its evaluation) that starts from the shared policy on the shared release. Nothing is done twice.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, field_validator

from journeyman.admission.release import open_release
from journeyman.errors import UserError
from journeyman.evaluation.build import build_report
from journeyman.evaluation.report.write import write_report
from journeyman.evaluation.rows import EpisodeRow, read_rows
from journeyman.pipeline.ablation_table import at_equal_accuracy, table_lines
from journeyman.pipeline.naming import check_segment
from journeyman.pipeline.progress import Progress
from journeyman.pipeline.recipe import Recipe, parse_recipe
from journeyman.pipeline.run import carry_out
from journeyman.pipeline.state import Run
from journeyman.records.base import Record
from journeyman.store.config_file import parse_config, read_values
from journeyman.store.layout import Job
from journeyman.tasks.package import load_task

SHARED = ("tasks", "demonstrations", "sft", "evaluate")
CELL = ("rl", "evaluate")


class Ablation(Record):
    """What is compared. A method's keys replace those of `recipe.rl`; a table replaces the whole table."""

    name: str
    seeds: tuple[int, ...] = (1, 2, 3)
    recipe: dict[str, Any]
    """An ordinary recipe without stages: what all cells share."""
    methods: dict[str, dict[str, Any]] = Field(min_length=1)
    """Keys of `[rl]` by method; the first one is the baseline of the comparisons."""
    accuracy_bin: float = Field(0.25, gt=0)
    """Width of the strata of reward in which numbers of model calls are compared."""

    @field_validator("name")
    @classmethod
    def _names_a_directory(cls, name: str) -> str:
        check_segment("name", name)
        return name


class Cell(NamedTuple):
    """One method under one seed."""

    method: str
    seed: int
    directory: Path
    recipe: Recipe


def load_ablation(path: Path) -> Ablation:
    """Read an ablation's TOML. Raises UserError."""
    data = read_values(path, "recipes/ablation.toml or one like it")
    data.setdefault("name", path.stem)
    try:
        return parse_config(data, Ablation)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def shared_recipe(ablation: Ablation) -> Recipe:
    """Tasks, demonstrations, the SFT policy and its held-out evaluation."""
    evaluation = {**ablation.recipe.get("evaluation", {}), "policies": ["sft"]}
    return _recipe(ablation, f"{ablation.name}-shared", {"stages": list(SHARED), "evaluation": evaluation})


def cells(ablation: Ablation, out: Path) -> list[Cell]:
    """Every method under every seed, in the order given."""
    shared = Job(out.resolve() / "shared")
    release = ablation.recipe.get("tasks", {}).get("from_release") or str(shared.tasks / "release")
    made = []
    for seed in ablation.seeds:
        for method, keys in ablation.methods.items():
            name = f"{method}-{seed}"
            changes = {
                "seed": seed,
                "stages": list(CELL),
                "policy": {**ablation.recipe.get("policy", {}), "base": str(shared.weights / "sft")},
                "tasks": {**ablation.recipe.get("tasks", {}), "from_release": release},
                "rl": {**ablation.recipe.get("rl", {}), **keys},
                "evaluation": {**ablation.recipe.get("evaluation", {}), "policies": ["rl"]},
            }
            made.append(Cell(method, seed, out / "cells" / name, _recipe(ablation, name, changes)))
    return made


def _recipe(ablation: Ablation, name: str, changes: Mapping[str, Any]) -> Recipe:
    return parse_recipe({**ablation.recipe, **changes, "name": name}, Path(f"{ablation.name} ({name})"))


async def execute_ablation(ablation: Ablation, out: Path, progress: Progress) -> list[str]:
    """Run what is not finished yet, then compare; returns the table's lines. OUT/report holds the page and its JSON."""
    planned = cells(ablation, out)  # a mistake in any cell shows before the first one starts
    shared = await carry_out(shared_recipe(ablation), out / "shared", progress)
    rows = _rows(shared, "sft", "sft", 0)
    for number, cell in enumerate(planned):
        progress.say(f"cell {number + 1} of {len(planned)}: {cell.method}, seed {cell.seed}")
        run = await carry_out(cell.recipe, cell.directory, progress)
        rows += _rows(run, "rl", cell.method, cell.seed)
    return _compared(ablation, rows, out)


def _rows(run: Run, policy: str, method: str, seed: int) -> list[EpisodeRow]:
    """Held-out rows of one policy of a run, under the method's name; the seed tells equal attempts apart."""
    tasks = {d.name: load_task(d, handlers=False) for d in open_release(run.release).task_dirs("heldout")}
    found = read_rows(run.job, run.job.sealed(policy), tasks)
    return [
        row.model_copy(
            update={"spec": row.spec.model_copy(update={"policy": method, "group": f"{row.spec.group}.s{seed}"})}
        )
        for row in found
    ]


def _compared(ablation: Ablation, rows: list[EpisodeRow], out: Path) -> list[str]:
    methods = list(ablation.methods)
    facts = {
        "seeds": ", ".join(map(str, ablation.seeds)),
        "intervals": "95 %, over held-out tasks; a task's value is the mean of its attempts under all seeds",
    }
    report = build_report(ablation.name, rows, ["sft", *methods], facts=facts)
    write_report(report, out / "report")
    lines = table_lines(report, rows, methods)
    for method in methods[1:]:
        if (line := at_equal_accuracy(rows, method, methods[0], ablation.accuracy_bin)) is not None:
            lines.append(line)
    return lines
