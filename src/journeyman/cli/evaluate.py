"""journeyman evaluate: policies side by side on the held-out tasks of a release."""

from pathlib import Path

import click

from journeyman.cli.display import Display, NewRun, Real, finish, next_step
from journeyman.cli.engine_options import engine_options, engine_recipe

PATH = click.Path(path_type=Path)


@click.command()
@click.argument("release", type=PATH)
@click.option(
    "--policy", "policies", multiple=True, required=True, metavar="NAME|LABEL=DIR", help="base, or LABEL=DIR."
)
@click.option(
    "--base", default="embedded", show_default=True, help="What base is; with --engine, the served model's directory."
)
@click.option("--out", type=NewRun(), default=Path("runs/evaluation"), show_default=True)
@click.option(
    "--attempts", type=click.IntRange(1), default=3, show_default=True, help="Attempts per task when sampled."
)
@click.option("--temperature", "temperatures", type=Real(0), multiple=True, help="Default: 1 and 0 (greedy).")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--resume", is_flag=True, help="Go on with an evaluation that was stopped.")
@click.option("--sandbox", default="bubblewrap", show_default=True)
@click.option("--concurrency", type=click.IntRange(1), default=32, show_default=True)
@engine_options
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
    base: str,
    engine: str,
    urls: tuple[str, ...],
    model: str,
    api_key_env: str | None,
) -> None:
    """Evaluate policies on the held-out tasks of RELEASE: same tasks, scaffold and seeds, so that they are paired.

    \b
    Example:
      journeyman evaluate runs/quickstart/tasks/release --policy base --policy rl=runs/quickstart/weights/merged

    With --engine, base is what the server holds (--base: the directory of its model); LABEL=DIR is loaded into it.
    """
    from journeyman.admission.release import verify_release
    from journeyman.pipeline.recipe import Recipe
    from journeyman.pipeline.run import execute, open_run
    from journeyman.store.config_file import parse_config

    verify_release(release)
    recipe = parse_config(
        {
            "name": out.name or out.resolve().name,
            "stages": ("evaluate", "report"),
            "policy": {"base": base},
            "engine": engine_recipe(engine, urls, model, api_key_env),
            "tasks": {"from_release": str(release.resolve())},
            "evaluation": {
                "policies": policies,
                "attempts": attempts,
                "temperatures": temperatures or (1.0, 0.0),
                "seed": seed,
            },
            "options": {"sandbox": sandbox, "concurrency": concurrency},
        },
        Recipe,
    )
    with Display() as display:
        run = open_run(recipe, out, display, resume)
        finish(execute(run))
    next_step("open {}", out / "report" / "index.html")
