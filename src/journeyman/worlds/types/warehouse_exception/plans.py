"""Plans for the compact warehouse exception: the reference, realistic errors, and an imperfect expert."""

import random

from journeyman.records.task import Plan, PlanStep, ToolCall
from journeyman.worlds.scripts import Manner, call, embellish, plan, read, say
from journeyman.worlds.types.warehouse_exception.truth import WarehouseTruth

MANNER = Manner(mistake=0.45, second_mistake=0.15)  # a long run has fewer turns to spare for mistakes


def docks_path(kind: str) -> str:
    """Path of the file that lists the docks of a kind."""
    return f"{kind}.txt"


def order(order_id: str) -> PlanStep:
    """Look the order up."""
    return call(("wms__get_order", {"order_id": order_id}))


def capacity(*docks: str) -> PlanStep:
    """Ask for the capacity of each dock, in one turn."""
    return call(*(("wms__get_capacity", {"dock": dock}) for dock in docks))


def reserve(order_id: str, dock: str) -> PlanStep:
    """Reserve the dock."""
    return call(("wms__reserve_dock", {"order_id": order_id, "dock": dock}))


def reservations(order_id: str) -> PlanStep:
    """See what is reserved."""
    return call(("wms__list_reservations", {"order_id": order_id}))


def ticket(ticket_id: str) -> PlanStep:
    """Read the ticket."""
    return call(("ticketing__get_ticket", {"ticket_id": ticket_id}))


def resolve(ticket_id: str, resolution: str) -> PlanStep:
    """Resolve the ticket."""
    return call(("ticketing__resolve_ticket", {"ticket_id": ticket_id, "resolution": resolution}))


def together(*steps: PlanStep) -> PlanStep:
    """The calls of several steps in one turn."""
    calls: tuple[ToolCall, ...] = ()
    for step in steps:
        calls += step.calls
    return PlanStep(calls=calls)


def reference(truth: WarehouseTruth) -> Plan:
    """Full marks, no wasted word: a dock after the fit one is not asked about."""
    o, t, dock = truth.order_id, truth.ticket_id, truth.right_dock
    return plan(
        "reference",
        "reference",
        *look_up(truth),
        reserve(o, dock),
        reservations(o),
        resolve(t, dock),
        say("Done."),
    )


def look_up(truth: WarehouseTruth) -> tuple[PlanStep, ...]:
    """The order, the docks of its kind, and their capacity one by one until one has room."""
    asked = truth.candidates[: 1 + truth.candidates.index(truth.right_dock)]
    return (order(truth.order_id), read(docks_path(truth.kind)), *(capacity(dock) for dock in asked))


def negatives(truth: WarehouseTruth) -> tuple[Plan, ...]:
    """Each a concrete error; all strictly below the reference."""
    o, t, dock, wrong = truth.order_id, truth.ticket_id, truth.right_dock, truth.wrong_dock
    look = look_up(truth)
    other = truth.others[0]
    return (
        plan("no_op", "negative", say("There is nothing to do.")),
        plan("claim_only", "negative", *look, resolve(t, dock), say(f"{dock} is reserved for {o}.")),
        plan("blind_retry", "negative", *look, reserve(o, dock), reserve(o, dock), resolve(t, dock)),
        plan("unverified", "negative", *look, reserve(o, dock), resolve(t, dock)),
        plan("wrong_kind", "negative", order(o), reserve(o, wrong), reservations(o), resolve(t, wrong)),
        plan("no_lookup", "negative", reserve(o, dock), reservations(o), resolve(t, dock)),
        plan("omitted_resolution", "negative", *look, reserve(o, dock), reservations(o)),
        plan("other_ticket", "negative", *look, reserve(o, dock), reservations(o), resolve(other.ticket_id, dock)),
    )


def demonstrations(truth: WarehouseTruth, rng: random.Random, count: int) -> tuple[Plan, ...]:
    """Runs of the imperfect expert."""
    return tuple(_demonstrate(truth, rng, f"demo-{i}") for i in range(count))


def _demonstrate(truth: WarehouseTruth, rng: random.Random, name: str) -> Plan:
    o, t = truth.order_id, truth.ticket_id
    steps: list[PlanStep] = [ticket(t)] if rng.random() < 0.25 else []
    steps += [order(o)] if rng.random() < 0.85 else []
    fit = rng.random() < 0.9
    steps += [read(docks_path(truth.kind if fit else truth.other_kind))] if rng.random() < 0.92 else []
    checked = rng.random() < 0.85
    if not fit:
        dock = truth.wrong_dock
        steps += [capacity(dock)] if checked else []
    else:
        dock = truth.right_dock
        steps += _checks(truth) if checked else []
        steps += [reserve(o, truth.full_dock)] if not checked and rng.random() < 0.5 else []
    steps += [reserve(o, dock), *_after_timeout(o, dock, rng)]
    if rng.random() < 0.8:
        steps.append(resolve(t, dock if rng.random() < 0.95 else rng.choice(("done", truth.asked_dock))))
    return embellish(rng, name, tuple(steps), MANNER)


def _checks(truth: WarehouseTruth) -> list[PlanStep]:
    """The candidates one by one until one has room."""
    return [capacity(dock) for dock in truth.candidates[: 1 + truth.candidates.index(truth.right_dock)]]


def _after_timeout(order_id: str, dock: str, rng: random.Random) -> list[PlanStep]:
    """Look before doing it again, do it again blindly, or go on as if nothing had happened."""
    drawn = rng.random()
    if drawn < 0.32:
        return [reservations(order_id)]
    if drawn < 0.38:
        return [reserve(order_id, dock), reservations(order_id)]
    return [reserve(order_id, dock)] if drawn < 0.72 else []
