"""journeyman grade: grade sealed episodes that have no official grade yet, or by another grader beside it."""

from pathlib import Path

import click

from journeyman.cli.display import Name, finish, next_step, table
from journeyman.errors import UserError

PATH = click.Path(path_type=Path)


@click.command()
@click.argument("run", type=PATH, required=False)
@click.option(
    "--grader",
    type=Name(),
    default="official",
    show_default=True,
    help="Grader name; others grade beside the official one.",
)
@click.option("--judge", metavar="MODEL", help="Model that decides judged criteria (any OpenAI-compatible endpoint).")
@click.option("--judge-url", metavar="URL", help="The judge's base URL. Its key comes from JOURNEYMAN_JUDGE_KEY.")
@click.option("--policy", type=Name(), help="Only episodes of this policy.")
@click.option("--harbor", is_flag=True, help="Grade one workspace as a Harbor verifier, with the four options below.")
@click.option("--tests", type=PATH, default=Path("/tests"), show_default=True)
@click.option("--workspace", type=PATH, default=Path("/workspace"), show_default=True)
@click.option("--artifacts", type=PATH, default=Path("/logs/artifacts"), show_default=True)
@click.option("--out", type=PATH, default=Path("/logs/verifier"), show_default=True)
def grade(
    run: Path | None,
    grader: str,
    judge: str | None,
    judge_url: str | None,
    policy: str | None,
    harbor: bool,
    tests: Path,
    workspace: Path,
    artifacts: Path,
    out: Path,
) -> None:
    """Grade the sealed episodes of RUN. A second grade by the same grader is refused; sealed bytes are only read.

    \b
    Examples:
      journeyman grade runs/quickstart --grader second
      journeyman grade --harbor --tests TASK/tests --workspace workspace --out verifier
    """
    if harbor:
        from journeyman.grading.harbor import grade_harbor

        result = finish(grade_harbor(tests, workspace, artifacts, out))
        print(f"raw {result.raw:g}, rewards {result.rewards}, written to {out / 'reward.json'}")
        return
    from journeyman.pipeline.grading_pass import grade_run

    if run is None or not (run / "episodes").is_dir():
        raise UserError(f"{run or 'RUN'} is no run (it has no episodes/): give a directory such as runs/quickstart")
    counts = finish(grade_run(run, grader, policy, judge, judge_url))
    table(f"{grader} grades of {run}", ["outcome", "episodes"], [[k, str(v)] for k, v in sorted(counts.items())])
    next_step(f"journeyman {'report' if (run / 'config.toml').exists() else 'verify'} {{}}", run)
