"""A Word document as text: body, tables, headers, footers, notes, comments, and tracked changes in three views.

Views: `current` (all tracked changes accepted), `original` (all rejected), `all` ([+added+] and [-deleted-] marked).
Deleted and inserted text are never glued together.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple
from xml.etree.ElementTree import Element

from journeyman.office.docx_numbering import Numbering, NumberingPart, numbering_part
from journeyman.office.package import MC, Package, W, parse
from journeyman.office.rendered import Rendered, Table, row_line

View = Literal["current", "original", "all"]
_ADDED = {f"{W}ins", f"{W}moveTo"}
_REMOVED = {f"{W}del", f"{W}moveFrom"}
_CONTAINERS = {f"{W}hyperlink", f"{W}smartTag", f"{W}sdt", f"{W}sdtContent", f"{W}fldSimple", f"{W}customXml"}
_CHANGES = (*_ADDED, *_REMOVED)
_FIXED = {
    f"{W}tab": "\t",
    f"{W}br": "\n",
    f"{W}cr": "\n",
    f"{W}noBreakHyphen": "-",
    f"{W}softHyphen": "",
    f"{W}ptab": "\t",
}


def read(path: str, data: bytes) -> Rendered:
    """Read a docx. Raises what `package.DAMAGE` lists when the bytes are not one."""
    package = Package(data)
    main = package.main_part()
    document = package.xml(main)
    body = document.find(f"{W}body") if document is not None else None
    if document is None or body is None:
        raise ValueError("no document body")
    relations = package.relations(main)
    parts = [(r.kind, r.target) for r in relations.values()]
    styles = package.read_first(t for k, t in parts if k == "styles")
    numbering = package.read_first(t for k, t in parts if k == "numbering")
    story = _Stories(
        _styles(styles) if styles else _Styles({}, {}), _list_levels(numbering) if numbering else NumberingPart()
    )
    sides = _sides(package, parts)
    notes = _notes(package, parts)
    tracked = any(_has_changes(root) for root in (body, *(e for _, e in sides), *(e for _, e in notes)))

    current = story.whole(body, sides, notes, "current")
    original = story.whole(body, sides, notes, "original") if tracked else current
    marked = story.whole(body, sides, notes, "all") if tracked else current
    text = [marked]
    comments = _comments(package, parts, body)
    if comments:
        text.append("## Comments\n" + "\n".join(comments))
    if tracked:
        text.append("## Tracked changes\n" + "\n".join(_changes(body)))
    warnings = ("tracked changes are pending",) if tracked else ()
    tables = tuple(story.tables(body))
    return Rendered(path, "docx", "\n\n".join(text), current, original, tables, warnings=warnings)


class _Styles(NamedTuple):
    headings: dict[str, int]  # style id -> heading level 1..6; Title counts as 1
    lists: dict[str, tuple[str, int]]  # style id -> list id and level


class _Stories:
    """Reads stories (body, header, note) with the document's headings and list numbers."""

    def __init__(self, styles: _Styles, lists: NumberingPart) -> None:
        self._styles = styles
        self._lists = lists
        self._numbering = Numbering(lists, styles.lists)

    def whole(
        self, body: Element, sides: list[tuple[str, Element]], notes: list[tuple[str, Element]], view: View
    ) -> str:
        """Headers, body, footers and notes under one view."""
        self._numbering = Numbering(self._lists, self._styles.lists)
        blocks: list[str] = []
        for name, root in sides:
            if name == "header" and (content := self.story(root, view)):
                blocks.append("\n".join(f"[header] {line}" for line in content.splitlines()))
        blocks.append(self.story(body, view))
        for label, note in notes:
            if content := self.story(note, view).strip():
                blocks.append(f"[{label}] {content}")
        for name, root in sides:
            if name == "footer" and (content := self.story(root, view)):
                blocks.append("\n".join(f"[footer] {line}" for line in content.splitlines()))
        return "\n\n".join(block for block in blocks if block)

    def story(self, root: Element, view: View) -> str:
        """Text of the blocks below `root`, tables as rows of " | "-separated cells."""
        blocks: list[str] = []
        for block in _blocks(root):
            if block.tag == f"{W}tbl":
                lines = [row_line(row) for row in self._rows(block, view)]
                blocks.append("\n".join(line for line in lines if line))
            else:
                blocks.append(self._paragraph(block, view))
        return "\n".join(block for block in blocks if block.strip())

    def tables(self, root: Element) -> Iterator[Table]:
        """Tables of the current view, in document order, nested ones after their parent."""
        for number, table in enumerate(root.iter(f"{W}tbl"), start=1):
            yield Table(f"table {number}", tuple(self._rows(table, "current")))

    def _rows(self, table: Element, view: View) -> Iterator[tuple[str, ...]]:
        above: dict[int, str] = {}
        for row in _children(table, f"{W}tr"):
            if _row_gone(row, view):
                continue
            cells: list[str] = []
            for cell in _children(row, f"{W}tc"):
                properties = cell.find(f"{W}tcPr")
                span, merged = _spans(properties)
                text = above.get(len(cells), "") if merged else self.story(cell, view)
                above[len(cells)] = text
                cells += [text, *[""] * (span - 1)]
            yield tuple(cells)

    def _paragraph(self, paragraph: Element, view: View) -> str:
        text = _inline(paragraph, view)
        for box in _text_boxes(paragraph):
            text += "\n[text box] " + self.story(box, view)
        properties = paragraph.find(f"{W}pPr")
        style = properties.find(f"{W}pStyle") if properties is not None else None
        name = style.get(f"{W}val", "") if style is not None else ""
        label = self._numbering.label(properties, name)
        level = self._styles.headings.get(name, 0)
        if not text.strip():
            return ""
        return f"{'#' * level} {label}{text}" if level else f"{label}{text}"


