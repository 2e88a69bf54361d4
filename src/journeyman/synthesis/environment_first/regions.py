"""Where in a sheet or a table of a real document the header and the body are; pure, knows no file format.

Invariant: a region's titles are distinct, its rows are as wide as its titles, and no cell is in two regions. Where the
row over the titles may belong to the table as well, it is not known which are the titles, and there is no region.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from journeyman.grading.text import as_number, fold

MIN_COLUMNS, MAX_COLUMNS = 2, 60
CORNERS = frozenset({"", "[chart data]"})  # what stands above the names where they have no title
_LEADER = re.compile(r"(\s*\.){3,}\s*$")
_FIGURE = re.compile(r"\W*\d[\d,. ]*\W*")
_YEAR = re.compile(r"(19|20)\d\d")


class Region(NamedTuple):
    """Titles and rows of one table. `header` and `first` are where its titles begin: row and column, from 0."""

    header: int
    first: int
    titles: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]


def regions(rows: Sequence[Sequence[str]]) -> Iterator[Region]:
    """Every region of a grid of shown text, from top to bottom and left to right."""
    cells = [[_clean(cell) for cell in row[:MAX_COLUMNS]] for row in rows]
    width = max(map(len, cells), default=0)
    cells = [[*row, *[""] * (width - len(row))] for row in cells]
    used: set[tuple[int, int]] = set()
    for header in range(len(cells) - 1):
        for start, end in _spans(cells[header]):
            first = start - 1 if start and _worded(cells[header + 1][start - 1]) else start
            taken = any((header, column) in used for column in range(start, end))
            if taken or not (titles := _titles(cells, header, first, end)):
                continue
            body, last = _body(cells, header, first, end)
            if body:
                used |= {(row, column) for row in range(header, last) for column in range(first, end)}
                yield _unfolded(Region(header, first, titles, body))


def _clean(cell: str) -> str:
    """One line; without the dots that lead from a name to its figures."""
    text = " ".join(cell.split())
    return "" if text in CORNERS else _LEADER.sub("", text)


def _spans(row: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Runs of filled cells, as half-open intervals."""
    start = None
    for i, cell in enumerate([*row, ""]):
        if cell and start is None:
            start = i
        elif not cell and start is not None:
            yield start, i
            start = None


def _worded(cell: str) -> bool:
    return bool(cell) and as_number(cell) is None


def _titles(cells: Sequence[Sequence[str]], header: int, first: int, end: int) -> tuple[str, ...]:
    """The titles above a body, with those of their groups where they repeat; empty where the row is no header."""
    own = tuple(cells[header][first:end])
    if len(own) < MIN_COLUMNS or any(_FIGURE.fullmatch(t) and not _YEAR.fullmatch(t) for t in own):
        return ()
    below = [row[first:end] for row in cells[header + 1 : header + 3]]
    if not any(map(as_number, below[0])) and (sum(map(bool, below[0])) > 1 or not any(map(as_number, below[-1]))):
        return ()
    if not any(_worded(title) for title in own) and not _worded(cells[header + 1][first]):
        return ()
    if _all_differ(own):
        return () if header and _goes_on(cells[header - 1][first:end]) else own
    if _repeated(own):
        return own
    grouped = tuple(_under_group(cells[header - 1][first:end], own)) if header else own
    return grouped if _all_differ(grouped) else ()


def _goes_on(above: Sequence[str]) -> bool:
    """Whether what stands over a row may be the titles, or a row, of the table that the row itself is of."""
    figures = any(_FIGURE.fullmatch(cell) and not _YEAR.fullmatch(cell) for cell in above)
    return all(above) and (figures or _all_differ(above))


def _all_differ(titles: Sequence[str]) -> bool:
    return len({fold(title) for title in titles}) == len(titles)


def _under_group(above: Sequence[str], own: Sequence[str]) -> Iterator[str]:
    group = ""
    for over, title in zip(above, own, strict=True):
        group = over or group
        yield title if fold(group) == fold(title) or not group else f"{group} {title}".strip()


def _repeated(titles: Sequence[str]) -> int:
    """Width of the table that stands several times side by side; 0 where none does."""
    for width in range(MIN_COLUMNS, len(titles) // 2 + 1):
        part = titles[:width]
        if (
            not len(titles) % width
            and all(part)
            and _all_differ(part)
            and list(part) * (len(titles) // width) == [*titles]
        ):
            return width
    return 0


def _unfolded(region: Region) -> Region:
    """A table that goes on beside itself, as one below the other."""
    width = _repeated(region.titles)
    if not width:
        return region
    starts = range(0, len(region.titles), width)
    body = [row[start : start + width] for start in starts for row in region.body]
    return Region(region.header, region.first, region.titles[:width], tuple(row for row in body if any(row)))


def _body(cells: Sequence[Sequence[str]], header: int, first: int, end: int) -> tuple[tuple[tuple[str, ...], ...], int]:
    """Rows below a header up to an empty one, and where it is; of a wide one, rows of one filled cell are headings."""
    body: list[tuple[str, ...]] = []
    for i in range(header + 1, len(cells)):
        row = tuple(cells[i][first:end])
        if not any(row):
            return tuple(body), i
        if sum(map(bool, row)) > 1 or len(row) == MIN_COLUMNS:
            body.append(row)
    return tuple(body), len(cells)
