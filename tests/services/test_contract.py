"""Definitions keep their word, and a lying one is caught."""

from typing import Any

import pytest
from typing_extensions import TypedDict

from journeyman.services.contract import fuzz_contract
from journeyman.services.definition import ServiceDefinition, tool
from journeyman.services.definitions import SERVICES
from journeyman.services.tables import Session, Table


class Done(TypedDict):
    """A number."""

    count: int


@tool("use", writes=True)
def claims_idempotent(db: Session, item: str) -> Done:
    """Adds a row each time."""
    db.insert("things", {"thing": db.next_id("things", "X-"), "item": item})
    return {"count": 1}


@tool("use")
def claims_to_read(db: Session, item: str) -> Done:
    """Writes."""
    db.update("things", {"thing": "X-0"}, item=item)
    return {"count": 0}


@tool("use")
def claims_a_number(db: Session) -> Done:
    """Returns text."""
    return {"count": "many"}  # type: ignore[typeddict-item]


@tool("use")
def divides(db: Session, item: str) -> Done:
    """Raises."""
    return {"count": 1 // len(item)}


LIAR = ServiceDefinition(
    name="liar",
    title="Liar",
    tables=(Table("things", {"thing": "text", "item": "text"}),),
    tool_list=(claims_idempotent, claims_to_read, claims_a_number, divides),
    roles={"user": frozenset({"use"}), "guest": frozenset()},
)


@pytest.mark.parametrize("service", list(SERVICES))
def test_shipped_services_keep_their_contract(service: str, state: Any) -> None:
    assert fuzz_contract(service, state, calls=300) == ()


ROWS: dict[str, dict[str, list[dict[str, Any]]]] = {
    "tms": {
        "shipments": [{"shipment_id": "SH-1", "carrier": "Acme", "kilos": 900, "shipped_on": "2025-02-01"}],
        "events": [{"event_id": "E-1", "shipment_id": "SH-1", "day": "2025-02-01", "event": "loaded"}],
        "claims": [{"claim_id": "CL-1", "shipment_id": "SH-1", "amount": 40}],
    },
    "mes": {
        "batches": [{"batch_id": "B-1", "product": "valve", "size": 80, "made_on": "2025-02-01"}],
        "readings": [{"reading_id": "R-1", "batch_id": "B-1", "piece": "1", "value": 12}],
        "shifts": [{"shift_id": "L1-early", "minutes": 440, "made": 900, "scrapped": 7}],
        "stops": [{"stop_id": "S-1", "shift_id": "L1-early", "cause": "jam", "minutes": 11}],
        "causes": [{"cause": "jam"}, {"cause": "tool"}],
    },
    "grc": {
        "limits": [{"subject": "Beta Bank", "amount": 500}],
        "exceptions": [
            {
                "exception_id": "X-1",
                "subject": "Beta Bank",
                "granted_by": "cfo",
                "last_day": "2025-06-30",
            }
        ],
        "findings": [{"finding_id": "D-1", "subject": "Beta Bank", "title": "late"}],
    },
    "property": {
        "leases": [{"lease_id": "LS-1", "tenant": "Acme", "unit": "Shop 1"}],
        "charges": [{"charge_id": "CH-1", "lease_id": "LS-1", "amount": 90, "year": "2024"}],
        "orders": [{"order_id": "WO-1", "unit": "Shop 1", "fault": "lift"}],
        "budgets": [{"building": "North", "budget": 900, "committed": 200}],
        "contractors": [{"contractor": "Beta", "trade": "lift", "insured_until": "2026-01-01"}],
    },
}


@pytest.mark.parametrize("service", list(ROWS))
def test_services_with_records_keep_their_contract(service: str) -> None:
    assert fuzz_contract(service, {service: ROWS[service]}, calls=400) == ()


def test_lies_are_named() -> None:
    lies = "\n".join(fuzz_contract(f"{__name__}:LIAR", {"liar": {"things": [{"thing": "X-0", "item": "a"}]}}))
    assert "left a second effect" in lies
    assert "declared a read, yet state changed" in lies
    assert "not the declared shape" in lies
    assert "crashed" in lies
