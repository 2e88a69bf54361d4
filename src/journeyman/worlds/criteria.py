"""Constructors of criteria that worlds share: data in the words of the closed registry in `grading.checks`."""

from collections.abc import Iterable
from typing import Any

from journeyman.records.rubric import Check, Criterion


def check(kind: str, **args: Any) -> Check:
    """A check of the closed registry in `grading.checks`."""
    return Check(kind=kind, args=args)


def criterion(
    name: str,
    proposition: str,
    weight: float,
    decide: Check,
    requirement: str,
    evidence: tuple[str, ...],
    group: str = "substance",
) -> Criterion:
    """A criterion decided by a check; negative weight: MET means that the error is present."""
    return Criterion(
        id=name,
        proposition=proposition,
        weight=weight,
        decide=decide,
        requirement=requirement,
        evidence=evidence,
        group=group,
    )


def field(path: str, key: str, *values: str | int) -> Check:
    """The `key: value` line of `path` has one of the values."""
    return check("field_equals", path=path, key=key, value=values[0] if len(values) == 1 else list(values))


def gives(path: str, function: str, cases: Iterable[tuple[tuple[Any, ...], Any]], through: str = "") -> Check:
    """The function of a program gives the right value for each (arguments, value), through a package's function."""
    told = [{"args": list(args), "gives": value} for args, value in cases]
    return check("program_gives", path=path, function=function, cases=told, through=through)


def any_of(*checks: Check) -> Check:
    """At least one of the checks."""
    return check("any_of", checks=[c.model_dump(mode="json") for c in checks])


def all_of(*checks: Check) -> Check:
    """All of the checks."""
    return check("all_of", checks=[c.model_dump(mode="json") for c in checks])


def none_of(inner: Check) -> Check:
    """Not the check."""
    return check("not_", check=inner.model_dump(mode="json"))
