"""How a sheet shows a stored number: the part of Excel's number formats that business files use.

Dates become ISO text whatever their format, because a reader must never guess the order of day and month.
"""

import datetime
import re
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Literal, NamedTuple

BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: "$#,##0", 6: "$#,##0", 7: "$#,##0.00", 8: "$#,##0.00",
    9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "General", 13: "General", 14: "yyyy-mm-dd", 15: "d-mmm-yy",
    16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "m/d/yy h:mm",
    37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)", 45: "mm:ss",
    46: "[h]:mm:ss", 47: "mm:ss", 48: "0.0E+0", 49: "@",
}  # fmt: skip
_MAX_DIGITS = 28  # what decimal arithmetic holds; no sheet of a business has more
_EPOCH = datetime.datetime(1899, 12, 30)
_EPOCH_1904 = datetime.datetime(1904, 1, 1)
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|_.|\*.')
_BRACKET = re.compile(r"\[([^\]]*)\]")
_DIGITS = re.compile(r"[#0?][#0?,.]*")


class _Pattern(NamedTuple):
    prefix: str
    suffix: str
    decimals: int
    optional: int  # trailing decimals shown only when not zero
    grouped: bool
    scale: float
    kind: Literal["number", "literal", "general"] = "number"


@lru_cache(maxsize=512)
def is_date(code: str) -> bool:
    """Whether `code` shows a serial number as a date or time."""
    bare = _BRACKET.sub(lambda m: m[1] if m[1].lower() in ("h", "hh", "mm", "ss") else "", _LITERAL.sub("", code))
    return bare.lower() != "general" and bool(re.search(r"[ymdhs]", bare.split(";")[0].lower()))


def iso_date(serial: float, code: str, date_1904: bool = False) -> str:
    """ISO text of a serial date; with a time only where the format or the value has one."""
    moment = (_EPOCH_1904 if date_1904 else _EPOCH) + datetime.timedelta(seconds=round(serial * 86400))
    if serial < 1:
        return moment.strftime("%H:%M:%S")
    whole_day = moment.hour == moment.minute == moment.second == 0
    return moment.date().isoformat() if whole_day else moment.isoformat(sep=" ")


def show(value: float | int, code: str) -> str:
    """`value` under the number format `code`; never loses an integer part, falls back to plain digits."""
    sections = _sections(code)
    if value < 0 and len(sections) > 1:
        return _apply(sections[1], abs(value))
    if value == 0 and len(sections) > 2:
        return _apply(sections[2], value)
    return _apply(sections[0], value)


def plain_number(value: float | int) -> str:
    """Shortest exact-looking digits: no exponent below 1e15, float noise beyond 15 digits removed."""
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e15):
        return str(int(value))
    text = f"{value:.15g}"
    return f"{value:.12f}".rstrip("0") if "e-" in text and abs(value) > 1e-9 else text


@lru_cache(maxsize=512)
def _sections(code: str) -> tuple[_Pattern, ...]:
    parts: list[str] = []
    current, quoted = "", False
    for mark in code:
        quoted ^= mark == '"'
        if mark == ";" and not quoted:
            parts.append(current)
            current = ""
        else:
            current += mark
    return tuple(_pattern(part) for part in (*parts, current)[:3])


def _pattern(section: str) -> _Pattern:
    literals: list[str] = []

    def keep(match: re.Match[str]) -> str:
        literals.append(match[1] or match[2] or "")
        return chr(0xE000 + len(literals) - 1)

    def currency(match: re.Match[str]) -> str:
        if not match[1].startswith("$"):
            return ""
        literals.append(match[1][1:].split("-")[0])
        return chr(0xE000 + len(literals) - 1)

    bare = _BRACKET.sub(currency, _LITERAL.sub(keep, section))
    digits = _DIGITS.search(bare)

    def restore(text: str) -> str:
        return "".join(literals[ord(c) - 0xE000] if 0xE000 <= ord(c) < 0xF000 else c for c in text)

    if digits is None:
        general = "general" in bare.lower() or "@" in bare or not bare
        return _Pattern("", restore(bare), 0, 0, False, 1.0, "general" if general else "literal")
    mask = digits[0]
    whole, _, fraction = mask.partition(".")
    trailing = len(mask) - len(mask.rstrip(","))
    fraction = fraction.rstrip(",")
    suffix = restore(bare[digits.end() :])
    scale = 100.0 ** suffix.count("%") / 1000.0**trailing
    decimals = sum(c in "#0?" for c in fraction)
    optional = len(fraction) - len(fraction.rstrip("#"))
    return _Pattern(restore(bare[: digits.start()]), suffix, decimals, optional, "," in whole.rstrip(","), scale)


def _apply(pattern: _Pattern, value: float | int) -> str:
    if pattern.kind == "general":
        return plain_number(value)
    if pattern.kind == "literal":
        return pattern.suffix
    unit = Decimal(1).scaleb(-pattern.decimals)
    scaled = Decimal(f"{abs(value) * pattern.scale:.15g}")
    if scaled.adjusted() + pattern.decimals >= _MAX_DIGITS:
        return plain_number(value)
    scaled = scaled.quantize(unit, rounding=ROUND_HALF_UP)
    text = f"{scaled:,f}" if pattern.grouped else f"{scaled:f}"
    for _ in range(pattern.optional):
        text = text.removesuffix("0")
    sign = "-" if value < 0 and scaled else ""
    return f"{sign}{pattern.prefix}{text.removesuffix('.')}{pattern.suffix}"
