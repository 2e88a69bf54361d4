"""The closed registry of deterministic checks: pure functions from sealed evidence to a finding (R-06).

Invariant: the same evidence and arguments always give the same finding; what the policy wrote, however damaged, makes a
check UNMET and never raises. Raises happen only where the rubric itself is wrong (and say so), or where a program that
has to be run was not.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import ConfigDict, ValidationError

from journeyman.errors import UserError
from journeyman.grading import artifacts, programs, statements, systems
from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.finding import Finding
from journeyman.records.base import Record, first_fault
from journeyman.records.rubric import Check

CHECKS_VERSION = "checks.v1"


class AllOf(Record):
    """Every check is met."""

    checks: tuple[Check, ...]


class AnyOf(Record):
    """At least one check is met."""

    checks: tuple[Check, ...]


class Not(Record):
    """The check is not met."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    check: Check


def all_of(evidence: SealedEvidence, args: AllOf) -> Finding:
    """MET iff every check is; evidence is the first that is not."""
    findings = [decide(check, evidence) for check in args.checks]
    missed = next((f for f in findings if not f.met), None)
    return missed or Finding(bool(findings), "; ".join(f.evidence for f in findings))


def any_of(evidence: SealedEvidence, args: AnyOf) -> Finding:
    """MET iff some check is; evidence is the first that is."""
    findings = [decide(check, evidence) for check in args.checks]
    found = next((f for f in findings if f.met), None)
    return found or Finding(False, "; ".join(f.evidence for f in findings))


def not_(evidence: SealedEvidence, args: Not) -> Finding:
    """MET iff the check is not."""
    finding = decide(args.check, evidence)
    return Finding(not finding.met, f"not: {finding.evidence}")


class Kind(NamedTuple):
    """One kind of check: the closed type of its arguments and the pure function that decides it."""

    args: type[Record]
    decide: Callable[[SealedEvidence, Any], Finding]


REGISTRY: dict[str, Kind] = {
    "file_exists": Kind(artifacts.FileExists, artifacts.file_exists),
    "field_equals": Kind(artifacts.FieldEquals, artifacts.field_equals),
    "text_contains": Kind(artifacts.TextContains, artifacts.text_contains),
    "states": Kind(statements.States, statements.states),
    "number_near": Kind(artifacts.NumberNear, artifacts.number_near),
    "cell_equals": Kind(artifacts.CellEquals, artifacts.cell_equals),
    "source_unchanged": Kind(artifacts.SourceUnchanged, artifacts.source_unchanged),
    "service_rows": Kind(systems.ServiceRows, systems.service_rows),
    "ledger_count": Kind(systems.LedgerCount, systems.ledger_count),
    "ledger_order": Kind(systems.LedgerOrder, systems.ledger_order),
    programs.KIND: Kind(programs.ProgramGives, programs.program_gives),
    "all_of": Kind(AllOf, all_of),
    "any_of": Kind(AnyOf, any_of),
    "not_": Kind(Not, not_),
}


def parse(check: Check) -> tuple[Kind, Record]:
    """The kind and typed arguments of a check. Raises UserError naming an unknown kind or a wrong argument."""
    kind = REGISTRY.get(check.kind)
    if kind is None:
        raise UserError(f"unknown check kind {check.kind!r}: one of {', '.join(REGISTRY)}")
    try:
        return kind, kind.args.model_validate(check.args)
    except ValidationError as error:
        raise UserError(f"check {check.kind}: {first_fault(error, 'arguments')}") from None


def decide(check: Check, evidence: SealedEvidence) -> Finding:
    """Decide one check. Raises UserError where the check itself is malformed."""
    kind, args = parse(check)
    return kind.decide(evidence, args)


def children(check: Check) -> tuple[Check, ...]:
    """The checks a composite holds, validated; none for a leaf. Raises UserError."""
    _, args = parse(check)
    if isinstance(args, AllOf | AnyOf):
        return args.checks
    return (args.check,) if isinstance(args, Not) else ()


def leaves(check: Check) -> tuple[tuple[Check, Record], ...]:
    """Every leaf check below `check` (itself where it is one) with its typed arguments. Raises UserError."""
    inner = children(check)
    if not inner:
        return ((check, parse(check)[1]),)
    return tuple(leaf for one in inner for leaf in leaves(one))
