"""Deliverables with other values in the same places: text line by line, docx, xlsx and pptx by run and by cell.

Invariant: only values of fields change, never a key or what stands beside it; a kind that cannot be written gives None.
"""

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from html import escape, unescape

from journeyman.office.rendered import Rendered, kind_of

Change = Callable[[str, str], str | None]  # (key, value) -> another value, None: leave it
_TEXT = frozenset({"txt", "md", "csv", "tsv", "json", "html", "htm", "eml", ""})
_OFFICE = {"docx": "word/document.xml", "xlsx": "xl/", "pptx": "ppt/slides/"}
_ROW = re.compile(r"(\s*\|)([^|]*)(\|)([^|]*)(\|.*)")
_NODE = re.compile(r">([^<>]+)<")
_CELL = re.compile(r"<c\b(?![^>]*\bt=\"s\")[^>]*>.*?</c>", re.S)
_VALUE = re.compile(r"(<v>)([^<]*)(</v>)")


def changed_values(document: Rendered, change: Change) -> dict[str, str]:
    """Old value -> new one, for every field of the document that `change` would alter."""
    wanted = ((field.value, change(field.key, field.value)) for field in document.fields)
    return {old: new for old, new in wanted if new is not None and new != old}


def rewritten(document: Rendered, data: bytes, change: Change) -> bytes | None:
    """The file with the values of its fields changed; None where nothing would change or its kind cannot be written."""
    kind = kind_of(document.path)
    if kind in _TEXT:
        made = _lines(data.decode("utf-8", errors="replace"), change).encode()
    elif kind in _OFFICE:
        made = _package(data, _OFFICE[kind], changed_values(document, change))
    else:
        return None
    return made if made != data else None


def _lines(text: str, change: Change) -> str:
    return "\n".join(_line(line, change) for line in text.split("\n"))


def _line(line: str, change: Change) -> str:
    """A `key: value` line, or a row of a table whose first cell is the key and whose second is the value."""
    row = _ROW.fullmatch(line)
    if row is not None:
        other = change(row[2].strip(), row[4].strip()) if row[4].strip(" -:") else None
        return line if other is None else f"{row[1]}{row[2]}{row[3]} {other} {row[5]}"
    key, colon, value = line.partition(":")
    other = change(key.strip(" -*#"), value.strip()) if colon and value.strip() else None
    return line if other is None else f"{key}: {other}"


def _package(data: bytes, folder: str, values: Mapping[str, str]) -> bytes:
    if not values:
        return data
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for item in source.infolist():
            part = source.read(item)
            if item.filename.startswith(folder) and item.filename.endswith(".xml"):
                part = _part(part.decode(), item.filename, values).encode()
            made.writestr(zipfile.ZipInfo(item.filename), part)
    return target.getvalue()


def _part(xml: str, name: str, values: Mapping[str, str]) -> str:
    def node(match: re.Match[str]) -> str:
        text = unescape(match[1])
        other = values.get(text.strip())
        return match[0] if other is None else f">{escape(text.replace(text.strip(), other), quote=False)}<"

    if not name.startswith("xl/worksheets/"):
        return _NODE.sub(node, xml)

    def cell(match: re.Match[str]) -> str:
        return _VALUE.sub(lambda v: f"{v[1]}{_number(values.get(v[2]), v[2])}{v[3]}", match[0])

    return _CELL.sub(cell, xml)


def _number(other: str | None, stored: str) -> str:
    return stored if other is None else other.replace(",", "")
