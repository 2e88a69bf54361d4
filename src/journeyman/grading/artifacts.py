"""Checks on deliverables: sealed workspace files, read as a reader sees them (tracked changes accepted, no comments).

Invariant: a missing, damaged or hedging deliverable (one key with two values) is UNMET; nothing here raises for it.
"""

from decimal import Decimal

from pydantic import Field

from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.finding import Finding, brief
from journeyman.grading.text import (
    Number,
    as_number,
    fold,
    has_phrase,
    line_field,
    near,
    numbers_in,
    passages,
    value_matches,
)
from journeyman.office.rendered import Rendered
from journeyman.records.base import Record, sha256_hex

Scalar = str | int | float | bool | None
Value = Scalar | tuple[Scalar, ...]


class FileExists(Record):
    """A file is there and not empty."""

    path: str


class FieldEquals(Record):
    """A `key: value` line, or a table row whose first cell is the key, has (one of) the value(s)."""

    path: str
    key: str
    value: Value
    tolerance: float = Field(default=0.0, ge=0)


class TextContains(Record):
    """Word-bounded phrases: all of `all`, one of `any`, none of `none`."""

    path: str
    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    none: tuple[str, ...] = ()


class NumberNear(Record):
    """A number within `tolerance` of `value` stands on the line, row or sentence of the label."""

    path: str
    label: str
    value: float | str
    tolerance: float = Field(default=0.0, ge=0)


class CellEquals(Record):
    """A sheet cell has the value; without `sheet`, on any visible sheet."""

    path: str
    sheet: str | None = None
    cell: str
    value: Value
    tolerance: float = Field(default=0.0, ge=0)


class SourceUnchanged(Record):
    """The world's file has the bytes it began with."""

    path: str


def file_exists(evidence: SealedEvidence, args: FileExists) -> Finding:
    """MET iff the file is there with at least one byte that is not white space."""
    data = evidence.file(args.path)
    if data is None:
        return Finding(False, f"{args.path}: no such file")
    return Finding(bool(data.strip()), f"{args.path}: {len(data)} bytes")


def field_equals(evidence: SealedEvidence, args: FieldEquals) -> Finding:
    """MET iff the key occurs and every occurrence has an acceptable value."""
    document = evidence.rendered(args.path)
    if document is None:
        return Finding(False, f"{args.path}: no such file")
    found = _occurrences(document, fold(args.key).rstrip(":"))
    if not found:
        return Finding(False, f"{args.path}: no field {args.key!r}{_damage(document)}")
    wrong = [value for value, stored in found if not _says(value, stored, args.value, args.tolerance)]
    shown = (wrong or [value for value, _ in found])[0]
    return Finding(not wrong, f"{args.path}: {args.key}: {brief(shown)}")


def _occurrences(document: Rendered, key: str) -> list[tuple[str, float | None]]:
    in_lines = [pair for line in document.lines if (pair := line_field(line)) and pair[0] == key]
    rows = [(f.value, f.number) for f in document.fields if fold(f.key).rstrip(":").rstrip() == key]
    shown = {fold(value) for value, _ in rows}
    return [*rows, *((value, None) for _, value in in_lines if fold(value) not in shown)]


def _says(shown: str, stored: float | None, expected: Value, tolerance: float) -> bool:
    if value_matches(shown, expected, tolerance):
        return True
    return stored is not None and value_matches(repr(stored), expected, tolerance)


def _damage(document: Rendered) -> str:
    return f" ({brief(document.warnings[0])})" if document.warnings else ""


def text_contains(evidence: SealedEvidence, args: TextContains) -> Finding:
    """MET iff the file is there and its text holds the phrases asked for and none of those excluded."""
    document = evidence.rendered(args.path)
    if document is None:
        return Finding(False, f"{args.path}: no such file")
    folded = fold(document.plain)
    if unwanted := next((p for p in args.none if has_phrase(folded, p)), None):
        return Finding(False, f"{args.path}: says {unwanted!r}")
    if missing := next((p for p in args.all if not has_phrase(folded, p)), None):
        return Finding(False, f"{args.path}: does not say {missing!r}{_damage(document)}")
    said = next((p for p in args.any if has_phrase(folded, p)), None)
    if args.any and said is None:
        return Finding(False, f"{args.path}: says none of {brief(list(args.any))}{_damage(document)}")
    return Finding(True, f"{args.path}: says {brief(said or list(args.all)) if said or args.all else 'none of those'}")


def number_near(evidence: SealedEvidence, args: NumberNear) -> Finding:
    """MET iff some passage that names the label holds the number."""
    document = evidence.rendered(args.path)
    if document is None:
        return Finding(False, f"{args.path}: no such file")
    expected = _number(args.value)
    beside = [p for p in passages(document.lines) if has_phrase(p, args.label)]
    for passage in beside:
        rest = passage.replace(fold(args.label), " ")
        if any(near(found, expected, args.tolerance) for found in numbers_in(rest)):
            return Finding(True, f"{args.path}: {brief(passage)}")
    if not beside:
        return Finding(False, f"{args.path}: {args.label!r} is not mentioned{_damage(document)}")
    return Finding(False, f"{args.path}: {brief(beside[0])}")


def _number(value: float | str) -> Number:
    exact = Decimal(str(value)) if not isinstance(value, str) else None
    found = Number(exact, exact) if exact is not None else as_number(str(value))
    return found or Number(Decimal("NaN"), Decimal("NaN"))


def cell_equals(evidence: SealedEvidence, args: CellEquals) -> Finding:
    """MET iff the cell's shown text or stored value is acceptable."""
    document = evidence.rendered(args.path)
    if document is None:
        return Finding(False, f"{args.path}: no such file")
    hidden = {table.name for table in document.tables if table.hidden}
    names = [args.sheet] if args.sheet is not None else [name for name in document.cells if name not in hidden]
    address = args.cell.replace("$", "").upper()
    found = [(n, c) for n in names if (c := document.cells.get(n, {}).get(address)) is not None]
    for name, cell in found:
        stored = None if cell.value is None or isinstance(cell.value, bool) else str(cell.value)
        texts = [cell.text] if stored is None else [cell.text, stored]
        if any(value_matches(text, args.value, args.tolerance) for text in texts):
            return Finding(True, f"{args.path}: {name}!{address} = {brief(cell.text)}")
    shown = brief(found[0][1].text) if found else "empty"
    return Finding(False, f"{args.path}: {args.sheet or 'any sheet'}!{address} is {shown}{_damage(document)}")


def source_unchanged(evidence: SealedEvidence, args: SourceUnchanged) -> Finding:
    """MET iff the world has the file and its final bytes are the initial ones."""
    before, after = evidence.initial_sha256(args.path), evidence.file(args.path)
    if before is None:
        return Finding(False, f"{args.path}: not a file of the world")
    if after is None:
        return Finding(False, f"{args.path}: deleted")
    same = before == sha256_hex(after)
    return Finding(same, f"{args.path}: {'unchanged' if same else 'changed'}")
