"""Checks on systems of record: final rows, and the append-only ledger of what was asked for and what took effect.

Invariant: only frozen state and ledger entries count; what the policy says it did does not.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from journeyman.grading.evidence import SealedEvidence
from journeyman.grading.finding import Finding, brief, counted
from journeyman.grading.text import fold, to_decimal
from journeyman.records.base import Record
from journeyman.services.base import LedgerEntry

Where = dict[str, Any]


class ServiceRows(Record):
    """Rows of a table that match `where`: each satisfies `expect`, and their number is in [min, max]."""

    service: str
    table: str
    where: Where = {}
    expect: Where = {}
    min: int = 1
    max: int | None = None


class LedgerCount(Record):
    """Ledger entries of a tool that match; their number is in [min, max]. Neither given: at least one."""

    service: str
    tool: str
    where: Where = {}
    committed: bool | None = None
    outcome: Literal["ok", "error", "denied", "timeout"] | None = None
    min: int | None = None
    max: int | None = None


class CallPattern(Record):
    """Calls of one tool whose arguments match `where`."""

    service: str
    tool: str
    where: Where = {}


class LedgerOrder(Record):
    """A matching `first` stands in the ledger before every matching `then`."""

    first: CallPattern
    then: CallPattern


def same(actual: object, expected: object) -> bool:
    """Whether a stored value is the expected one (or one of a list): numbers as numbers, text folded, None is None."""
    if isinstance(expected, list | tuple):
        return any(same(actual, one) for one in expected)
    if isinstance(actual, bool) or isinstance(expected, bool) or actual is None or expected is None:
        return _flag(actual) is _flag(expected) if isinstance(expected, bool) else actual is expected
    left, right = to_decimal(actual), to_decimal(expected)
    if left is not None and right is not None:
        return left == right
    return fold(str(actual)) == fold(str(expected))


def _flag(value: object) -> object:
    return bool(value) if isinstance(value, int) and value in (0, 1) else value


def matches(values: Mapping[str, Any], where: Where) -> bool:
    """Whether every named value is as expected; an absent name matches nothing but None."""
    return all(same(values.get(name), expected) for name, expected in where.items())


def _within(count: int, low: int, high: int | None) -> bool:
    return count >= low and (high is None or count <= high)


def service_rows(evidence: SealedEvidence, args: ServiceRows) -> Finding:
    """MET iff the count is within bounds and no matching row breaks `expect`."""
    table = evidence.state.get(args.service, {}).get(args.table, [])
    rows = [row for row in table if matches(row, args.where)]
    where = f"{args.service}.{args.table}" + (f" where {brief(args.where)}" if args.where else "")
    if broken := next((row for row in rows if not matches(row, args.expect)), None):
        shown = {name: broken.get(name) for name in args.expect}
        return Finding(False, f"{where}: {brief(shown)}")
    return Finding(_within(len(rows), args.min, args.max), f"{where}: {counted(len(rows), 'row')}")


def _entries(evidence: SealedEvidence, pattern: CallPattern | LedgerCount) -> Iterable[LedgerEntry]:
    for entry in evidence.ledger:
        if entry.service == pattern.service and entry.tool == pattern.tool and matches(entry.arguments, pattern.where):
            yield entry


def ledger_count(evidence: SealedEvidence, args: LedgerCount) -> Finding:
    """MET iff the number of matching entries is within bounds."""
    found = [
        entry.seq
        for entry in _entries(evidence, args)
        if args.committed in (None, entry.committed) and args.outcome in (None, entry.outcome)
    ]
    low = args.min if args.min is not None else (1 if args.max is None else 0)
    told = counted(len(found), "call") + (f", at {brief(found)} in the ledger" if found else "")
    return Finding(_within(len(found), low, args.max), f"{args.service}.{args.tool}: {told}")


def ledger_order(evidence: SealedEvidence, args: LedgerOrder) -> Finding:
    """MET iff a matching first exists and no matching then stands before the earliest of them."""
    first = min((e.seq for e in _entries(evidence, args.first)), default=None)
    then = min((e.seq for e in _entries(evidence, args.then)), default=None)
    places = ["never" if at is None else f"at {at} in the ledger" for at in (first, then)]
    one, other = (f"{call.service}.{call.tool}" for call in (args.first, args.then))
    shown = f"{one} first {places[0]}, {other} first {places[1]}"
    return Finding(first is not None and (then is None or first < then), shown)
