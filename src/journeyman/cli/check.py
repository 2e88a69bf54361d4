"""journeyman check: whether a part keeps what it promises, computed here and now."""

import click

from journeyman.cli.display import Display, console, next_step, table


@click.group()
def check() -> None:
    """Check what the learner promises.

    \b
    Example:
      journeyman check learner
    """


@check.command()
@click.option("--objective", "names", multiple=True, help="Only these; a name or module:Class. Default: all that ship.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes of the worker check.")
@click.option("--seed", type=int, default=0, show_default=True)
def learner(names: tuple[str, ...], workers: int, seed: int) -> None:
    """One batch told in several ways must give one gradient, and every equation its known values.

    Exit 1 names what does not hold.

    \b
    Example:
      journeyman check learner --objective cispo
    """
    from journeyman.training import vectors
    from journeyman.training.invariances import OBJECTIVES, TOLERANCE, check

    chosen = [o for o in OBJECTIVES if not names or o["name"] in names]
    chosen += [{"name": name} for name in names if all(o["name"] != name for o in OBJECTIVES)]
    with Display() as display:
        display.stage("learner", f"{len(chosen)} objectives on a random policy, fp32")
        checked = check(chosen, workers, seed, display.say)
    kinds = list(dict.fromkeys(c.invariance for c in checked))
    labels = list(dict.fromkeys(c.objective for c in checked))
    gaps = {(c.objective, c.invariance): c for c in checked}
    shown = [[k, *(f"{gaps[o, k].gap:.0e}" + ("" if gaps[o, k].holds else " !") for o in labels)] for k in kinds]
    table("largest difference of a gradient, relative to its largest entry", ["invariance", *labels], shown)
    known = vectors.vectors()
    table(
        "known values of the equations, largest difference", ["value", "gap"], [[v.name, f"{v.gap:.0e}"] for v in known]
    )
    faults = [
        f"{c.objective}: {c.invariance}: {c.gap:.2e}, tolerance {c.tolerance:.0e}" for c in checked if not c.holds
    ]
    faults += [f"{v.name}: {v.found}, and {v.expected} is known" for v in known if not v.holds]
    for fault in faults:
        console.print(f"FAULT {fault}", markup=False)
    if faults:
        raise SystemExit(1)
    console.print(
        f"{len(checked)} checks hold (tolerance {TOLERANCE:.0e}; resume exact), "
        f"and {len(known)} known values ({vectors.TOLERANCE:.0e})",
        markup=False,
    )
    next_step("journeyman run recipes/quickstart.toml --out runs/quickstart")