def _blocks(root: Element) -> Iterator[Element]:
    """Paragraphs and tables directly in a story, through content controls and tracked blocks."""
    for child in root:
        if child.tag in (f"{W}p", f"{W}tbl"):
            yield child
        elif child.tag in _CONTAINERS or child.tag in _CHANGES:
            yield from _blocks(child)


def _children(parent: Element, tag: str) -> Iterator[Element]:
    """Children `tag`, also inside content controls and custom XML."""
    for child in parent:
        if child.tag == tag:
            yield child
        elif child.tag in _CONTAINERS:
            yield from _children(child, tag)


def _text_boxes(node: Element) -> Iterator[Element]:
    """Text boxes anchored below `node`, without the fallback copies older readers get."""
    for child in node:
        if child.tag == f"{W}txbxContent":
            yield child
        elif child.tag != f"{MC}Fallback":
            yield from _text_boxes(child)


def _inline(node: Element, view: View) -> str:
    parts: list[str] = []
    for child in node:
        tag = child.tag
        if tag == f"{W}r":
            parts.append(_run(child, view))
        elif tag in _ADDED:
            if view != "original" and (inner := _inline(child, view)):
                parts.append(f"[+{inner}+]" if view == "all" else inner)
        elif tag in _REMOVED:
            if view != "current" and (inner := _inline(child, view)):
                parts.append(f"[-{inner}-]" if view == "all" else inner)
        elif tag in _CONTAINERS:
            parts.append(_inline(child, view))
    return "".join(parts)


def _run(run: Element, view: View) -> str:
    parts: list[str] = []
    for child in run:
        tag = child.tag
        if tag in (f"{W}t", f"{W}delText"):
            parts.append(child.text or "")
        elif tag in _FIXED:
            parts.append(_FIXED[tag])
        elif tag in (f"{W}footnoteReference", f"{W}endnoteReference"):
            prefix = "fn" if tag == f"{W}footnoteReference" else "en"
            parts.append(f"[{prefix}{child.get(f'{W}id', '')}]")
        elif tag == f"{W}commentReference" and view == "all":
            parts.append(f"[comment {child.get(f'{W}id', '')}]")
        elif tag == f"{W}sym":
            parts.append(_symbol(child))
    return "".join(parts)


def _symbol(symbol: Element) -> str:
    code = int(symbol.get(f"{W}char", "0"), 16)
    return "[symbol]" if 0xF000 <= code <= 0xF0FF else chr(code)


