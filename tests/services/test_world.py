"""One episode's services in process: state, permissions, faults, ledger."""

from typing import Any

import pytest

from journeyman.errors import ServiceFailure, UserError
from journeyman.records.task import ServiceGrant
from journeyman.services.base import WorldSnapshot
from journeyman.services.world import World, open_world

NOW = "2025-03-04T09:00:00Z"
RESERVE = {"order_id": "SO-1", "dock": "D1"}


def _with_fault(grants: list[ServiceGrant], **fault: Any) -> list[ServiceGrant]:
    return [grants[0].model_copy(update={"faults": (fault,)}), grants[1]]


def _reservations(world: World) -> list[dict[str, Any]]:
    return [r for r in world.freeze().state["wms"]["reservations"] if r["order_id"] == "SO-1"]


def test_state_survives_across_calls(grants: Any, state: Any) -> None:
    world = open_world(grants, state, NOW)
    assert world.call("wms__reserve_dock", RESERVE).ok
    listed = world.call("wms__list_reservations", {"order_id": "SO-1"})
    assert listed.result == {
        "reservations": [{"reservation_id": "R-2", "order_id": "SO-1", "dock": "D1", "pallets": 5}]
    }
    assert world.call("wms__get_capacity", {"dock": "D1"}).result == {
        "dock": "D1",
        "kind": "dry",
        "capacity": 12,
        "reserved": 5,
        "free": 7,
    }


def test_a_denied_call_leaves_a_ledger_entry_and_no_mutation(grants: Any, state: Any) -> None:
    world = open_world(grants, state, NOW)
    before = world.services["wms"].database.state()
    for tool, why in (("wms__hold_order", "clerk may not hold_order"), ("wms__get_stock", "offers no tool get_stock")):
        answer = world.call(tool, {"order_id": "SO-1"})
        assert not answer.ok
        assert why in answer.error
    snapshot = world.freeze()
    assert snapshot.state["wms"] == before
    assert [(e.tool, e.outcome, e.committed) for e in snapshot.ledger] == [
        ("hold_order", "denied", False),
        ("get_stock", "denied", False),
    ]


def test_a_timeout_after_commit_has_committed_and_a_blind_retry_duplicates(faulty_grants: Any, state: Any) -> None:
    world = open_world(faulty_grants, state, NOW)
    first = world.call("wms__reserve_dock", RESERVE)
    assert not first.ok
    assert "may or may not have been applied" in first.error
    assert world.call("wms__reserve_dock", RESERVE).ok
    assert len(_reservations(world)) == 2
    entries = [(e.outcome, e.committed) for e in world.freeze().ledger]
    assert entries == [("timeout", True), ("ok", True)]


def test_a_timeout_before_commit_looks_the_same_and_has_done_nothing(grants: Any, state: Any) -> None:
    fault = {"tool": "reserve_dock", "call": 1, "effect": "timeout_before_commit"}
    world = open_world(_with_fault(grants, **fault), state, NOW)
    after = open_world(_with_fault(grants, **{**fault, "effect": "timeout_after_commit"}), state, NOW)
    assert world.call("wms__reserve_dock", RESERVE) == after.call("wms__reserve_dock", RESERVE)
    assert _reservations(world) == []
    assert len(_reservations(after)) == 1


def test_a_refused_call_does_not_use_up_the_declared_fault(faulty_grants: Any, state: Any) -> None:
    world = open_world(faulty_grants, state, NOW)
    assert "not found" in world.call("wms__reserve_dock", {"order_id": "SO-9", "dock": "D1"}).error
    assert "needs 5" in world.call("wms__reserve_dock", {"order_id": "SO-1", "dock": "D2"}).error
    assert world.call("wms__reserve_dock", RESERVE).error.startswith("timeout")
    assert world.call("wms__list_reservations", {"order_id": "SO-1"}).ok


def test_rated_faults_are_drawn_from_the_seed(grants: Any, state: Any) -> None:
    faulty = _with_fault(grants, tool="get_order", rate=0.5, effect="unavailable")

    def pattern(seed: int) -> list[bool]:
        world = open_world(faulty, state, NOW, seed)
        return [world.call("wms__get_order", {"order_id": "SO-1"}).ok for _ in range(40)]

    assert pattern(1) == pattern(1)
    assert pattern(1) != pattern(2)
    assert 8 < sum(pattern(3)) < 32


