"""The warehouse exception in standard size: live systems with a larger state, thirty files, a report."""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from journeyman.records.rubric import Check, Criterion, Rubric
from journeyman.records.task import Budget, Requirement, ServiceGrant, Split
from journeyman.worlds.base import WorldDraft
from journeyman.worlds.criteria import all_of, any_of, check, criterion, field, none_of
from journeyman.worlds.types.warehouse_exception import standard_plans as plans
from journeyman.worlds.types.warehouse_exception.compact import FAULT
from journeyman.worlds.types.warehouse_exception.rubric import state_rubric
from journeyman.worlds.types.warehouse_exception.standard_files import build, wish_mail
from journeyman.worlds.types.warehouse_exception.standard_scene import Scene, scene, state
from journeyman.worlds.types.warehouse_exception.truth import WarehouseTruth

STANDARD_BUDGET = Budget(max_turns=80, max_sampled_tokens=64_000, policy_seconds=1800.0, command_seconds=60.0)
WMS_TOOLS = (
    "get_order",
    "list_orders",
    "get_capacity",
    "list_docks",
    "list_reservations",
    "reserve_dock",
    "cancel_reservation",
    "get_stock",
)
TICKETING_TOOLS = ("get_ticket", "list_tickets", "list_comments", "comment_ticket", "resolve_ticket")
QUICK_GUIDE = "procedures/system_quick_guide.pdf"


class Phrases(NamedTuple):
    """How a request is worded in a split."""

    opening: tuple[str, ...]
    task: tuple[str, ...]
    closing: tuple[str, ...]


PHRASES: dict[Split, Phrases] = {
    "train": Phrases(
        (
            "You are the morning clerk at {site}. Ticket {ticket} is open for order {order} of {customer}.",
            "{site}, early shift: order {order} of {customer} has no dock yet, and ticket {ticket} is yours.",
        ),
        (
            "The {asker} asks for {asked}. Find the dock the order may have, reserve it and close the ticket.",
            "Settle it with the warehouse and ticket systems; the {asker} wants {asked}, which need not be right.",
        ),
        ("Follow the procedure in force on the drive.", "The drive has the procedure; see which version is in force."),
    ),
    "validation": Phrases(
        ("At {site} a dock is missing for order {order}; {ticket} is the ticket.",),
        ("Someone ({asker}) mentioned {asked}. Do what the procedure says and finish the ticket.",),
        ("Check what is current before you rely on it.",),
    ),
    "heldout": Phrases(
        (
            "A truck for {customer} is on its way to {site}. Its order is {order}, the ticket {ticket}.",
            "Please take over ticket {ticket} at {site}: {customer} expects order {order} to be handled today.",
        ),
        (
            "Give the order a dock that fits and has room. {asked} is only what the {asker} would like.",
            "Assign a fitting dock through the systems, although the {asker} speaks of {asked}, and finish the ticket.",
        ),
        ("Rules, contacts and mails are in this folder, old ones among them.", "Work by the rules that are valid now."),
    ),
}


def standard(truth: WarehouseTruth) -> WorldDraft:
    """The standard world of a truth."""
    setting = scene(truth)
    state_criteria = state_rubric(setting.truth, ("site/dock_register.xlsx",)).criteria
    return WorldDraft(
        environment_type="operations.warehouse_exception",
        domain="operations",
        size="standard",
        split=truth.split,
        seed=truth.seed,
        instruction=_instruction(setting),
        requirements=_requirements(setting),
        files=build(setting).files,
        services=(
            ServiceGrant(service="wms", actor="clerk", tools=WMS_TOOLS, faults=(FAULT,)),
            ServiceGrant(service="ticketing", actor="clerk", tools=TICKETING_TOOLS),
        ),
        state=state(setting),
        rubric=Rubric(criteria=(*state_criteria, *_told(setting), *_errors(setting))),
        budget=STANDARD_BUDGET,
        deliverables=(plans.deliverable(setting),),
        frozen_time=truth.frozen_time,
        axes=truth.axes,
        truth_digest=truth.digest(),
        reference=plans.reference(setting),
        negatives=plans.negatives(setting),
    )


def _instruction(setting: Scene) -> str:
    t = setting.truth
    rng = random.Random(f"standard-words:operations:{t.split}:{t.seed}")
    values = {
        "site": setting.site.name,
        "ticket": t.ticket_id,
        "order": t.order_id,
        "customer": t.customer,
        "asker": t.asker,
        "asked": t.asked_dock,
    }
    opening, task, closing = (rng.choice(part).format(**values) for part in PHRASES[t.split])
    listed = "\n".join(f"- {key}" for key, _ in plans.facts(setting, plans.right(setting)))
    return (
        f"{opening} {task} {closing}\n\n"
        f"Write the exception report to {plans.deliverable(setting)} with one `label: value` line for each of these "
        f"labels, word for word:\n{listed}\n\n"
        'The reason is "wrong kind" or "full". Free pallets are those left after your reservation. The arrival is the '
        "time of day that holds now, and the person informed is a name. Add a short section on what happened when you "
        "reserved. Leave the source files as they are."
    )


def _requirements(setting: Scene) -> tuple[Requirement, ...]:
    t, path = setting.truth, plans.deliverable(setting)
    return (
        Requirement(id="fit", text=f"Order {t.order_id} has a dock of the kind it needs, with free pallets"),
        Requirement(id="once", text="The dock is reserved once"),
        Requirement(id="resolve", text=f"Ticket {t.ticket_id} is commented and resolved with the name of the dock"),
        Requirement(id="report", text=f"{path} states order, dock, reservation, reason, code, arrival and contact"),
        Requirement(id="sources", text="The source files stay as they are"),
    )


