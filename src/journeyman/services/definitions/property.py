"""Property management: leases and their charges, work orders, budgets and contractors.

A work order is placed or referred, never both; a charge is posted as often as it is asked for.
"""

from typing import Annotated

from typing_extensions import TypedDict

from journeyman.services.definition import Refused, ServiceDefinition, tool
from journeyman.services.tables import Row, Session, Table

LeaseId = Annotated[str, "Lease number"]
OrderId = Annotated[str, "Work order number"]


class Lease(TypedDict):
    """One lease, from its first day to its last."""

    lease_id: str
    tenant: str
    unit: str
    first_day: str
    last_day: str


class Leases(TypedDict):
    """Several leases."""

    leases: list[Lease]


class Charge(TypedDict):
    """One amount charged under a lease."""

    charge_id: str
    lease_id: str
    amount: int
    year: str


class Charges(TypedDict):
    """Charges of one lease."""

    charges: list[Charge]


class WorkOrder(TypedDict):
    """One work order; `fault` is what was reported."""

    order_id: str
    unit: str
    fault: str
    cause: str
    status: str


class WorkOrderLine(TypedDict):
    """One line of a list of work orders."""

    order_id: str
    unit: str
    status: str


class WorkOrders(TypedDict):
    """Several work orders."""

    orders: list[WorkOrderLine]


class WorkOrderStatus(TypedDict):
    """A work order after a change."""

    order_id: str
    status: str
    contractor: str
    amount: int


class Budget(TypedDict):
    """Repair budget of a building, and what is committed of it."""

    building: str
    budget: int
    committed: int


class Contractor(TypedDict):
    """A contractor; it may not work on a day after its insurance."""

    contractor: str
    insured_until: str


class Contractors(TypedDict):
    """Several contractors."""

    contractors: list[Contractor]


def _as_lease(row: Row) -> Lease:
    return {
        "lease_id": row["lease_id"],
        "tenant": row["tenant"],
        "unit": row["unit"],
        "first_day": row["first_day"],
        "last_day": row["last_day"],
    }


def _find_lease(db: Session, lease_id: str) -> Row:
    row = db.one("leases", lease_id=lease_id)
    if row is None:
        raise Refused(f"lease {lease_id} not found")
    return row


def _find_order(db: Session, order_id: str) -> Row:
    row = db.one("orders", order_id=order_id)
    if row is None:
        raise Refused(f"work order {order_id} not found")
    return row


@tool("leases.read")
def get_lease(db: Session, lease_id: LeaseId) -> Lease:
    """Look up one lease."""
    return _as_lease(_find_lease(db, lease_id))


@tool("leases.read")
def list_leases(db: Session) -> Leases:
    """List all leases."""
    return {"leases": [_as_lease(r) for r in db.rows("leases")]}


def _as_charge(row: Row) -> Charge:
    return {
        "charge_id": row["charge_id"],
        "lease_id": row["lease_id"],
        "amount": row["amount"],
        "year": row["year"],
    }


@tool("leases.read")
def list_charges(db: Session, lease_id: LeaseId) -> Charges:
    """List what was charged under a lease."""
    _find_lease(db, lease_id)
    return {"charges": [_as_charge(r) for r in db.rows("charges", lease_id=lease_id)]}


@tool("charges.post", writes=True, idempotent=False, retry="After a timeout check list_charges first.")
def post_charge(
    db: Session,
    lease_id: LeaseId,
    amount: Annotated[int, "Whole units; below zero is a credit"],
    year: Annotated[str, "Year it is for"],
) -> Charge:
    """Post a charge or a credit under a lease."""
    _find_lease(db, lease_id)
    if amount == 0 or abs(amount) >= 10**12:
        raise Refused(f"amount {amount} cannot be charged")
    row: Row = {"charge_id": db.next_id("charges", "CH-"), "lease_id": lease_id, "amount": amount, "year": year}
    return _as_charge(db.insert("charges", {**row, "posted_by": db.actor}))


@tool("orders.read")
def get_work_order(db: Session, order_id: OrderId) -> WorkOrder:
    """Look up one work order."""
    row = _find_order(db, order_id)
    return {
        "order_id": row["order_id"],
        "unit": row["unit"],
        "fault": row["fault"],
        "cause": row["cause"],
        "status": row["status"],
    }


