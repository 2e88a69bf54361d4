"""The warehouse exception as one short file and two live services; the first reservation times out after committing."""

import random
from typing import Any, NamedTuple

from journeyman.records.rubric import Check, Rubric
from journeyman.records.task import Requirement, ServiceGrant, Split
from journeyman.worlds.base import COMPACT_BUDGET, FileDraft, Rows, WorldDraft, text_file
from journeyman.worlds.criteria import all_of, any_of, check, criterion
from journeyman.worlds.types.warehouse_exception import plans
from journeyman.worlds.types.warehouse_exception.truth import WarehouseTruth

WMS_TOOLS = ("get_order", "get_capacity", "list_reservations", "reserve_dock")
TICKETING_TOOLS = ("get_ticket", "resolve_ticket")
FAULT = {"tool": "reserve_dock", "effect": "timeout_after_commit", "call": 1}


class Phrases(NamedTuple):
    """Sentence templates of a split; one of each is drawn per world."""

    ask: tuple[str, ...]
    asked: tuple[str, ...]
    task: tuple[str, ...]
    kind: tuple[str, ...]
    subject: tuple[str, ...]


PHRASES: dict[Split, Phrases] = {
    "train": Phrases(
        ask=(
            "Order {o} of {customer} needs a dock at {site}, see ticket {t}.",
            "Please find a dock at {site} for order {o} and close ticket {t}.",
            "Ticket {t} is about order {o} of {customer}, which has no dock.",
            "{customer} has order {o} at {site} and ticket {t} is open.",
        ),
        asked=("The {asker} asks for {d}.", "The {asker} wants {d}.", "{d} is what the {asker} asks for."),
        task=(
            "Read {file}, take a dock of the kind that the order needs with free pallets and reserve it once.",
            "Reserve once a dock with free pallets that {file} has for the kind of the order.",
            "{file} says which docks fit which kind, so reserve once one that fits and is free.",
        ),
        kind=("{k} docks {ds}", "{k} goods use docks {ds}", "for {k} docks {ds}"),
        subject=("{cause} {goods}, {asker} asks for {d}", "{goods} came {cause}, please give {d}"),
    ),
    "validation": Phrases(
        ask=(
            "For order {o} of {customer} ticket {t} is open at {site}.",
            "A dock at {site} is due for {o}, ticket {t}.",
        ),
        asked=("By the {asker} it is {d}.",),
        task=("Use {file} to find docks of the kind of the order and reserve once the one with free pallets.",),
        kind=("our {k} docks {ds}",),
        subject=("{asker} wants {d} for {goods}",),
    ),
    "heldout": Phrases(
        ask=(
            "At {site} the order {o} has no dock and {t} is its ticket.",
            "{site} has ticket {t} on order {o} of {customer}.",
            "{customer} needs a dock for {o}, please use ticket {t}.",
        ),
        asked=("For the {asker} it is {d}.", "Please note the {asker} asks for {d}."),
        task=(
            "See {file} for the docks of each kind, then reserve once the one that fits the order and is free.",
            "Take the kind of the order, read {file} for its docks and reserve once the one with free pallets.",
        ),
        kind=("all {k} docks {ds}", "{k} pallets need docks {ds}"),
        subject=("for {goods} the {asker} wants {d}", "{asker} says {d}, {goods} {cause}"),
    ),
}


def realise(truth: WarehouseTruth) -> WorldDraft:
    """The compact world of a truth."""
    rng = random.Random(f"compact:{truth.seed}:{truth.split}:operations.warehouse_exception")
    phrases = PHRASES[truth.split]
    ask = rng.choice(phrases.ask).format(o=truth.order_id, t=truth.ticket_id, customer=truth.customer, site=truth.site)
    asked = rng.choice(phrases.asked).format(asker=truth.asker, d=truth.asked_dock)
    task = rng.choice(phrases.task).format(file=plans.DOCKS)
    ending = "Then resolve the ticket with only the name of the dock as resolution."
    kind = rng.choice(phrases.kind)
    by_kind = {k: [d.dock for d in truth.docks if d.kind == k] for k in (truth.kind, truth.other_kind)}
    rows = [kind.format(k=k, ds=" ".join(docks)) for k, docks in by_kind.items()]
    rng.shuffle(rows)
    files: dict[str, FileDraft] = {plans.DOCKS: text_file((f"{truth.site} docks", *rows), truth.date)}
    return WorldDraft(
        environment_type="operations.warehouse_exception",
        domain="operations",
        size="compact",
        split=truth.split,
        seed=truth.seed,
        instruction=f"{ask} {asked} {task} {ending}",
        requirements=_requirements(truth),
        files=files,
        services=(
            ServiceGrant(service="wms", actor="clerk", tools=WMS_TOOLS, faults=(FAULT,)),
            ServiceGrant(service="ticketing", actor="clerk", tools=TICKETING_TOOLS),
        ),
        state=initial_state(truth, rng.choice(phrases.subject)),
        rubric=_rubric(truth),
        budget=COMPACT_BUDGET,
        deliverables=(),
        frozen_time=truth.frozen_time,
        axes=truth.axes,
        truth_digest=truth.digest(),
        reference=plans.reference(truth),
        negatives=plans.negatives(truth),
    )


