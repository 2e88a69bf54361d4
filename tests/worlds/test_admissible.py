"""Compact worlds, written as packages, pass every admission gate (plans are played without sandbox or harness).

One world of each split is executed; more are read, since what one request leaves out the next one may say.
"""

import asyncio
from pathlib import Path

import pytest

from journeyman.admission.decide import admit
from journeyman.admission.gates import GATES, STATIC_GATES
from journeyman.pipeline.stages.making import Wanted, make_one
from journeyman.worlds.registry import ENVIRONMENT_TYPES
from tests.admission.executing import InProcess

READING = tuple(name for name in STATIC_GATES if name != "contract")  # which calls systems hundreds of times


@pytest.mark.parametrize("name", sorted(ENVIRONMENT_TYPES))
def test_compact_worlds_are_admitted(name: str, tmp_path: Path) -> None:
    for seed in range(15):
        split = ("train", "validation", "heldout")[seed % 3]
        package = make_one(Wanted(name, seed, split, "compact"), tmp_path)
        gates = tuple(GATES) if seed < 3 else READING
        admission = asyncio.run(admit(package, InProcess(tmp_path / f"runs-{seed}"), gates))
        assert admission.admitted, admission.gates[-1]
