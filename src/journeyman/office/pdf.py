"""A PDF as text by page, its ruled tables also as rows; pages without text are named, never silently empty."""

import io
from typing import Any

from journeyman.errors import UserError
from journeyman.office.package import EMPTY, PROTECTED, Unreadable
from journeyman.office.rendered import Rendered, Table

MAX_PAGES = 200


def read(path: str, data: bytes) -> Rendered:
    """Read a pdf with pdfplumber. Raises UserError without the `office` extra, ValueError on damaged bytes."""
    try:
        import pdfplumber
        from pdfminer.pdfdocument import PDFPasswordIncorrect
        from pdfplumber.utils.exceptions import PdfminerException
    except ImportError as error:
        raise UserError(f"{path}: reading pdf needs the office extra: pip install 'journeyman[office]'") from error
    if not data:
        raise Unreadable(EMPTY)
    try:
        with pdfplumber.open(io.BytesIO(data)) as document:
            pages = document.pages[:MAX_PAGES]
            texts = [(page.extract_text() or "").strip() for page in pages]
            tables = tuple(t for number, page in enumerate(pages, start=1) for t in _tables(page, number))
            total = len(document.pages)
    except PdfminerException as error:
        if any(isinstance(cause, PDFPasswordIncorrect) for cause in error.args):
            raise Unreadable(PROTECTED) from error
        raise ValueError(f"damaged pdf: {error}") from error
    marked = "\n\n".join(
        f"## Page {number}\n{text or '[no text on this page]'}" for number, text in enumerate(texts, start=1)
    )
    plain = "\n".join(text for text in texts if text)
    warnings = [f"page {number} has no text" for number, text in enumerate(texts, start=1) if not text]
    if total > MAX_PAGES:
        warnings.append(f"text cut at {MAX_PAGES} of {total} pages")
    return Rendered(path, "pdf", marked, plain, plain, tables, warnings=tuple(warnings))


def _tables(page: Any, number: int) -> list[Table]:
    if not page.lines and not page.rects:
        return []
    found: list[Table] = []
    for index, rows in enumerate(page.extract_tables(), start=1):
        shown = tuple(tuple(" ".join((cell or "").split()) for cell in row) for row in rows)
        if len(shown) > 1 and max(len(row) for row in shown) > 1:
            found.append(Table(f"page {number} table {index}", shown))
    return found
