"""Ledger and dispatch log agree both ways, or the difference is named."""

from typing import Any

import pytest

from journeyman.records.turn import ToolEvent
from journeyman.services.base import LedgerEntry
from journeyman.services.reconcile import reconcile
from journeyman.services.world import open_world

SERVICES = ("wms", "ticketing")
Story = tuple[tuple[LedgerEntry, ...], list[ToolEvent]]


@pytest.fixture
def story(faulty_grants: Any, state: Any) -> Story:
    world = open_world(faulty_grants, state, "2025-03-04T09:00:00Z")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("wms__get_order", {"order_id": "SO-1"}),
        ("wms__reserve_dock", {"order_id": "SO-1", "dock": "D1"}),
        ("wms__list_reservations", {"order_id": "SO-1"}),
        ("ticketing__resolve_ticket", {"ticket_id": "T-1", "resolution": "done"}),
    ]
    events = [ToolEvent(call_id="call_0", tool="read", arguments={"file_path": "a.txt"})]
    for number, (tool, arguments) in enumerate(calls):
        world.call(tool, arguments, f"call_{number % 2}")  # call ids repeat, as models' do
        events.append(ToolEvent(call_id=f"call_{number % 2}", tool=tool, arguments=arguments))
    events.append(ToolEvent(call_id="call_9", tool="wms__fly", valid=False, dispatched=False))
    return world.freeze().ledger, events


def test_an_honest_story_reconciles(story: Story) -> None:
    assert reconcile(*story, SERVICES) == ()


@pytest.mark.parametrize("lost", range(4))
def test_a_dropped_ledger_row_is_found(story: Story, lost: int) -> None:
    ledger, events = story
    assert reconcile(ledger[:lost] + ledger[lost + 1 :], events, SERVICES)


@pytest.mark.parametrize("call_id", ["", "call_1", "call_7"])
def test_an_undispatched_mutation_is_found(story: Story, call_id: str) -> None:
    ledger, events = story
    foreign = ledger[1].model_copy(update={"seq": len(ledger), "call_id": call_id})
    (problem,) = reconcile((*ledger, foreign), events, SERVICES)
    assert "was not dispatched" in problem


def test_an_undispatched_call_from_inside_the_box_is_allowed_where_the_box_has_the_socket(story: Story) -> None:
    ledger, events = story
    inside = ledger[1].model_copy(update={"seq": len(ledger), "call_id": ""})
    assert reconcile((*ledger, inside), events, SERVICES, inside_box=True) == ()


def test_changed_arguments_are_found(story: Story) -> None:
    ledger, events = story
    changed = events[2].model_copy(update={"arguments": {"order_id": "SO-1", "dock": "D2"}})
    assert reconcile(ledger, [*events[:2], changed, *events[3:]], SERVICES)


def test_a_swapped_order_is_found(story: Story) -> None:
    ledger, events = story
    assert reconcile(ledger, [events[0], events[2], events[1], *events[3:]], SERVICES)
