"""journeyman merge: combine checkpoints of one lineage and verify what was written."""

import json
from pathlib import Path
from typing import Any

import click

from journeyman.cli.display import Display, NewPlace, finish, next_step
from journeyman.errors import UserError

PATH = click.Path(path_type=Path)


def method_config(method: str, settings: tuple[str, ...]) -> dict[str, Any]:
    """`slerp` and `t=0.3` as a method's configuration. Raises UserError."""
    config: dict[str, Any] = {"name": method}
    for setting in settings:
        key, equals, value = setting.partition("=")
        try:
            config[key] = json.loads(value)
        except ValueError:
            equals = ""
        if not equals:
            raise UserError(f"--set {setting!r}: write KEY=VALUE with a JSON value, e.g. t=0.3 or weights=[3,1]")
    return config


@click.command()
@click.argument("parents", type=PATH, nargs=-1, required=True)
@click.option("--out", type=NewPlace(), required=True, help="Directory of the merged checkpoint, create-only.")
@click.option("--method", default="soup", show_default=True, help="soup, slerp, ties or task_arithmetic.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the method, e.g. t=0.3.")
@click.option("--base", type=PATH, help="Common ancestor, for ties and task_arithmetic.")
@click.option("--keep", type=click.IntRange(0), default=0, show_default=True, help="Parent whose config is kept.")
@click.option("--name", help="Name of the checkpoint. Default: that of --out.")
def merge(
    parents: tuple[Path, ...],
    out: Path,
    method: str,
    settings: tuple[str, ...],
    base: Path | None,
    keep: int,
    name: str | None,
) -> None:
    """Merge PARENTS, one tensor at a time in fp32, then recompute every written tensor by a second code path.

    \b
    Example:
      journeyman merge runs/quickstart/weights/rl/v50 runs/quickstart/weights/rl/v40 --out build/merged
    """
    from journeyman.pipeline.training_runs import process

    if len(parents) < 2:
        raise UserError(f"{len(parents)} parent given: a merge needs at least two checkpoint directories")
    for parent in (*parents, *([base] if base else [])):
        if not (parent / "config.json").exists():
            raise UserError(f"{parent} holds no config.json: give Hugging Face checkpoint directories")
    config = {
        "parents": [str(p) for p in parents],
        "out": str(out),
        "method": method_config(method, settings),
        "keep": keep,
        "name": name or out.name,
    }
    if base is not None:
        config["base"] = str(base)
    with Display() as display:
        display.stage("merge", f"{method} of {len(parents)} checkpoints")
        done = finish(process("journeyman.merging", config, out, display))
        display.say(", ".join(f"{k} {v}" for k, v in done.items() if k != "event" and not isinstance(v, dict | list)))
    next_step("journeyman evaluate RELEASE --policy merged={} --policy parent={}", out, parents[0])
