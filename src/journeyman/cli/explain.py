"""journeyman explain: why a token got its gradient, or what of a captured episode trains and why."""

import re
from pathlib import Path

import click

from journeyman.cli.display import console, next_step


@click.command()
@click.argument("what")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs"), help="Where runs lie. Default: runs.")
def explain(what: str, runs: Path) -> None:
    """Explain a token, a dataset's row, an episode or one of its segments, or a telling token of a run directory.

    \b
    Examples:
      journeyman explain runs/quickstart
      journeyman explain 'quickstart/rl-train/TASK/g00003/1.0#0.0:412'
      journeyman explain 'quickstart/rl-train/TASK/g00003/1.0'
      journeyman explain build/tour-rl:0
    """
    from journeyman.pipeline.explaining import explained

    lines, following = explained(what, runs)
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    told = re.fullmatch(r"(journeyman (?:verify|tasks show)) (.+)", following)
    next_step(f"{told[1]} {{}}", told[2]) if told else next_step(following)
