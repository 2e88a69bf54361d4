"""Transport management system: shipments, their events, and claims against carriers.

A claim is filed as often as it is asked for; a case that is closed takes no claim.
"""

from typing import Annotated

from typing_extensions import TypedDict

from journeyman.services.definition import Refused, ServiceDefinition, tool
from journeyman.services.tables import Row, Session, Table

ShipmentId = Annotated[str, "Shipment number"]


class Shipment(TypedDict):
    """One shipment; `kilos` is the gross weight of all of it."""

    shipment_id: str
    carrier: str
    kilos: int
    shipped_on: str
    delivered_on: str
    status: str


class ShipmentLine(TypedDict):
    """One line of a shipment list."""

    shipment_id: str
    carrier: str
    status: str


class Shipments(TypedDict):
    """Several shipments."""

    shipments: list[ShipmentLine]


class Event(TypedDict):
    """Something that happened to a shipment."""

    day: str
    event: str


class Events(TypedDict):
    """Events of one shipment in their order."""

    events: list[Event]


class CarrierClaim(TypedDict):
    """One claim against the carrier of a shipment."""

    claim_id: str
    shipment_id: str
    amount: int


class Claims(TypedDict):
    """Claims of one shipment."""

    claims: list[CarrierClaim]


class ShipmentStatus(TypedDict):
    """A shipment's status after a change."""

    shipment_id: str
    status: str


def _find_shipment(db: Session, shipment_id: str) -> Row:
    row = db.one("shipments", shipment_id=shipment_id)
    if row is None:
        raise Refused(f"shipment {shipment_id} not found")
    return row


@tool("shipments.read")
def get_shipment(db: Session, shipment_id: ShipmentId) -> Shipment:
    """Look up one shipment: carrier, gross weight, and the days the scanners recorded."""
    row = _find_shipment(db, shipment_id)
    return {
        "shipment_id": row["shipment_id"],
        "carrier": row["carrier"],
        "kilos": row["kilos"],
        "shipped_on": row["shipped_on"],
        "delivered_on": row["delivered_on"],
        "status": row["status"],
    }


@tool("shipments.read")
def list_shipments(db: Session, carrier: Annotated[str | None, "Only shipments with this carrier"] = None) -> Shipments:
    """List shipments."""
    rows = db.rows("shipments") if carrier is None else db.rows("shipments", carrier=carrier)
    lines: list[ShipmentLine] = [
        {"shipment_id": r["shipment_id"], "carrier": r["carrier"], "status": r["status"]} for r in rows
    ]
    return {"shipments": lines}


@tool("shipments.read")
def list_events(db: Session, shipment_id: ShipmentId) -> Events:
    """List what happened to a shipment, first things first."""
    _find_shipment(db, shipment_id)
    return {"events": [{"day": r["day"], "event": r["event"]} for r in db.rows("events", shipment_id=shipment_id)]}


@tool("claims.read")
def list_claims(db: Session, shipment_id: ShipmentId) -> Claims:
    """List the claims filed for a shipment."""
    _find_shipment(db, shipment_id)
    return {"claims": [_as_claim(r) for r in db.rows("claims", shipment_id=shipment_id)]}


def _as_claim(row: Row) -> CarrierClaim:
    return {"claim_id": row["claim_id"], "shipment_id": row["shipment_id"], "amount": row["amount"]}


@tool("claims.file", writes=True, idempotent=False, retry="After a timeout check list_claims first.")
def file_claim(
    db: Session, shipment_id: ShipmentId, amount: Annotated[int, "Whole units of the currency"]
) -> CarrierClaim:
    """File a claim against the carrier of a shipment. It is sent to the carrier at once."""
    if _find_shipment(db, shipment_id)["status"] == "closed":
        raise Refused(f"the case of shipment {shipment_id} is closed")
    if not 0 < amount < 10**12:
        raise Refused(f"amount {amount} cannot be claimed")
    db.update("shipments", {"shipment_id": shipment_id}, status="claimed")
    row: Row = {"claim_id": db.next_id("claims", "CL-"), "shipment_id": shipment_id, "amount": amount}
    return _as_claim(db.insert("claims", {**row, "filed_by": db.actor, "filed_at": db.now}))


@tool("claims.file", writes=True)
def close_case(
    db: Session, shipment_id: ShipmentId, reason: Annotated[str, "Why nothing is claimed"]
) -> ShipmentStatus:
    """Close the case of a shipment without a claim."""
    if _find_shipment(db, shipment_id)["status"] == "claimed":
        raise Refused(f"a claim is filed for shipment {shipment_id}")
    db.update("shipments", {"shipment_id": shipment_id}, status="closed", reason=reason)
    return {"shipment_id": shipment_id, "status": "closed"}


_READ = frozenset({"shipments.read", "claims.read"})

TMS = ServiceDefinition(
    name="tms",
    title="Transport management system",
    tables=(
        Table(
            "shipments",
            {
                "shipment_id": "text",
                "carrier": "text",
                "customer": "text",
                "kilos": "integer",
                "shipped_on": "text",
                "delivered_on": "text",
                "status": "text",
                "reason": "text",
            },
            {"customer": "", "delivered_on": "", "status": "open", "reason": ""},
        ),
        Table("events", {"event_id": "text", "shipment_id": "text", "day": "text", "event": "text"}),
        Table(
            "claims",
            {
                "claim_id": "text",
                "shipment_id": "text",
                "amount": "integer",
                "filed_by": "text",
                "filed_at": "text",
            },
            {"filed_by": "", "filed_at": ""},
        ),
    ),
    tool_list=(get_shipment, list_shipments, list_events, list_claims, file_claim, close_case),
    roles={"viewer": _READ, "claims_clerk": _READ | {"claims.file"}},
)
