"""The warehouse exception as two live services and a file per dock kind; the first reservation times out."""

import random
from typing import Any, NamedTuple

from journeyman.records.task import Requirement, ServiceGrant, Split
from journeyman.worlds.base import COMPACT_BUDGET, FileDraft, Rows, WorldDraft, text_file
from journeyman.worlds.types.warehouse_exception import plans
from journeyman.worlds.types.warehouse_exception.rubric import state_rubric
from journeyman.worlds.types.warehouse_exception.truth import WarehouseTruth

WMS_TOOLS = ("get_order", "get_capacity", "list_reservations", "reserve_dock")
TICKETING_TOOLS = ("get_ticket", "resolve_ticket")
FAULT = {"tool": "reserve_dock", "effect": "timeout_after_commit", "call": 1}

WISHES = ("asks about", "waits for", "has not got", "wants to change", "sends back", "cannot find", "will fetch")
THINGS = (
    "the labels",
    "two crates",
    "the papers",
    "its driver",
    "a photo",
    "the seal",
    "an empty truck",
    "the invoice",
)
DAYS = ("Monday", "Tuesday", "Thursday", "Friday", "noon", "night")


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
            "See the kind of the order, read {a} or {b} for its docks and reserve once the one with free pallets.",
            "Its kind says whether {a} or {b} has its docks, so reserve once the one that has free pallets.",
            "Reserve once a dock with free pallets of the kind of the order, see {a} or {b}.",
        ),
        kind=("docks {ds}", "{k} docks {ds}", "use docks {ds}"),
        subject=("{cause} {goods}, {asker} asks for {d}", "{goods} came {cause}, please give {d}"),
    ),
    "validation": Phrases(
        ask=(
            "For order {o} of {customer} ticket {t} is open at {site}.",
            "A dock at {site} is due for order {o}, ticket {t}.",
        ),
        asked=("By the {asker} it is {d}.",),
        task=("Use {a} or {b}, by the kind of the order, and reserve once the dock with free pallets.",),
        kind=("our docks {ds}",),
        subject=("{asker} wants {d} for {goods}",),
    ),
    "heldout": Phrases(
        ask=(
            "At {site} order {o} has no dock and its ticket {t} is open.",
            "{site} has ticket {t} on order {o} of {customer}.",
            "{customer} needs a dock for order {o}, please close ticket {t}.",
        ),
        asked=("For the {asker} it is {d}.", "Please note the {asker} asks for {d}."),
        task=(
            "By its kind the order needs {a} or {b}, read it and reserve once the one dock with free pallets.",
            "Take the kind of the order, read {a} or {b} for it and reserve once the one with free pallets.",
        ),
        kind=("for us docks {ds}", "in all docks {ds}"),
        subject=("for {goods} the {asker} wants {d}", "{asker} says {d}, {goods} {cause}"),
    ),
}


def realise(truth: WarehouseTruth) -> WorldDraft:
    """The compact world of a truth."""
    rng = random.Random(f"compact:{truth.seed}:{truth.split}:operations.warehouse_exception")
    phrases = PHRASES[truth.split]
    instruction = _instruction(truth, rng, phrases)
    kind = rng.choice(phrases.kind)
    by_kind = {k: [d.dock for d in truth.docks if d.kind == k] for k in (truth.kind, truth.other_kind)}
    files: dict[str, FileDraft] = {
        plans.docks_path(k): text_file((f"{truth.site} {k}", kind.format(k=k, ds=" ".join(docks))), truth.date)
        for k, docks in by_kind.items()
    }
    return WorldDraft(
        environment_type="operations.warehouse_exception",
        domain="operations",
        size="compact",
        split=truth.split,
        seed=truth.seed,
        instruction=instruction,
        requirements=_requirements(truth),
        files=files,
        services=(
            ServiceGrant(service="wms", actor="clerk", tools=WMS_TOOLS, faults=(FAULT,)),
            ServiceGrant(service="ticketing", actor="clerk", tools=TICKETING_TOOLS),
        ),
        state=initial_state(truth, rng.choice(phrases.subject)),
        rubric=state_rubric(truth, (plans.docks_path(truth.kind),), wrong_write=-1.0),
        budget=COMPACT_BUDGET,
        deliverables=(),
        frozen_time=truth.frozen_time,
        axes=truth.axes,
        truth_digest=truth.digest(),
        reference=plans.reference(truth),
        negatives=plans.negatives(truth),
    )


def _instruction(truth: WarehouseTruth, rng: random.Random, phrases: Phrases) -> str:
    ask = rng.choice(phrases.ask).format(o=truth.order_id, t=truth.ticket_id, customer=truth.customer, site=truth.site)
    asked = rng.choice(phrases.asked).format(asker=truth.asker, d=truth.asked_dock)
    first, second = sorted((truth.kind, truth.other_kind))
    task = rng.choice(phrases.task).format(a=plans.docks_path(first), b=plans.docks_path(second))
    return f"{ask} {asked} {task} Then resolve the ticket with only the name of the dock as resolution."


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
    rng = random.Random(f"tickets:{truth.seed}:{truth.split}:operations.warehouse_exception")
    tickets = [
        {"ticket_id": o.ticket_id, "subject": _other_subject(rng, o.customer), "order_id": o.order_id}
        for o in truth.others
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


def _other_subject(rng: random.Random, customer: str) -> str:
    """What a ticket that is not the matter is about."""
    wish, thing = rng.choice(WISHES), rng.choice(THINGS)
    return rng.choice((f"{customer} {wish} {thing}", f"{thing} of {customer} by {rng.choice(DAYS)}"))


def _requirements(truth: WarehouseTruth) -> tuple[Requirement, ...]:
    return (
        Requirement(id="fit", text=f"Order {truth.order_id} has a dock of the kind it needs, with free pallets"),
        Requirement(id="once", text="The dock is reserved once"),
        Requirement(id="resolve", text=f"Ticket {truth.ticket_id} is resolved with the name of the dock"),
    )