def test_a_crashed_service_fails_the_world_and_keeps_failing_it(grants: Any, state: Any) -> None:
    world = open_world(_with_fault(grants, tool="get_order", call=1, effect="crash"), state, NOW)
    for use in (lambda: world.call("wms__get_order", {"order_id": "SO-1"}), lambda: world.call("ticketing__x", {})):
        with pytest.raises(ServiceFailure):
            use()
    with pytest.raises(ServiceFailure):
        world.freeze()


def test_nothing_is_called_after_freeze(grants: Any, state: Any) -> None:
    world = open_world(grants, state, NOW)
    snapshot = world.freeze()
    assert "frozen" in world.call("wms__reserve_dock", RESERVE).error
    assert world.freeze() is snapshot
    assert snapshot.ledger == ()
    assert WorldSnapshot.parse(snapshot.canonical()) == snapshot


def test_the_clock_is_frozen_and_the_same_calls_give_the_same_snapshot(grants: Any, state: Any) -> None:
    def play() -> WorldSnapshot:
        world = open_world(grants, state, NOW, 7)
        world.call("wms__reserve_dock", RESERVE, "c1")
        world.call("ticketing__resolve_ticket", {"ticket_id": "T-1", "resolution": "D1 reserved"}, "c2")
        return world.freeze()

    assert play().digest() == play().digest()
    assert {entry.at for entry in play().ledger} == {NOW}
    assert play().state["ticketing"]["tickets"][0]["resolved_at"] == NOW


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "missing argument order_id"),
        ({"order_id": "SO-1", "x": 1}, "unknown argument x"),
        ({"order_id": ["SO-1"]}, "order_id: "),
        (["SO-1"], "arguments: "),
        (None, "arguments: "),
    ],
)
def test_wrong_arguments_are_told_in_one_line(grants: Any, state: Any, arguments: Any, said: str) -> None:
    world = open_world(grants, state, NOW)
    answer = world.call("wms__get_order", arguments)
    assert said in answer.error
    assert "\n" not in answer.error
    assert [e.outcome for e in world.freeze().ledger] == ["error"]


def test_optional_arguments_filter(state: Any) -> None:
    grant = ServiceGrant(service="wms", actor="viewer", tools=("list_orders", "list_docks", "get_stock"))
    world = open_world([grant], {"wms": state["wms"]}, NOW)
    held = world.call("wms__list_orders", {"status": "held"}).result
    assert held is not None
    assert [order["order_id"] for order in held["orders"]] == ["SO-2"]
    assert not world.call("wms__list_orders", {"status": "lost"}).ok
    everything = world.call("wms__list_orders", {}).result
    assert everything is not None
    assert len(everything["orders"]) == 2


def test_schemas_are_compact_and_say_what_repeating_does(grants: Any, state: Any) -> None:
    tools = {t["function"]["name"]: t["function"] for t in open_world(grants, state, NOW).tools()}
    assert next(iter(tools)) == "wms__get_order"
    assert tools["wms__get_order"]["parameters"] == {
        "type": "object",
        "properties": {"order_id": {"type": "string", "description": "Order number"}},
        "required": ["order_id"],
    }
    assert "Repeating it acts again" in tools["wms__reserve_dock"]["description"]
    assert "Safe to repeat" in tools["ticketing__resolve_ticket"]["description"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"service": "hrm"}, "unknown service 'hrm'"),
        ({"actor": "king"}, "no role 'king'"),
        ({"tools": ("fly",)}, "no tool 'fly'"),
        ({"faults": ({"tool": "fly", "call": 1, "effect": "crash"},)}, "unknown tool 'fly'"),
        ({"faults": ({"tool": "get_order", "effect": "crash"},)}, "either `call` or `rate`"),
        ({"faults": ({"tool": "get_order", "call": 1, "effect": "boom"},)}, "effect"),
    ],
)
def test_grants_that_do_not_fit_are_named(grants: Any, state: Any, change: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        open_world([grants[0].model_copy(update=change)], {}, NOW)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"wms": {"trucks": []}}, "unknown table 'trucks'"),
        ({"wms": {"orders": [{"order_id": "SO-1", "weight": 1}]}}, "no column 'weight'"),
        ({"wms": {"orders": [{"order_id": "SO-1"}]}}, "lacks column 'pallets'"),
        ({"wms": {"docks": [{"dock": "D", "capacity": 1}] * 2}}, "repeat a dock"),
        ({"hrm": {}}, "not granted"),
    ],
)
def test_initial_rows_that_do_not_fit_are_named(grants: Any, rows: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        open_world(grants, rows, NOW)