@tool("orders.read")
def list_work_orders(db: Session) -> WorkOrders:
    """List work orders."""
    rows = db.rows("orders")
    return {"orders": [{"order_id": r["order_id"], "unit": r["unit"], "status": r["status"]} for r in rows]}


@tool("orders.read")
def get_budget(db: Session, building: Annotated[str, "Building"]) -> Budget:
    """Repair budget of a building for this year."""
    row = db.one("budgets", building=building)
    if row is None:
        raise Refused(f"no budget for {building}")
    return {"building": building, "budget": row["budget"], "committed": row["committed"]}


@tool("orders.read")
def list_contractors(db: Session, trade: Annotated[str | None, "Only this trade"] = None) -> Contractors:
    """List contractors."""
    rows = db.rows("contractors") if trade is None else db.rows("contractors", trade=trade)
    return {"contractors": [{"contractor": r["contractor"], "insured_until": r["insured_until"]} for r in rows]}


@tool("orders.place", writes=True)
def place_order(
    db: Session,
    order_id: OrderId,
    contractor: Annotated[str, "Contractor"],
    amount: Annotated[int, "Whole units of the currency"],
) -> WorkOrderStatus:
    """Place an open work order with a contractor at a price. Insurance and budget are not checked."""
    row = _find_order(db, order_id)
    placed = (row["status"], row["contractor"], row["amount"]) == ("placed", contractor, amount)
    if row["status"] != "open" and not placed:
        raise Refused(f"work order {order_id} is {row['status']}")
    if db.one("contractors", contractor=contractor) is None:
        raise Refused(f"contractor {contractor} not found")
    if not 0 < amount < 10**12:
        raise Refused(f"amount {amount} cannot be ordered")
    changes = {"status": "placed", "contractor": contractor, "amount": amount, "changed_by": db.actor}
    db.update("orders", {"order_id": order_id}, **changes)
    return {"order_id": order_id, "status": "placed", "contractor": contractor, "amount": amount}


@tool("orders.place", writes=True)
def refer_order(db: Session, order_id: OrderId, to: Annotated[str, "Who decides: owner or tenant"]) -> WorkOrderStatus:
    """Refer an open work order to somebody else for decision."""
    row = _find_order(db, order_id)
    if row["status"] != "open" and (row["status"], row["referred_to"]) != ("referred", to):
        raise Refused(f"work order {order_id} is {row['status']}")
    db.update("orders", {"order_id": order_id}, status="referred", referred_to=to, changed_by=db.actor)
    return {"order_id": order_id, "status": "referred", "contractor": "", "amount": 0}


_READ = frozenset({"leases.read", "orders.read"})

PROPERTY = ServiceDefinition(
    name="property",
    title="Property management",
    tables=(
        Table(
            "leases",
            {"lease_id": "text", "tenant": "text", "unit": "text", "first_day": "text", "last_day": "text"},
            {"first_day": "", "last_day": ""},
        ),
        Table(
            "charges",
            {"charge_id": "text", "lease_id": "text", "amount": "integer", "year": "text", "posted_by": "text"},
            {"posted_by": ""},
        ),
        Table(
            "orders",
            {
                "order_id": "text",
                "unit": "text",
                "fault": "text",
                "cause": "text",
                "status": "text",
                "contractor": "text",
                "amount": "integer",
                "referred_to": "text",
                "changed_by": "text",
            },
            {"cause": "", "status": "open", "contractor": "", "amount": 0, "referred_to": "", "changed_by": ""},
        ),
        Table("budgets", {"building": "text", "budget": "integer", "committed": "integer"}),
        Table("contractors", {"contractor": "text", "trade": "text", "insured_until": "text"}),
    ),
    tool_list=(
        get_lease,
        list_leases,
        list_charges,
        post_charge,
        get_work_order,
        list_work_orders,
        get_budget,
        list_contractors,
        place_order,
        refer_order,
    ),
    roles={
        "viewer": _READ,
        "accountant": _READ | {"charges.post"},
        "manager": _READ | {"charges.post", "orders.place"},
    },
)
