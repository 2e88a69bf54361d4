"""What the policy gets wrong at a service is graded, whatever way it is wrong; never our failure (law 1, L-01)."""

from typing import Any

import pytest

from journeyman.episodes.run_one import ReadyTask
from journeyman.records.task import Plan, PlanStep, ToolCall
from tests.episodes.conftest import Open

WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "missing argument": ("wms__get_order", {}),
    "foreign argument": ("wms__list_reservations", {"order_id": "O-1", "resolution": "D2"}),
    "wrong type": ("wms__get_order", {"order_id": 7}),
    "no such record": ("wms__get_order", {"order_id": "O-0"}),
    "no such tool": ("wms__fly", {"order_id": "O-1"}),
    "no such service": ("crm__get_order", {"order_id": "O-1"}),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_wrong_service_call_is_graded(open_scene: Open, tasks: dict[str, ReadyTask], wrong: str) -> None:
    tool, arguments = WRONG[wrong]
    plan = Plan(name="wrong", kind="negative", steps=(PlanStep(calls=(ToolCall(tool=tool, arguments=arguments),)),))
    async with open_scene() as scene:
        (finished,) = await scene.group(tasks["operations.warehouse_exception"], [plan])
    assert finished.reward == 0.0
