"""Workbooks, decks and exports of the standard board forecast. Formula values are computed from the truth."""

import random

from journeyman.worlds.documents.folder import date, day
from journeyman.worlds.documents.pptx import Deck, Plot, Slide
from journeyman.worlds.documents.xlsx import Book, Cell, Chart, Formula, Note, Sheet, Value, figure_head, head, row
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.types.board_forecast.standard_scene import METRIC_NAMES, Scene
from journeyman.worlds.types.board_forecast.truth import BoardForecastTruth, ForecastVersion

Rows = tuple[tuple[str | int | float, ...], ...]
Line = tuple[Cell | Value, ...]
_COLUMNS = ("B", "C", "D")
_PARTS = {  # metric -> how the model builds it: (first line, second line, sign of the second)
    "revenue": ("Contracts signed", "Contracts expected", 1),
    "ebitda": ("Gross profit", "Overheads", -1),
    "margin": ("Net sales", "Cost of sales", -1),
    "cash": ("Opening cash", "Cash flow of the year", 1),
    "debt": ("Gross borrowings", "Cash at bank", -1),
    "capex": ("Maintenance", "Growth projects", 1),
}


def model(scene: Scene, version: ForecastVersion) -> Book:
    """The model of a version: a linked summary over a build-up with live formulas."""
    t = scene.truth
    build, places = _build_ups(t, version)
    assumptions = (
        head("Assumption", "Value", "Source"),
        ("Price increase per year", Cell(0.02, "percent"), "Sales"),
        ("Inflation of overheads", Cell(0.025, "percent"), "Controller"),
        ("Tax rate", Cell(0.25, "percent"), "Tax"),
        ("Model date", Cell(date(version.dated), "date"), version.prepared_by),
    )
    return Book(
        (
            _summary(scene, version, places),
            Sheet("Build-up", build, (34, 13, 13, 13), (2, 1)),
            Sheet("Assumptions", assumptions, (30, 14, 18)),
            Sheet("Scratch", (("old check, ignore",), ("diff", 0)), hidden=True),
        ),
        version.prepared_by,
        f"Forecast {version.id}",
        version.dated,
        (("Headline", "=Summary!$C$4:$C$6"),),
        scene.company.colour,
    )


def _build_ups(t: BoardForecastTruth, version: ForecastVersion) -> tuple[tuple[Line, ...], dict[str, int]]:
    """Rows of the build-up sheet, and the row on which each metric stands."""
    build: list[Line] = [(Cell(f"Build-up, {t.currency} m", "title"),), figure_head("Line", *t.years)]
    places: dict[str, int] = {}
    for metric in t.metrics:
        build += _build_up(t, version, metric, len(build) + 1)
        places[metric] = len(build)
        build.append(())
    return tuple(build), places


def _summary(scene: Scene, version: ForecastVersion, places: dict[str, int]) -> Sheet:
    """The first sheet: every figure is a link to the build-up."""
    t = scene.truth
    summary: list[Line] = [
        (Cell(f"{t.legal_name}: forecast {version.id}", "title"),),
        (Cell(f"Prepared by {version.prepared_by}, {day(version.dated)}. {t.currency} million.", "sub"),),
        figure_head("", *t.years),
    ]
    for metric in t.metrics:
        cells = (
            Formula(f"'Build-up'!{c}{places[metric]}", version.by_year[y][metric])
            for c, y in zip(_COLUMNS, t.years, strict=True)
        )
        summary.append(row("money", METRIC_NAMES[metric], *cells))
    first = METRIC_NAMES[t.metrics[0]]
    place = f"A{len(summary) + 3}"
    chart = Chart("column", first, "Summary!$B$3:$D$3", ((first, "Summary!$B$4:$D$4"),), place)
    note = Note("C4", version.prepared_by, f"Headline year is {t.headline_year}.")
    return Sheet(
        "Summary",
        tuple(summary),
        (34, 13, 13, 13),
        (3, 1),
        notes=(note,),
        charts=(chart,),
        colour=scene.company.colour,
    )


def _build_up(t: BoardForecastTruth, version: ForecastVersion, metric: str, first: int) -> list[Line]:
    """Two inputs and the formula that makes the metric of them; `first` is the sheet row of the first input."""
    upper, lower, sign = _PARTS[metric]
    one: list[Value] = []
    two: list[Value] = []
    made: list[Value] = []
    for column, year in zip(_COLUMNS, t.years, strict=True):
        value = version.by_year[year][metric]
        part = value * 38 // 100
        one.append(value - part if sign > 0 else value + part)
        two.append(part)
        made.append(Formula(f"{column}{first}{'+' if sign > 0 else '-'}{column}{first + 1}", value))
    return [row("input", upper, *one), row("input", lower, *two), row("total", METRIC_NAMES[metric], *made)]


def bridge(scene: Scene) -> Book:
    """The three versions side by side, without their status."""
    t = scene.truth
    rows: list[Line] = [
        (Cell(f"Versions side by side, {t.headline_year}, {t.currency} m", "title"),),
        (Cell("Status of the versions: see the board's decisions, not this file.", "sub"),),
        figure_head("Line", *(v.id for v in t.versions), "Last less first"),
    ]
    for number, metric in enumerate(t.metrics, start=4):
        values = [v.headline[metric] for v in t.versions]
        rows.append(row("money", METRIC_NAMES[metric], *values, Formula(f"D{number}-B{number}", values[2] - values[0])))
    rows.append(("Dated", *(Cell(date(v.dated), "date") for v in t.versions)))
    return Book(
        (Sheet("Bridge", tuple(rows), (30, 13, 13, 13, 16), (3, 1)),),
        t.people["analyst"],
        "Bridge",
        t.versions[2].dated,
    )


