"""What a case is made of, as its author writes it down: fields, traps, sources and acts. Frozen, no I/O."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from journeyman.records.rubric import Check
from journeyman.records.task import ServiceGrant
from journeyman.worlds.base import Rows, Truth
from journeyman.worlds.cases.derivation import Value

_SMALL = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
TrapKind = Literal[
    "conflict",  # two sources of equal standing disagree; a rule in the world says which holds
    "supersession",  # a later version replaced it
    "authority",  # who said it may not decide it
    "cutoff",  # it belongs to another period
    "lookalike",  # another entity, item or account of nearly the same name
    "missing",  # a value that is not there was taken from somewhere
    "exception",  # a rule has an exception that applies here (or does not)
    "unit",  # another currency, unit or basis
    "claim",  # somebody says so, without evidence
]


def plain(value: Value) -> str:
    """A value as it is written."""
    return str(value)


def decimal(value: Value) -> str:
    """Hundredths as a decimal: 390 -> "3.90", -5 -> "-0.05"."""
    sign = "-" if value < 0 else ""
    return f"{sign}{abs(value) // 100}.{abs(value) % 100:02d}"


def percent(part: int, whole: int) -> int:
    """Percent in hundredths, rounded half up."""
    return (20_000 * part + whole) // (2 * whole)


def spelled(number: int) -> tuple[str, ...]:
    """Ways to write a count: 7 -> "7", "seven"; 1432 -> "1432", "1,432"."""
    word = (_SMALL[number],) if number < len(_SMALL) else ()
    return tuple(dict.fromkeys((str(number), f"{number:,}", *word)))


class Field(NamedTuple):
    """One line of the deliverable, and the criterion on it."""

    key: str  # of the compact file; also the criterion's id
    label: str  # of the standard table
    step: str  # whose value it states
    says: str  # proposition; {value} is the right one, other names are the truth's attributes
    sources: tuple[str, ...]  # ids of the sources it rests on
    weight: float = 2.0
    show: Callable[[Value], str] = plain
    also: tuple[str, ...] = ()  # other spellings that say the same
    group: str = "substance"


class Trap(NamedTuple):
    """A named wrong turn: the value `step` takes when a decoy is believed, and where that decoy lies."""

    name: str  # of the negative; the error criterion is "error_" + name
    kind: TrapKind
    step: str  # a fact or step of the derivation
    value: Value  # what it is taken for
    tell: str  # key of the field that shows it
    says: str  # proposition of the error: what the deliverable then says; {value} is the value it shows
    sources: tuple[str, ...]  # ids of the sources the decoy lies in
    weight: float = -2.0
    chance: float = 0.2  # how often the imperfect expert falls for it


class Source(NamedTuple):
    """A short text file of the compact world. `lines` are (name, value): told in the split's own words."""

    id: str
    path: str
    title: str
    lines: tuple[tuple[str, str], ...]
    as_of: str  # ISO date


class Claim(NamedTuple):
    """A criterion on the systems of record rather than on the deliverable. Negative weight: the error."""

    id: str
    says: str
    weight: float
    decide: Check
    asks: str  # the public requirement, in words; claims that ask the same share one requirement
    sources: tuple[str, ...]  # source ids or "service.table.key"
    group: str = "state"


class Remark(NamedTuple):
    """Something the standard deliverable has to state in words of its own, see `grading.statements`."""

    id: str
    says: str  # what is stated, a sentence without its full stop; the reference says it so
    about: tuple[tuple[str, ...], ...]  # ways to name what it is of; each further group is named beside it
    holds: tuple[str, ...]  # ways to say it
    asks: str  # as the request words it
    sources: tuple[str, ...]
    fails: tuple[str, ...] = ()  # ways to say the opposite
    rivals: tuple[str, ...] = ()  # other things of which it might be said
    true: bool = True  # False: it is denied
    alone: bool = False  # it may not be said of a rival as well
    weight: float = 1.0


COUNTS = ("count", "counts", "counted", "included", "includes")
LEFT_OUT = ("left out", "leaves out", "excluded", "excludes", "disregarded", "ignored", "set aside", "taken out")


class Systems(NamedTuple):
    """Live systems of a case and what they hold at the start."""

    grants: tuple[ServiceGrant, ...] = ()
    state: dict[str, Rows] = {}


class Words(NamedTuple):
    """How the request of a type is worded in one split; {names} are the truth's attributes."""

    ask: tuple[str, ...]


class CaseTruth(Truth):
    """What every case's ground truth carries. Subclasses add the facts of their world."""

    company: str  # stem, "Norvane"
    legal_name: str
    other_party: str  # the counterparty's full name
    currency: str
    people: dict[str, str]  # role -> name
    stakeholder: str  # role that asks
    deliverable: str
