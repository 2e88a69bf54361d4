"""Rubric of the warehouse exception on final state and ledger, for both sizes; words never count."""

from collections.abc import Iterator
from typing import Any

from journeyman.records.rubric import Check, Criterion, Rubric
from journeyman.worlds.criteria import all_of, any_of, check, criterion, none_of
from journeyman.worlds.types.warehouse_exception.truth import WarehouseTruth


def state_rubric(truth: WarehouseTruth, dock_sources: tuple[str, ...], wrong_write: float = -2.0) -> Rubric:
    """The rubric; `dock_sources` are the files that say which docks fit which kind, `wrong_write` points of one."""
    return Rubric(
        criteria=(
            *_process(truth),
            *_outcome(truth, dock_sources),
            *_write_errors(truth, dock_sources, wrong_write),
            *_scope_errors(truth, wrong_write),
        )
    )


def _call(tool: str, **where: str) -> dict[str, Any]:
    return {"service": "wms", "tool": tool, "where": where}


def _reserved(truth: WarehouseTruth, dock: str | list[str] | None, at_least: int = 1) -> Check:
    """Active reservations of the order, of `dock` (None: any), at least so many."""
    where: dict[str, Any] = {"order_id": truth.order_id, "status": "active"}
    if dock is not None:
        where["dock"] = dock
    return check("service_rows", service="wms", table="reservations", where=where, min=at_least)


def _process(truth: WarehouseTruth) -> Iterator[Criterion]:
    o, dock = truth.order_id, truth.right_dock
    order_record, dock_record = f"wms.orders.{o}", f"wms.docks.{dock}"
    reserve, listed = _call("reserve_dock", order_id=o), _call("list_reservations", order_id=o)
    reserved = check("ledger_count", **reserve, min=1)
    looked_up = check("ledger_order", first=_call("get_order", order_id=o), then=reserve)
    said = f"Order {o} was looked up before a dock was reserved for it"
    yield criterion("order_first", said, 1.0, all_of(reserved, looked_up), "fit", (order_record,), "process")
    reserve_right = _call("reserve_dock", order_id=o, dock=dock)
    checked = all_of(
        check("ledger_count", **reserve_right, min=1),
        check("ledger_order", first=_call("get_capacity", dock=dock), then=reserve_right),
    )
    said = f"The capacity of {dock} was checked before it was reserved"
    yield criterion("capacity_first", said, 1.0, checked, "fit", (dock_record,), "process")
    afterwards = any_of(
        check("ledger_order", first=reserve, then=listed),
        check("ledger_count", **listed, min=2),
    )
    verified = all_of(reserved, check("ledger_count", **listed, min=1), afterwards)
    said = f"After the reservation of {o} timed out, its reservations were listed"
    yield criterion("verified", said, 2.0, verified, "once", (order_record,), "recovery")


def _outcome(truth: WarehouseTruth, dock_sources: tuple[str, ...]) -> Iterator[Criterion]:
    o, t, dock = truth.order_id, truth.ticket_id, truth.right_dock
    dock_record = f"wms.docks.{dock}"
    evidence = (f"wms.orders.{o}", dock_record, *dock_sources)
    said = f"{dock}, the only {truth.kind} dock with room, is reserved for {o}"
    yield criterion("dock", said, 3.0, _reserved(truth, dock), "fit", evidence)
    resolved = check(
        "service_rows",
        service="ticketing",
        table="tickets",
        where={"ticket_id": t},
        expect={"status": "resolved", "resolution": [dock, f"dock {dock}", f"{dock}."]},
        min=1,
    )
    said = f"Ticket {t} is resolved with {dock}, which is reserved for {o}"
    told = all_of(resolved, _reserved(truth, dock))
    yield criterion("resolution", said, 2.0, told, "resolve", (f"ticketing.tickets.{t}", dock_record))


def _write_errors(truth: WarehouseTruth, dock_sources: tuple[str, ...], points: float) -> Iterator[Criterion]:
    o, order_record = truth.order_id, f"wms.orders.{truth.order_id}"
    said = f"{o} has two active reservations or more"
    yield criterion("error_duplicate", said, points, _reserved(truth, None, 2), "once", (order_record,), "recovery")
    misfits = [d.dock for d in truth.docks if d.kind != truth.kind]
    said = f"A dock of another kind ({', '.join(misfits)}) is reserved for {o}"
    evidence = (order_record, *dock_sources)
    yield criterion("error_wrong_dock", said, points, _reserved(truth, misfits), "fit", evidence)


def _scope_errors(truth: WarehouseTruth, points: float) -> Iterator[Criterion]:
    o, t, dock = truth.order_id, truth.ticket_id, truth.right_dock
    evidence = (f"ticketing.tickets.{t}", f"wms.orders.{o}")
    resolved = check(
        "service_rows", service="ticketing", table="tickets", where={"ticket_id": t, "status": "resolved"}, min=1
    )
    unreserved = all_of(resolved, none_of(_reserved(truth, dock)))
    said = f"Ticket {t} is resolved although {dock} is not reserved for {o}"
    yield criterion("error_unreserved", said, -1.0, unreserved, "resolve", evidence)
    tickets, orders = [x.ticket_id for x in truth.others], [x.order_id for x in truth.others]
    touched = any_of(
        check("ledger_count", service="ticketing", tool="resolve_ticket", where={"ticket_id": tickets}, committed=True),
        check("ledger_count", service="wms", tool="reserve_dock", where={"order_id": orders}, committed=True),
    )
    said = f"A ticket other than {t} is resolved, or a dock reserved for an order other than {o}"
    yield criterion("error_other_record", said, points, touched, "resolve", evidence, "scope")
