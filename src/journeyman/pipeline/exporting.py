"""Datasets handed to other trainers, with the advantages that our own learner would give where they take them."""

from pathlib import Path

from journeyman.datasets.exports.base import make_target
from journeyman.datasets.exports.write import Export, export
from journeyman.errors import UserError
from journeyman.pipeline.selecting import credit_of
from journeyman.store.config_file import parse_config
from journeyman.store.dataset import Dataset
from journeyman.training.credit import CreditConfig, credit

CRITIC = "critic"
OURS = "advantages"  # the field of a project that takes our advantages


def export_dataset(directory: Path, kind: str, to: str, out: Path, advantage: str | None = None) -> Export:
    """Write the rows of a dataset of that kind ("sft" or "rl") for a project. Raises UserError.

    `advantage` takes the place of the run's; None: as the run does, or `journeyman train rl` where no run says.
    """
    dataset = Dataset.open(directory)
    if dataset.manifest.kind != kind:
        raise UserError(f"{directory} is a dataset of kind {dataset.manifest.kind!r}: type journeyman export that kind")
    target = make_target(kind, to)
    advantages: dict[str, float] = {}
    config = _credit(dataset, advantage)
    if config.advantage == CRITIC and (advantage is not None or OURS in target.fields):
        raise UserError(f"advantage {CRITIC!r} needs the values of the run's critic, a model: give another --advantage")
    for group in dataset.groups:
        found = credit(group, config)
        advantages |= {m.episode: a for m, a in zip(group.members, found.advantages, strict=True) if m.valid}
    return export(dataset, target, out, advantages)


def _credit(dataset: Dataset, advantage: str | None) -> CreditConfig:
    """What the dataset says of its run, else the run that it lies in. Raises UserError for an unknown advantage."""
    said = dataset.manifest.credit
    if said is None and (of_run := credit_of(dataset.directory.resolve().parents[2])) is not None:
        said = of_run.model_dump()
    return parse_config({**(said or {}), **({"advantage": advantage} if advantage else {})}, CreditConfig)
