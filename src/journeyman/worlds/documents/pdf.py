"""Writes a document as a PDF in the organisation's colours. Equal documents give equal bytes."""

from typing import Any

from journeyman.worlds.documents.extra import office_module
from journeyman.worlds.documents.model import (
    Bullets,
    Document,
    Facts,
    Footnote,
    Grid,
    Heading,
    Para,
    Signatures,
    is_figure,
    words,
)
from journeyman.worlds.documents.printable import printable

_LEFT, _TEXT = 20.0, 170.0  # millimetres, as in pdf_page


def pdf_bytes(document: Document) -> bytes:
    """The document as a pdf. Raises UserError without the `office` extra."""
    office_module("fpdf")
    page = office_module("journeyman.worlds.documents.pdf_page").Page(document)
    page.add_page()
    family = page.family
    page.set_font(family, "B", 17)
    page.set_text_color(*page.ink)
    page.multi_cell(_TEXT, 8, printable(document.title), new_x="LMARGIN", new_y="NEXT", align="L")
    page.ln(2)
    for block in document.blocks:
        _block(page, block)
    return bytes(page.output())


def _block(page: Any, block: Any) -> None:
    page.set_text_color(20, 20, 20)
    if isinstance(block, Heading):
        if page.get_y() > page.h - 45:  # a heading is never the last line of a page
            page.add_page()
        page.ln(2.5)
        page.set_font(page.family, "B", 13 if block.level == 1 else 11)
        page.set_text_color(*page.ink)
        page.multi_cell(_TEXT, 6, printable(block.text), new_x="LMARGIN", new_y="NEXT", align="L")
        page.ln(1)
    elif isinstance(block, Para):
        notes = [p.text for p in block.pieces if isinstance(p, Footnote)]
        body = "".join(p if isinstance(p, str) else words((p,)) for p in block.pieces)
        _text(page, body + "".join(f" [{note}]" for note in notes), block.style)
    elif isinstance(block, Bullets):
        for number, item in enumerate(block.items, start=1):
            _text(page, f"{f'{number}.' if block.numbered else '-'} {item}", "Bullet")
    elif isinstance(block, Grid):
        _grid(page, block)
    elif isinstance(block, Facts):
        _facts(page, block)
    elif isinstance(block, Signatures):
        for name, capacity, signed in block.lines:
            page.ln(4)
            _text(page, f"Signed: {name}, {signed}" if signed else "Signed: ____________________  Date: __________", "")
            _text(page, f"**{name}**, {capacity}", "Small")


def _text(page: Any, text: str, style: str) -> None:
    indent = {"Bullet": 5.0, "Quote": 10.0, "Subclause": 10.0}.get(style, 0.0)
    page.set_font(page.family, "I" if style == "Quote" else "", 8.5 if style == "Small" else 10)
    page.set_x(_LEFT + indent)
    page.multi_cell(_TEXT - indent, 5, printable(text), markdown=True, new_x="LMARGIN", new_y="NEXT", align="L")
    page.ln(0.5 if style == "Bullet" else 1.5)


def _facts(page: Any, facts: Facts) -> None:
    """Labels in a column as wide as the longest, up to some width at which labels are wrapped as their values are."""
    page.set_font(page.family, "B", 10)
    label = min(max(34.0, *(page.get_string_width(printable(key)) + 4 for key, _ in facts.pairs)), 70.0)
    for key, value in facts.pairs:
        page.set_font(page.family, "B", 10)
        tall = 5.5 * len(page.multi_cell(label, 5.5, printable(key), dry_run=True, output="LINES", align="L"))
        if page.get_y() + tall > page.h - 22:
            page.add_page()
        top, number = page.get_y(), page.page_no()
        page.multi_cell(label, 5.5, printable(key), align="L")
        page.set_xy(_LEFT + label, top)
        page.set_font(page.family, "", 10)
        page.multi_cell(_TEXT - label, 5.5, printable(value), new_x="LMARGIN", new_y="NEXT", align="L")
        if page.page_no() == number:
            page.set_y(max(page.get_y(), top + tall))
    page.ln(3)


def _grid(page: Any, grid: Grid) -> None:
    """A ruled table; a cell's text is cut to one line, as the builders keep cells short."""
    weights = grid.widths or (1.0,) * len(grid.header)
    widths = [_TEXT * w / sum(weights) for w in weights]
    if grid.caption:
        page.set_font(page.family, "B", 9.5)
        page.multi_cell(_TEXT, 6, printable(grid.caption), new_x="LMARGIN", new_y="NEXT", align="L")
    if page.get_y() + 7 * min(len(grid.rows) + 1, 5) > 270:
        page.add_page()
    page.set_draw_color(150, 150, 150)
    page.set_fill_color(*page.ink)
    page.set_text_color(255, 255, 255)
    page.set_font(page.family, "B", 9)
    figures = [all(is_figure(r[i]) or not r[i] for r in grid.rows if len(r) > i) for i in range(len(widths))]
    _row(page, grid.header, widths, fill=True, figures=figures)
    page.set_text_color(20, 20, 20)
    for index, cells in enumerate(grid.rows):
        bold = grid.total and index == len(grid.rows) - 1
        if len(cells) == 1:
            page.set_font(page.family, "B", 9)
            _row(page, cells, [_TEXT])
            continue
        page.set_font(page.family, "B" if bold else "", 9)
        _row(page, cells, widths)
    page.ln(3)


def _row(
    page: Any, cells: tuple[str, ...], widths: list[float], *, fill: bool = False, figures: list[bool] | None = None
) -> None:
    """One row, as high as its tallest cell."""
    texts = [printable(text.replace("**", "")) for text in cells]
    wrapped = [
        page.multi_cell(width - 1, 4.5, text, dry_run=True, output="LINES") if page.get_string_width(text) > width - 3
        else [text]
        for text, width in zip(texts, widths, strict=True)
    ]  # fmt: skip
    height = 4.5 * max(len(lines) for lines in wrapped) + 1.5
    if page.get_y() + height > page.h - 22:
        page.add_page()
        page.set_font(page.family, "", 9)
    x, y = _LEFT, page.get_y()
    right = figures or [is_figure(text) for text in texts]
    for lines, width, figure in zip(wrapped, widths, right, strict=True):
        page.rect(x, y, width, height, style="DF" if fill else "D")
        page.set_xy(x, y + 0.75)
        page.multi_cell(width, 4.5, "\n".join(lines), align="R" if figure else "L")
        x += width
    page.set_xy(_LEFT, y + height)
