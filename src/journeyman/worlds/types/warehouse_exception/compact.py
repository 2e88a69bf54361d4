"""The warehouse exception as one short file and two live services; the first reservation times out after committing."""

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
    instruction = _instruction(truth, rng, phrases)
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
        instruction=instruction,
        requirements=_requirements(truth),
        files=files,
        services=(
            ServiceGrant(service="wms", actor="clerk", tools=WMS_TOOLS, faults=(FAULT,)),
            ServiceGrant(service="ticketing", actor="clerk", tools=TICKETING_TOOLS),
        ),
        state=initial_state(truth, rng.choice(phrases.subject)),
        rubric=state_rubric(truth, (plans.DOCKS,)),
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
    task = rng.choice(phrases.task).format(file=plans.DOCKS)
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
