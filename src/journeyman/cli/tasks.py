"""journeyman tasks: make, check, admit and show tasks."""

from pathlib import Path
from typing import Any

import click

from journeyman.cli.display import Display, Name, NewPlace, console, finish, next_step, table
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
@click.option("--live", is_flag=True, help="Only types whose worlds can be made.")
def types(live: bool) -> None:
    """List the curriculum: practice areas, types, their status and how many combinations of axes they span.

    \b
    Example:
      journeyman tasks types --live
    """
    from journeyman.worlds.curriculum import AREAS, area_space, space, status

    areas, rows = [], []
    for area in AREAS:
        alive = [entry for entry in area.entries if status(entry.name) == "live"]
        areas.append([area.domain, area.name, f"{len(alive)} of {len(area.entries)}", f"{area_space(area):,}"])
        for entry in alive if live else area.entries:
            made = [entry.name, status(entry.name), " ".join(entry.systems) or "-", f"{space(area, entry):,}"]
            rows.append(made)
    table("environment types", ["type", "status", "systems", "combinations"], rows)
    table("practice areas", ["domain", "practice area", "live types", "combinations"], areas)
    next_step("journeyman tasks make --train 8 --heldout 4 --out build/tasks")


@tasks.command()
@click.option(
    "--type", "names", multiple=True, metavar="TYPE", help="Environment type; repeatable. Default: the first four."
)
@click.option("--size", type=SIZE, default="compact", show_default=True)
@click.option("--all", "every", is_flag=True, help="All environment types that are live.")
@click.option("--count", type=click.IntRange(1), help="Training tasks of each type, not --train, --heldout.")
@click.option("--train", type=click.IntRange(0), default=8, show_default=True, help="Training tasks over all types.")
@click.option("--validation", type=click.IntRange(0), default=0, show_default=True)
@click.option("--heldout", type=click.IntRange(0), default=4, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True, help="First world seed.")
@click.option(
    "--from", "folder", type=click.Path(path_type=Path), help="Your own documents: --count tasks that join them."
)
@click.option(
    "--author",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --from: models write; a file of endpoints by role, see docs.",
)
@click.option("--licence", default="", help="With --from: the terms of documents that no LICENSE file is beside.")
@click.option("--out", type=NewPlace(), required=True, help="Directory for the packages.")
def make(
    names: tuple[str, ...],
    size: str,
    every: bool,
    count: int | None,
    train: int,
    validation: int,
    heldout: int,
    seed: int,
    folder: Path | None,
    author: Path | None,
    licence: str,
    out: Path,
) -> None:
    """Write task packages (Harbor directories). The same options give the same bytes.

    \b
    Example:
      journeyman tasks make --type finance.board_forecast --size standard --train 2 --out build/tasks
      journeyman tasks make --from ~/documents --licence "ours" --count 4 --out build/mine
    """
    _needs("--from", folder, **{"--author": author, "--licence": licence})
    if folder is not None:
        _leave_out("--from makes tasks of your documents", "names", "every", "size", "validation", "heldout")
    if author is not None:
        _leave_out("--author makes a task for each in its file", "count", "train", "seed")
    if every:
        _leave_out("--all makes every live type", "names")
    if count is not None:
        _leave_out("--count says how many training tasks of each type", "train", "heldout")
    if folder is not None and author is not None:
        _author(author, folder, licence, out)
        return
    if folder is not None:
        _make_from(folder, licence, count or train, seed, out)
        return
    from journeyman.pipeline.recipe import TasksRecipe
    from journeyman.pipeline.stages.making import make_one, wanted
    from journeyman.worlds.registry import DEFAULT_TYPES, ENVIRONMENT_TYPES

    names = tuple(ENVIRONMENT_TYPES) if every else names
    if count is not None:
        train, heldout = count * len(names or DEFAULT_TYPES), 0
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
    next_step("journeyman tasks admit {} --release build/release", out)


