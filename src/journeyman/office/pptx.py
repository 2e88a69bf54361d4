"""A deck as text: slides in show order with titles, text, tables, chart data and notes; hidden slides marked."""

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from journeyman.office.package import MC, A, C, P, Package, R, Unreadable
from journeyman.office.rendered import Rendered, Table, row_line
from journeyman.office.xlsx_format import show

_TITLES = ("title", "ctrTitle")
_FURNITURE = ("sldNum", "dt", "ftr")


class _Slide(NamedTuple):
    number: int
    hidden: bool
    blocks: tuple[str, ...]
    notes: str
    comments: tuple[str, ...]
    tables: tuple[Table, ...]


def read(path: str, data: bytes) -> Rendered:
    """Read a pptx. Raises what `package.DAMAGE` lists when the bytes are not one."""
    package = Package(data)
    main = package.main_part()
    deck = package.xml(main)
    if deck is None or deck.tag != f"{P}presentation":
        raise Unreadable("no presentation part")
    relations = package.relations(main)
    slides: list[_Slide] = []
    for number, item in enumerate(deck.iter(f"{P}sldId"), start=1):
        relation = relations.get(item.get(f"{R}id", ""))
        if relation is not None:
            slides.append(_slide(package, relation.target, number))
    text = "\n\n".join(_marked(slide) for slide in slides)
    plain = "\n\n".join("\n".join(filter(None, (*s.blocks, s.notes))) for s in slides if not s.hidden)
    tables = tuple(table for slide in slides for table in slide.tables)
    hidden = tuple(f"slide {slide.number} is hidden" for slide in slides if slide.hidden)
    return Rendered(path, "pptx", text, plain, plain, tables, warnings=hidden)


def _marked(slide: _Slide) -> str:
    lines = [f"## Slide {slide.number}{' (hidden)' if slide.hidden else ''}", *slide.blocks]
    if slide.notes:
        lines.append(f"[notes] {slide.notes}")
    return "\n".join([*lines, *slide.comments])


def _slide(package: Package, part: str, number: int) -> _Slide:
    root = package.xml(part)
    if root is None:
        raise Unreadable(f"slide part {part} is missing")
    relations = package.relations(part)
    hidden = root.get("show") == "0"
    blocks: list[str] = []
    tables: list[Table] = []
    charts = {i: r.target for i, r in relations.items() if r.kind == "chart"}
    for shape in _shapes(root):
        if shape.tag == f"{P}graphicFrame":
            for rows in _frame_tables(shape, package, charts):
                tables.append(Table(f"slide {number} table {len(tables) + 1}", rows, hidden))
                blocks.append("\n".join(row_line(row) for row in rows))
        elif text := _shape_text(shape):
            blocks.append(text)
    notes = ""
    comments: list[str] = []
    for relation in relations.values():
        if relation.kind == "notesSlide" and (note := package.xml(relation.target)) is not None:
            notes = "\n".join(filter(None, (_shape_text(s) for s in _shapes(note))))
        elif relation.kind == "comments" and (found := package.xml(relation.target)) is not None:
            comments += [f"[comment] {text}" for text in _comment_texts(found)]
    return _Slide(number, hidden, tuple(blocks), notes, tuple(comments), tuple(tables))


def _shapes(node: Element) -> Iterator[Element]:
    """Text shapes and frames in drawing order, through groups, without fallback copies."""
    for child in node:
        if child.tag in (f"{P}sp", f"{P}graphicFrame"):
            yield child
        elif child.tag != f"{MC}Fallback":
            yield from _shapes(child)


def _shape_text(shape: Element) -> str:
    holder = shape.find(f".//{P}nvPr/{P}ph")
    kind = holder.get("type", "") if holder is not None else ""
    body = shape.find(f"{P}txBody")
    if body is None or kind in _FURNITURE or kind == "sldImg":
        return ""
    text = "\n".join(filter(None, (_paragraph(p) for p in body.iter(f"{A}p"))))
    return f"# {text}" if text and kind in _TITLES else text


def _paragraph(paragraph: Element) -> str:
    parts: list[str] = []
    for child in paragraph:
        if child.tag in (f"{A}r", f"{A}fld"):
            parts += [t.text or "" for t in child.iter(f"{A}t")]
        elif child.tag == f"{A}br":
            parts.append(" ")
    properties = paragraph.find(f"{A}pPr")
    indent = "  " * int(properties.get("lvl", "0")) if properties is not None else ""
    text = "".join(parts).strip()
    return f"{indent}{text}" if text else ""


def _frame_tables(frame: Element, package: Package, charts: dict[str, str]) -> Iterator[tuple[tuple[str, ...], ...]]:
    for table in frame.iter(f"{A}tbl"):
        yield tuple(_table_rows(table))
    for reference in frame.iter(f"{C}chart"):
        chart = package.xml(charts.get(reference.get(f"{R}id", ""), ""))
        if chart is not None:
            yield tuple(_chart_rows(chart))


def _table_rows(table: Element) -> Iterator[tuple[str, ...]]:
    above: dict[int, str] = {}
    for row in table.iter(f"{A}tr"):
        cells: list[str] = []
        for column, cell in enumerate(row.iter(f"{A}tc")):
            text = " ".join(filter(None, (_paragraph(p) for p in cell.iter(f"{A}p"))))
            if cell.get("vMerge") in ("1", "true"):
                text = above.get(column, "")
            above[column] = text
            cells.append("" if cell.get("hMerge") in ("1", "true") else text)
        yield tuple(cells)


def _chart_rows(chart: Element) -> Iterator[tuple[str, ...]]:
    """Title row, then a header of series names, then one row per category, from the chart's cached data."""
    title = chart.find(f"{C}chart/{C}title")
    if title is not None and (text := "".join(t.text or "" for t in title.iter(f"{A}t"))):
        yield (f"[chart] {text}",)
    series = list(chart.iter(f"{C}ser"))
    names = [_points(s, "tx").get(0, "") for s in series]
    yield ("[chart data]", *names)
    labels: dict[int, str] = {}
    values: list[dict[int, str]] = []
    for one in series:
        labels = labels or _points(one, "cat") or _points(one, "xVal")
        values.append(_points(one, "val") or _points(one, "yVal"))
    for index in sorted({i for points in (labels, *values) for i in points}):
        yield (labels.get(index, ""), *(points.get(index, "") for points in values))


def _points(series: Element, role: str) -> dict[int, str]:
    holder = series.find(f"{C}{role}")
    if holder is None:
        return {}
    code = next((f.text for f in holder.iter(f"{C}formatCode") if f.text), "General")
    found: dict[int, str] = {}
    for point in holder.iter(f"{C}pt"):
        value = point.find(f"{C}v")
        text = (value.text or "") if value is not None else ""
        found[int(point.get("idx", "0"))] = _number(text, code) if holder.find(f".//{C}numCache") is not None else text
    literal = holder.find(f"{C}v")
    return found or ({0: literal.text or ""} if literal is not None else {})


def _number(text: str, code: str) -> str:
    number = float(text)
    return show(number, code) if number == number else text


def _comment_texts(root: Element) -> Iterator[str]:
    for node in root.iter():
        if node.tag == f"{P}text" and node.text:
            yield node.text
        elif node.tag.endswith("}txBody"):
            yield " ".join(t.text or "" for t in node.iter(f"{A}t"))
