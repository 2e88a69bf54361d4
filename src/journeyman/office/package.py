"""An OOXML package opened for reading only: bounded sizes, no DTDs, nothing outside the package is ever fetched."""

import csv
import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

EMPTY, PROTECTED = "the file is empty", "the file is protected by a password"
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how a protected file begins, and one of before 2007
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
MAX_PARTS = 5_000
MAX_PART_BYTES = 64 << 20
MAX_TOTAL_BYTES = 256 << 20

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"


class Unreadable(ValueError):
    """The bytes are not a file of the kind their name says, or are built to exhaust a reader."""


# What reading hostile or damaged bytes may raise, in the standard library and in the readers themselves.
DAMAGE = (
    Unreadable, zipfile.BadZipFile, zlib.error, ElementTree.ParseError, ValueError, KeyError, IndexError, TypeError,
    AttributeError, AssertionError, EOFError, OverflowError, RecursionError, NotImplementedError, OSError, LookupError,
    csv.Error,
)  # fmt: skip


def parse(data: bytes) -> Element:
    """Root element of XML without a DTD. Raises Unreadable or ElementTree.ParseError."""
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise Unreadable("the part declares a DTD")
    return ElementTree.fromstring(data)


class Relation(NamedTuple):
    """A relationship's type (last path segment of its URI) and its target part."""

    kind: str
    target: str


class Package:
    """Parts of one OOXML file. Raises Unreadable, zipfile.BadZipFile or ElementTree.ParseError."""

    def __init__(self, data: bytes) -> None:
        if not data:
            raise Unreadable(EMPTY)
        if data.startswith(_COMPOUND):
            old = "the file is of an office program of before 2007: save it in today's format"
            raise Unreadable(PROTECTED if _ENCRYPTED in data else old)
        self._zip = zipfile.ZipFile(io.BytesIO(data))
        entries = self._zip.infolist()
        if any(e.flag_bits & 1 for e in entries):
            raise Unreadable(PROTECTED)
        if len(entries) > MAX_PARTS or sum(e.file_size for e in entries) > MAX_TOTAL_BYTES:
            raise Unreadable("too many or too large parts")
        self._sizes = {e.filename: e.file_size for e in entries}

    @property
    def names(self) -> tuple[str, ...]:
        """Part names in the order of the zip directory."""
        return tuple(self._sizes)

    def read(self, name: str) -> bytes:
        """Bytes of a part. Raises KeyError when absent, Unreadable when larger than MAX_PART_BYTES."""
        if self._sizes[name] > MAX_PART_BYTES:
            raise Unreadable(f"part {name} is too large")
        with self._zip.open(name) as part:
            data = part.read(MAX_PART_BYTES + 1)
        if len(data) > MAX_PART_BYTES:
            raise Unreadable(f"part {name} is too large")
        return data

    def xml(self, name: str) -> Element | None:
        """Root of an XML part; None when the package has no such part."""
        if name not in self._sizes:
            return None
        return parse(self.read(name))

    def read_first(self, names: Iterable[str]) -> bytes | None:
        """Bytes of the first of `names` that is there; None when none is."""
        found = next((name for name in names if name in self._sizes), None)
        return self.read(found) if found is not None else None

    def relations(self, part: str) -> dict[str, Relation]:
        """Internal relationships of `part` by id; targets are resolved to part names."""
        folder, name = posixpath.split(part)
        root = self.xml(posixpath.join(folder, "_rels", f"{name}.rels"))
        found: dict[str, Relation] = {}
        for item in root if root is not None else ():
            if item.get("TargetMode") == "External":
                continue
            target = item.get("Target", "")
            path = target[1:] if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
            found[item.get("Id", "")] = Relation(item.get("Type", "").rsplit("/", 1)[-1], path)
        return found

    def main_part(self) -> str:
        """The part the package is about (the officeDocument relation). Raises Unreadable without one."""
        for relation in self.relations("").values():
            if relation.kind == "officeDocument":
                return relation.target
        raise Unreadable("no main part")
