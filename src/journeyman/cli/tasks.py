"""journeyman tasks: make, check, admit and show tasks."""

from pathlib import Path

import click

from journeyman.cli.display import Display, console, finish, next_step, table
from journeyman.errors import UserError

SIZE = click.Choice(["compact", "standard"])


@click.group()
def tasks() -> None:
    """Make, check, admit and show tasks.

    \b
    Example:
      journeyman tasks make --size compact --train 8 --heldout 4 --out build/tasks
    """


@tasks.command()
def types() -> None:
    """List environment types, their axes and how many combinations those span.

    \b
    Example:
      journeyman tasks types
    """
    from journeyman.worlds.registry import ENVIRONMENT_TYPES, environment_type

    rows = []
    for name in ENVIRONMENT_TYPES:
        kind = environment_type(name)
        space = 1
        for values in kind.axes.values():
            space *= len(values)
        rows.append([name, kind.practice_area, ", ".join(kind.axes), f"{space:,}"])
    table("environment types", ["type", "practice area", "axes", "combinations"], rows)
    next_step("journeyman tasks make --train 8 --heldout 4 --out build/tasks")


@tasks.command()
@click.option("--type", "names", multiple=True, metavar="TYPE", help="Environment type; repeatable. Default: all.")
@click.option("--size", type=SIZE, default="compact", show_default=True)
@click.option("--train", type=click.IntRange(0), default=8, show_default=True, help="Training tasks over all types.")
@click.option("--validation", type=click.IntRange(0), default=0, show_default=True)
@click.option("--heldout", type=click.IntRange(0), default=4, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True, help="First world seed.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Directory for the packages.")
def make(names: tuple[str, ...], size: str, train: int, validation: int, heldout: int, seed: int, out: Path) -> None:
    """Write task packages (Harbor directories). The same options give the same bytes.

    \b
    Example:
      journeyman tasks make --type finance.board_forecast --size standard --train 2 --out build/tasks
    """
    from journeyman.pipeline.recipe import TasksRecipe
    from journeyman.pipeline.stages.making import make_one, wanted

    if not train + validation + heldout:
        raise UserError("--train, --validation and --heldout are all 0: nothing to make")
    counts = {"train": train, "validation": validation, "heldout": heldout}
    recipe = TasksRecipe.model_validate({"types": names, "size": size, "seed": seed, "heldout_seed": seed, **counts})
    wants = list(wanted(recipe))
    with Display() as display:
        display.stage("make", f"{len(wants)} {size} tasks in {out}")
        for number, want in enumerate(wants):
            make_one(want, out)
            display.step(number + 1, len(wants), want.slug)
    next_step(f"journeyman tasks admit {out} --release build/release")


@tasks.command()
@click.argument("packages", type=click.Path(path_type=Path))
def check(packages: Path) -> None:
    """Run the gates that need no execution over a package, or a directory of packages. Exit 1 names what fails.

    \b
    Example:
      journeyman tasks check build/tasks
    """
    from journeyman.pipeline.admitting import STATIC_GATES, check_static, package_dirs

    decided = finish(check_static(package_dirs(packages)))
    failed = [a for a in decided if not a.admitted]
    for admission in failed:
        console.print(f"FAULT {admission.task}: {admission.gates[-1].gate}: {admission.gates[-1].reason}", markup=False)
    console.print(f"{len(decided) - len(failed)} of {len(decided)} packages pass {', '.join(STATIC_GATES)}")
    if failed:
        raise SystemExit(1)
    next_step(f"journeyman tasks admit {packages} --release build/release")


@tasks.command()
@click.argument("packages", type=click.Path(path_type=Path))
@click.option("--release", type=click.Path(path_type=Path), help="Write the admitted ones as this release.")
@click.option(
    "--work", type=click.Path(path_type=Path), help="Where the executed plans are sealed. Default: temporary."
)
@click.option("--sandbox", default="bubblewrap", show_default=True)
@click.option("--concurrency", type=click.IntRange(1), default=16, show_default=True)
def admit(packages: Path, release: Path | None, work: Path | None, sandbox: str, concurrency: int) -> None:
    """Admit packages by execution: reference gets full marks, every negative strictly less, doing nothing gets 0.

    \b
    Example:
      journeyman tasks admit build/tasks --release build/release
    """
    from journeyman.pipeline.admitting import admit_packages, package_dirs

    directories = package_dirs(packages)
    with Display() as display:
        result = finish(admit_packages(directories, release, work, sandbox, concurrency, display))
    for line in result.lines:
        console.print(line, markup=False)
    if result.admitted < len(directories):
        raise SystemExit(1)
    next_step(f"journeyman rollout {release} --policy base" if release else f"journeyman tasks show {directories[0]}")


@tasks.command()
@click.argument("package", type=click.Path(path_type=Path))
@click.option("--private", is_flag=True, help="Also the rubric, the reference and the negatives.")
def show(package: Path, private: bool) -> None:
    """Show a task: request, files, services; with --private what its makers see.

    \b
    Example:
      journeyman tasks show build/tasks/finance-board-forecast-compact-train-1 --private
    """
    from journeyman.pipeline.showing import task_lines

    for line in task_lines(package, private):
        console.print(line, markup=False, soft_wrap=True)
    next_step(f"journeyman tasks check {package}")
