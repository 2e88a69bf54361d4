"""The whole curriculum as data: 4 domains, 19 practice areas, 88 environment types, live or planned.

Invariant: a type is live iff it is registered; a live type's axes are its class's own, a planned one's stand here.
"""

from functools import cache
from typing import Any, Literal

from journeyman.errors import UserError
from journeyman.worlds.base import EnvironmentType, Pair
from journeyman.worlds.curriculum import consulting, finance, law, operations
from journeyman.worlds.curriculum.entries import Entry, PracticeArea
from journeyman.worlds.curriculum.space import combinations
from journeyman.worlds.registry import ENVIRONMENT_TYPES, environment_type

AREAS: tuple[PracticeArea, ...] = (*finance.AREAS, *law.AREAS, *consulting.AREAS, *operations.AREAS)


@cache
def entries() -> dict[str, Entry]:
    """All 88 types by name, in the order of the curriculum."""
    return {entry.name: entry for area in AREAS for entry in area.entries}


def status(name: str) -> Literal["live", "planned"]:
    """Whether worlds of this type can be made."""
    return "live" if name in ENVIRONMENT_TYPES else "planned"


def live_type(name: str) -> EnvironmentType[Any]:
    """The environment type `name`. Raises UserError where it is planned only, or none is called so."""
    if status(name) == "planned" and any(entry.name == name for area in AREAS for entry in area.entries):
        raise UserError(f"environment type {name!r} is planned, not live: journeyman tasks types --live lists what is")
    return environment_type(name)


def axes(area: PracticeArea, entry: Entry) -> tuple[dict[str, tuple[str, ...]], tuple[Pair, ...]]:
    """Axes and forbidden pairs of a type: its class's where it is live, the area's and its own where it is planned."""
    if status(entry.name) == "live":
        kind = environment_type(entry.name)
        return dict(kind.axes), kind.forbidden
    return {**area.axes, **entry.axes, "deliverable": entry.deliverables}, ()


def space(area: PracticeArea, entry: Entry) -> int:
    """Combinations of axis values a type has, forbidden pairs apart; exact."""
    return combinations(*axes(area, entry))


def area_space(area: PracticeArea) -> int:
    """Combinations of a practice area: the sum over its types."""
    return sum(space(area, entry) for entry in area.entries)
