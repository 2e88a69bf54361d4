"""Ledgers, logs and decks of the standard covenant world. Every ratio is a live formula over its two figures."""

import random

from journeyman.worlds.documents.folder import date, day
from journeyman.worlds.documents.pptx import Deck, Plot, Slide
from journeyman.worlds.documents.xlsx import Book, Cell, Chart, Formula, Note, Sheet, Value, figure_head, head
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.types.covenant_certificate.standard_scene import (
    COVENANT_NAMES,
    ENTITY_NAMES,
    Scene,
    quarter,
    quarter_end,
)
from journeyman.worlds.types.covenant_certificate.truth import COVENANTS, PERIODS, decimal

Rows = tuple[tuple[str | int | float, ...], ...]
Line = tuple[Cell | Value, ...]


def ledger(scene: Scene) -> Book:
    """The closed ledger: one sheet per entity, one column per quarter."""
    t = scene.truth
    closed = shift_date(quarter_end(t, "q4"), 14)
    sheets = [_cover(scene, closed)]
    sheets += [_entity_sheet(scene, entity) for entity in sorted((t.entity, t.decoy_entity))]
    return Book(tuple(sheets), t.people["controller"], "Ledger extract", closed, colour=scene.borrower.colour)


def _cover(scene: Scene, closed: str) -> Sheet:
    t = scene.truth
    rows: tuple[Line, ...] = (
        (Cell(f"{t.legal_name}: ledger extract {t.year}", "title"),),
        ("Status", "closed"),
        ("Closed on", Cell(date(closed), "date")),
        ("Closed by", t.people["controller"]),
        ("Reviewed by", t.people["auditor"]),
        ("Unit", f"{t.currency} million"),
    )
    return Sheet("Cover", rows, (18, 30))


def _entity_sheet(scene: Scene, entity: str) -> Sheet:
    t = scene.truth
    rows: list[Line] = [
        (Cell(f"{ENTITY_NAMES[entity]}: covenant figures {t.year}, {t.currency} m", "title"),),
        figure_head("Line", *(quarter(t, p) for p in PERIODS)),
    ]
    for covenant in sorted((t.covenant, t.other_covenant)):
        _, numerator, denominator = COVENANTS[covenant]
        lines = [t.line(entity, p, covenant) for p in PERIODS]
        top = len(rows) + 1
        rows.append((Cell(numerator.capitalize(), "label"), *(Cell(x.numerator, "money") for x in lines)))
        rows.append((Cell(denominator.capitalize(), "label"), *(Cell(x.denominator, "money") for x in lines)))
        ratios = (
            Cell(Formula(f"{column}{top}/{column}{top + 1}", x.ratio / 100), "ratio")
            for column, x in zip("BCDE", lines, strict=True)
        )
        rows += [(Cell(COVENANT_NAMES[covenant], "total_label"), *ratios), ()]
    note = Note("A1", t.people["controller"], "Closed figures. Do not overwrite.")
    chart = Chart(
        "line",
        "Ratios by quarter",
        f"{ENTITY_NAMES[entity]}!$B$2:$E$2",
        tuple(
            (COVENANT_NAMES[c], f"{ENTITY_NAMES[entity]}!$B${5 + 4 * i}:$E${5 + 4 * i}")
            for i, c in enumerate(sorted((t.covenant, t.other_covenant)))
        ),
        "A13",
    )
    return Sheet(ENTITY_NAMES[entity], tuple(rows), (30, 13, 13, 13, 13), (2, 1), notes=(note,), charts=(chart,))


def ledger_lines(scene: Scene) -> tuple[tuple[str, ...], Rows, str]:
    """The same figures as an export of lines."""
    t = scene.truth
    rows: list[tuple[str | int | float, ...]] = []
    for number, line in enumerate(sorted(t.ledger, key=lambda x: (x.period, x.entity, x.covenant)), start=1):
        _, numerator, denominator = COVENANTS[line.covenant]
        rows.append((2 * number - 1, line.entity, quarter(t, line.period), numerator, line.numerator))
        rows.append((2 * number, line.entity, quarter(t, line.period), denominator, line.denominator))
    return (
        ("line", "entity", "quarter", "item", f"amount_{t.currency}_m"),
        tuple(rows),
        shift_date(quarter_end(t, "q4"), 14),
    )


def flash(scene: Scene) -> Book:
    """The flash report of the tested quarter: before the close, other figures."""
    t = scene.truth
    line = t.line(t.entity, t.period, t.covenant)
    _, numerator, denominator = COVENANTS[t.covenant]
    early = scene.flash_ratio * line.denominator // 100
    dated = shift_date(quarter_end(t, t.period), 4)
    rows: tuple[Line, ...] = (
        (Cell(f"Flash report {scene.quarter}: {scene.entity}", "title"),),
        (Cell(f"Preliminary, before close. {day(dated)}. {t.currency} m", "sub"),),
        figure_head("Line", "Flash"),
        (Cell(numerator.capitalize(), "label"), Cell(early, "money")),
        (Cell(denominator.capitalize(), "label"), Cell(line.denominator, "money")),
        (Cell(scene.covenant, "total_label"), Cell(Formula("B4/B5", scene.flash_ratio / 100), "ratio")),
    )
    return Book((Sheet("Flash", rows, (30, 13)),), t.people["controller"], "Flash report", dated)


def waiver_log(scene: Scene) -> Book:
    """Who asked for which waiver; it does not follow what happened afterwards."""
    t = scene.truth
    rows: list[Line] = [
        (Cell("Waiver log", "title"),),
        head("Quarter", "Requested", "Letter drafted", "State when logged"),
    ]
    for period in sorted(t.waivers):
        asked = shift_date(quarter_end(t, period), -4)
        rows.append(
            (
                quarter(t, period),
                Cell(date(asked), "date"),
                Cell(date(shift_date(asked, 9)), "date"),
                "with the agent for signature",
            )
        )
    dated = shift_date(quarter_end(t, max(t.waivers)), 6)
    return Book((Sheet("Log", tuple(rows), (14, 16, 16, 32)),), t.people["treasurer"], "Waiver log", dated)


def cash_forecast(scene: Scene, rng: random.Random) -> tuple[tuple[str, ...], Rows, str]:
    """A liquidity plan nobody needs."""
    t = scene.truth
    rows = tuple((f"{t.year}-W{week:02d}", rng.randint(20, 60), rng.randint(18, 55)) for week in range(1, 14))
    return ("week", "receipts_m", "payments_m"), rows, f"{t.year}-01-05"


def lender_deck(scene: Scene) -> Deck:
    """The lender presentation: charts of the other entity."""
    t = scene.truth
    lines = [t.line(t.decoy_entity, p, t.covenant) for p in PERIODS]
    return Deck(
        "Lender update",
        f"{t.facility.title()} facility, year {t.year}",
        scene.borrower,
        t.people["treasurer"],
        shift_date(quarter_end(t, "q4"), 6),
        (
            Slide(
                "Highlights",
                (
                    "Trading in line with plan",
                    "Facility fully available",
                    f"Figures of the {ENTITY_NAMES[t.decoy_entity]}",
                ),
                table=(("Quarter", scene.covenant), *((quarter(t, x.period), decimal(x.ratio)) for x in lines)),
            ),
            Slide(
                f"{scene.covenant}: {ENTITY_NAMES[t.decoy_entity]}",
                plot=Plot(
                    "column",
                    tuple(quarter(t, p) for p in PERIODS),
                    ((scene.covenant, tuple(x.ratio / 100 for x in lines)),),
                ),
                notes="Not a compliance test. The test is made on the entity that the agreement names.",
            ),
        ),
    )
