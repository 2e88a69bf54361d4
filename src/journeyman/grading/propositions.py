"""Whether a criterion decides what it says: figures of its proposition against the values its check accepts.

Invariant: pure; what a check excludes, and what a proposition says without a figure, is not compared.
"""

from collections.abc import Iterator

from journeyman.grading import artifacts, statements
from journeyman.grading.checks import children, parse
from journeyman.grading.text import Number, as_number, near, numbers_in
from journeyman.records.base import Record
from journeyman.records.rubric import Check, Criterion, Rubric

Value = tuple[str, float]  # as written, and how far a figure may be off


def figure_faults(rubric: Rubric) -> tuple[str, ...]:
    """Criteria that accept figures their proposition does not say, one line each. Raises UserError for a bad check."""
    return tuple(
        f"criterion {c.id} accepts {value!r}, which its proposition does not say: {c.proposition!r}"
        for c in rubric.criteria
        if isinstance(c.decide, Check)
        for value in dict.fromkeys(_unsaid(c, c.decide))
    )


def _unsaid(criterion: Criterion, check: Check) -> Iterator[str]:
    """Accepted values that the proposition does not say: alternatives all have to be, of a whole table one figure.

    An error may be any of several figures, none of which has to be said.
    """
    said = tuple(numbers_in(criterion.proposition))
    asked = list(_asked(check))
    faults = [fault for group in asked if (fault := next(_unsaid_of(group, said, criterion.weight > 0), None))]
    yield from faults if len(asked) == 1 or not said or len(faults) == len(asked) else ()


def _unsaid_of(group: list[Value], said: tuple[Number, ...], credit: bool) -> Iterator[str]:
    figures = [(v, tolerance) for v, tolerance in group if as_number(v) is not None]
    texts = [v for v, _ in group if as_number(v) is None and any(numbers_in(v))]
    several = len({number.full for v, _ in figures if (number := as_number(v))}) > 1
    if figures and (said or several) and (credit or not several):
        yield from (v for v, tolerance in figures if not _says(said, v, tolerance))
    elif texts and said and not any(_says(said, v, 0.0) for v in texts):
        yield texts[0]


def _asked(check: Check) -> Iterator[list[Value]]:
    """Values by what is asked: those of one check, or of checks of which one has to be met, are alternatives."""
    if check.kind == "not_":
        return
    inner = children(check)
    groups = [group for one in inner for group in _asked(one)] if inner else [list(_accepted(parse(check)[1]))]
    yield from [[v for group in groups for v in group]] if check.kind == "any_of" else filter(None, groups)


def _accepted(args: Record) -> Iterator[Value]:
    """What a check on a deliverable accepts."""
    if isinstance(args, artifacts.FieldEquals | artifacts.CellEquals):
        values = args.value if isinstance(args.value, tuple) else (args.value,)
        yield from ((str(v), args.tolerance) for v in values if v is not None and not isinstance(v, bool))
    elif isinstance(args, artifacts.NumberNear):
        yield str(args.value), args.tolerance
    elif isinstance(args, artifacts.TextContains):
        yield from ((phrase, 0.0) for phrase in (*args.all, *args.any))
    elif isinstance(args, statements.States):
        yield from ((phrase, 0.0) for phrase in args.about[0])


def _says(said: tuple[Number, ...], value: str, tolerance: float) -> bool:
    """Whether every figure of a value is among those said."""
    whole = as_number(value)
    figures = numbers_in(value) if whole is None else (whole,)
    return all(any(near(number, figure, tolerance) for number in said) for figure in figures)
