"""Warehouse management system: orders, docks with a capacity in pallets, dock reservations and stock.

A dock never holds more reserved pallets than its capacity; reserving is not idempotent, as in the real systems.
"""

from typing import Annotated, Literal

from typing_extensions import TypedDict

from journeyman.services.definition import Refused, ServiceDefinition, tool
from journeyman.services.tables import Row, Session, Table

OrderId = Annotated[str, "Order number"]
DockId = Annotated[str, "Dock name"]


class Order(TypedDict):
    """One outbound order; `kind` says what sort of dock it needs."""

    order_id: str
    customer: str
    pallets: int
    kind: str
    status: str
    due: str


class Orders(TypedDict):
    """Several orders."""

    orders: list[Order]


class Capacity(TypedDict):
    """How full a dock is, in pallets."""

    dock: str
    kind: str
    capacity: int
    reserved: int
    free: int


class Docks(TypedDict):
    """Several docks."""

    docks: list[Capacity]


class Reservation(TypedDict):
    """One active dock reservation."""

    reservation_id: str
    order_id: str
    dock: str
    pallets: int


class Reservations(TypedDict):
    """Reservations of one order."""

    reservations: list[Reservation]


class Cancelled(TypedDict):
    """A reservation that no longer holds a dock."""

    reservation_id: str
    status: str


class OrderStatus(TypedDict):
    """An order's status after a change."""

    order_id: str
    status: str


class StockLine(TypedDict):
    """Units of an article at one location."""

    location: str
    quantity: int
    status: str


class Stock(TypedDict):
    """Units of one article by location."""

    sku: str
    lines: list[StockLine]


def _find_order(db: Session, order_id: str) -> Row:
    order = db.one("orders", order_id=order_id)
    if order is None:
        raise Refused(f"order {order_id} not found")
    return order


def _as_order(row: Row) -> Order:
    return {
        "order_id": row["order_id"],
        "customer": row["customer"],
        "pallets": row["pallets"],
        "kind": row["kind"],
        "status": row["status"],
        "due": row["due"],
    }


def _as_reservation(row: Row) -> Reservation:
    return {
        "reservation_id": row["reservation_id"],
        "order_id": row["order_id"],
        "dock": row["dock"],
        "pallets": row["pallets"],
    }


def _measure_dock(db: Session, dock: str) -> Capacity:
    row = db.one("docks", dock=dock)
    if row is None:
        raise Refused(f"dock {dock} not found")
    total = row["capacity"]
    reserved = sum(r["pallets"] for r in db.rows("reservations", dock=dock, status="active"))
    return {"dock": dock, "kind": row["kind"], "capacity": total, "reserved": reserved, "free": total - reserved}


@tool("orders.read")
def get_order(db: Session, order_id: OrderId) -> Order:
    """Look up one order."""
    return _as_order(_find_order(db, order_id))


@tool("orders.read")
def list_orders(
    db: Session, status: Annotated[Literal["open", "held", "shipped"] | None, "Only orders in this status"] = None
) -> Orders:
    """List orders."""
    rows = db.rows("orders") if status is None else db.rows("orders", status=status)
    return {"orders": [_as_order(row) for row in rows]}


@tool("docks.read")
def get_capacity(db: Session, dock: DockId) -> Capacity:
    """Capacity of a dock in pallets: total, reserved and free."""
    return _measure_dock(db, dock)


@tool("docks.read")
def list_docks(db: Session) -> Docks:
    """List all docks with their free capacity in pallets."""
    return {"docks": [_measure_dock(db, row["dock"]) for row in db.rows("docks")]}


@tool("docks.read")
def list_reservations(db: Session, order_id: OrderId) -> Reservations:
    """List the active dock reservations of an order."""
    _find_order(db, order_id)
    rows = db.rows("reservations", order_id=order_id, status="active")
    return {"reservations": [_as_reservation(row) for row in rows]}


@tool("docks.reserve", writes=True, idempotent=False, retry="After a timeout check list_reservations first.")
def reserve_dock(db: Session, order_id: OrderId, dock: DockId) -> Reservation:
    """Reserve a dock for all pallets of an open order. Only free pallets are checked, not the kind of dock."""
    order = _find_order(db, order_id)
    if order["status"] != "open":
        raise Refused(f"order {order_id} is {order['status']}")
    free = _measure_dock(db, dock)["free"]
    if free < order["pallets"]:
        raise Refused(f"dock {dock} has {free} free, order {order_id} needs {order['pallets']}")
    row: Row = {"reservation_id": db.next_id("reservations", "R-"), "order_id": order_id, "dock": dock}
    return _as_reservation(
        db.insert("reservations", {**row, "pallets": order["pallets"], "created_by": db.actor, "created_at": db.now})
    )


@tool("docks.reserve", writes=True)
def cancel_reservation(db: Session, reservation_id: Annotated[str, "Reservation number"]) -> Cancelled:
    """Cancel a dock reservation."""
    if not db.update("reservations", {"reservation_id": reservation_id}, status="cancelled"):
        raise Refused(f"reservation {reservation_id} not found")
    return {"reservation_id": reservation_id, "status": "cancelled"}


def _set_status(db: Session, order_id: str, status: str) -> OrderStatus:
    order = _find_order(db, order_id)
    if order["status"] == "shipped":
        raise Refused(f"order {order_id} is shipped")
    db.update("orders", {"order_id": order_id}, status=status)
    return {"order_id": order_id, "status": status}


@tool("orders.hold", writes=True)
def hold_order(db: Session, order_id: OrderId) -> OrderStatus:
    """Put an order on hold, so that no dock can be reserved for it."""
    return _set_status(db, order_id, "held")


@tool("orders.hold", writes=True)
def release_order(db: Session, order_id: OrderId) -> OrderStatus:
    """Release an order from hold."""
    return _set_status(db, order_id, "open")


@tool("stock.read")
def get_stock(db: Session, sku: Annotated[str, "Article number"]) -> Stock:
    """Units of an article by location; status is available or blocked."""
    rows = db.rows("stock", sku=sku)
    if not rows:
        raise Refused(f"article {sku} not found")
    return {
        "sku": sku,
        "lines": [{"location": row["location"], "quantity": row["quantity"], "status": row["status"]} for row in rows],
    }


_READ = frozenset({"orders.read", "docks.read", "stock.read"})

WMS = ServiceDefinition(
    name="wms",
    title="Warehouse management system",
    tables=(
        Table(
            "orders",
            {
                "order_id": "text",
                "customer": "text",
                "pallets": "integer",
                "kind": "text",
                "status": "text",
                "due": "text",
            },
            {"customer": "", "kind": "dry", "status": "open", "due": ""},
        ),
        Table("docks", {"dock": "text", "kind": "text", "capacity": "integer"}, {"kind": "dry"}),
        Table(
            "reservations",
            {
                "reservation_id": "text",
                "order_id": "text",
                "dock": "text",
                "pallets": "integer",
                "status": "text",
                "created_by": "text",
                "created_at": "text",
            },
            {"status": "active", "created_by": "", "created_at": ""},
        ),
        Table(
            "stock",
            {"line_id": "text", "sku": "text", "location": "text", "quantity": "integer", "status": "text"},
            {"status": "available"},
        ),
    ),
    tool_list=(
        get_order,
        list_orders,
        get_capacity,
        list_docks,
        list_reservations,
        reserve_dock,
        cancel_reservation,
        hold_order,
        release_order,
        get_stock,
    ),
    roles={
        "viewer": _READ,
        "clerk": _READ | {"docks.reserve"},
        "supervisor": _READ | {"docks.reserve", "orders.hold"},
    },
)