def _rows(setting: Scene, **where: Any) -> Check:
    """An active reservation of the order with these values."""
    full = {"order_id": setting.truth.order_id, "status": "active", **where}
    return check("service_rows", service="wms", table="reservations", where=full, min=1)


def _told(setting: Scene) -> tuple[Criterion, ...]:
    return (*_report(setting), *_report_facts(setting), *_commented(setting))


def _report(setting: Scene) -> Iterator[Criterion]:
    t, path, good = setting.truth, plans.deliverable(setting), plans.right(setting)
    order_record, dock_record = f"wms.orders.{t.order_id}", f"wms.docks.{t.right_dock}"
    yield criterion(
        "report_order", f"The report gives {t.pallets} pallets and a {t.kind} dock for {t.order_id}", 1.0,
        all_of(
            field(path, "Order", t.order_id),
            field(path, "Pallets", t.pallets),
            field(path, "Kind of dock needed", t.kind, f"{t.kind} dock"),
        ),
        "report", (order_record,),
    )  # fmt: skip
    yield criterion(
        "report_reason", f"{t.asked_dock} was asked for and does not do: {good.reason}", 1.5,
        all_of(field(path, "Dock asked for", t.asked_dock), field(path, "Reason against it", good.reason)), "report",
        (f"ticketing.tickets.{t.ticket_id}", f"wms.docks.{t.asked_dock}"),
    )  # fmt: skip
    yield criterion(
        "report_dock", f"The report names {t.right_dock}, and it is reserved", 1.0,
        all_of(field(path, "Dock reserved", t.right_dock, f"dock {t.right_dock}"), _rows(setting, dock=t.right_dock)),
        "report", (dock_record,),
    )  # fmt: skip
    first = int(good.reservation.removeprefix("R-"))
    held = (
        all_of(field(path, "Reservation number", f"R-{n}"), _rows(setting, reservation_id=f"R-{n}"))
        for n in range(first, first + 3)
    )
    yield criterion(
        "report_reservation", f"The active reservation's number ({good.reservation} unless repeated) is given", 1.5,
        any_of(*held), "report", (order_record,), "evidence",
    )  # fmt: skip


def _report_facts(setting: Scene) -> Iterator[Criterion]:
    t, path, good = setting.truth, plans.deliverable(setting), plans.right(setting)
    order_record, dock_record = f"wms.orders.{t.order_id}", f"wms.docks.{t.right_dock}"
    yield criterion(
        "report_left", f"{good.left} free pallets are left at {t.right_dock}", 1.0,
        field(path, "Free pallets left at the dock", good.left), "report", (dock_record, order_record),
    )  # fmt: skip
    yield criterion(
        "report_code", f"The exception code for {t.cause} is {good.code}", 1.5,
        field(path, "Exception code", good.code), "report", (setting.procedure,), "authority",
    )  # fmt: skip
    yield criterion(
        "report_arrival", f"The arrival is {good.arrival}", 1.0,
        field(path, "Arrival", good.arrival, f"{t.date} {good.arrival}"), "report", (setting.correction,),
    )  # fmt: skip
    yield criterion(
        "report_informed", f"With priority {t.priority}, {good.informed} is informed", 1.0,
        field(path, "Person informed", good.informed), "report",
        (setting.contacts, f"ticketing.tickets.{t.ticket_id}"),
    )  # fmt: skip
    phrases = ["timeout", "timed out", "time-out", "timing out"]
    yield criterion(
        "report_timeout", "The report says that the reservation timed out", 1.0,
        check("states", path=path, about=[phrases], holds=phrases), "report", (order_record, QUICK_GUIDE), "recovery",
    )  # fmt: skip


def _commented(setting: Scene) -> Iterator[Criterion]:
    t = setting.truth
    mine = {"service": "ticketing", "tool": "comment_ticket", "where": {"ticket_id": t.ticket_id}, "committed": True}
    yield criterion(
        "commented", f"Ticket {t.ticket_id} has one new comment", 1.0, check("ledger_count", **mine, min=1, max=1),
        "resolve", (setting.procedure,), "process",
    )  # fmt: skip


def _errors(setting: Scene) -> Iterator[Criterion]:
    t, path = setting.truth, plans.deliverable(setting)
    unreserved = none_of(_rows(setting, dock=t.right_dock))
    yield criterion(
        "error_false_report", f"The report names {t.right_dock} as reserved although it is not", -4.0,
        all_of(field(path, "Dock reserved", t.right_dock, f"dock {t.right_dock}"), unreserved),
        "report", (f"wms.docks.{t.right_dock}",), "evidence",
    )  # fmt: skip
    yield criterion(
        "error_old_code", f"The code {setting.old_codes[t.cause]} of the old procedure is used", -1.5,
        field(path, "Exception code", setting.old_codes[t.cause]), "report",
        ("procedures/exception_handling_2.docx", setting.procedure), "source",
    )  # fmt: skip
    yield criterion(
        "error_old_arrival", f"The void arrival {setting.first_arrival} is used", -1.0,
        field(path, "Arrival", setting.first_arrival), "report", (wish_mail(setting), setting.correction), "source",
    )  # fmt: skip
    sources = [setting.procedure, setting.contacts, setting.correction, wish_mail(setting), "site/dock_register.xlsx"]
    kept = all_of(*(check("source_unchanged", path=source) for source in sources))
    yield criterion(
        "error_tampering", "A source file was changed or deleted", -3.0,
        check("not_", check=kept.model_dump(mode="json")), "sources", tuple(sources), "integrity",
    )  # fmt: skip
