"""Tables of real documents as grids: a header, names down one column, figures down others; what is unclear is left out.

Invariant: a figure is what a reader sees, parsed by the rules of grading; a column with a doubtful cell is not used.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from journeyman.grading.text import EXACT, as_number, fold
from journeyman.office.pdf_aligned import aligned_tables
from journeyman.office.render import render
from journeyman.office.rendered import Table, column_letters, kind_of
from journeyman.synthesis.environment_first.regions import Region, regions

MIN_ROWS, MAX_ROWS = 4, 2000
MIN_GROUPS = 4  # names that repeat make a grid of sums if there are this many, each over two rows or more on average
_NAME = re.compile(r"\w[^:;|\n]{0,58}[\w)]")
_TOTAL = re.compile(r"(grand |sub-?)?(totals?|sum|all|overall|average|mean|median)\b|.* totals?$")
_LABEL = re.compile(
    r"(^|[\W_])(ids?|no|nr|nos|numbers?|codes?|zip|postal|phone|fax|rank|obs|year|seq\w*|class|categ\w*)([\W_]|$)|#|fips|geoid"
)
_RATE = re.compile(
    r"%|(^|[\W_])(percent\w*|pct|rates?|ratio|average|avg|mean|median|price|share|margin|score|yield|latitude|longitude)(\W|$)"
)


class Column(NamedTuple):
    """One column of figures, by name. `adds`: its sum means something (it is no rate, share or price)."""

    title: str
    figures: tuple[Decimal, ...]
    adds: bool = True


class _Grid(NamedTuple):
    document: str
    table: str
    key: str  # title of the column of names; "" where a table has none
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    summed: bool = False  # figures are sums over the rows of a name
    without: tuple[str, ...] = ()  # rows of totals, which are no names


class Grid(_Grid):
    """A table with distinct names and at least one column of figures."""

    @cached_property
    def rows(self) -> dict[str, int]:
        """Row of each name, folded."""
        return {fold(name): i for i, name in enumerate(self.names)}


def grids_of(path: str, data: bytes) -> tuple[Grid, ...]:
    """The usable tables of a document, in order; of a pdf also those that only alignment makes a table."""
    tables = [table for table in render(path, data).tables if not table.hidden]
    found = tuple(grid for table in tables for grid in grids(path, table))
    if not found and kind_of(path) == "pdf":
        found = tuple(grid for table in aligned_tables(data) for grid in grids(path, table))
    return found


def grids(path: str, table: Table) -> Iterator[Grid]:
    """What one table gives: a grid by its distinct names, else a grid of sums by each column of names that repeat."""
    found = list(regions(table.rows)) if len(table.rows) <= MAX_ROWS else []
    for region in found:
        place = f"{table.name}, header in row {region.header + 1} from column {column_letters(region.first + 1)}"
        if len(region.body) >= MIN_ROWS:
            yield from _of_region(path, table.name if len(found) == 1 else place, region)


def _of_region(path: str, where: str, region: Region) -> Iterator[Grid]:
    columns = list(zip(*region.body, strict=True))
    worded = [i for i, cells in enumerate(columns) if _are_names(cells)]
    single = next((i for i in worded if _distinct(columns[i])), None)
    if single is None and not worded and columns and _are_years(columns[0]) and _distinct(columns[0]):
        single = 0
    if single is not None:
        found = _grid(path, where, region, single)
        if found is not None:
            yield found
            return
    for i in worded:
        groups = {fold(name) for name in columns[i]}
        if MIN_GROUPS <= len(groups) <= len(region.body) // 2 and (found := _summed(path, where, region, i)):
            yield found


def _grid(path: str, where: str, region: Region, at: int) -> Grid | None:
    kept = [row for row in region.body if not _TOTAL.fullmatch(fold(row[at]))]
    without = tuple(row[at] for row in region.body if _TOTAL.fullmatch(fold(row[at])))
    columns = tuple(_columns(region.titles, kept, at))
    if not columns or len(kept) < MIN_ROWS:
        return None
    return Grid(path, where, region.titles[at], tuple(row[at] for row in kept), columns, False, without)


def _summed(path: str, where: str, region: Region, at: int) -> Grid | None:
    """Figures added up by the names of one column, in the order in which names are met."""
    rows = [row for row in region.body if not _TOTAL.fullmatch(fold(row[at]))]
    names = {fold(row[at]): row[at] for row in reversed(rows)}
    order = list(dict.fromkeys(fold(row[at]) for row in rows))
    made = []
    for column in _columns(region.titles, rows, at):
        if column.adds:
            sums = dict.fromkeys(order, Decimal(0))
            for row, figure in zip(rows, column.figures, strict=True):
                sums[fold(row[at])] = EXACT.add(sums[fold(row[at])], figure)
            made.append(Column(column.title, tuple(sums.values())))
    return Grid(path, where, region.titles[at], tuple(names[n] for n in order), tuple(made), True) if made else None


def _columns(titles: Sequence[str], rows: Sequence[Sequence[str]], at: int) -> Iterator[Column]:
    """The columns of figures beside the names; labels that look like figures (codes, years, row numbers) are none."""
    for i, title in enumerate(titles):
        cells = [row[i] for row in rows]
        figures = _figures(cells) if i != at and title and not _LABEL.search(fold(title)) else None
        if figures is not None and not _are_years(cells) and not _counts_up(figures):
            yield Column(title, figures, not (_RATE.search(fold(title)) or any("%" in cell for cell in cells)))


def _are_names(cells: Sequence[str]) -> bool:
    return all(_NAME.fullmatch(cell) and as_number(cell) is None for cell in cells)


def _are_years(cells: Sequence[str]) -> bool:
    return all(cell.isascii() and cell.isdigit() and len(cell) == 4 and 1900 <= int(cell) <= 2100 for cell in cells)


def _distinct(cells: Sequence[str]) -> bool:
    return len({fold(cell) for cell in cells}) == len(cells)


def _counts_up(figures: Sequence[Decimal]) -> bool:
    return figures[0] in (0, 1) and all(EXACT.subtract(later, earlier) == 1 for earlier, later in pairwise(figures))


def _figures(cells: Sequence[str]) -> tuple[Decimal, ...] | None:
    found = [as_number(cell) for cell in cells]
    figures = tuple(number.full for number in found if number is not None)
    return figures if len(figures) == len(cells) and len(set(figures)) > 1 else None
