"""journeyman evaluate: policies side by side on the held-out tasks of a release."""

from pathlib import Path

import click

from journeyman.cli.display import Display, finish, next_step

PATH = click.Path(path_type=Path)


@click.command()
@click.argument("release", type=PATH)
@click.option(
    "--policy", "policies", multiple=True, required=True, metavar="NAME|LABEL=DIR", help="base, or LABEL=DIR."
)
@click.option("--out", type=PATH, default=Path("runs/evaluation"), show_default=True)
@click.option(
    "--attempts", type=click.IntRange(1), default=3, show_default=True, help="Attempts per task when sampled."
)
@click.option(
    "--temperature", "temperatures", type=click.FloatRange(0), multiple=True, help="Default: 1 and 0 (greedy)."
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--resume", is_flag=True, help="Go on with an evaluation that was stopped.")
@click.option("--sandbox", default="bubblewrap", show_default=True)
@click.option("--concurrency", type=click.IntRange(1), default=32, show_default=True)
def evaluate(
    release: Path,
    policies: tuple[str, ...],
    out: Path,
    attempts: int,
    temperatures: tuple[float, ...],
    seed: int,
    resume: bool,
    sandbox: str,
    concurrency: int,
) -> None:
    """Evaluate policies on the held-out tasks of RELEASE: same tasks, scaffold and seeds, so that they are paired.

    \b
    Example:
      journeyman evaluate runs/quickstart/tasks/release --policy base --policy rl=runs/quickstart/weights/merged
    """
    from journeyman.admission.release import open_release
    from journeyman.pipeline.recipe import EvaluationRecipe, Options, Recipe, TasksRecipe
    from journeyman.pipeline.run import execute, open_run

    open_release(release)
    recipe = Recipe(
        name=out.name,
        stages=("evaluate", "report"),
        tasks=TasksRecipe(from_release=str(release.resolve())),
        evaluation=EvaluationRecipe(
            policies=policies, attempts=attempts, temperatures=temperatures or (1.0, 0.0), seed=seed
        ),
        options=Options(sandbox=sandbox, concurrency=concurrency),
    )
    with Display() as display:
        run = open_run(recipe, out, display, resume)
        for policy in policies:
            run.policy(policy)
        finish(execute(run))
    next_step(f"open {out / 'report' / 'index.html'}")
