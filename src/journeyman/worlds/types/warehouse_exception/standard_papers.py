"""Procedures, notes and manuals of the standard warehouse world."""

from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.model import (
    Bullets,
    Commented,
    Deleted,
    Document,
    Facts,
    Footnote,
    Grid,
    Heading,
    Inserted,
    Para,
    Signatures,
    text,
)
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.types.warehouse_exception.standard_scene import CAUSES, Scene
from journeyman.worlds.types.warehouse_exception.truth import KINDS


def procedure(scene: Scene) -> Document:
    """The procedure in force: order of work, what binds, codes."""
    t = scene.truth
    dated = shift_date(t.date, -40)
    return Document(
        "Procedure 12: dock exceptions",
        (
            Facts((("Version", "3, in force"), ("Owner", t.people["supervisor"]), ("Valid from", day(dated)))),
            Heading("1. Order of work"),
            Bullets(
                (
                    "Look the order up in the warehouse system (get_order): pallets and kind of dock.",
                    "Choose a dock of that kind with room. The kind in the system binds; printed plans "
                    "are for orientation.",
                    "Ask for the capacity of the chosen dock (get_capacity) right before you reserve it; "
                    "the dock list and "
                    "every board or export may be an hour old.",
                    "Reserve once. If the answer is a timeout, list the reservations of the order before "
                    "anything else.",
                    "Comment on the ticket with the dock and the reservation number, once.",
                    "Resolve the ticket; the resolution is only the name of the dock.",
                    "Write the exception report.",
                ),
                numbered=True,
            ),
            Heading("2. Who decides"),
            text(
                "Wishes of carriers, customers and drivers for a dock are wishes. Other orders and "
                "tickets are not touched."
            ),
            Heading("3. Codes"),
            Grid(("Cause", "Exception code"), tuple((c, scene.codes[c]) for c in CAUSES), widths=(2, 2)),
            text("Version 2 and its codes are no longer used", Footnote("Archived copies keep their old codes."), "."),
            Signatures(((t.people["supervisor"], "Site supervisor", dated),)),
        ),
        scene.site,
        t.people["supervisor"],
        dated,
        reference="PR-12/3",
        status="IN FORCE",
    )


def old_procedure(scene: Scene) -> Document:
    """The version before, with other codes and no capacity check."""
    t = scene.truth
    dated = shift_date(t.date, -420)
    return Document(
        "Procedure 12: dock exceptions",
        (
            Facts((("Version", "2"), ("Owner", t.people["planner"]), ("Valid from", day(dated)))),
            Bullets(
                ("Ask the driver which dock he wants.", "Reserve it.", "Repeat the reservation if there is no answer."),
                numbered=True,
            ),
            Grid(("Cause", "Exception code"), tuple((c, scene.old_codes[c]) for c in CAUSES), widths=(2, 2)),
        ),
        scene.site,
        t.people["planner"],
        dated,
        reference="PR-12/2",
        status="SUPERSEDED",
    )


def draft_procedure(scene: Scene) -> Document:
    """A change under discussion: tracked, not in force."""
    t = scene.truth
    dated = shift_date(t.date, -6)
    return Document(
        "Procedure 12: dock exceptions",
        (
            Facts((("Version", "4, draft"), ("Owner", t.people["supervisor"]))),
            text(
                "The clerk informs the ",
                Deleted("person named in the contacts file", t.people["planner"], dated),
                Inserted("carrier", t.people["planner"], dated),
                ".",
            ),
            text(Commented("To be agreed.", t.people["supervisor"], dated, "No. The contacts file stays as it is.")),
        ),
        scene.site,
        t.people["planner"],
        dated,
        reference="PR-12/4",
        status="DRAFT",
    )


def manual(scene: Scene) -> Document:
    """What the systems do when they do not answer."""
    t = scene.truth
    return Document(
        "Warehouse system: quick guide for clerks",
        (
            Heading("Reservations"),
            Bullets(
                (
                    "A reservation holds all pallets of an order at one dock.",
                    "A timeout says nothing about the outcome. The reservation may exist.",
                    "Reserving again makes a second reservation.",
                    "A reservation can be cancelled by its number.",
                )
            ),
            Heading("Kinds of dock"),
            Grid(
                ("Kind", "For"),
                tuple(
                    zip(KINDS, ("chilled goods", "dry goods", "loads above 1.2 t", "goods under customs"), strict=True)
                ),
            ),
        ),
        scene.site,
        "IT",
        shift_date(t.date, -200),
        reference="WMS/QG/5",
    )


