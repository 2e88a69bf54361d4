"""Writes decks with titles, bullets, tables, native charts and speaker notes. Equal decks give equal bytes."""

import datetime
import io
from typing import Any, NamedTuple

from journeyman.worlds.documents.archive import settle
from journeyman.worlds.documents.docx_parts import app
from journeyman.worlds.documents.extra import office_module
from journeyman.worlds.documents.model import House, is_figure


class Plot(NamedTuple):
    """A native chart."""

    kind: str  # "column" | "line" | "bar"
    categories: tuple[str, ...]
    series: tuple[tuple[str, tuple[float, ...]], ...]


class Slide(NamedTuple):
    """One slide; a table or a chart takes the right half when there are bullets, the full width otherwise."""

    title: str
    bullets: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()  # first row is the header
    plot: Plot | None = None
    notes: str = ""
    hidden: bool = False


class Deck(NamedTuple):
    """A presentation; the first slide is made from title, subtitle and date."""

    title: str
    subtitle: str
    house: House
    author: str
    date: str  # ISO
    slides: tuple[Slide, ...]


_POINT = 12_700
_INCH = 914_400
_WIDTH, _HEIGHT = round(13.333 * _INCH), round(7.5 * _INCH)


def pptx_bytes(deck: Deck) -> bytes:
    """The deck as a pptx. Raises UserError without the `office` extra."""
    made = office_module("pptx").Presentation()
    made.slide_width, made.slide_height = _WIDTH, _HEIGHT
    properties = made.core_properties
    properties.title, properties.author, properties.last_modified_by = deck.title, deck.author, deck.author
    properties.created = properties.modified = datetime.datetime.fromisoformat(deck.date)
    properties.comments, properties.revision = "", 2
    _unstock(made.part.package)
    _cover(made, deck)
    for number, slide in enumerate(deck.slides, start=2):
        _slide(made, deck, slide, number)
    buffer = io.BytesIO()
    made.save(buffer)
    return settle(buffer.getvalue(), deck.date)


def _unstock(package: Any) -> None:
    """Take out what the library's template says of itself: its thumbnail, and the program that wrote it."""
    for key, relation in list(package._rels.items()):
        if relation.reltype.endswith("/thumbnail"):
            package.drop_rel(key)
        elif relation.reltype.endswith("/extended-properties"):
            relation.target_part.blob = app("Microsoft Office PowerPoint")


def _cover(made: Any, deck: Deck) -> None:
    slide = made.slides.add_slide(made.slide_layouts[5])
    _bar(slide, deck.house, 0, 0, _WIDTH, round(0.35 * _INCH))
    _place(slide.shapes.title, 0.9, 2.5, 11.5, 1.3)
    _write(slide.shapes.title.text_frame, (deck.title,), 40, deck.house.colour, bold=True)
    box = slide.shapes.add_textbox(*_inches(0.9, 3.9, 11.5, 1.6))
    _write(box.text_frame, (deck.subtitle, f"{deck.house.name}  |  {deck.date}"), 20, "595959")


def _slide(made: Any, deck: Deck, spec: Slide, number: int) -> None:
    slide = made.slides.add_slide(made.slide_layouts[5])
    _bar(slide, deck.house, 0, 0, round(0.18 * _INCH), _HEIGHT)
    _place(slide.shapes.title, 0.7, 0.35, 12.0, 0.9)
    _write(slide.shapes.title.text_frame, (spec.title,), 28, deck.house.colour, bold=True)
    split = bool(spec.bullets) and (bool(spec.table) or spec.plot is not None)
    if spec.bullets:
        box = slide.shapes.add_textbox(*_inches(0.7, 1.5, 5.4 if split else 11.9, 5.0))
        _write(box.text_frame, tuple(f"•  {b}" for b in spec.bullets), 18, "262626", gap=8)
    left, width = (6.4, 6.4) if split else (0.7, 11.9)
    if spec.table:
        _table(slide, deck.house, spec.table, left, width)
    if spec.plot is not None:
        _chart(slide, spec.plot, left, 1.5 if not spec.table else 4.2, width, 5.0 if not spec.table else 2.7)
    foot = slide.shapes.add_textbox(*_inches(0.7, 6.95, 11.9, 0.4))
    _write(foot.text_frame, (f"{deck.house.name}   {deck.date}   {number}",), 10, "7F7F7F")
    if spec.notes:
        slide.notes_slide.notes_text_frame.text = spec.notes
    if spec.hidden:
        slide._element.set("show", "0")


def _inches(*values: float) -> tuple[int, ...]:
    return tuple(round(v * _INCH) for v in values)


def _place(shape: Any, *values: float) -> None:
    shape.left, shape.top, shape.width, shape.height = _inches(*values)


def _bar(slide: Any, house: House, left: int, top: int, width: int, height: int) -> None:
    shape = slide.shapes.add_shape(1, left, top, width, height)
    shape.fill.solid()
    shape.fill.fore_color.rgb = _colour(house.colour)
    shape.line.fill.background()


def _colour(code: str) -> Any:
    return office_module("pptx.dml.color").RGBColor.from_string(code)


def _write(frame: Any, lines: tuple[str, ...], size: int, colour: str, *, bold: bool = False, gap: int = 0) -> None:
    frame.word_wrap = True
    for index, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if index == 0 else frame.add_paragraph()
        paragraph.alignment = 1
        if gap:
            paragraph.space_after = gap * _POINT
        run = paragraph.add_run()
        run.text = line
        run.font.size, run.font.bold = size * _POINT, bold
        run.font.color.rgb = _colour(colour)


def _table(slide: Any, house: House, rows: tuple[tuple[str, ...], ...], left: float, width: float) -> None:
    height = 0.42 * len(rows)
    table = slide.shapes.add_table(len(rows), len(rows[0]), *_inches(left, 1.6, width, height)).table
    for row_number, cells in enumerate(rows):
        for column, text in enumerate(cells):
            cell = table.cell(row_number, column)
            frame = cell.text_frame
            run = frame.paragraphs[0].add_run()
            run.text = text
            run.font.size = 13 * _POINT
            run.font.bold = row_number == 0
            frame.paragraphs[0].alignment = 3 if row_number and is_figure(text) else 1
            if row_number == 0:
                cell.fill.solid()
                cell.fill.fore_color.rgb = _colour(house.colour)


def _chart(slide: Any, plot: Plot, left: float, top: float, width: float, height: float) -> None:
    data = office_module("pptx.chart.data").CategoryChartData()
    data.categories = plot.categories
    for name, values in plot.series:
        data.add_series(name, values)
    kinds = office_module("pptx.enum.chart").XL_CHART_TYPE
    kind = {"column": kinds.COLUMN_CLUSTERED, "line": kinds.LINE_MARKERS, "bar": kinds.BAR_CLUSTERED}[plot.kind]
    chart = slide.shapes.add_chart(kind, *_inches(left, top, width, height), data).chart
    chart.has_legend = len(plot.series) > 1
    if chart.has_legend:
        chart.legend.include_in_layout = False
        chart.legend.position = office_module("pptx.enum.chart").XL_LEGEND_POSITION.BOTTOM
    chart.font.size = 12 * _POINT
