"""journeyman explain: why a token got its gradient, from the token back to the source file."""

from pathlib import Path

import click

from journeyman.cli.display import console, next_step


@click.command()
@click.argument("what")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs"), help="Where runs lie. Default: runs.")
def explain(what: str, runs: Path) -> None:
    """Explain one token, JOB/policy/task/group/attempt.try#run.segment:position, or a telling one of a run directory.

    \b
    Examples:
      journeyman explain runs/quickstart
      journeyman explain 'quickstart/rl-train/TASK/g00003/1.0#0.0:412'
    """
    from journeyman.pipeline.explain import lineage, parse_ref, pick, task_directory
    from journeyman.pipeline.explain_text import lines
    from journeyman.store.layout import Job
    from journeyman.tasks.package import load_task

    directory = Path(what)
    if directory.is_dir():
        job = Job(directory)
        ref = pick(job)
    else:
        ref = parse_ref(what)
        job = Job(runs / ref.episode.split("/", 1)[0])
    directory = task_directory(job, ref.episode.split("/")[2])
    found = lineage(job, ref, load_task(directory, handlers=False))
    for line in lines(job, found, directory):
        console.print(line, markup=False, soft_wrap=True)
    next_step(f"journeyman tasks show {directory}")
