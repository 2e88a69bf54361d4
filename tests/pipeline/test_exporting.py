"""Exported advantages are those of the run that made the rows; what is no target or no rule is one line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from journeyman.datasets.exports.write import read_rows
from journeyman.errors import UserError
from journeyman.pipeline.exporting import export_dataset
from journeyman.store.dataset import Dataset
from journeyman.training.credit import CreditConfig, credit
from tests.training.conftest import random_row, write_rl

RLOO = {"advantage": "rloo", "shaping": {"extreme_start": 1, "extreme_ramp": 8, "gate_extreme": False}}


def batch(directory: Path, **manifest: Any) -> Path:
    rows = [random_row(np.random.default_rng(n), [1, 2, 3], length=8 + 4 * n) for n in range(4)]
    return write_rl(directory, {"g": [(n / 4, [row]) for n, row in enumerate(rows)]}, **manifest)


def exported(directory: Path, out: Path, advantage: str | None = None) -> list[float]:
    export_dataset(directory, "rl", "prime-rl", out, advantage)
    return [next(a for a, m in zip(row["advantages"], row["mask"], strict=True) if m) for row in read_rows(out)]


def learnt(directory: Path, config: CreditConfig) -> list[float]:
    (group,) = Dataset.open(directory).groups
    return list(credit(group, config).advantages)


def test_advantages_are_those_of_the_run_that_made_the_rows(tmp_path: Path) -> None:
    ours = CreditConfig.model_validate(RLOO)
    plain, said = batch(tmp_path / "plain"), batch(tmp_path / "said", credit=RLOO)
    inside = batch(tmp_path / "run" / "data" / "rl" / "00000")
    (tmp_path / "run" / "config.toml").write_text(
        "name = 'run'\n[rl]\ncredit = {advantage = 'rloo', "
        "shaping = {extreme_start = 1, extreme_ramp = 8, gate_extreme = false}}\n"
    )
    assert learnt(plain, ours) != learnt(plain, CreditConfig())
    assert exported(plain, tmp_path / "1") == learnt(plain, CreditConfig())
    assert exported(said, tmp_path / "2") == exported(inside, tmp_path / "3") == learnt(plain, ours)
    centred = ours.model_copy(update={"advantage": "centred"})
    assert exported(said, tmp_path / "4", "centred") == learnt(plain, centred)


@pytest.mark.parametrize(
    ("to", "advantage", "said"),
    [
        ("json:dumps", None, "is a function, not a class"),
        ("pathlib:Path", None, "has no version"),
        ("nope", None, "choose one of"),
        ("nope:", None, "choose one of"),
        ("no.such:Thing", None, "cannot be imported"),
        ("prime-rl", "nope", "choose one of"),
        ("prime-rl", "critic", "values of the run's critic"),
        ("verl", "critic", "values of the run's critic"),
    ],
)
def test_what_cannot_be_exported_is_one_line(tmp_path: Path, to: str, advantage: str | None, said: str) -> None:
    with pytest.raises(UserError, match=said) as told:
        export_dataset(batch(tmp_path / "d"), "rl", to, tmp_path / "out", advantage)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "out").exists()


def test_a_critics_rows_go_to_projects_that_make_their_own_advantages(tmp_path: Path) -> None:
    data = batch(tmp_path / "d", credit={"advantage": "critic"})
    export_dataset(data, "rl", "skyrl", tmp_path / "skyrl")
    with pytest.raises(UserError, match="values of the run's critic"):
        export_dataset(data, "rl", "prime-rl", tmp_path / "prime")
