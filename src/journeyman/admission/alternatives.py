"""The accept set of each criterion, tried: answers that say the same count alike, answers that say nothing do not.

Three adversaries: a colleague who writes the same answer his own way, one who gets a single value wrong, and one who
hands the request back. A criterion that refuses the first or pays the last is at fault.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import partial

from journeyman.admission.mutations import Setting
from journeyman.admission.rewriting import rewritten
from journeyman.admission.variation import Work
from journeyman.grading.text import EXACT, as_number, fold
from journeyman.office.rendered import kind_of

_FIGURE = re.compile(r"(-?\d+)(\.\d+)?(\s?[a-zA-Z%]*)")
_LINES = frozenset({"txt", "md", ""})


def equivalents(setting: Setting) -> Iterator[tuple[str, Work]]:
    """(how it differs, work) of answers that say exactly what the reference says."""
    for how, change in (("figures written out", _separated), ("other capitals", _capitals)):
        yield from ((how, work) for work in setting.rewrite(change))
    for how, line in (("as a list", "- {}"), ("other spacing", "  {}  ")):
        yield from ((how, work) for work in _relined(setting, line))


def _separated(key: str, value: str) -> str | None:
    """12345 as 12,345 and 42.5 as 42.50, whatever unit follows."""
    whole = _FIGURE.fullmatch(value)
    if whole is None:
        return None
    digits, fraction, unit = whole.groups(default="")
    if fraction:
        return f"{digits}{fraction}0{unit}"
    return f"{Decimal(digits):,}{unit}" if len(digits.lstrip("-")) > 4 else None


def _capitals(key: str, value: str) -> str | None:
    return value.upper() if value.islower() and as_number(value) is None else None


def _is_field(line: str) -> bool:
    return ":" in line and not line.lstrip().startswith("|")


def _relined(setting: Setting, form: str) -> Iterator[Work]:
    work = setting.sealed.work
    made = {
        path: "\n".join(form.format(line) if _is_field(line) else line for line in data.decode().split("\n")).encode()
        for path, data in work.files.items()
        if kind_of(path) in _LINES
    }
    if made:
        yield work._replace(files={**work.files, **made})


def echoed(setting: Setting) -> Work | None:
    """The request handed back in place of every text deliverable; None where there is none."""
    work, request = setting.sealed.work, setting.sealed.task.instruction.encode()
    made = {path: request for path in work.files if kind_of(path) in _LINES}
    return work._replace(files={**work.files, **made}) if made else None


def partial_answers(setting: Setting) -> Iterator[tuple[str, Work]]:
    """(label, work) of answers with one field got wrong, for each field of each text deliverable."""
    work = setting.sealed.work
    for path, document in setting.sealed.deliverables.items():
        if kind_of(path) not in _LINES:
            continue
        for key in dict.fromkeys(fold(field.key) for field in document.fields):
            made = rewritten(document, work.files[path], partial(_one_wrong, key))
            if made is not None:
                yield key, work._replace(files={**work.files, path: made})


def _one_wrong(wrong: str, key: str, value: str) -> str | None:
    if fold(key) != wrong:
        return None
    number = as_number(value)
    return f"not {value}" if number is None else str(EXACT.fma(number.value, 3, 11))
