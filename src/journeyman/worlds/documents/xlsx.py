"""Writes workbooks with live formulas and their calculated values. Equal books give equal bytes.

Values of formulas are given by the caller, who knows the ground truth; `tests/worlds` recalculates them.
"""

import datetime
import io
from typing import Any, NamedTuple

from journeyman.worlds.documents.archive import zip_parts
from journeyman.worlds.documents.extra import office_module


class Formula(NamedTuple):
    """A live formula (without "=") and the value it has."""

    text: str
    value: float | int | str


Value = str | int | float | datetime.date | Formula | None


class Cell(NamedTuple):
    """A value in a named look: see `_LOOKS`."""

    value: Value
    look: str = ""


class Note(NamedTuple):
    """A cell comment."""

    cell: str
    author: str
    text: str


class Chart(NamedTuple):
    """A chart beside the data; ranges are like "Sheet!$B$5:$D$5"."""

    kind: str  # "column" | "line" | "bar"
    title: str
    categories: str
    series: tuple[tuple[str, str], ...]  # name, range
    at: str


class Sheet(NamedTuple):
    """One sheet; row i of `rows` is sheet row i + 1."""

    name: str
    rows: tuple[tuple[Cell | Value, ...], ...]
    widths: tuple[float, ...] = (26, 14, 14, 14, 14, 14)
    freeze: tuple[int, int] = (0, 0)
    hidden: bool = False
    notes: tuple[Note, ...] = ()
    charts: tuple[Chart, ...] = ()
    colour: str = ""  # tab colour, RRGGBB


class Book(NamedTuple):
    """A workbook."""

    sheets: tuple[Sheet, ...]
    author: str
    title: str
    date: str  # ISO
    names: tuple[tuple[str, str], ...] = ()  # defined name -> reference, "=Summary!$B$4"
    colour: str = "1F3864"


_LOOKS: dict[str, dict[str, Any]] = {
    "": {},
    "text": {"text_wrap": True, "valign": "top"},
    "title": {"bold": True, "font_size": 14, "font_color": "#COLOUR"},
    "sub": {"italic": True, "font_color": "#595959"},
    "head": {"bold": True, "font_color": "#FFFFFF", "bg_color": "#COLOUR", "text_wrap": True, "valign": "vcenter"},
    "head_right": {
        "bold": True,
        "font_color": "#FFFFFF",
        "bg_color": "#COLOUR",
        "text_wrap": True,
        "valign": "vcenter",
        "align": "right",
    },
    "label": {"indent": 1},
    "money": {"num_format": "#,##0;(#,##0)"},
    "money1": {"num_format": "#,##0.0;(#,##0.0)"},
    "ratio": {"num_format": '0.00"x"'},
    "rate": {"num_format": "#,##0.00"},
    "percent": {"num_format": "0.0%"},
    "date": {"num_format": "d mmm yyyy", "align": "left"},
    "whole": {"num_format": "0"},
    "input": {"num_format": "#,##0;(#,##0)", "font_color": "#0000FF"},
    "total": {"num_format": "#,##0;(#,##0)", "bold": True, "top": 1},
    "total_label": {"bold": True, "top": 1},
    "flag": {"bold": True, "font_color": "#9C0006", "bg_color": "#FFC7CE"},
    "good": {"bold": True, "font_color": "#006100", "bg_color": "#C6EFCE"},
}


def head(*labels: str) -> tuple[Cell, ...]:
    """A header row over text."""
    return tuple(Cell(label, "head") for label in labels)


def figure_head(first: str, *labels: str) -> tuple[Cell, ...]:
    """A header row over a label column and columns of figures."""
    return (Cell(first, "head"), *(Cell(label, "head_right") for label in labels))


def row(look: str, label: Value, *values: Value) -> tuple[Cell, ...]:
    """A labelled row whose values share one look."""
    return (Cell(label, "total_label" if look == "total" else "label"), *(Cell(v, look) for v in values))


def xlsx_bytes(book: Book) -> bytes:
    """The workbook as an xlsx. Raises UserError without the `office` extra."""
    xlsxwriter = office_module("xlsxwriter")
    buffer = io.BytesIO()
    made = xlsxwriter.Workbook(buffer, {"in_memory": True, "default_date_format": "d mmm yyyy"})
    day = datetime.datetime.fromisoformat(book.date)
    made.set_properties({"author": book.author, "title": book.title, "created": day})
    looks = {
        name: made.add_format(
            {k: v.replace("COLOUR", book.colour) if isinstance(v, str) else v for k, v in look.items()}
        )
        for name, look in _LOOKS.items()
    }
    for sheet in book.sheets:
        _write(made, made.add_worksheet(sheet.name), sheet, looks, book.colour)
    for name, reference in book.names:
        made.define_name(name, reference)
    made.close()
    return _settled(buffer.getvalue())


def _settled(data: bytes) -> bytes:
    import zipfile

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return zip_parts({entry.filename: archive.read(entry) for entry in archive.infolist()})


def _write(made: Any, target: Any, sheet: Sheet, looks: dict[str, Any], colour: str) -> None:
    for column, width in enumerate(sheet.widths):
        target.set_column(column, column, width)
    for number, cells in enumerate(sheet.rows):
        for column, item in enumerate(cells):
            cell = item if isinstance(item, Cell) else Cell(item)
            value, look = cell.value, looks[cell.look]
            if isinstance(value, Formula):
                target.write_formula(number, column, f"={value.text}", look, value.value)
            elif isinstance(value, datetime.date):
                target.write_datetime(
                    number, column, datetime.datetime(value.year, value.month, value.day),
                    look if cell.look else looks["date"],
                )  # fmt: skip
            elif isinstance(value, str):
                target.write_string(number, column, value, look)
            elif value is not None:
                target.write_number(number, column, value, look)
            elif cell.look:
                target.write_blank(number, column, None, look)
    if any(sheet.freeze):
        target.freeze_panes(*sheet.freeze)
    for note in sheet.notes:
        target.write_comment(note.cell, note.text, {"author": note.author, "x_scale": 1.6})
    for chart in sheet.charts:
        _add_chart(made, target, chart, colour)
    if sheet.colour:
        target.set_tab_color(f"#{sheet.colour}")
    if sheet.hidden:
        target.hide()
    target.set_landscape()
    target.fit_to_pages(1, 0)
    target.set_paper(9)
    target.set_footer("&L&F &A&RPage &P of &N")


def _add_chart(made: Any, target: Any, chart: Chart, colour: str) -> None:
    drawn = made.add_chart({"type": chart.kind})
    shades = (f"#{colour}", "#A6A6A6", "#5B9BD5", "#ED7D31", "#70AD47")
    for (name, values), shade in zip(chart.series, shades, strict=False):
        look = {"line": {"color": shade, "width": 2}} if chart.kind == "line" else {"fill": {"color": shade}}
        drawn.add_series({"name": name, "categories": f"={chart.categories}", "values": f"={values}", **look})
    drawn.set_y_axis({"min": 0, "major_gridlines": {"visible": True, "line": {"color": "#D9D9D9"}}})
    drawn.set_title({"name": chart.title, "name_font": {"size": 11}})
    drawn.set_legend({"position": "bottom"})
    target.insert_chart(chart.at, drawn)
