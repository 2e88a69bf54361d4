"""journeyman run: execute a recipe."""

from pathlib import Path

import click

from journeyman.cli.display import Display, NewPlace, finish, next_step


@click.command()
@click.argument("recipe", type=click.Path(path_type=Path))
@click.option("--out", type=NewPlace(), help="Run directory. Default: runs/NAME of the recipe.")
@click.option("--resume", is_flag=True, help="Go on with a run that was stopped; finished stages are not repeated.")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override one key, e.g. --set rl.steps=10."
)
@click.option("--quiet", is_flag=True, help="Only the closing lines.")
def run(recipe: Path, out: Path | None, resume: bool, overrides: tuple[str, ...], quiet: bool) -> None:
    """Execute RECIPE: make and admit tasks, demonstrate, train, merge, evaluate, report.

    \b
    Example:
      journeyman run recipes/quickstart.toml --out runs/quickstart --resume
    """
    from journeyman.pipeline.recipe import load_recipe
    from journeyman.pipeline.run import execute, open_run

    loaded = load_recipe(recipe, overrides)
    directory = out or Path("runs") / loaded.name
    with Display(verbose=not quiet) as display:
        opened = open_run(loaded, directory, display, resume)
        figures = finish(execute(opened))
    if "report" in figures:
        next_step(f"open {directory / 'report' / 'index.html'}, then: journeyman explain {directory}")
    else:
        next_step(f"journeyman verify {directory}")