def _needs(option: str, given: object, **others: object) -> None:
    """Raise UserError where an option is given that means something only with `option`, which is not."""
    if given is None and (idle := [f"{name} {value}" for name, value in others.items() if value]):
        raise UserError(f"{idle[0]} does nothing without {option}: give {option} as well, or leave it out")


def _leave_out(why: str, *parameters: str) -> None:
    """Raise UserError where an option was typed that would be left without effect."""
    context = click.get_current_context()
    for parameter in context.command.params:
        typed = context.get_parameter_source(parameter.name or "") is click.core.ParameterSource.COMMANDLINE
        if parameter.name in parameters and typed:
            raise UserError(f"{why}: leave out {parameter.opts[0]}")


def _coverage(directories: list[Path]) -> None:
    from journeyman.synthesis import coverage as covered

    profiles = [covered.profile(directory) for directory in directories]
    found = covered.coverage(profiles)
    rows = [
        [axis, str(len(n)), ", ".join(f"{k} {v}" for k, v in list(n.items())[:6])] for axis, n in found.by_axis.items()
    ]
    table(f"{found.tasks} tasks, {found.cells} structurally different", ["axis", "values", "most frequent"], rows)
    index = ", ".join(f"{name} {n}" for name, n in found.variation.items())
    console.print(f"tools: {found.requested_tools} requested, {found.realised_tools} realised", markup=False)
    console.print(f"variation (0-4: files, state, wording, grading): {index}", markup=False, soft_wrap=True)
    targets = covered.next_targets(profiles)
    table("emptiest cells: make these next", ["type", "cell", "tasks"], [[n, c, str(t)] for n, c, t in targets])
    next_step("journeyman tasks make --type {} --train 8 --out build/more", targets[0][0])


def _canaries(directories: list[Path], sandbox: str) -> None:
    from journeyman.pipeline.admitting import scan_canaries

    with Display() as display:
        scans = finish(scan_canaries(directories, sandbox, display))
    found = [f"{scan.task}: {leak}" for scan in scans for leak in scan.found]
    for line in found:
        console.print(f"LEAK {line}", markup=False, soft_wrap=True)
    marks, texts, characters = (sum(getattr(s, field) for s in scans) for field in ("marks", "texts", "characters"))
    told = f"{marks:,} private texts, {texts:,} prompts, observations and files of {characters:,} characters"
    console.print(f"{len(scans)} tasks: {told}; {len(found)} leaks", markup=False, soft_wrap=True)
    if found:
        raise SystemExit(1)


def _author(author: Path, folder: Path, licence: str, out: Path) -> None:
    from journeyman.pipeline.authoring import author_tasks

    made = finish(author_tasks(author, folder, out, licence))
    for one in made:
        told = str(one) if isinstance(one, Path) else f"rejected at {one.stage}: {'; '.join(one.reasons)}"
        console.print(told, markup=False, soft_wrap=True)
    written = sum(isinstance(one, Path) for one in made)
    console.print(f"{written} of {len(made)} tasks were written; every call is in {out / 'traces'}", markup=False)
    if not written:
        raise SystemExit(1)
    next_step("journeyman tasks admit {} --release build/release", out)


def _make_from(folder: Path, licence: str, count: int, seed: int, out: Path) -> None:
    from journeyman.pipeline.from_documents import make_from
    from journeyman.synthesis.environment_first.from_documents import Wish

    made = make_from(folder, out, Wish(count, seed), licence)
    rows = [[s.path, s.kind, str(s.tables), s.as_of or "-", s.licence] for s in made.catalogue.sources]
    rows += [[d.path, "dropped", "", "", d.reason] for d in made.catalogue.dropped]
    table("documents", ["path", "kind", "tables", "as of", "licence, or why not"], rows)
    console.print(f"{len(made.directories)} tasks in {out}", markup=False)
    next_step("journeyman tasks admit {} --release build/release", out)


