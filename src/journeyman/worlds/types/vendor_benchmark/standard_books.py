"""Rate tables, panel lists, old benchmarks and the kick-off deck of the standard benchmark world."""

import random

from journeyman.worlds.documents.folder import date, day
from journeyman.worlds.documents.pptx import Deck, Plot, Slide
from journeyman.worlds.documents.xlsx import Book, Cell, Chart, Formula, Note, Sheet, Value, figure_head, head
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.types.vendor_benchmark.standard_scene import Scene, quarter, quarter_end
from journeyman.worlds.types.vendor_benchmark.truth import PERIODS

Rows = tuple[tuple[str | int | float, ...], ...]
Line = tuple[Cell | Value, ...]


def rate_table(scene: Scene) -> Book:
    """The closed table of all entities and quarters; look-alikes stand side by side."""
    t = scene.truth
    closed = shift_date(scene.today, -4)
    entities = sorted((t.vendor, t.lookalike, t.peer, *t.others))
    rows: list[Line] = [
        (Cell(f"{t.service.title()}: rates {t.year}", "title"),),
        (Cell(f"{t.currency} per {t.unit}, closed on {day(closed)}", "sub"),),
        figure_head("Entity", *(quarter(t, p) for p in PERIODS), "Mean of the year"),
    ]
    for number, entity in enumerate(entities, start=4):
        rates = [t.rate_of(entity, p) for p in PERIODS]
        mean = Cell(Formula(f"AVERAGE(B{number}:E{number})", sum(rates) / 4), "money1")
        rows.append((Cell(entity, "label"), *(Cell(r, "money") for r in rates), mean))
    last = 3 + len(entities)
    chart = Chart(
        "column",
        f"Rates in {quarter(t, 'q4')}",
        f"Rates!$A$4:$A${last}",
        (("Rate", f"Rates!$E$4:$E${last}"),),
        f"A{last + 3}",
    )
    note = Note("A3", t.people["analyst"], "Full names with legal form, as in the register.")
    check = ((Cell("Checks", "title"),), ("Rows", Formula("COUNTA(Rates!A4:A20)", len(entities))), ("Blank rates", 0))
    return Book(
        (
            Sheet("Rates", tuple(rows), (28, 12, 12, 12, 12, 18), (3, 1), notes=(note,), charts=(chart,)),
            Sheet("Checks", check, (20, 10), hidden=True),
        ),
        t.people["analyst"],
        "Rate table",
        closed,
        colour=scene.advisor.colour,
    )


def eligibility(scene: Scene) -> Book:
    """Who is in the panel, and why not."""
    t = scene.truth
    rows: list[Line] = [(Cell("Panel", "title"),), head("Entity", "Register number", "Eligible", "Ground")]
    for entity in sorted((t.vendor, t.lookalike, t.peer, *t.others)):
        out = entity in (scene.barred, t.lookalike)
        ground = (
            scene.barred_reason
            if entity == scene.barred
            else "not a party to the contract"
            if out
            else "meets the criteria"
        )
        rows.append((entity, scene.registers[entity], Cell("no" if out else "yes", "flag" if out else "good"), ground))
    dated = shift_date(quarter_end(t, t.after), 9)
    return Book((Sheet("Panel", tuple(rows), (28, 18, 10, 34), (2, 0)),), t.people["analyst"], "Panel", dated)


def vendor_master(scene: Scene, rng: random.Random) -> tuple[tuple[str, ...], Rows, str]:
    """The client's vendor master, with both companies of the name."""
    t = scene.truth
    names = sorted((t.vendor, t.lookalike, t.peer, *t.others))
    rows = tuple(
        (f"V{rng.randint(10000, 99999)}", n, scene.registers[n], rng.choice(("active", "active", "blocked")))
        for n in names
    )
    return ("vendor_id", "name", "register_number", "status"), rows, shift_date(scene.today, -45)


def history(scene: Scene) -> tuple[tuple[str, ...], Rows, str]:
    """Rates of the year before: out of scope."""
    t = scene.truth
    rows = tuple(
        (entity, f"{p.upper()} {t.year - 1}", t.rate_of(entity, p) - 3 - 2 * i)
        for entity in (t.vendor, t.lookalike, t.peer)
        for i, p in enumerate(PERIODS)
    )
    return ("entity", "quarter", "rate"), rows, f"{t.year - 1}-12-31"


