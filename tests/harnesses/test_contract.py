"""The contract of the Harness seam: a harness acts through box and services, says what it dispatched, and stops."""

from typing import Any

import pytest

from journeyman.harnesses.base import Harness
from journeyman.harnesses.replay import ReplayHarness
from journeyman.harnesses.whitebox.loop import native_harness
from journeyman.records.outcome import StopReason
from journeyman.records.turn import ToolEvent
from tests.harnesses.conftest import plan
from tests.harnesses.test_loop import Desk

STEPS: list[tuple[str, dict[str, Any]]] = [
    ("read", {"file_path": "a.txt"}),
    ("edit", {"file_path": "a.txt", "old_string": "beta", "new_string": "delta"}),
    ("browse", {"url": "x"}),
    ("desk__get", {"id": "3"}),
    ("write", {"file_path": "out/r.txt", "content": "done: yes\n"}),
]


def harness(kind: str) -> Harness:
    if kind == "native":
        return native_harness()
    events = [
        ToolEvent(call_id=f"c{i}", turn_id=f"t{i}", tool=tool, arguments=arguments, valid=tool != "browse")
        for i, (tool, arguments) in enumerate(STEPS)
    ]
    return ReplayHarness(events, StopReason.FINISHED, "Done.")


@pytest.mark.parametrize("kind", ["native", "replay"])
async def test_a_harness_acts_and_says_what_it_did(stage: Any, kind: str) -> None:
    desk = Desk()
    async with stage(plan(*[[step] for step in STEPS]), services=desk) as held:
        exit = await harness(kind).run(held.run)
        change = await held.box.collect()
    assert exit.stop is StopReason.FINISHED
    assert exit.final_message == "Done."
    assert [(event.tool, event.arguments) for event in exit.events] == STEPS
    assert [(event.valid, event.is_error) for event in exit.events] == [
        (True, False),
        (True, False),
        (False, True),
        (True, False),
        (True, False),
    ]
    assert change.written == {"a.txt": b"alpha\ndelta\n", "out/r.txt": b"done: yes\n"}
    assert [call[:2] for call in desk.calls] == [("desk__get", {"id": "3"})]
    assert len({event.call_id for event in exit.events}) == len(STEPS)
    assert harness(kind).manifest.digest()


async def test_a_recorded_dispatch_replays_to_the_same_workspace(stage: Any) -> None:
    async with stage(plan(*[[step] for step in STEPS]), services=Desk()) as held:
        exit = await native_harness().run(held.run)
        first = await held.box.collect()
        await held.box.call("exec", {"command": "rm -r out; printf 'alpha\\nbeta\\n' > a.txt", "timeout_seconds": 5})
        again = await ReplayHarness(exit.events, exit.stop, exit.final_message).run(held.run)
        assert await held.box.collect() == first
    assert [(e.tool, e.is_error, e.valid) for e in again.events] == [(e.tool, e.is_error, e.valid) for e in exit.events]


@pytest.mark.parametrize("kind", ["native", "replay"])
async def test_what_a_harness_needs_is_in_its_run(stage: Any, kind: str) -> None:
    """The same harness object serves several episodes (it keeps nothing of a run)."""
    one = harness(kind)
    before = one.manifest.digest()
    async with stage(plan(*[[step] for step in STEPS]), services=Desk()) as held:
        await one.run(held.run)
    assert one.manifest.digest() == before
