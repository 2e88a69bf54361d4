"""journeyman train: SFT or RL on dataset directories."""

from pathlib import Path

import click

from journeyman.cli.display import Display, NewPlace, Real, finish, next_step
from journeyman.errors import UserError

PATH = click.Path(path_type=Path)


@click.group()
def train() -> None:
    """Train a policy by SFT or RL on datasets.

    \b
    Example:
      journeyman train sft build/sft --out build/policy --epochs 2
    """


@train.command()
@click.argument("dataset", type=PATH)
@click.option("--policy", default="base", show_default=True, help="base, or a model directory to start from.")
@click.option("--out", type=NewPlace(), required=True, help="Directory of the trained policy, create-only.")
@click.option("--epochs", type=Real(min=0, min_open=True), default=2.0, show_default=True)
@click.option("--lr", type=Real(min=0, min_open=True), default=1e-3, show_default=True)
@click.option("--batch-rows", type=click.IntRange(1), default=16, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--state-every",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="Updates between states to go on from after a kill; one a minute is kept anyway.",
)
def sft(
    dataset: Path, policy: str, out: Path, epochs: float, lr: float, batch_rows: int, seed: int, state_every: int
) -> None:
    """Supervised fine-tuning on DATASET (made by `journeyman data sft`).

    \b
    Example:
      journeyman train sft build/sft --policy base --epochs 2 --out build/policy
    """
    from journeyman.pipeline.rollout import weights_of
    from journeyman.pipeline.training_runs import datasets_of, process
    from journeyman.store.config_file import parse_config
    from journeyman.training.config import SftTrainConfig

    settings = {
        "dataset": datasets_of((dataset,), "sft")[0],
        "initial": weights_of(policy),
        "out": out,
        "state": out.with_name(f"{out.name}.state"),
        "epochs": epochs,
        "batch_rows": batch_rows,
        "optimiser": {"lr": lr},
        "seed": seed,
        "save_every": state_every,
    }
    config = parse_config(settings, SftTrainConfig)
    with Display() as display:
        display.stage("sft", f"{epochs:g} epochs on {dataset}")
        finish(process("journeyman.training.sft", config, out, display))
    next_step("journeyman evaluate RELEASE --policy sft={} --policy base", out)


def _check_versions(batches: list[Path]) -> None:
    """Raise UserError for a batch that a later version sampled than the learner can be at when it comes to it."""
    from journeyman.pipeline.selecting import newest_versions
    from journeyman.store.dataset import Dataset

    for version, batch in enumerate(batches):
        newest = max(newest_versions(Dataset.open(batch)).values(), default=0)
        if newest > version:
            raise UserError(
                f"{batch} was sampled by version {newest} of the policy, and the learner is at version {version} at "
                "most when it comes to it: give the batches before it too, or type journeyman data rl RUN --groups N "
                "for the first N groups"
            )


@train.command()
@click.argument("batches", type=PATH, nargs=-1, required=True)
@click.option("--policy", default="base", show_default=True, help="The policy that sampled the first batch.")
@click.option("--out", type=NewPlace(), required=True, help="Directory for weights/, state/ and updates.jsonl.")
@click.option("--objective", default="cispo", show_default=True)
@click.option("--lr", type=Real(min=0, min_open=True), default=4e-4, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
def rl(batches: tuple[Path, ...], policy: str, out: Path, objective: str, lr: float, seed: int) -> None:
    """One optimiser step on each of BATCHES (made by `journeyman data rl`), in name order; goes on where it stopped.

    \b
    Example:
      journeyman train rl runs/quickstart/data/rl --policy runs/quickstart/weights/sft --out build/rl
    """
    from journeyman.pipeline.rollout import weights_of
    from journeyman.pipeline.training_runs import datasets_of, learn
    from journeyman.store.config_file import parse_config
    from journeyman.training.config import LearnerConfig

    found = datasets_of(batches, "rl")
    _check_versions(found)
    settings = {
        "initial": weights_of(policy),
        "weights": out / "weights",
        "state": out / "state",
        "ledger": out / "updates.jsonl",
        "objective": {"name": objective},
        "optimiser": {"lr": lr},
        "total_steps": len(found),
        "seed": seed,
    }
    config = parse_config(settings, LearnerConfig)
    with Display() as display:
        display.stage("rl", f"{len(found)} steps of {objective}")
        answer = finish(learn(config, found, out, display))
    next_step("journeyman evaluate RELEASE --policy rl={} --policy base", answer["weights"])