@tasks.command()
@click.argument("packages", type=click.Path(path_type=Path))
@click.option("--coverage", is_flag=True, help="Print what the packages cover, over ten axes, and what to make next.")
@click.option("--canaries", is_flag=True, help="Mark all that is private, let a policy pry, and search for the marks.")
@click.option("--sandbox", default="bubblewrap", show_default=True, help="With --canaries.")
def check(packages: Path, coverage: bool, canaries: bool, sandbox: str) -> None:
    """Run the gates that need no execution over a package, a release or a directory of packages. Exit 1 names faults.

    A release is checked as one first: a task that is missing, changed or was never in it is a fault.

    \b
    Example:
      journeyman tasks check build/tasks
      journeyman tasks check build/release --canaries
    """
    from journeyman.admission.gates import STATIC_GATES
    from journeyman.admission.release import is_release
    from journeyman.pipeline.admitting import check_static, package_dirs

    try:
        directories = package_dirs(packages)
    except UserError as error:
        if not is_release(packages):
            raise
        console.print(f"FAULT {error}", markup=False, soft_wrap=True)
        raise SystemExit(1) from None
    if coverage:
        _coverage(directories)
        return
    if canaries:
        _canaries(directories, sandbox)
        return
    decided = finish(check_static(directories))
    failed = [a for a in decided if not a.admitted]
    for admission in failed:
        console.print(f"FAULT {admission.task}: {admission.gates[-1].gate}: {admission.gates[-1].reason}", markup=False)
    console.print(f"{len(decided) - len(failed)} of {len(decided)} packages pass {', '.join(STATIC_GATES)}")
    if failed:
        raise SystemExit(1)
    if is_release(packages):
        next_step("journeyman rollout {} --policy base", packages)
    else:
        next_step("journeyman tasks admit {} --release build/release", packages)


@tasks.command()
@click.argument("packages", type=click.Path(path_type=Path))
@click.option("--release", type=NewPlace(), help="Write the admitted ones as this release.")
@click.option("--work", type=NewPlace(), help="Where the executed plans are sealed. Default: temporary.")
@click.option(
    "--against",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A held-out suite nothing may resemble; repeatable.",
)
@click.option("--sandbox", default="bubblewrap", show_default=True)
@click.option("--concurrency", type=click.IntRange(1), default=16, show_default=True)
@click.option("--rescreen", is_flag=True, help="Only the shortcut detectors, on a release made before them.")
@click.option(
    "--tried", metavar="RUN[:POLICY]", help="The last gate, on a release: what this policy's rollouts made of it."
)
@click.option("--strong", metavar="RUN[:POLICY]", help="With --tried: rollouts of a stronger policy.")
@click.option("--weak", metavar="RUN[:POLICY]", help="With --tried: rollouts of a weaker one.")
@click.option(
    "--rules",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --tried: TOML of margin, floor, token_share, ...",
)
@click.option(
    "--bypassed",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --tried: ids of episodes that went round a task.",
)
def admit(
    packages: Path,
    release: Path | None,
    work: Path | None,
    against: tuple[Path, ...],
    sandbox: str,
    concurrency: int,
    rescreen: bool,
    tried: str | None,
    **given: Any,
) -> None:
    """Admit packages by execution: reference gets full marks, every negative strictly less, doing nothing gets 0.

    \b
    Example:
      journeyman tasks admit build/tasks --release build/release
      journeyman tasks admit build/release --tried runs/base --release build/curriculum
      journeyman tasks admit build/release --rescreen
    """
    from journeyman.pipeline.admitting import admit_packages, held_out_dirs, package_dirs
    from journeyman.pipeline.admitting import rescreen as screen

    _needs("--tried", tried, **{f"--{name}": value for name, value in given.items()})
    if tried is not None:
        _by_rollouts(packages, release, tried, **given)
        return
    with Display() as display:
        if rescreen:
            lines, refused = finish(screen(packages, sandbox, concurrency, display)), False
        else:
            directories, suites = package_dirs(packages), held_out_dirs(against)
            result = finish(admit_packages(directories, release, work, sandbox, concurrency, display, suites))
            lines, refused = result.lines, result.admitted < len(directories)
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    if refused:
        raise SystemExit(1)
    next_step("journeyman rollout {} --policy base", release or packages)


