"""Automatic list numbers of a Word document ("2.1", "(a)", "- "), which its text does not contain.

Counters follow document order; a deeper level restarts when a shallower one advances.
"""

from typing import NamedTuple
from xml.etree.ElementTree import Element

from journeyman.office.package import W


class _Level(NamedTuple):
    format: str
    text: str
    start: int


class NumberingPart(NamedTuple):
    """What numbering.xml declares: levels by abstract list, abstract list by list id, level by paragraph style."""

    levels: dict[str, dict[int, _Level]] = {}
    lists: dict[str, str] = {}
    by_style: dict[str, tuple[str, int]] = {}
    restarts: dict[str, dict[int, int]] = {}  # list id -> level -> number its first item gets


def numbering_part(part: Element) -> NumberingPart:
    """Read the root of numbering.xml."""
    read = NumberingPart({}, {}, {}, {})
    for abstract in part.iter(f"{W}abstractNum"):
        name = abstract.get(f"{W}abstractNumId", "")
        levels = read.levels.setdefault(name, {})
        for level in abstract.iter(f"{W}lvl"):
            depth = int(level.get(f"{W}ilvl", "0"))
            start = int(_value(level, "start") or 1)
            levels[depth] = _Level(_value(level, "numFmt") or "decimal", _value(level, "lvlText") or "", start)
            if style := _value(level, "pStyle"):
                read.by_style[style] = (name, depth)
    for number in part.iter(f"{W}num"):
        name = number.get(f"{W}numId", "")
        read.lists[name] = _value(number, "abstractNumId") or ""
        for override in number.iter(f"{W}lvlOverride"):
            if start_again := _value(override, "startOverride"):
                read.restarts.setdefault(name, {})[int(override.get(f"{W}ilvl", "0"))] = int(start_again)
    return read


class Numbering:
    """Labels of one reading of a document. `label` must be called once per paragraph, in order."""

    def __init__(self, part: NumberingPart, style_lists: dict[str, tuple[str, int]]) -> None:
        self._part = part
        self._style_lists = style_lists
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[str] = set()

    def label(self, properties: Element | None, style: str) -> str:
        """The number (with a trailing space) Word shows before a paragraph; "" where it shows none."""
        where = self._where(properties, style)
        if where is None:
            return ""
        abstract, depth = where
        levels = self._part.levels.get(abstract, {})
        level = levels.get(depth)
        if level is None:
            return ""
        if level.format == "bullet":
            return "  " * depth + "- "
        counts = self._counts.setdefault(abstract, {})
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in [d for d in counts if d > depth]:
            del counts[deeper]
        text = level.text
        for d in range(depth + 1):
            shown = levels.get(d, level)
            text = text.replace(f"%{d + 1}", _numeral(counts.get(d, shown.start), shown.format))
        return f"{text} " if text else ""

    def _where(self, properties: Element | None, style: str) -> tuple[str, int] | None:
        """The abstract list and level of a paragraph: its own, its style's, or the level that names its style."""
        numbered = properties.find(f"{W}numPr") if properties is not None else None
        if numbered is not None:
            list_id, depth = _value(numbered, "numId") or "0", int(_value(numbered, "ilvl") or 0)
        elif style in self._style_lists:
            list_id, depth = self._style_lists[style]
        else:
            return self._part.by_style.get(style)
        abstract = self._part.lists.get(list_id)
        if abstract is None:  # list 0 switches numbering off
            return None
        if list_id not in self._begun:
            self._begun.add(list_id)
            for level, start in self._part.restarts.get(list_id, {}).items():
                self._counts.setdefault(abstract, {})[level] = start - 1
        return abstract, depth


def _value(parent: Element, name: str) -> str | None:
    child = parent.find(f"{W}{name}")
    return child.get(f"{W}val") if child is not None else None


def _numeral(number: int, style: str) -> str:
    if style in ("lowerLetter", "upperLetter"):
        letters = chr(97 + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters.upper() if style == "upperLetter" else letters
    if style in ("lowerRoman", "upperRoman"):
        roman = _roman(number)
        return roman if style == "upperRoman" else roman.lower()
    return f"{number:02d}" if style == "decimalZero" else "" if style == "none" else str(number)


def _roman(number: int) -> str:
    out = ""
    for value, mark in zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
        strict=True,
    ):
        while number >= value:
            out += mark
            number -= value
    return out
