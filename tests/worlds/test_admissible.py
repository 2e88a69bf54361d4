"""Compact worlds, written as packages, pass every admission gate (plans are played without sandbox or harness)."""

import asyncio
from pathlib import Path

import pytest

from journeyman.admission.decide import admit
from journeyman.pipeline.stages.making import Wanted, make_one
from journeyman.worlds.registry import ENVIRONMENT_TYPES
from tests.admission.executing import InProcess


@pytest.mark.parametrize("name", sorted(ENVIRONMENT_TYPES))
def test_compact_worlds_are_admitted(name: str, tmp_path: Path) -> None:
    for seed in range(6):
        split = ("train", "validation", "heldout")[seed % 3]
        package = make_one(Wanted(name, seed, split, "compact"), tmp_path)
        admission = asyncio.run(admit(package, InProcess(tmp_path / f"runs-{seed}")))
        assert admission.admitted, admission.gates[-1]
