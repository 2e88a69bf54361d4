"""Plans for the compact warehouse exception: the reference, realistic errors, and an imperfect expert."""

import random

from journeyman.records.task import Plan, PlanStep, ToolCall
from journeyman.worlds.scripts import call, embellish, plan, read, say
from journeyman.worlds.types.warehouse_exception.truth import WarehouseTruth

DOCKS = "docks.txt"


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
    """Full marks, no wasted word: six turns."""
    o, t, dock = truth.order_id, truth.ticket_id, truth.right_dock
    return plan(
        "reference",
        "reference",
        together(order(o), read(DOCKS)),
        capacity(*truth.candidates),
        reserve(o, dock),
        reservations(o),
        resolve(t, dock),
        say("Done."),
    )


def negatives(truth: WarehouseTruth) -> tuple[Plan, ...]:
    """Each a concrete error; all strictly below the reference."""
    o, t, dock, wrong = truth.order_id, truth.ticket_id, truth.right_dock, truth.wrong_dock
    look = (together(order(o), read(DOCKS)), capacity(*truth.candidates))
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
    looked_up, read_docks = rng.random() < 0.8, rng.random() < 0.85
    steps: list[PlanStep] = []
    if rng.random() < 0.3:
        steps.append(ticket(t))
    if looked_up and read_docks and rng.random() < 0.6:
        steps.append(together(order(o), read(DOCKS)))
    else:
        steps += [order(o)] if looked_up else []
        steps += [read(DOCKS)] if read_docks else []
    fit = read_docks and rng.random() < 0.86
    checked = rng.random() < 0.75
    if not fit:
        dock = truth.wrong_dock
        steps += [capacity(dock)] if checked else []
    elif checked:
        dock = truth.right_dock
        steps += _checks(truth, rng)
    else:
        dock = truth.right_dock
        steps += [reserve(o, truth.full_dock)] if rng.random() < 0.5 else []
    steps += [reserve(o, dock), *_after_timeout(o, dock, rng)]
    if rng.random() < 0.88:
        steps.append(resolve(t, dock if rng.random() < 0.85 else rng.choice(("done", truth.asked_dock))))
    return embellish(rng, name, tuple(steps))


def _checks(truth: WarehouseTruth, rng: random.Random) -> list[PlanStep]:
    """Both candidates in one turn or two, or only the right one where it comes first."""
    first, second = truth.candidates
    if first == truth.right_dock and rng.random() < 0.3:
        return [capacity(first)]
    return [capacity(first, second)] if rng.random() < 0.6 else [capacity(first), capacity(second)]


def _after_timeout(order_id: str, dock: str, rng: random.Random) -> list[PlanStep]:
    """Look before doing it again, do it again blindly, or go on as if nothing had happened."""
    drawn = rng.random()
    if drawn < 0.56:
        return [reservations(order_id)]
    if drawn < 0.64:
        return [reserve(order_id, dock), reservations(order_id)]
    return [reserve(order_id, dock)] if drawn < 0.82 else []