def _spans(properties: Element | None) -> tuple[int, bool]:
    """Columns a cell covers, and whether it continues the cell above."""
    if properties is None:
        return 1, False
    grid = properties.find(f"{W}gridSpan")
    merge = properties.find(f"{W}vMerge")
    span = int(grid.get(f"{W}val", "1")) if grid is not None else 1
    return min(span, 63), merge is not None and merge.get(f"{W}val", "continue") == "continue"


def _row_gone(row: Element, view: View) -> bool:
    properties = row.find(f"{W}trPr")
    if properties is None or view == "all":
        return False
    return properties.find(f"{W}del" if view == "current" else f"{W}ins") is not None


@lru_cache(maxsize=32)
def _styles(part: bytes) -> _Styles:
    """What paragraph styles mean. Cached: documents of one template share this part."""
    read = _Styles({}, {})
    for style in parse(part).iter(f"{W}style"):
        style_id = style.get(f"{W}styleId", "")
        name_element = style.find(f"{W}name")
        name = (name_element.get(f"{W}val", "") if name_element is not None else "").lower()
        if name.startswith("heading ") and name[8:].isdigit():
            read.headings[style_id] = min(int(name[8:]), 6)
        elif name == "title":
            read.headings[style_id] = 1
        list_id, level = style.find(f".//{W}numId"), style.find(f".//{W}numPr/{W}ilvl")
        if list_id is not None:
            depth = int(level.get(f"{W}val", "0")) if level is not None else 0
            read.lists[style_id] = (list_id.get(f"{W}val", "0"), depth)
    return read


@lru_cache(maxsize=32)
def _list_levels(numbering: bytes) -> NumberingPart:
    return numbering_part(parse(numbering))


def _sides(package: Package, parts: list[tuple[str, str]]) -> list[tuple[str, Element]]:
    found = ((kind, package.xml(target)) for kind, target in parts if kind in ("header", "footer"))
    return [(kind, root) for kind, root in found if root is not None]


def _notes(package: Package, parts: list[tuple[str, str]]) -> list[tuple[str, Element]]:
    notes: list[tuple[str, Element]] = []
    for kind, target in parts:
        if kind not in ("footnotes", "endnotes"):
            continue
        root = package.xml(target)
        for note in root if root is not None else ():
            if note.get(f"{W}type") is None:  # separators have one
                notes.append((f"{'fn' if kind == 'footnotes' else 'en'}{note.get(f'{W}id', '')}", note))
    return notes


def _comments(package: Package, parts: list[tuple[str, str]], body: Element) -> list[str]:
    root = package.xml(next((target for kind, target in parts if kind == "comments"), ""))
    if root is None:
        return []
    anchors = _anchors(body)
    lines: list[str] = []
    for comment in root.iter(f"{W}comment"):
        number = comment.get(f"{W}id", "")
        text = " / ".join(filter(None, (_inline(p, "current") for p in comment.iter(f"{W}p"))))
        on = f' on "{anchors[number]}"' if anchors.get(number) else ""
        who = f"{comment.get(f'{W}author', '')} {comment.get(f'{W}date', '')[:10]}".strip()
        lines.append(f"[comment {number}, {who}{on}] {text}")
    return lines


def _anchors(body: Element) -> dict[str, str]:
    """Commented text by comment id."""
    opened: dict[str, list[str]] = {}
    closed: dict[str, str] = {}
    for node in body.iter():
        if node.tag == f"{W}commentRangeStart":
            opened[node.get(f"{W}id", "")] = []
        elif node.tag == f"{W}commentRangeEnd":
            closed[node.get(f"{W}id", "")] = "".join(opened.pop(node.get(f"{W}id", ""), []))
        elif node.tag == f"{W}t" and opened:
            for parts in opened.values():
                parts.append(node.text or "")
    return closed


def _has_changes(root: Element) -> bool:
    return any(node.tag in _CHANGES for node in root.iter())


def _changes(body: Element) -> list[str]:
    lines: list[str] = []
    for node in body.iter():
        if node.tag in _CHANGES:
            kind = "inserted" if node.tag in _ADDED else "deleted"
            text = _inline(node, "all")
            who = f"{node.get(f'{W}author', '')} {node.get(f'{W}date', '')[:10]}".strip()
            if text:
                lines.append(f'[{who}] {kind} "{text}"')
    return lines
