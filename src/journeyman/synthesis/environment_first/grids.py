"""Tables of real documents as grids: a header, names down one column, figures down others; what is unclear is left out.

Invariant: a figure is what a reader sees, parsed by the rules of grading; a column with a doubtful cell is not used.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

from journeyman.grading.text import as_number, fold
from journeyman.office.rendered import Rendered, Table

MIN_ROWS, MAX_ROWS = 4, 2000
_NAME = re.compile(r"\w[^:;|\n]{0,58}[\w)]")


class Column(NamedTuple):
    """One column of figures, by row."""

    title: str
    figures: tuple[Decimal, ...]


class _Grid(NamedTuple):
    document: str
    table: str
    key: str  # title of the column of names
    names: tuple[str, ...]
    columns: tuple[Column, ...]


class Grid(_Grid):
    """A table with distinct names and at least one column of figures."""

    @cached_property
    def rows(self) -> dict[str, int]:
        """Row of each name, folded."""
        return {fold(name): i for i, name in enumerate(self.names)}


def grids(path: str, document: Rendered) -> Iterator[Grid]:
    """The usable tables of a document, in order."""
    for table in document.tables:
        if not table.hidden and (found := _grid(path, table)) is not None:
            yield found


def _grid(path: str, table: Table) -> Grid | None:
    rows = [row for row in table.rows if any(cell.strip() for cell in row)]
    start = next((i for i, row in enumerate(rows) if _is_header(row)), None)
    if start is None:
        return None
    header, width = rows[start], len(rows[start])
    body = [tuple((*row, *[""] * width)[:width]) for row in rows[start + 1 :]]
    if not MIN_ROWS <= len(body) <= MAX_ROWS:
        return None
    names_at = next((i for i in range(width) if _are_names([row[i] for row in body])), None)
    if names_at is None:
        return None
    columns = [
        Column(header[i].strip(), figures)
        for i in range(width)
        if i != names_at and (figures := _figures([row[i] for row in body])) is not None
    ]
    titles = [fold(c.title) for c in columns]
    distinct = tuple(c for c in columns if titles.count(fold(c.title)) == 1)
    names = tuple(row[names_at].strip() for row in body)
    return Grid(path, table.name, header[names_at].strip(), names, distinct) if distinct else None


def _is_header(row: tuple[str, ...]) -> bool:
    """At least two titles, all distinct, none a figure."""
    titles = [cell.strip() for cell in row]
    return len(titles) > 1 and all(titles) and len(set(titles)) == len(titles) and not any(map(as_number, titles))


def _are_names(cells: list[str]) -> bool:
    names = [cell.strip() for cell in cells]
    worded = all(_NAME.fullmatch(name) and as_number(name) is None for name in names)
    return worded and len({fold(name) for name in names}) == len(names)


def _figures(cells: list[str]) -> tuple[Decimal, ...] | None:
    found = [as_number(cell.strip()) for cell in cells]
    figures = tuple(number.full for number in found if number is not None)
    return figures if len(figures) == len(cells) and len(set(figures)) > 1 else None
