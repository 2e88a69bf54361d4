"""journeyman ablate: several RL methods side by side."""

from pathlib import Path

import click

from journeyman.cli.display import Display, NewPlace, console, finish, next_step


@click.command()
@click.argument("recipe", type=click.Path(path_type=Path))
@click.option("--out", type=NewPlace(), help="Directory of all cells. Default: runs/NAME.")
@click.option("--quiet", is_flag=True, help="Only the table.")
def ablate(recipe: Path, out: Path | None, quiet: bool) -> None:
    """Train the methods of RECIPE on the same tasks and SFT policy, each under several seeds; goes on where it stopped.

    \b
    Example:
      journeyman ablate recipes/ablation.toml --out runs/ablation
    """
    from journeyman.pipeline.ablation import execute_ablation, load_ablation

    loaded = load_ablation(recipe)
    directory = out or Path("runs") / loaded.name
    with Display(verbose=not quiet) as display:
        lines = finish(execute_ablation(loaded, directory, display))
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    next_step("open {}", directory / "report" / "index.html")
