"""How the curriculum is written down: practice areas and their types, one short call each."""

from typing import NamedTuple

from journeyman.records.task import Domain
from journeyman.worlds.cases.wording import HINTS, RUMOURS, USES

DUE = ("today", "week", "month")


class Entry(NamedTuple):
    """One environment type."""

    name: str  # "finance.three_way_match"
    title: str
    systems: tuple[str, ...]  # families of live systems of record it uses; () where documents are all there is
    deliverables: tuple[str, ...]
    complexity: tuple[str, ...]  # kinds of traps, see `cases.model.TrapKind`
    axes: dict[str, tuple[str, ...]]  # of a planned type; {} of a live one, whose class has them


class PracticeArea(NamedTuple):
    """A practice area: who works there, the axes its types share, and its types."""

    name: str
    domain: Domain
    axes: dict[str, tuple[str, ...]]
    entries: tuple[Entry, ...]


def words(text: str) -> tuple[str, ...]:
    """ "a b c" -> ("a", "b", "c")."""
    return tuple(text.split())


def read_axes(text: str) -> dict[str, tuple[str, ...]]:
    """Axes from "sector: retail energy; size: small large". Raises ValueError for an axis of fewer than two values."""
    parts = [part.partition(":") for part in text.split(";") if part.strip()]
    axes = {name.strip(): words(values) for name, _, values in parts}
    if thin := [name for name, values in axes.items() if len(set(values)) < 2 or len(set(values)) < len(values)]:
        raise ValueError(f"axis {thin[0]} needs at least two different values")
    return axes


def entry(name: str, title: str, systems: str, deliverables: str, complexity: str, axes: str = "") -> Entry:
    """One type, its lists written with spaces."""
    return Entry(name, title, words(systems), words(deliverables), words(complexity), read_axes(axes))


def area(name: str, domain: Domain, stakeholders: str, axes: str, *entries: Entry) -> PracticeArea:
    """A practice area; every type has its stakeholders as an axis, and what all worlds have."""
    shared = {"stakeholder": words(stakeholders), "use": USES, "hint": HINTS, "rumour": RUMOURS, "due": DUE}
    return PracticeArea(name, domain, {**shared, **read_axes(axes)}, entries)