def actuals(scene: Scene, rng: random.Random) -> Book:
    """Last year's actuals by half-year: another period, not the forecast."""
    t = scene.truth
    year = f"FY{int(t.years[0][2:]) - 1}"
    rows: list[Line] = [
        (Cell(f"Actuals {year}, {t.currency} m", "title"),),
        figure_head("Line", "H1", "H2", year),
    ]
    for number, metric in enumerate(t.metrics, start=3):
        first = t.version("approved").headline[metric] * rng.randint(40, 48) // 100
        second = first + rng.randint(1, 6)
        rows.append(row("money", METRIC_NAMES[metric], first, second, Formula(f"B{number}+C{number}", first + second)))
    return Book(
        (Sheet("Actuals", tuple(rows), (30, 13, 13, 13), (2, 1)),),
        t.people["controller"],
        "Actuals",
        shift_date(t.board_date, -90),
    )


def log(scene: Scene) -> tuple[tuple[str, ...], Rows, str]:
    """Who saved which version when; no status."""
    t = scene.truth
    rows = tuple((v.id, v.dated, v.prepared_by, f"forecast_model_{v.id}.xlsx", "saved for review") for v in t.versions)
    return ("version", "saved", "by", "file", "comment"), rows, t.versions[2].dated


def budget(scene: Scene, rng: random.Random) -> tuple[tuple[str, ...], Rows, str]:
    """The old budget by month."""
    t = scene.truth
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    base = t.version("superseded").headline[t.metrics[0]] / 12
    rows = tuple((m, round(base + rng.uniform(-3, 3), 1), round(base * 0.7 + rng.uniform(-2, 2), 1)) for m in months)
    return ("month", f"{t.metrics[0]}_budget", "cost_budget"), rows, shift_date(t.board_date, -150)


def register(scene: Scene) -> Book:
    """The document register, last updated before the meeting: it still calls the wrong version current."""
    t = scene.truth
    updated = shift_date(t.board_date, -2)
    rows: list[Line] = [
        (Cell("Register of board documents", "title"),),
        (Cell(f"Last updated {day(updated)} by {t.people['secretary']}", "sub"),),
        head("Reference", "Title", "Dated", "Owner", "Status at last update"),
    ]
    for version in t.versions:
        status = "current working version" if version.id == t.note_version else "filed"
        rows.append(
            (
                f"FIN/FC/{version.id}",
                f"Forecast {version.id}",
                Cell(date(version.dated), "date"),
                version.prepared_by,
                status,
            )
        )
    rows += [
        (
            "BD/TOR/4",
            "Terms of reference",
            Cell(date(shift_date(t.board_date, -400)), "date"),
            t.people["secretary"],
            "in force",
        ),
        (
            "POL/DIS/2",
            "Disclosure policy",
            Cell(date(shift_date(t.board_date, -500)), "date"),
            t.people["secretary"],
            "in force",
        ),
    ]
    return Book(
        (Sheet("Register", tuple(rows), (16, 30, 14, 22, 26), (3, 0)),), t.people["secretary"], "Register", updated
    )


def pre_read(scene: Scene) -> Deck:
    """The pre-read of a week before the meeting, with the version of that day."""
    t = scene.truth
    version = next(v for v in t.versions if v.id == t.note_version)
    table = (
        (f"{t.currency} m", *t.years),
        *((METRIC_NAMES[m], *(str(version.by_year[y][m]) for y in t.years)) for m in t.metrics),
    )
    first = t.metrics[0]
    return Deck(
        "Forecast: pre-read",
        f"Board meeting of {day(t.board_date)}",
        scene.company,
        t.people["analyst"],
        shift_date(t.board_date, -7),
        (
            Slide(
                "Where the forecast stands",
                (
                    f"Working version: {version.id}",
                    "Order book is firm for six months",
                    "For discussion, not for decision",
                ),
                table=table,
            ),
            Slide(
                f"{METRIC_NAMES[first]} by year",
                plot=Plot(
                    "column",
                    t.years,
                    ((METRIC_NAMES[first], tuple(float(version.by_year[y][first]) for y in t.years)),),
                ),
                notes="Figures may change before the meeting. The board decides which version it approves.",
            ),
        ),
    )


def outlook(scene: Scene, rng: random.Random) -> Deck:
    """A sector deck by analysts."""
    t = scene.truth
    years = tuple(f"FY{int(t.years[0][2:]) + i}" for i in range(3))
    growth = tuple(round(rng.uniform(1.0, 5.0), 1) for _ in years)
    return Deck(
        f"{t.sector.title()}: sector outlook",
        "Research note",
        scene.peer,
        "Research desk",
        shift_date(t.board_date, -35),
        (
            Slide("Growth stays moderate", ("Capacity is tight", "Input prices fall", f"{t.peer} is the price leader")),
            Slide(
                "Growth by year, per cent",
                plot=Plot("line", years, (("Sector", growth),)),
                notes="Source: own estimates.",
            ),
        ),
    )
