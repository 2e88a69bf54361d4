"""Datasets handed to other trainers, with the advantages that our own learner would give where they take them."""

from pathlib import Path

from journeyman.datasets.exports.base import make_target
from journeyman.datasets.exports.write import Export, export
from journeyman.errors import UserError
from journeyman.store.dataset import Dataset
from journeyman.training.credit import CreditConfig, credit


def export_dataset(directory: Path, kind: str, to: str, out: Path, advantage: str = "centred") -> Export:
    """Write the rows of a dataset of that kind ("sft" or "rl") for a project. Raises UserError."""
    dataset = Dataset.open(directory)
    if dataset.manifest.kind != kind:
        raise UserError(f"{directory} is a dataset of kind {dataset.manifest.kind!r}: type journeyman export that kind")
    target = make_target(kind, to)
    advantages: dict[str, float] = {}
    for group in dataset.groups:
        found = credit(group, CreditConfig(advantage=advantage))
        advantages |= {m.episode: a for m, a in zip(group.members, found.advantages, strict=True) if m.valid}
    return export(dataset, target, out, advantages)