def initial_state(truth: WarehouseTruth, subject: str) -> dict[str, Rows]:
    """The systems of record before the episode; `subject` is a template of the ticket's subject."""
    orders: list[dict[str, Any]] = [
        {"order_id": o.order_id, "customer": o.customer, "pallets": o.pallets, "kind": truth.dock(o.dock).kind}
        for o in truth.others
    ]
    orders.append(
        {"order_id": truth.order_id, "customer": truth.customer, "pallets": truth.pallets, "kind": truth.kind}
    )
    text = subject.format(cause=truth.cause, goods=truth.goods, asker=truth.asker, d=truth.asked_dock)
    tickets = [
        {"ticket_id": o.ticket_id, "subject": f"{o.customer} asks when", "order_id": o.order_id} for o in truth.others
    ]
    tickets.append(
        {"ticket_id": truth.ticket_id, "subject": text, "order_id": truth.order_id, "priority": truth.priority}
    )
    return {
        "wms": {
            "orders": sorted(orders, key=lambda row: str(row["order_id"])),
            "docks": [{"dock": d.dock, "kind": d.kind, "capacity": d.capacity} for d in truth.docks],
            "reservations": [
                {"reservation_id": f"R-{i}", "order_id": o.order_id, "dock": o.dock, "pallets": o.pallets}
                for i, o in enumerate(truth.others, 1)
            ],
        },
        "ticketing": {"tickets": sorted(tickets, key=lambda row: str(row["ticket_id"]))},
    }


def _requirements(truth: WarehouseTruth) -> tuple[Requirement, ...]:
    return (
        Requirement(id="fit", text=f"Order {truth.order_id} has a dock of the kind it needs, with free pallets"),
        Requirement(id="once", text="The dock is reserved once"),
        Requirement(id="resolve", text=f"Ticket {truth.ticket_id} is resolved with the name of the dock"),
    )


def _call(tool: str, **where: str) -> dict[str, Any]:
    return {"service": "wms", "tool": tool, "where": where}


def _reserved(truth: WarehouseTruth, dock: str | list[str] | None, at_least: int = 1) -> Check:
    """Active reservations of the order, of `dock` (None: any), at least so many."""
    where: dict[str, Any] = {"order_id": truth.order_id, "status": "active"}
    if dock is not None:
        where["dock"] = dock
    return check("service_rows", service="wms", table="reservations", where=where, min=at_least)


def _rubric(truth: WarehouseTruth) -> Rubric:
    o, t, dock = truth.order_id, truth.ticket_id, truth.right_dock
    reserve, listed = _call("reserve_dock", order_id=o), _call("list_reservations", order_id=o)
    reserve_right = _call("reserve_dock", order_id=o, dock=dock)
    order_record, dock_record = f"wms.orders.{o}", f"wms.docks.{dock}"
    ticket_record = f"ticketing.tickets.{t}"
    resolved = check(
        "service_rows", service="ticketing", table="tickets", where={"ticket_id": t, "status": "resolved"}, min=1
    )
    misfits = [d.dock for d in truth.docks if d.kind != truth.kind]
    others = [x.ticket_id for x in truth.others]
    return Rubric(
        criteria=(
            criterion(
                "order_first",
                f"Order {o} was looked up before a dock was reserved for it",
                1.0,
                all_of(
                    check("ledger_count", **reserve, min=1),
                    check("ledger_order", first=_call("get_order", order_id=o), then=reserve),
                ),
                "fit",
                (order_record,),
                "process",
            ),
            criterion(
                "capacity_first",
                f"The capacity of {dock} was checked before it was reserved",
                1.0,
                all_of(
                    check("ledger_count", **reserve_right, min=1),
                    check("ledger_order", first=_call("get_capacity", dock=dock), then=reserve_right),
                ),
                "fit",
                (dock_record,),
                "process",
            ),
            criterion(
                "dock",
                f"{dock}, the only {truth.kind} dock with room, is reserved for {o}",
                3.0,
                _reserved(truth, dock),
                "fit",
                (order_record, dock_record, plans.DOCKS),
            ),
            criterion(
                "verified",
                f"After the reservation of {o} timed out, its reservations were listed",
                2.0,
                all_of(
                    check("ledger_count", **reserve, min=1),
                    check("ledger_count", **listed, min=1),
                    any_of(
                        check("ledger_order", first=reserve, then=listed),
                        check("ledger_count", **listed, min=2),
                    ),
                ),
                "once",
                (order_record,),
                "recovery",
            ),
            criterion(
                "resolution",
                f"Ticket {t} is resolved with {dock}",
                2.0,
                check(
                    "service_rows",
                    service="ticketing",
                    table="tickets",
                    where={"ticket_id": t},
                    expect={"status": "resolved", "resolution": [dock, f"dock {dock}", f"{dock}."]},
                    min=1,
                ),
                "resolve",
                (ticket_record, dock_record),
            ),
            criterion(
                "error_duplicate",
                f"{o} has two active reservations or more",
                -3.0,
                _reserved(truth, None, 2),
                "once",
                (order_record,),
                "recovery",
            ),
            criterion(
                "error_wrong_dock",
                f"A dock of another kind ({', '.join(misfits)}) is reserved for {o}",
                -3.0,
                _reserved(truth, misfits),
                "fit",
                (order_record, plans.DOCKS),
            ),
            criterion(
                "error_unreserved",
                f"Ticket {t} is resolved although {dock} is not reserved for {o}",
                -1.0,
                all_of(resolved, check("not_", check=_reserved(truth, dock).model_dump(mode="json"))),
                "resolve",
                (ticket_record, order_record),
            ),
            criterion(
                "error_other_record",
                f"A ticket other than {t} is resolved, or a dock reserved for an order other than {o}",
                -2.0,
                any_of(
                    check(
                        "ledger_count",
                        service="ticketing",
                        tool="resolve_ticket",
                        where={"ticket_id": others},
                        committed=True,
                        min=1,
                    ),
                    check(
                        "ledger_count",
                        service="wms",
                        tool="reserve_dock",
                        where={"order_id": [x.order_id for x in truth.others]},
                        committed=True,
                        min=1,
                    ),
                ),
                "resolve",
                (ticket_record, order_record),
                "scope",
            ),
        )
    )
