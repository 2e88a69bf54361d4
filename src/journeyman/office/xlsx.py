"""A workbook as text, rows and cells: values as shown, formulas beside them, hidden sheets and comments marked.

A formula nobody has calculated reads `=SUM(B2:B9) -> [not calculated]`; it is never NaN, zero or empty.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from journeyman.office.package import Package, R, S, Unreadable
from journeyman.office.rendered import Cell, Rendered, Table, column_letters, column_number, row_line
from journeyman.office.xlsx_format import BUILT_IN, is_date, iso_date, plain_number, show

MAX_ROWS = 20_000  # per sheet; more is cut with a warning
MAX_COLUMNS = 512
_ADDRESS = re.compile(r"([A-Z]{1,3})(\d{1,7})$")
_REFERENCE = re.compile(r"(?<![A-Za-z0-9_.'])(\$?)([A-Z]{1,3})(\$?)(\d{1,7})(?![A-Za-z0-9_(.!])")


class _Sheet(NamedTuple):
    name: str
    hidden: bool
    cells: dict[str, Cell]
    rows: tuple[tuple[str, ...], ...]  # row i of the tuple is sheet row i + 1
    comments: tuple[str, ...]
    notes: tuple[str, ...]  # merged ranges, cut rows


class _Book(NamedTuple):
    strings: tuple[str, ...]
    formats: tuple[str, ...]  # cell style index -> number format code
    date_1904: bool


def read(path: str, data: bytes) -> Rendered:
    """Read an xlsx. Raises what `package.DAMAGE` lists when the bytes are not one."""
    package = Package(data)
    main = package.main_part()
    workbook = package.xml(main)
    if workbook is None or workbook.tag != f"{S}workbook":
        raise Unreadable("no workbook part")
    relations = package.relations(main)
    parts = {relation.kind: relation.target for relation in relations.values()}
    properties = workbook.find(f"{S}workbookPr")
    flag = properties.get("date1904", "0") if properties is not None else "0"
    book = _Book(
        _strings(package.xml(parts.get("sharedStrings", ""))),
        _formats(package.xml(parts.get("styles", ""))),
        flag in ("1", "true"),
    )
    sheets = list(_sheets(package, workbook, {i: r.target for i, r in relations.items()}, book))
    names = [
        f"{name.get('name')} = {name.text}"
        for name in workbook.iter(f"{S}definedName")
        if name.text and not name.get("name", "").startswith("_xlnm")
    ]
    text = [_marked(sheet) for sheet in sheets]
    if names:
        text.append("## Defined names\n" + "\n".join(names))
    plain = "\n\n".join(_plain(sheet) for sheet in sheets if not sheet.hidden)
    return Rendered(
        path, "xlsx", "\n\n".join(text), plain, plain,
        tuple(Table(sheet.name, sheet.rows, sheet.hidden) for sheet in sheets),
        {sheet.name: sheet.cells for sheet in sheets},
        tuple(_warnings(sheets)),
    )  # fmt: skip


def _warnings(sheets: list[_Sheet]) -> Iterator[str]:
    uncached = sum(cell.formula is not None and cell.value is None for s in sheets for cell in s.cells.values())
    if uncached:
        yield f"{uncached} formulas are not calculated"
    errors = [
        f"{s.name}!{address}"
        for s in sheets
        for address, cell in s.cells.items()
        if isinstance(cell.value, str) and cell.value.startswith("#") and cell.text == cell.value and cell.formula
    ]
    if errors:
        yield f"formula errors in {', '.join(errors[:10])}"
    for sheet in sheets:
        if sheet.hidden:
            yield f"sheet {sheet.name} is hidden"
        yield from (note for note in sheet.notes if "cut" in note)


def _marked(sheet: _Sheet) -> str:
    """For a judge: row numbers, formulas beside values, comments."""
    lines = [f"## Sheet: {sheet.name}{' (hidden)' if sheet.hidden else ''}"]
    for number, row in enumerate(sheet.rows, start=1):
        if not any(row):
            continue
        shown = []
        for column, text in enumerate(row, start=1):
            cell = sheet.cells.get(f"{column_letters(column)}{number}")
            if cell and cell.formula and cell.value is not None:
                text = f"{text} [{cell.formula}]"
            shown.append(text)
        lines.append(f"{number}: {row_line(shown)}")
    lines += sheet.notes
    lines += sheet.comments
    return "\n".join(lines)


def _plain(sheet: _Sheet) -> str:
    return "\n".join([sheet.name, *(row_line(row) for row in sheet.rows if any(row))])


def _sheets(package: Package, workbook: Element, targets: dict[str, str], book: _Book) -> Iterator[_Sheet]:
    for item in workbook.iter(f"{S}sheet"):
        part = targets.get(item.get(f"{R}id", ""), "")
        root = package.xml(part)
        if root is None or root.tag != f"{S}worksheet":  # chart sheets have no cells
            continue
        cells, cut = _cells(root, book)
        notes = [f"merged: {m.get('ref')}" for m in root.iter(f"{S}mergeCell")]
        if cut:
            notes.append(f"sheet {item.get('name')} cut at {MAX_ROWS} rows and {MAX_COLUMNS} columns")
        comments = _comments(package, [r.target for r in package.relations(part).values() if r.kind == "comments"])
        yield _Sheet(
            item.get("name", ""), item.get("state", "visible") != "visible", cells, _rows(cells), comments, tuple(notes)
        )


def _cells(root: Element, book: _Book) -> tuple[dict[str, Cell], bool]:
    cells: dict[str, Cell] = {}
    shared: dict[str, tuple[str, int, int]] = {}
    cut = False
    row_number = 0
    for row in root.iter(f"{S}row"):
        row_number = int(row.get("r", row_number + 1))
        column = 0
        for item in row:
            if item.tag != f"{S}c":
                continue
            match = _ADDRESS.match(item.get("r", ""))
            column = column_number(match[1]) if match else column + 1
            if row_number > MAX_ROWS or column > MAX_COLUMNS:
                cut = True
                continue
            formula = _formula(item.find(f"{S}f"), shared, row_number, column)
            cell = _cell(item, formula, book)
            if cell is not None:
                cells[f"{column_letters(column)}{row_number}"] = cell
    return cells, cut


def _cell(item: Element, formula: str | None, book: _Book) -> Cell | None:
    kind = item.get("t", "n")
    stored = item.find(f"{S}v")
    raw = stored.text if stored is not None else None
    if kind == "inlineStr":
        inline = item.find(f"{S}is")
        raw = _rich_text(inline) if inline is not None else None
    if raw is None or (raw == "" and formula):
        return Cell(None, f"{formula} -> [not calculated]", formula) if formula else None
    if kind == "s":
        text = book.strings[int(raw)]
        return Cell(text, text, formula)
    if kind in ("str", "inlineStr", "e", "d"):
        return Cell(raw, raw, formula)
    if kind == "b":
        return Cell(raw == "1", "TRUE" if raw == "1" else "FALSE", formula)
    number = float(raw)
    if number != number or number in (float("inf"), float("-inf")):
        return Cell(None, f"{formula or raw} -> [not calculated]", formula)
    code = book.formats[int(item.get("s", "0"))] if book.formats else "General"
    if is_date(code) and 0 <= number < 2_958_466:
        text = iso_date(number, code, book.date_1904)
        return Cell(text, text, formula)
    value = int(number) if number == int(number) and abs(number) < 1e15 else number
    return Cell(value, show(value, code) or plain_number(value), formula)


def _formula(item: Element | None, shared: dict[str, tuple[str, int, int]], row: int, column: int) -> str | None:
    """Formula text with "="; a shared formula is moved to this cell."""
    if item is None:
        return None
    text = item.text or ""
    group = item.get("si", "")
    if item.get("t") == "shared":
        if text:
            shared[group] = (text, row, column)
        elif group in shared:
            origin, origin_row, origin_column = shared[group]
            text = _moved(origin, row - origin_row, column - origin_column)
    return f"={text}" if text else None


def _moved(formula: str, rows: int, columns: int) -> str:
    def move(match: re.Match[str]) -> str:
        letters = match[2] if match[1] else column_letters(column_number(match[2]) + columns)
        number = match[4] if match[3] else str(int(match[4]) + rows)
        return f"{match[1]}{letters}{match[3]}{number}"

    pieces = re.split(r'("[^"]*")', formula)
    return "".join(p if p.startswith('"') else _REFERENCE.sub(move, p) for p in pieces)


def _rows(cells: dict[str, Cell]) -> tuple[tuple[str, ...], ...]:
    places = []
    for address, cell in cells.items():
        match = _ADDRESS.match(address)
        if match:
            places.append((int(match[2]), column_number(match[1]), cell.text))
    if not places:
        return ()
    by_row: dict[int, list[tuple[int, str]]] = {}
    for row, column, text in places:
        by_row.setdefault(row, []).append((column, text))
    rows: list[tuple[str, ...]] = []
    for number in range(1, max(by_row) + 1):
        filled = by_row.get(number, [])
        line = [""] * max((column for column, _ in filled), default=0)
        for column, text in filled:
            line[column - 1] = text
        rows.append(tuple(line))
    return tuple(rows)


def _comments(package: Package, parts: list[str]) -> tuple[str, ...]:
    lines: list[str] = []
    for part in parts:
        root = package.xml(part)
        if root is None:
            continue
        authors = [a.text or "" for a in root.iter(f"{S}author")]
        for comment in root.iter(f"{S}comment"):
            index = int(comment.get("authorId", "0"))
            author = authors[index] if index < len(authors) else ""
            body = comment.find(f"{S}text")
            text = " ".join(_rich_text(body).split()) if body is not None else ""
            lines.append(f"[comment {comment.get('ref', '')}{', ' + author if author else ''}] {text}")
    return tuple(lines)


def _rich_text(item: Element) -> str:
    """Text of a string item, without phonetic hints."""
    parts: list[str] = []
    for child in item:
        if child.tag == f"{S}t":
            parts.append(child.text or "")
        elif child.tag == f"{S}r":
            parts += [t.text or "" for t in child.iter(f"{S}t")]
    return "".join(parts)


def _strings(root: Element | None) -> tuple[str, ...]:
    return tuple(_rich_text(item) for item in root.iter(f"{S}si")) if root is not None else ()


def _formats(root: Element | None) -> tuple[str, ...]:
    if root is None:
        return ()
    custom = {int(f.get("numFmtId", "0")): f.get("formatCode", "General") for f in root.iter(f"{S}numFmt")}
    styles = root.find(f"{S}cellXfs")
    ids = [int(x.get("numFmtId", "0")) for x in styles] if styles is not None else []
    return tuple(custom.get(i) or BUILT_IN.get(i, "General") for i in ids)