def exchange(scene: Scene, rng: random.Random) -> tuple[tuple[str, ...], Rows, str]:
    """Exchange rates nobody needs: everything is in one currency."""
    t = scene.truth
    others = [c for c in ("EUR", "USD", "GBP", "CHF") if c != t.currency]
    rows: Rows = tuple(
        (f"{t.year}-{month:02d}", *(round(rng.uniform(0.8, 1.2), 4) for _ in others)) for month in range(1, 13)
    )
    return ("month", *(f"{t.currency}_{c}" for c in others)), rows, f"{t.year}-12-31"


def old_benchmark(scene: Scene) -> Book:
    """Last year's benchmark, which took the wrong company: superseded."""
    t = scene.truth
    ours, theirs = t.rate_of(t.lookalike, "q1") - 3, t.rate_of(t.peer, "q1") - 3
    rows: tuple[Line, ...] = (
        (Cell(f"Benchmark {t.year - 1}", "title"),),
        head("Item", "Value"),
        ("Vendor", t.lookalike),
        ("Vendor rate", ours),
        ("Peer", t.peer),
        ("Peer rate", theirs),
        ("Difference", Formula("B4-B6", ours - theirs)),
    )
    note = Note("B3", t.people["partner"], "Wrong company. See the legal form in the contract. Do not reuse.")
    return Book(
        (Sheet("Summary", rows, (22, 24), notes=(note,)),), t.people["analyst"], "Old benchmark", f"{t.year - 1}-12-10"
    )


def volumes(scene: Scene) -> Book:
    """Units called off by quarter: actuals, not the agreed volume."""
    t = scene.truth
    parts = [scene.volume * share // 100 for share in (22, 26, 24, 21)]
    rows: list[Line] = [(Cell(f"Units called off {t.year}", "title"),), figure_head("Quarter", "Units")]
    rows += [(quarter(t, p), Cell(n, "money")) for p, n in zip(PERIODS, parts, strict=True)]
    rows.append((Cell("Year", "total_label"), Cell(Formula("SUM(B3:B6)", sum(parts)), "total")))
    return Book((Sheet("Calls", tuple(rows), (18, 14)),), t.people["buyer"], "Units", shift_date(scene.today, -8))


def kick_off(scene: Scene) -> Deck:
    """The kick-off deck, with a later cut-off that the signed brief replaced."""
    t = scene.truth
    return Deck(
        f"{t.service.title()} benchmark",
        f"Kick-off with {scene.client.name}",
        scene.advisor,
        t.people["analyst"],
        shift_date(quarter_end(t, t.after), -12),
        (
            Slide(
                "Plan",
                (
                    f"Cut-off: {quarter(t, t.after)} (proposal)",
                    f"Peer: {t.peer}",
                    f"Vendor: {t.stem}",
                    "Result within three weeks",
                ),
                notes="The cut-off is a proposal. The signed brief decides.",
            ),
            Slide(
                f"{t.peer}: rates by quarter",
                plot=Plot(
                    "line",
                    tuple(quarter(t, p) for p in PERIODS[:2]),
                    ((t.peer, tuple(float(t.rate_of(t.peer, p)) for p in PERIODS[:2])),),
                ),
            ),
        ),
    )


def market(scene: Scene, rng: random.Random) -> Deck:
    """A market overview."""
    t = scene.truth
    years = (str(t.year - 2), str(t.year - 1), str(t.year))
    return Deck(
        f"{t.service.title()}: market overview",
        "Research",
        scene.advisor,
        "Research desk",
        f"{t.year}-05-20",
        (
            Slide("Prices move with wages", ("Wages rise", "Capacity is sufficient", "Contracts run three years")),
            Slide(
                "Index", plot=Plot("column", years, (("Index", tuple(round(rng.uniform(98, 112), 1) for _ in years)),))
            ),
        ),
    )


def dates(scene: Scene) -> tuple[tuple[str, ...], Rows, str]:
    """Milestones of the engagement."""
    t = scene.truth
    rows = (
        ("Kick-off", shift_date(quarter_end(t, t.after), -12)),
        ("Brief signed", shift_date(quarter_end(t, t.after), 6)),
    )
    return ("milestone", "date"), (*rows, ("Result due", shift_date(scene.today, 9))), str(date(scene.today))
