"""Small edits of office files that lose nothing: every part is still there afterwards, or the edit is refused.

Built on the `office` extra; parts that were not edited keep their bytes. Formulas nobody recalculated lose their stored
value, so they read as not calculated rather than as stale.
"""

import io
import zipfile
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from journeyman.errors import JourneymanError, UserError

Scalar = str | float | int | bool | None


class EditRefused(JourneymanError):
    """The edit would be lossy, ambiguous or has no target; nothing was written."""


def replace_text(data: bytes, old: str, new: str, *, author: str = "") -> bytes:
    """A docx in which the one occurrence of `old` says `new`; the runs around it keep their formatting.

    `author`: given, the change is tracked under this name. Raises EditRefused when `old` occurs never or more than
    once, is inside a protected or unsupported structure, or when a part would be lost; UserError without the extra.
    """
    library = _library("docx", "replacing text in a docx")
    search = _library("docx.search", "replacing text in a docx")
    refusals = _library("docx.errors", "replacing text in a docx").PaperRefusal
    try:
        document = library.Document(io.BytesIO(data))
        search.find_one(document, old)
        search.replace_all(document, old, new, tracked=bool(author), author=author or None)
    except refusals as error:
        raise EditRefused(f"{type(error).__name__}: {error}") from error
    return _saved(data, document)


def set_cells(data: bytes, sheet: str, values: Mapping[str, Scalar]) -> bytes:
    """An xlsx in which the cells of `sheet` have these values (texts beginning with "=" are formulas).

    Charts, drawings, comments and pivots stay as they are. Raises EditRefused for an unknown sheet, a structure the
    library cannot keep, or a lost part; UserError without the `office` extra.
    """
    library = _library("openpyxl", "editing an xlsx")
    refusals = _library("openpyxl.errors", "editing an xlsx").PaperRefusal
    try:
        book = library.load_workbook(io.BytesIO(data))
        if sheet not in book.sheetnames:
            raise EditRefused(f"no sheet {sheet!r}; there are {', '.join(book.sheetnames)}")
        for address, value in values.items():
            book[sheet][address] = value
        return _saved(data, book)
    except refusals as error:
        raise EditRefused(f"{type(error).__name__}: {error}") from error


def lost_parts(before: bytes, after: bytes) -> tuple[str, ...]:
    """Parts of one OOXML file that another has no longer (the cached calculation order apart)."""
    return tuple(sorted(_parts(before) - _parts(after) - {"xl/calcChain.xml"}))


def _parts(data: bytes) -> set[str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return set(archive.namelist())


def _saved(before: bytes, document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    after = buffer.getvalue()
    if lost := lost_parts(before, after):
        raise EditRefused(f"saving would lose {', '.join(lost)}")
    return after


def _library(name: str, purpose: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise UserError(f"{purpose} needs {name}: pip install 'journeyman[office]'") from error
