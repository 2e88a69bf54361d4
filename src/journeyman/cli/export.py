"""journeyman export: training rows for other trainers."""

from pathlib import Path

import click

from journeyman.cli.display import NewPlace, table

PATH = click.Path(path_type=Path)
OUT = click.option("--out", type=NewPlace(), required=True, help="Directory of the export, create-only.")


@click.group()
def export() -> None:
    """Write rows that other trainers load, in their own fields; nothing is re-tokenised.

    \b
    Example:
      journeyman export rl build/batch --to slime --out build/slime
    """


@export.command()
@click.argument("dataset", type=PATH)
@click.option("--to", default="trl", show_default=True, help="trl, or module:Class.")
@OUT
def sft(dataset: Path, to: str, out: Path) -> None:
    """Rows for SFT from DATASET (made by `journeyman data sft`).

    \b
    Example:
      journeyman export sft build/sft --to trl --out build/trl-sft
    """
    _export(dataset, "sft", to, out)


@export.command()
@click.argument("dataset", type=PATH)
@click.option("--to", required=True, help="trl, skyrl, slime, verl, prime-rl, or module:Class.")
@click.option("--advantage", help="For projects that take ours (prime-rl). Default: as the run that made the rows.")
@OUT
def rl(dataset: Path, to: str, advantage: str | None, out: Path) -> None:
    """Rows for RL from DATASET (made by `journeyman data rl`).

    \b
    Example:
      journeyman export rl build/batch --to verl --out build/verl
    """
    _export(dataset, "rl", to, out, advantage)


def _export(dataset: Path, kind: str, to: str, out: Path, advantage: str | None = None) -> None:
    from journeyman.pipeline.exporting import export_dataset

    made = export_dataset(dataset, kind, to, out, advantage)
    shown = [["rows", f"{made.rows:,}"], ["tokens", f"{made.tokens:,}"], ["trained tokens", f"{made.trained_tokens:,}"]]
    shown += [[f"left out: {reason}", f"{count:,}"] for reason, count in sorted(made.left_out.items())]
    table(f"{kind} rows for {made.target} {made.target_version} in {out}", ["what", "count"], shown)
    click.echo(f"{made.target} loads it by: {made.use}")
