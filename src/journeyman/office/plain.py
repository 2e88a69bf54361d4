"""Text formats: txt, md, csv, html. Decoding never fails; bytes that are not text become a warning."""

import csv
import io
import re
from html.parser import HTMLParser

from journeyman.office.rendered import Rendered, Table, kind_of, row_line, strip_markup

_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")
_ESCAPED_PIPE = re.compile(r"(?<!\\)\|")
_BLOCKS = {"p", "div", "br", "tr", "li", "h1", "h2", "h3", "h4", "h5", "h6", "table", "ul", "ol", "blockquote", "hr"}


def decode(data: bytes) -> tuple[str, tuple[str, ...]]:
    """Text and warnings: UTF-8 (with or without mark), UTF-16 by mark, else Windows-1252."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace"), ()
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n"), ()
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace").replace("\r\n", "\n")
        return text, ("not UTF-8; read as Windows-1252",)


def read_text(path: str, data: bytes) -> Rendered:
    """Text as it is; pipe tables are also given as rows."""
    text, warnings = decode(data)
    if "\x00" in text:
        warnings, text = (*warnings, "binary content"), text.replace("\x00", "")
    tables = tuple(_pipe_tables(text)) if "|" in text else ()
    plain = "\n".join(_plain_line(line) for line in text.splitlines()) if tables else text
    return _rendered(path, text, plain, tables, warnings)


def read_csv(path: str, data: bytes) -> Rendered:
    """Rows by the delimiter the first lines agree on; `text` shows them as lines."""
    raw, warnings = decode(data)
    head = raw[:4000]
    delimiter = max("\t;,|", key=lambda mark: (head.count(mark), mark == ","))
    rows = tuple(
        tuple(cell.strip() for cell in row)
        for row in csv.reader(io.StringIO(raw.replace("\r", "\n")), delimiter=delimiter)
    )
    width = {len(row) for row in rows if row}
    if len(width) > 1:
        warnings = (*warnings, f"rows have {min(width)} to {max(width)} columns")
    text = "\n".join(row_line(row) for row in rows)
    name = path.rsplit("/", 1)[-1]
    return _rendered(path, text, text, (Table(name, rows),), warnings)


def read_html(path: str, data: bytes) -> Rendered:
    """Visible text of a page."""
    raw, warnings = decode(data)
    text = html_text(raw)
    return _rendered(path, text, text, (), warnings)


def html_text(source: str) -> str:
    """Visible text of HTML, one block a line, table cells separated by " | "."""
    parser = _Visible()
    parser.feed(source)
    parser.close()
    lines = (" ".join(line.split()).removesuffix(" |") for line in "".join(parser.parts).splitlines())
    return "\n".join(line for line in lines if line)


class _Visible(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._skip = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style", "head"):
            self._skip += 1
        if tag in _BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style", "head"):
            self._skip = max(0, self._skip - 1)
        if tag in ("td", "th"):
            self.parts.append(" | ")
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.parts.append(" ".join(data.split("\n")))


def _pipe_tables(text: str) -> list[Table]:
    tables: list[Table] = []
    rows: list[tuple[str, ...]] = []
    for line in [*text.splitlines(), ""]:
        if line.count("|") >= (1 if rows else 2) or line.strip().startswith("|"):
            if not _RULE.match(line):
                rows.append(_pipe_row(line))
        elif rows:
            tables.append(Table(f"table {len(tables) + 1}", tuple(rows)))
            rows = []
    return tables


def _pipe_row(line: str) -> tuple[str, ...]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return tuple(strip_markup(cell.replace("\\|", "|")) for cell in _ESCAPED_PIPE.split(inner))


def _plain_line(line: str) -> str:
    if _RULE.match(line) and "|" in line:
        return ""
    return row_line(_pipe_row(line)) if line.strip().startswith("|") else line


def _rendered(path: str, text: str, plain: str, tables: tuple[Table, ...], warnings: tuple[str, ...]) -> Rendered:
    return Rendered(path, kind_of(path), text, plain, plain, tables, warnings=warnings)
