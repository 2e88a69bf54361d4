"""The native loop over a real gateway and a real box."""

from typing import Any

import pytest

from journeyman.harnesses.whitebox.loop import native_harness
from journeyman.records.outcome import StopReason
from tests.harnesses.conftest import plan


@pytest.mark.parametrize("unix", [False, True])
async def test_a_plan_runs_to_its_end_through_gateway_and_box(stage: Any, unix: bool) -> None:
    steps = plan(
        [("read", {"file_path": "a.txt"})],
        [("bash", {"command": "cat a.txt | wc -l"})],
        [("write", {"file_path": "out.txt", "content": "lines: 2\n"})],
    )
    async with stage(steps, unix=unix) as held:
        exit = await native_harness().run(held.run)
        change = await held.box.collect()
    assert exit.stop is StopReason.FINISHED
    assert exit.final_message == "Done."
    assert [event.tool for event in exit.events] == ["read", "bash", "write"]
    assert [event.turn_id for event in exit.events] == ["t1", "t2", "t3"]
    assert change.written == {"out.txt": b"lines: 2\n"}
    assert held.closed.turns == 4
    told = [message["content"] for message in held.asked[-1] if message["role"] == "tool"]
    assert told == ["1\talpha\n2\tbeta", "2", "wrote out.txt (1 lines)"]
