"""The scripts of standard plans run in the shipped box with the office libraries, and leave the same deliverable."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from journeyman.grading.checks import decide
from journeyman.grading.evidence import SealedEvidence
from journeyman.records.rubric import Check
from journeyman.sandbox.base import SandboxSpec
from journeyman.sandbox.bubblewrap import BubblewrapProvider
from journeyman.sandbox.detect import detect
from journeyman.worlds.registry import make_world
from tests.worlds.standard_play import lay_out

WRITERS = (
    "finance.board_forecast",
    pytest.param("law.covenant_certificate", marks=pytest.mark.slow),
    "consulting.vendor_benchmark",
)


@pytest.fixture
async def boxes() -> AsyncIterator[BubblewrapProvider]:
    if not detect().ready:
        pytest.skip(detect().line())
    async with BubblewrapProvider() as provider:
        yield provider


@pytest.mark.parametrize("name", WRITERS)
async def test_the_reference_works_in_a_box_with_office_libraries(
    name: str, boxes: BubblewrapProvider, tmp_path: Path
) -> None:
    draft = make_world(name, 4, "heldout", "standard")
    base = lay_out(draft, tmp_path)
    box = await boxes.start(SandboxSpec(workspace=(base,), capabilities=("files", "office")))
    try:
        for step in draft.reference.steps:
            for call in step.calls:
                if call.tool == "bash":
                    answer = await box.call("exec", {**call.arguments, "timeout_seconds": 60.0}, 60.0)
                    assert answer.get("exit_code") == 0, answer
        changed = await box.collect()
    finally:
        await box.close()
    assert set(changed.written) == set(draft.deliverables)
    evidence = SealedEvidence(episode="test", seal_digest="", base=base, written=changed.written)
    for criterion in draft.rubric.criteria:
        assert isinstance(criterion.decide, Check)
        assert decide(criterion.decide, evidence).met == (criterion.weight > 0), criterion.id
