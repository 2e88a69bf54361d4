"""Compact worlds, written as packages, pass every admission gate (plans are played without sandbox or harness)."""

import asyncio
from pathlib import Path

import pytest

from journeyman.admission.decide import admit
from journeyman.pipeline.stages.making import Wanted, make_one
from journeyman.records.grade import Grade, GraderIdentity
from journeyman.records.outcome import Quarantined
from journeyman.records.rubric import Verdict
from journeyman.records.task import Plan
from journeyman.worlds.registry import ENVIRONMENT_TYPES, make_world
from tests.worlds.play import play

NOBODY = GraderIdentity(name="test", checks_version="", rubric_digest="")


@pytest.mark.parametrize("name", sorted(ENVIRONMENT_TYPES))
def test_compact_worlds_are_admitted(name: str, tmp_path: Path) -> None:
    for seed in range(6):
        split = ("train", "validation", "heldout")[seed % 3]
        draft = make_world(name, seed, split, "compact")

        async def execute(directory: Path, plan: Plan) -> Grade | Quarantined:
            played = play(draft, plan)  # noqa: B023 - awaited within the iteration
            verdicts = tuple(
                Verdict(criterion=c, met=met, evidence="played", source="check") for c, met in played.met.items()
            )
            return Grade(
                episode=plan.name, seal_digest="", grader=NOBODY, verdicts=verdicts, raw=0.0, rewards=played.rewards
            )

        package = make_one(Wanted(name, seed, split, "compact"), tmp_path)
        admission = asyncio.run(admit(package, execute))
        assert admission.admitted, admission.gates[-1]
