"""Matching text and numbers the way a careful reader does: case, spacing, quotes, separators and units never decide.

Invariant: every function is pure, and a value that hedges (the same key twice with different values) never matches.
Figures of any length are reckoned with exactly.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple

_TYPOGRAPHY = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "‐": "-", "‑": "-", "–": "-", "—": "-", "−": "-"})
_SCALES = {
    "k": 3, "thousand": 3, "m": 6, "mm": 6, "mn": 6, "mio": 6, "million": 6, "millions": 6,
    "bn": 9, "b": 9, "billion": 9, "billions": 9,
}  # fmt: skip
_CURRENCY = r"(?:usd|eur|gbp|chf|us\$|[$€£¥])"
_NUMBER = r"(?:\d{1,3}(?:[,' ]\d{3})+|\d+)(?:\.\d+)?|\.\d+"
_SCALE = "|".join(sorted(_SCALES, key=len, reverse=True))
_WHOLE = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+])?\s*{_CURRENCY}?\s*(?P<sign2>[-+])?\s*(?P<number>{_NUMBER})\s*"
    rf"(?P<unit>%|x|percent|bps)?\s*(?P<scale>{_SCALE})?\s*{_CURRENCY}?\s*(?P<close>\))?"
)
_INSIDE = re.compile(
    rf"(?<![\w.])(?P<sign>[-+](?=\s*{_CURRENCY}?\d))?{_CURRENCY}?\s?(?P<sign2>-)?(?P<number>{_NUMBER})"
    rf"(?:%|x(?!\w))?(?:\s?(?P<scale>{_SCALE})(?!\w))?(?![\w])(?!\.\d)"
)
_TRAILING_NOTE = re.compile(r"\s*\([^()]*\)$")
EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Sums, differences and whole quotients of figures as long as they come: Python's own context rounds at 28 digits."""

SHORT = 200  # characters: labels and values repeat and are cached, documents are not
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
_MARKUP = re.compile(r"[*_`]{1,3}")


class Number(NamedTuple):
    """A number as written (`value`) and with its scale word applied (`full`): "1.2 million" is (1.2, 1200000)."""

    value: Decimal
    full: Decimal


def fold(text: str) -> str:
    """Case-folded text with NFKC forms, plain quotes and dashes, and single spaces."""
    return _fold_short(text) if len(text) <= SHORT else _fold(text)


@lru_cache(maxsize=4096)
def _fold_short(text: str) -> str:
    return _fold(text)


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_TYPOGRAPHY).casefold().split())


@lru_cache(maxsize=4096)
def _phrase(phrase: str) -> re.Pattern[str]:
    words = fold(phrase)
    before = r"(?<!\w)(?<!\d[.,])" if words[:1].isdigit() else (r"(?<!\w)" if words[:1].isalnum() else "")
    after = r"(?!\w)(?![.,]\d)" if words[-1:].isdigit() else (r"(?!\w)" if words[-1:].isalnum() else "")
    return re.compile(before + re.escape(words) + after)


def has_phrase(folded: str, phrase: str) -> bool:
    """Whether the (already folded) text holds `phrase` between word boundaries. An empty phrase is in no text."""
    return bool(fold(phrase)) and _phrase(phrase).search(folded) is not None


def _decimal(digits: str) -> Decimal:
    return Decimal(re.sub(r"[,' ]", "", digits))


def _number(match: re.Match[str], negative: bool) -> Number:
    size = _decimal(match["number"])
    value = size.copy_negate() if negative and size else size
    return Number(value, EXACT.scaleb(value, _SCALES.get(match["scale"] or "", 0)))


@lru_cache(maxsize=4096)
def as_number(text: str) -> Number | None:
    """The number the whole text is ("$1,200.50", "(35)", "12.5%", "4.2x", "USD 3 million"), else None."""
    match = _WHOLE.fullmatch(fold(text))
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    return _number(match, negative=bool(match["open"]) or "-" in (match["sign"] or "") + (match["sign2"] or ""))


def numbers_in(text: str) -> Iterator[Number]:
    """Every number that stands by itself in the text, in order (parts of words, dates or versions are skipped)."""
    for match in _INSIDE.finditer(fold(text)):
        yield _number(match, negative="-" in (match["sign"] or "") + (match["sign2"] or ""))


def to_decimal(value: object) -> Decimal | None:
    """The decimal a JSON value is: a number as it prints, or a string that is a number. Booleans and NaN are none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            exact = Decimal(str(value))
        except InvalidOperation:
            return None
        return exact if exact.is_finite() else None
    found = as_number(value) if isinstance(value, str) else None
    return None if found is None else found.full


def near(found: Number, expected: Number, tolerance: float) -> bool:
    """Whether two numbers agree within `tolerance`, as written or with their scale words applied."""
    slack = Decimal(str(tolerance))
    if _apart(found.full, expected.full) <= slack:
        return True
    one_scaled = (found.value == found.full) != (expected.value == expected.full)
    return one_scaled and _apart(found.value, expected.value) <= slack


def _apart(one: Decimal, other: Decimal) -> Decimal:
    return EXACT.abs(EXACT.subtract(one, other))


def invented(value: Decimal, part: int = 9, more: int = 7) -> Decimal:
    """Another figure near `value`: greater by a `part`-th of its size, in whole numbers, and `more`."""
    return EXACT.add(EXACT.add(value, EXACT.divide_int(value.copy_abs(), part)), more)


def _expected_number(value: object) -> Number | None:
    if isinstance(value, str):
        return as_number(value)
    exact = to_decimal(value)
    return None if exact is None else Number(exact, exact)


def value_matches(actual: str, expected: object, tolerance: float = 0.0) -> bool:
    """Whether the written `actual` says `expected` (one value, or a list of acceptable ones).

    Two numbers compare as numbers; anything else as folded text, a trailing "(note)" and full stop ignored.
    """
    if isinstance(expected, list | tuple):
        return any(value_matches(actual, one, tolerance) for one in expected)
    number = _expected_number(expected)
    for text in dict.fromkeys((actual, _TRAILING_NOTE.sub("", actual.strip().rstrip(".;")))):
        clean = text.strip().rstrip(".;").strip()
        if number is not None and (found := as_number(clean)) is not None:
            if near(found, number, tolerance):
                return True
        elif clean and fold(clean).strip("\"'") == fold(str(expected)).strip("\"'").rstrip(".;"):
            return True
    return False


def line_field(line: str) -> tuple[str, str] | None:
    """(folded key, value) of a `key: value` line, list marks and markdown emphasis removed; None for other lines."""
    key, colon, value = _MARKUP.sub("", line).strip().lstrip("-+#>•· \t").partition(":")
    return (fold(key), value.strip()) if colon else None


def passages(lines: Iterable[str]) -> Iterator[str]:
    """Folded units in which a label and its number belong together: each line, and each sentence across lines."""
    seen: set[str] = set()
    paragraph: list[str] = []
    for line in [*lines, ""]:
        alone = not line or line.startswith(("#", "-", "*")) or "|" in line or "\t" in line
        if not alone:
            paragraph.append(line)
        elif paragraph:
            yield from _fresh(_SENTENCE_END.split(" ".join(paragraph)), seen)
            paragraph = []
        yield from _fresh([line] if alone else _SENTENCE_END.split(line), seen)


def _fresh(units: Iterable[str], seen: set[str]) -> Iterator[str]:
    for unit in map(fold, units):
        if unit and unit not in seen:
            seen.add(unit)
            yield unit
