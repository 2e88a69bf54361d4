"""What a file looks like once read: text for a judge, plain text and rows for checks. Frozen; knows no file format."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

_FIELD = re.compile(r"^[\s\-*+•#>|]*(?:\d+[.)]\s+)?[*_`]*([^:|]{1,80}?)[*_`]*\s*:[*_`]*\s+(.*\S)\s*$")
_MARKUP = re.compile(r"\*\*|__|`|^[*_]+|[*_]+$")


class Cell(NamedTuple):
    """One sheet cell. `value` is what is stored (dates as ISO text; None: empty, or a formula nobody calculated)."""

    value: str | float | int | bool | None
    text: str  # as shown under its number format, or "=F -> [not calculated]"
    formula: str | None = None  # with its leading "="


class Field(NamedTuple):
    """A `key: value` line, or a table row whose first cell is the key. `number` is the unrounded stored number."""

    key: str
    value: str
    number: float | None = None


class Table(NamedTuple):
    """Rows of shown text; vertically merged cells repeat their text, horizontally merged ones are followed by ""."""

    name: str
    rows: tuple[tuple[str, ...], ...]
    hidden: bool = False


@dataclass(frozen=True)
class Rendered:
    """A file as read.

    text      everything, marked up for a judge: headers, comments, tracked changes, formulas, hidden sheets, notes
    plain     what the file now says to a reader: tracked changes accepted, no comments, no hidden sheets or slides
    original  `plain` with every tracked change rejected (equal to `plain` where nothing is tracked)
    warnings  what could not be read, or should make a reader careful
    """

    path: str
    kind: str
    text: str
    plain: str
    original: str
    tables: tuple[Table, ...] = ()
    cells: Mapping[str, Mapping[str, Cell]] = field(default_factory=dict)  # sheet -> address -> cell
    warnings: tuple[str, ...] = ()

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Non-empty lines of `plain`; a table row is one line, its cells separated by " | "."""
        return tuple(line.strip() for line in self.plain.splitlines() if line.strip())

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Every `key: value` line and first-cell-key row a reader can see, in order; keys may repeat."""
        return (*line_fields(self.lines), *self._row_fields())

    def _row_fields(self) -> Iterable[Field]:
        for table in self.tables:
            if table.hidden:
                continue
            sheet = self.cells.get(table.name)
            for number, row in enumerate(table.rows, start=1):
                filled = [i for i, text in enumerate(row) if text.strip()]
                if len(filled) < 2:
                    continue
                key, value = (strip_markup(row[i]) for i in filled[:2])
                stored = sheet.get(f"{column_letters(filled[1] + 1)}{number}") if sheet else None
                raw = stored.value if stored else None
                exact = float(raw) if isinstance(raw, int | float) and not isinstance(raw, bool) else None
                yield Field(key.rstrip(": ").strip(), value, exact)


def line_fields(lines: Iterable[str]) -> Iterable[Field]:
    """`key: value` lines among `lines`, list marks and markdown emphasis removed."""
    for line in lines:
        if ":" in line and " | " not in line and (match := _FIELD.match(line)):
            yield Field(match[1].strip(), strip_markup(match[2]))


def strip_markup(text: str) -> str:
    """`text` without markdown emphasis and code ticks around or inside it."""
    return _MARKUP.sub("", text.strip()).strip()


def row_line(cells: Iterable[str]) -> str:
    """One table row as one line; line breaks inside cells become spaces, trailing empty cells go."""
    return " | ".join(" ".join(cell.split()) for cell in cells).rstrip(" |")


def kind_of(path: str) -> str:
    """Lower-case extension without its dot; "" where there is none."""
    return PurePosixPath(path).suffix.lower().lstrip(".")


def column_letters(column: int) -> str:
    """1 -> A, 27 -> AA."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def column_number(letters: str) -> int:
    """A -> 1, AA -> 27."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number
