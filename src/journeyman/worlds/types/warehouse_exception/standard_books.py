"""Lists, boards and decks of the standard warehouse world; exports are older than the systems of record."""

import random

from journeyman.worlds.documents.folder import date, day
from journeyman.worlds.documents.pptx import Deck, Plot, Slide
from journeyman.worlds.documents.xlsx import Book, Cell, Formula, Note, Sheet, Value, figure_head, head
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.types.warehouse_exception.standard_scene import INFORMED, Scene

Rows = tuple[tuple[str | int | float, ...], ...]
Line = tuple[Cell | Value, ...]


def contacts(scene: Scene) -> Book:
    """Who is told, by priority of the ticket."""
    t = scene.truth
    people = {p: t.people[role] for p, role in INFORMED.items()}
    rows: tuple[Line, ...] = (
        (Cell("Who is informed of an exception", "title"),),
        head("Priority of the ticket", "Person", "Role", "Extension"),
        *((p, name, INFORMED[p].replace("_", " "), 300 + 11 * i) for i, (p, name) in enumerate(people.items())),
    )
    staff: tuple[Line, ...] = (head("Role", "Name"), *((r.replace("_", " "), n) for r, n in t.people.items()))
    dated = shift_date(t.date, -30)
    return Book(
        (Sheet("Escalation", rows, (24, 24, 18, 12), (2, 0)), Sheet("Staff", staff, (20, 24))),
        t.people["supervisor"],
        "Contacts",
        dated,
        colour=scene.site.colour,
    )


def dock_register(scene: Scene) -> Book:
    """The register of docks as the system has it, with occupation of the evening before."""
    t = scene.truth
    rows: list[Line] = [
        (Cell("Dock register", "title"),),
        (Cell(f"Export of {day(shift_date(t.date, -1))}, 18:00. Reservations change during the day.", "sub"),),
        (*head("Dock", "Kind"), *figure_head("", "Capacity", "Reserved", "Free at export")[1:]),
    ]
    for number, dock in enumerate(t.docks, start=4):
        reserved = dock.reserved - 3 if dock.dock == t.full_dock else dock.reserved
        free = Formula(f"C{number}-D{number}", dock.capacity - reserved)
        rows.append((dock.dock, dock.kind, Cell(dock.capacity, "whole"), Cell(reserved, "whole"), Cell(free, "whole")))
    last = len(rows)
    total = (
        Formula(f"SUM({c}4:{c}{last})", sum(_number(r[i]) for r in rows[3:])) for i, c in ((2, "C"), (3, "D"), (4, "E"))
    )
    rows.append((Cell("Total", "total_label"), Cell(None, "total_label"), *(Cell(f, "total") for f in total)))
    note = Note("E3", t.people["planner"], "Not live. Ask the system before you reserve.")
    return Book(
        (Sheet("Docks", tuple(rows), (12, 12, 12, 12, 16), (3, 1), notes=(note,)),),
        t.people["planner"],
        "Docks",
        shift_date(t.date, -1),
    )


def _number(item: Cell | Value) -> int:
    value = item.value if isinstance(item, Cell) else item
    inner = value.value if isinstance(value, Formula) else value
    return inner if isinstance(inner, int) else 0


def day_list(scene: Scene) -> Book:
    """All orders of the day, look-alikes included; it names no dock."""
    t = scene.truth
    mine = (t.order_id, t.customer, t.pallets, t.kind)
    orders = sorted(
        [mine, *((o.order_id, o.customer, o.pallets, t.dock(o.dock).kind) for o in t.others), *scene.waiting]
    )
    rows: list[Line] = [(Cell(f"Orders of {day(t.date)}", "title"),), head("Order", "Customer", "Pallets", "Kind")]
    rows += [(o, c, Cell(p, "whole"), k) for o, c, p, k in orders]
    total = sum(p for _, _, p, _ in orders)
    rows.append(
        (
            Cell("Total", "total_label"),
            Cell(None, "total_label"),
            Cell(Formula(f"SUM(C3:C{len(rows)})", total), "total"),
        )
    )
    return Book((Sheet("Orders", tuple(rows), (12, 22, 10, 12), (2, 1)),), t.people["planner"], "Day list", t.date)


def roster(scene: Scene, rng: random.Random) -> Book:
    """Who works when."""
    t = scene.truth
    names = list(t.people.values())
    days = [shift_date(t.date, i) for i in range(5)]
    rows: list[Line] = [(Cell("Roster", "title"),), (Cell("Name", "head"), *(Cell(date(d), "date") for d in days))]
    rows += [(name, *(rng.choice(("early", "late", "off")) for _ in days)) for name in names]
    return Book(
        (Sheet("Week", tuple(rows), (22, 13, 13, 13, 13, 13)),),
        t.people["supervisor"],
        "Roster",
        shift_date(t.date, -7),
    )


def board(scene: Scene) -> tuple[tuple[str, ...], Rows, str]:
    """The dock board of yesterday noon: the full dock still had room."""
    t = scene.truth
    rows = tuple((d.dock, d.kind, t.pallets + 4 if d.dock == t.full_dock else max(d.free - 2, 0)) for d in t.docks)
    return ("dock", "kind", "free_pallets"), rows, shift_date(t.date, -1)


def maintenance(scene: Scene) -> tuple[tuple[str, ...], Rows, str]:
    """Works at docks in other weeks."""
    t = scene.truth
    rows = tuple((d.dock, shift_date(t.date, 14 + 3 * i), "door service") for i, d in enumerate(t.docks[:4]))
    return ("dock", "date", "work"), rows, shift_date(t.date, -12)


def gate_log(scene: Scene, rng: random.Random) -> tuple[tuple[str, ...], Rows, str]:
    """Trucks at the gate yesterday."""
    t = scene.truth
    rows = tuple(
        (
            f"{6 + i}:{rng.randint(0, 59):02d}",
            f"{rng.choice('ABKLM')}{rng.randint(100, 999)}",
            rng.choice(("in", "out")),
        )
        for i in range(10)
    )
    return ("time", "plate", "direction"), rows, shift_date(t.date, -1)


def site_deck(scene: Scene) -> Deck:
    """A site introduction for visitors."""
    t = scene.truth
    kinds = sorted({d.kind for d in t.docks})
    counts = tuple(float(sum(d.kind == k for d in t.docks)) for k in kinds)
    return Deck(
        f"{scene.site.name}: the site in brief",
        "For visitors and new colleagues",
        scene.site,
        t.people["safety_lead"],
        shift_date(t.date, -90),
        (
            Slide("Safety first", ("Wear the vest", "Walk on marked paths", "Report what is unsafe")),
            Slide(
                "Docks by kind",
                plot=Plot("column", tuple(kinds), (("Docks", counts),)),
                notes="Numbers change with rebuilds.",
            ),
        ),
    )