def _by_rollouts(
    packages: Path,
    release: Path | None,
    base: str,
    strong: str | None,
    weak: str | None,
    rules: Path | None,
    bypassed: Path | None,
) -> None:
    """The curriculum gate: keep what the policies at hand can learn from."""
    from journeyman.admission.curriculum import Rules
    from journeyman.pipeline.curriculum import curriculum
    from journeyman.store.config_file import load_config

    if release is None:
        raise UserError("--tried needs --release: the directory of what is kept")
    for source in filter(None, (base, strong, weak)):
        if policy := source.partition(":")[2]:
            Name().convert(policy, None, None)
    try:
        ids = frozenset(bypassed.read_text().split()) if bypassed else frozenset()
    except UnicodeDecodeError:
        raise UserError(f"--bypassed {bypassed} is no text: give a file of episode ids") from None
    chosen = curriculum(packages, base, strong, weak, release, load_config(rules, Rules) if rules else Rules(), ids)
    rows = [
        [task, "kept" if r.passed else r.reason, str(r.figures.get("mean", ""))] for task, r in chosen.results.items()
    ]
    table("curriculum", ["task", "decision", "mean reward"], rows)
    if chosen.concentration.bypasses:
        most = ", ".join(f"{task} {n}" for task, n in chosen.concentration.by_task.items())
        console.print(f"{chosen.concentration.bypasses} of {chosen.concentration.attempts} attempts went round: {most}")
    next_step("journeyman rollout {} --policy base --split train", release)


@tasks.command()
@click.argument("package", type=click.Path(path_type=Path))
@click.option("--private", is_flag=True, help="Also the rubric, the reference and the negatives.")
@click.option(
    "--open", "opened", is_flag=True, help="As a page in a browser: documents as pictures, scores of negatives."
)
@click.option(
    "--page", type=click.Path(path_type=Path), help="Write that page here; a release or directory: a gallery."
)
@click.option("--limit", type=click.IntRange(1), default=24, show_default=True, help="Tasks in a gallery.")
@click.option("--in", "place", type=click.Path(path_type=Path), help="The run, release or directory with that task.")
def show(package: Path, private: bool, opened: bool, page: Path | None, limit: int, place: Path | None) -> None:
    """Show a task: request, files, services; with --private what its makers see; with --open or --page as a page.

    \b
    Example:
      journeyman tasks show build/tasks/finance-board-forecast-compact-train-1 --private
      journeyman tasks show build/release --page build/gallery.html
      journeyman tasks show finance-board-forecast-compact-train-1 --in runs/quickstart --open

    PACKAGE is a path, or a task's name: without --in it is looked for in build/* and runs/* of the current folder.
    """
    from journeyman.pipeline.showing import package_of, task_lines

    package = package_of(package, place)
    if opened or page is not None:
        _page(package, page or Path("build") / "tasks" / f"{package.resolve().name}.html", opened, limit)
        return
    for line in task_lines(package, private):
        console.print(line, markup=False, soft_wrap=True)
    next_step("journeyman tasks check {}", package)


def _page(package: Path, page: Path, opened: bool, limit: int) -> None:
    import webbrowser

    from journeyman.pipeline.admitting import package_dirs
    from journeyman.pipeline.gallery import gallery

    made = gallery(package_dirs(package)[:limit], page, package.resolve().name)
    console.print(f"{made}, {made.stat().st_size:,} bytes", markup=False)
    if opened and not webbrowser.open(made.resolve().as_uri()):
        console.print("no browser opens here: open the file yourself", markup=False)
    next_step("journeyman tasks check {}", package)
