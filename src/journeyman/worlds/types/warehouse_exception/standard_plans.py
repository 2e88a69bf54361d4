"""Plans for the standard warehouse exception: procedure, systems, one write, comment, ticket, report."""

from journeyman.records.base import Record
from journeyman.records.task import Plan, PlanStep
from journeyman.worlds.documents.scripts import list_files, overwrite, read_office
from journeyman.worlds.scripts import call, lines, plan, read, say, write
from journeyman.worlds.types.warehouse_exception.plans import (
    capacity,
    order,
    reservations,
    reserve,
    resolve,
    ticket,
    together,
)
from journeyman.worlds.types.warehouse_exception.standard_files import wish_mail
from journeyman.worlds.types.warehouse_exception.standard_scene import Scene


class Report(Record):
    """What the report says. "": left out."""

    dock: str
    reservation: str
    reason: str
    left: int
    code: str
    informed: str
    arrival: str
    note: str


def deliverable(scene: Scene) -> str:
    """Path of the file to write."""
    return f"reports/exception_{scene.truth.ticket_id}.md"


def right(scene: Scene) -> Report:
    """The report as it should be."""
    return Report(
        dock=scene.truth.right_dock,
        reservation=scene.reservation,
        reason=scene.reason,
        left=scene.left,
        code=scene.codes[scene.truth.cause],
        informed=scene.informed,
        arrival=scene.arrival,
        note="The reservation call timed out; the list of reservations showed that it exists, so it was not repeated.",
    )


def facts(scene: Scene, said: Report) -> tuple[tuple[str, str | int], ...]:
    """Lines of the report, in the words of the request."""
    t = scene.truth
    pairs: tuple[tuple[str, str | int], ...] = (
        ("Order", t.order_id),
        ("Ticket", t.ticket_id),
        ("Pallets", t.pallets),
        ("Kind of dock needed", t.kind),
        ("Dock asked for", t.asked_dock),
        ("Reason against it", said.reason),
        ("Dock reserved", said.dock),
        ("Reservation number", said.reservation),
        ("Free pallets left at the dock", said.left),
        ("Exception code", said.code),
        ("Arrival", said.arrival),
        ("Person informed", said.informed),
    )
    return tuple((key, value) for key, value in pairs if value != "")


def report(scene: Scene, said: Report) -> PlanStep:
    """The turn that writes the report."""
    body = lines(facts(scene, said))
    text = f"# Exception report {scene.truth.ticket_id}\n\n{body}\n## What happened\n\n{said.note}\n"
    return write(deliverable(scene), text)


def comment(scene: Scene) -> PlanStep:
    """Comment on the ticket."""
    t = scene.truth
    text = f"Dock {t.right_dock} is reserved for {t.order_id}, reservation {scene.reservation}."
    return call(("ticketing__comment_ticket", {"ticket_id": t.ticket_id, "text": text}))


def _look(scene: Scene) -> tuple[PlanStep, ...]:
    t = scene.truth
    return (
        read_office(scene.procedure, scene.contacts, text="The procedure in force first."),
        read(wish_mail(scene), scene.correction),
        together(order(t.order_id), ticket(t.ticket_id), call(("wms__list_docks", {}))),
        capacity(*t.candidates),
    )


def reference(scene: Scene) -> Plan:
    """Full marks."""
    t = scene.truth
    return plan(
        "reference",
        "reference",
        list_files(),
        *_look(scene),
        reserve(t.order_id, t.right_dock),
        reservations(t.order_id),
        comment(scene),
        resolve(t.ticket_id, t.right_dock),
        report(scene, right(scene)),
        say(f"{t.order_id} has {t.right_dock} ({scene.reservation}); the report is in {deliverable(scene)}."),
    )


def negatives(scene: Scene) -> tuple[Plan, ...]:
    """Each a concrete error; all strictly below the reference."""
    t = scene.truth
    good = right(scene)
    o, dock = t.order_id, t.right_dock
    look = _look(scene)[1:]
    closing = (comment(scene), resolve(t.ticket_id, dock))
    done = (reserve(o, dock), reservations(o))

    def with_report(name: str, *steps: PlanStep, **changes: object) -> Plan:
        return plan(name, "negative", *steps, report(scene, good.model_copy(update=changes)))

    old = {"code": scene.old_codes[t.cause], "arrival": scene.first_arrival}
    return (
        plan("no_op", "negative", say("There is nothing to do.")),
        with_report("claim_only", *look, resolve(t.ticket_id, dock)),
        with_report("blind_retry", *look, reserve(o, dock), reserve(o, dock), *closing),
        with_report("unverified", *look, reserve(o, dock), *closing),
        with_report(
            "wrong_kind", *look, reserve(o, t.wrong_dock), reservations(o), resolve(t.ticket_id, t.wrong_dock),
            dock=t.wrong_dock, reason="",
        ),
        with_report("stale_source", *look, *done, *closing, **old),
        with_report("other_ticket", *look, *done, comment(scene), resolve(t.others[0].ticket_id, dock)),
        with_report("fabricated_reservation", *look, *done, *closing, reservation="R-900", left=scene.left + 5),
        with_report("omitted_comment", *look, *done, resolve(t.ticket_id, dock), informed=""),
        plan("omitted_report", "negative", *look, *done, *closing),
        with_report("source_tampering", overwrite(wish_mail(scene), "void\n"), *look, *done, *closing),
    )  # fmt: skip
