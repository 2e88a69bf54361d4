"""journeyman verify: recheck sealed bytes and token certificates."""

from pathlib import Path

import click

from journeyman.cli.display import console, next_step, table
from journeyman.errors import UserError


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
def verify(path: Path) -> None:
    """Recheck a run, release, episode, dataset or checkpoint, offline and without a model. Exit 1 names the faults.

    \b
    Example:
      journeyman verify runs/quickstart
    """
    from journeyman.pipeline.verification import verify_path
    from journeyman.store.layout import Job

    if not path.is_dir():
        raise UserError(f"{path} is no directory: give a run such as runs/quickstart")
    checked = verify_path(path)
    table(f"verified {path}", ["what", "checked"], [[k, f"{v:,}"] for k, v in checked.counts.items()])
    for line in checked.said:
        console.print(line, markup=False, soft_wrap=True)
    for fault in checked.faults[:20]:
        console.print(f"FAULT {fault}", markup=False, soft_wrap=True)
    if len(checked.faults) > 20:
        console.print(f"... and {len(checked.faults) - 20} more")
    if checked.faults:
        raise SystemExit(1)
    job = next((p for p in (path, *path.parents) if (p / "episodes").is_dir()), None)
    if job is not None and any(Job(job).sealed()):
        next_step("journeyman explain {}", job)
