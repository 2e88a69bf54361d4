"""journeyman report: the HTML and JSON report of what a run has sealed and graded so far."""

from pathlib import Path

import click

from journeyman.cli.display import Display, finish, next_step
from journeyman.errors import UserError


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
def report(run: Path) -> None:
    """Write RUN/report/index.html (one self-contained page) and RUN/report/report.json.

    \b
    Example:
      journeyman report runs/quickstart
    """
    from journeyman.pipeline.recipe import load_recipe
    from journeyman.pipeline.stages.report import write
    from journeyman.pipeline.state import Run
    from journeyman.store.layout import Job

    job = Job(run)
    if not job.config.exists():
        raise UserError(f"{run} is no run (it has no config.toml): give a directory such as runs/quickstart")
    with Display() as display:
        finish(write(Run(load_recipe(job.config), job, display)))
    next_step("open {}", job.report / "index.html")