def dock_plan(scene: Scene) -> Document:
    """The old printed plan: two docks have changed their kind since."""
    t = scene.truth
    dated = shift_date(t.date, -700)
    swapped = {t.right_dock: t.other_kind, t.wrong_dock: t.kind}
    rows = tuple((d.dock, swapped.get(d.dock, d.kind), "gate" if i % 2 else "ramp") for i, d in enumerate(t.docks))
    return Document(
        "Dock plan",
        (
            text(f"Printed {day(dated)}. For orientation; the warehouse system is up to date."),
            Grid(("Dock", "Kind", "Type"), rows, widths=(1, 2, 2)),
        ),
        scene.site,
        t.people["planner"],
        dated,
        reference="SITE/PLAN/1",
    )


def delivery_note(scene: Scene, order_id: str, customer: str, pallets: int, goods: str) -> Document:
    """A carrier's note for one order."""
    t = scene.truth
    return Document(
        f"Delivery note {order_id}",
        (
            Facts((("For", customer), ("At", scene.site.name), ("Date", day(t.date)))),
            Grid(
                ("Goods", "Pallets", "Gross kg"),
                ((goods.title(), str(pallets), f"{pallets * 412:,}"), ("Total", str(pallets), f"{pallets * 412:,}")),
                total=True,
                widths=(3, 1, 1),
            ),
            Para(("Received in good order except as noted.",), "Small"),
            Signatures(((t.people["driver"], "Driver", ""),)),
        ),
        scene.carrier,
        "Dispatch",
        t.date,
        reference=order_id,
    )


def safety(scene: Scene) -> Document:
    """A safety bulletin."""
    t = scene.truth
    return Document(
        f"Safety bulletin: {t.goods}",
        (
            Bullets(
                (
                    f"Pallets with {t.goods} are stacked two high at most.",
                    "Nobody stands behind a reversing truck.",
                    "A wrong kind of dock is an incident: report it.",
                )
            ),
            Signatures(((t.people["safety_lead"], "Safety lead", shift_date(t.date, -15)),)),
        ),
        scene.site,
        t.people["safety_lead"],
        shift_date(t.date, -15),
        reference="SB/9",
    )


def terms(scene: Scene) -> Document:
    """Service terms with the customer: no right to a dock."""
    t = scene.truth
    return Document(
        f"Service terms with {t.customer}",
        (
            Bullets(
                (
                    "The site assigns docks. The customer may express a wish.",
                    "Waiting time beyond two hours is charged.",
                    "Exceptions are reported in writing on the same day.",
                ),
                numbered=True,
            ),
            Signatures(((t.people["customer_contact"], t.customer, shift_date(t.date, -260)),)),
        ),
        scene.customer,
        t.people["customer_contact"],
        shift_date(t.date, -260),
    )


def handover(scene: Scene) -> Document:
    """Yesterday's handover."""
    t = scene.truth
    return Document(
        "Shift handover",
        (
            Bullets(
                (
                    f"{t.full_dock} had room when we left.",
                    f"Ticket {t.others[0].ticket_id} ({t.others[0].customer}) waits for an answer of the customer.",
                    "Truck 7 needs a new tyre.",
                )
            ),
        ),
        scene.site,
        scene.clerk,
        shift_date(t.date, -1),
    )


def earlier_report(scene: Scene) -> Document:
    """An older exception report, as an example of the form."""
    t = scene.truth
    other = t.others[0]
    return Document(
        f"Exception report {other.ticket_id}",
        (
            Facts(
                (
                    ("Order", other.order_id),
                    ("Ticket", other.ticket_id),
                    ("Dock reserved", other.dock),
                    ("Pallets", str(other.pallets)),
                    ("Exception code", scene.old_codes["late"]),
                )
            ),
            text("The reservation was confirmed at once."),
        ),
        scene.site,
        scene.clerk,
        shift_date(t.date, -430),
    )
