"""A catalogue of somebody's own documents: what each is, whether it may and can be used, and why not (C-05, X-05).

Invariant: what is met is either a source or dropped with a reason; nothing from outside the folder is read, nor what
is hidden or no regular file, and the same folder gives the same catalogue anywhere and at any time.
"""

import io
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from journeyman.errors import UserError
from journeyman.grading.text import fold
from journeyman.office.render import render
from journeyman.office.rendered import Rendered, kind_of
from journeyman.records.base import Record, sha256_hex

READABLE = frozenset({"docx", "xlsx", "pptx", "pdf", "csv", "tsv", "txt", "md", "eml", "html", "htm"})
MIN_WORDS = 12
MAX_BYTES = 4_000_000
_LICENCE = re.compile(r"^(licen[cs]e|copying)(\.\w+)?$", re.I)
_DATE = re.compile(r"(?<!\d)(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?!\d)")
_MODIFIED = "{http://purl.org/dc/terms/}modified"


class Source(Record):
    """One usable document."""

    path: str  # relative to the folder
    sha256: str
    bytes: int
    kind: str
    licence: str
    as_of: str  # ISO date the document gives for itself; "" where it gives none
    words: int
    tables: int
    provenance: str = "user"


class Dropped(Record):
    """One document that is not used, and why."""

    path: str
    sha256: str  # "" where it was not read
    reason: str


class Catalogue(Record):
    """Everything in a folder."""

    sources: tuple[Source, ...]
    dropped: tuple[Dropped, ...]


def catalogue(folder: Path, licence: str = "") -> Catalogue:
    """Read a folder. `licence` names the terms of all of it where no licence file beside a document does.

    Raises UserError where the folder is none.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder of documents")
    sources: list[Source] = []
    dropped: list[Dropped] = []
    seen: dict[str, str] = {}
    for path in _within(folder):
        name = path.relative_to(folder).as_posix()
        if reason := _left_out(path, name, folder):
            dropped.append(Dropped(path=_shown(name), sha256="", reason=reason))
            continue
        data = path.read_bytes()
        terms = licence or _licence_of(path, folder)
        document = render(name, data) if kind_of(name) in READABLE else None
        content = sha256_hex(fold(document.plain).encode()) if document else ""
        reason = _unusable(name, document, terms) or (f"says what {seen[content]} says" if content in seen else "")
        if reason or document is None:
            dropped.append(Dropped(path=name, sha256=sha256_hex(data), reason=reason))
            continue
        seen[content] = name
        sources.append(_source(name, data, document, terms))
    return Catalogue(sources=tuple(sources), dropped=tuple(dropped))


def _within(folder: Path) -> list[Path]:
    """What lies in a folder and below it, in order, but terms; a folder that is not gone into stands for all in it."""
    found = []
    for base, folders, names in os.walk(folder):
        closed = [name for name in folders if _left_out(Path(base, name), "", folder)]
        folders[:] = [name for name in folders if name not in closed]
        found += [Path(base, name) for name in (*names, *closed) if not _is_licence(Path(base, name), folder)]
    return sorted(found)


def _left_out(path: Path, name: str, folder: Path) -> str:
    """Why what stands at a path is not read at all; "" for a file of the folder that may be, or a folder of it."""
    if _shown(name) != name:
        return "its name is not text"
    if path.name.startswith("."):
        return "it is hidden"
    if path.is_symlink() and not path.exists():
        return "a link to nothing"
    if not path.resolve().is_relative_to(folder.resolve()):
        return "a link that leaves the folder"
    if path.is_dir() and path.is_symlink():
        return "a link to a folder"
    if not path.is_dir() and not path.is_file():
        return "no regular file"
    if not os.access(path, os.R_OK):
        return "it cannot be read: change its permissions"
    size = 0 if path.is_dir() else path.stat().st_size
    return f"{size:,} bytes, at most {MAX_BYTES:,}" if size > MAX_BYTES else ""


def _shown(name: str) -> str:
    """A name as text: bytes of it that are none as escapes."""
    return os.fsencode(name).decode(errors="backslashreplace")


def _is_licence(path: Path, folder: Path) -> bool:
    return bool(_LICENCE.match(path.name)) and path.is_file() and path.resolve().is_relative_to(folder.resolve())


def _source(name: str, data: bytes, document: Rendered, terms: str) -> Source:
    return Source(
        path=name,
        sha256=sha256_hex(data),
        bytes=len(data),
        kind=kind_of(name),
        licence=terms,
        as_of=_as_of(name, data, document),
        words=len(document.plain.split()),
        tables=sum(not table.hidden for table in document.tables),
    )


def _unusable(name: str, document: Rendered | None, terms: str) -> str:
    if document is None:
        return f"cannot be read as {kind_of(name) or 'a document'}"
    if not document.plain.strip():
        return document.warnings[0] if document.warnings else "it is empty"
    if not terms:
        return "no licence: put a LICENSE file beside it, or name the terms with --licence"
    words = len(document.plain.split())
    return f"{words} words, at least {MIN_WORDS}" if words < MIN_WORDS else ""


def _licence_of(path: Path, folder: Path) -> str:
    """The first line of the nearest licence file at or above a document, within the folder."""
    for level in (path.parent, *path.parent.parents):
        if not level.is_relative_to(folder):
            return ""
        for found in sorted(p for p in level.iterdir() if _is_licence(p, folder)):
            lines = [line.strip() for line in found.read_text(errors="replace").splitlines() if line.strip()]
            return lines[0][:80] if lines else found.name
    return ""


def _as_of(name: str, data: bytes, document: Rendered) -> str:
    """The date in the file's name, in its own properties, or else the latest one it writes out."""
    if match := _DATE.search(name):
        return match.group(0)
    if modified := next(_modified(data), ""):
        return modified[:10]
    return max((m.group(0) for m in _DATE.finditer(document.plain)), default="")


def _modified(data: bytes) -> Iterator[str]:
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            if "docProps/core.xml" in package.namelist():
                element = ElementTree.fromstring(package.read("docProps/core.xml")).find(_MODIFIED)
                if element is not None and element.text and _DATE.match(element.text[:10]):
                    yield element.text
