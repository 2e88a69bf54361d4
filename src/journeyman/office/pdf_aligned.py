"""Tables of a pdf that no lines are drawn around: rows whose words stand below each other, and the titles above them.

Invariant: every cell is text of the page, whole; where words do not fall into columns without doubt there is no table.
"""

import io
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from journeyman.office.rendered import Table

MAX_PAGES = 40
MIN_ROWS, MAX_HEADER_LINES = 4, 3
WORD_GAP = 0.45  # of a line's height: words nearer than this are one cell
LINE_GAP = 2.2  # line heights between a title and what it stands above


class _Cell(NamedTuple):
    left: float
    right: float
    text: str


class _Line(NamedTuple):
    top: float
    height: float
    cells: tuple[_Cell, ...]


def aligned_tables(data: bytes) -> tuple[Table, ...]:
    """Tables by page, header row first. Pages after the first forty are not read; damaged bytes give none."""
    import pdfplumber
    from pdfplumber.utils.exceptions import PdfminerException

    try:
        with pdfplumber.open(io.BytesIO(data)) as document:
            return tuple(t for n, page in enumerate(document.pages[:MAX_PAGES], start=1) for t in _of_page(page, n))
    except PdfminerException:
        return ()


def _of_page(page: Any, number: int) -> Iterator[Table]:
    lines = list(_lines(page.extract_words(use_text_flow=False)))
    for found, (start, end, columns) in enumerate(_runs(lines), start=1):
        if titles := _titles(lines[:start], lines[start], columns):
            body = [_row(line, columns) for line in lines[start:end]]
            yield Table(f"page {number} table {found}", (*titles, *body))


def _lines(words: Sequence[dict[str, Any]]) -> Iterator[_Line]:
    """Words in lines from top to bottom, near ones as one cell; dots that lead the eye only part cells."""
    at_line: list[list[dict[str, Any]]] = []
    for word in sorted(words, key=lambda w: (w["bottom"], w["x0"])):
        if at_line and abs(at_line[-1][0]["bottom"] - word["bottom"]) < 0.4 * (word["bottom"] - word["top"]):
            at_line[-1].append(word)
        else:
            at_line.append([word])
    for group in at_line:
        height = max(w["bottom"] - w["top"] for w in group)
        yield _Line(min(w["top"] for w in group), height, tuple(_cells(sorted(group, key=lambda w: w["x0"]), height)))


def _cells(words: Sequence[dict[str, Any]], height: float) -> Iterator[_Cell]:
    open_cell: _Cell | None = None
    for word in words:
        if not word["text"].strip("."):
            if open_cell:
                yield open_cell
            open_cell = None
        elif open_cell and word["x0"] - open_cell.right <= WORD_GAP * height:
            open_cell = _Cell(open_cell.left, word["x1"], f"{open_cell.text} {word['text'].rstrip('.')}")
        else:
            if open_cell:
                yield open_cell
            open_cell = _Cell(word["x0"], word["x1"], word["text"])
    if open_cell:
        yield open_cell


def _runs(lines: Sequence[_Line]) -> Iterator[tuple[int, int, tuple[_Cell, ...]]]:
    """Consecutive lines of as many cells, each cell within its own column, most of them figures."""
    start = 0
    while start < len(lines):
        columns, end = lines[start].cells, start + 1
        if not _is_data(lines[start]):
            start = end
            continue
        while end < len(lines) and _is_data(lines[end]) and (wider := _joined(columns, lines[end].cells)):
            columns, end = wider, end + 1
        if end - start >= MIN_ROWS:
            yield start, end, columns
        start = end


def _is_data(line: _Line) -> bool:
    first, *rest = line.cells
    figures = sum(cell.text.strip("$€£%()+-–")[:1].isdigit() for cell in rest)
    return bool(rest) and not first.text[:1].isdigit() and 2 * figures >= len(rest)


def _joined(columns: Sequence[_Cell], cells: Sequence[_Cell]) -> tuple[_Cell, ...]:
    """The columns widened by a line's cells; empty where a cell is in none or in two."""
    if len(cells) != len(columns):
        return ()
    wider = tuple(_Cell(min(a.left, b.left), max(a.right, b.right), "") for a, b in zip(columns, cells, strict=True))
    apart = all(one.right < other.left for one, other in pairwise(wider))
    meet = all(a.left < b.right and b.left < a.right for a, b in zip(columns, cells, strict=True))
    return wider if apart and meet else ()


def _row(line: _Line, columns: Sequence[_Cell]) -> tuple[str, ...]:
    return tuple(cell.text for cell in line.cells[: len(columns)])


def _titles(above: Sequence[_Line], below: _Line, columns: Sequence[_Cell]) -> tuple[tuple[str, ...], ...]:
    """One row of titles, lines above each other joined; a line that spans columns is a row of groups above it."""
    titles = [""] * len(columns)
    for line in list(reversed(above))[:MAX_HEADER_LINES]:
        if below.top - line.top > LINE_GAP * max(line.height, below.height) or _is_data(line):
            break
        places = [[i for i, column in enumerate(columns) if _over(cell, column)] for cell in line.cells]
        if any(len(place) != 1 for place in places):
            return (*_groups(line, places, len(columns)), tuple(titles)) if any(titles) else ()
        for cell, (i,) in zip(line.cells, places, strict=True):
            titles[i] = f"{cell.text} {titles[i]}".strip()
        below = line
    return (tuple(titles),) if any(titles) else ()


def _over(cell: _Cell, column: _Cell) -> bool:
    return cell.left < column.right and column.left < cell.right


def _groups(line: _Line, places: Sequence[Sequence[int]], width: int) -> Iterator[tuple[str, ...]]:
    row = [""] * width
    for cell, place in zip(line.cells, places, strict=True):
        if place:
            row[place[0]] = cell.text
    if sum(map(bool, row)) > 1:
        yield tuple(row)
