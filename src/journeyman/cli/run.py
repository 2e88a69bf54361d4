"""journeyman run: execute a recipe."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from journeyman.cli.display import Display, NewRun, console, finish, next_step

if TYPE_CHECKING:
    from journeyman.pipeline.experts import Experts


@click.command()
@click.argument("recipe", type=click.Path(path_type=Path))
@click.option("--out", type=NewRun(), help="Run directory. Default: runs/NAME of the recipe.")
@click.option("--resume", is_flag=True, help="Go on with a run that was stopped; finished stages are not repeated.")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override one key, e.g. --set rl.steps=10."
)
@click.option("--quiet", is_flag=True, help="Only the closing lines.")
def run(recipe: Path, out: Path | None, resume: bool, overrides: tuple[str, ...], quiet: bool) -> None:
    """Execute RECIPE: make and admit tasks, demonstrate, train, merge, evaluate, report.

    A recipe with a table [policies] makes several policies from one another (recipes/experts.toml).

    \b
    Example:
      journeyman run recipes/quickstart.toml --out runs/quickstart --resume
    """
    from journeyman.pipeline.experts import load_experts
    from journeyman.pipeline.recipe import load_recipe
    from journeyman.pipeline.run import execute, open_run

    if (experts := load_experts(recipe, overrides)) is not None:
        _several(experts, out or _place(experts.name), resume, quiet)
        return
    loaded = load_recipe(recipe, overrides)
    directory = out or _place(loaded.name)
    with Display(verbose=not quiet) as display:
        opened = open_run(loaded, directory, display, resume)
        figures = finish(execute(opened))
    if "report" in figures:
        next_step("open {}, then: journeyman explain {}", directory / "report" / "index.html", directory)
    else:
        next_step("journeyman verify {}", directory)


def _place(name: str) -> Path:
    """Where a recipe of that name runs unless told otherwise."""
    place: Path = NewRun().convert(Path("runs") / name, None, None)
    return place


def _several(experts: "Experts", directory: Path, resume: bool, quiet: bool) -> None:
    """Policies made from one another, and their table."""
    from journeyman.pipeline.experts import execute_experts

    with Display(verbose=not quiet) as display:
        lines = finish(execute_experts(experts, directory, display, resume))
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    next_step("open {}", directory / "evaluation" / "report" / "index.html")
