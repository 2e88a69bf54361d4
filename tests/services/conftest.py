"""A small warehouse exception over both services, as a task would grant it."""

from typing import Any

import pytest

from journeyman.records.task import ServiceGrant

FROZEN = "2025-03-04T09:00:00Z"
LOST_ANSWER = {"tool": "reserve_dock", "call": 1, "effect": "timeout_after_commit"}


@pytest.fixture
def state() -> dict[str, Any]:
    return {
        "wms": {
            "orders": [
                {"order_id": "SO-1", "customer": "Acme", "pallets": 5},
                {"order_id": "SO-2", "customer": "Beta", "pallets": 3, "status": "held"},
            ],
            "docks": [{"dock": "D1", "capacity": 12}, {"dock": "D2", "capacity": 4}],
            "reservations": [{"reservation_id": "R-1", "order_id": "SO-2", "dock": "D2", "pallets": 2}],
            "stock": [{"line_id": "L-1", "sku": "A-7", "location": "B2", "quantity": 40}],
        },
        "ticketing": {
            "tickets": [{"ticket_id": "T-1", "subject": "Dock closed", "order_id": "SO-1"}],
            "comments": [{"comment_id": "C-1", "ticket_id": "T-1", "text": "see D1"}],
        },
    }


@pytest.fixture
def grants() -> list[ServiceGrant]:
    return [
        ServiceGrant(
            service="wms",
            actor="clerk",
            tools=("get_order", "get_capacity", "list_reservations", "reserve_dock", "hold_order"),
        ),
        ServiceGrant(service="ticketing", actor="clerk", tools=("get_ticket", "list_tickets", "resolve_ticket")),
    ]


@pytest.fixture
def faulty_grants(grants: list[ServiceGrant]) -> list[ServiceGrant]:
    return [grants[0].model_copy(update={"faults": (LOST_ANSWER,)}), grants[1]]
