"""Names, dates and figures by split. Invariant: no entity name and no figure of one type is ever drawn in two splits.

Names are made of syllables that all splits share, figures of digits; which whole name or number belongs to which
split is decided by a fixed hash, so that what is held out is unseen but not unlike.
"""

import datetime
import random
import re
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from journeyman.records.task import Split

T = TypeVar("T")

_CAPITALISED = re.compile("[A-Z][a-z]*")
_ONSETS = _CAPITALISED.findall(
    "NorDalCorBelTarVelHalMorSerKelLanFenGarRudPolWesAshBramCalDorEdFarGilHarIsJorKinLorMarNed"
)
_ENDINGS = _CAPITALISED.findall("VaneSeyDenMontWickTonFieldFordLeyMereGateBorneSteadWellBrookDaleCrestHolmLandMark")
_FIRST = _CAPITALISED.findall("AdaBenCaraDanEllaFinnGwenHugoInesJonKiraLeoMonaNilsOlgaPaulRitaSamTessUmarVeraWill")
_LAST_ONSETS = _CAPITALISED.findall("BarCleDrayEwFalGrimHolIveKerrLamMalNashOdePemQuinRoweSalThornUllVosWynYorkZellAlm")
_LAST_ENDINGS = ("", "er", "by", "ham", "man", "son", "wood", "worth")
_HOLIDAYS = ("01-01", "05-01", "12-25", "12-26")


def _owner(key: int) -> Split:
    """The split that owns a number: 60 % train, 15 % validation, 25 % held out, scattered by a multiplicative hash."""
    bucket = (key * 2654435761 >> 7) % 20
    return "train" if bucket < 12 else "validation" if bucket < 15 else "heldout"


def scattered(key: int) -> Split:
    """The same shares by a mixing hash (splitmix64): here a sum of two owned numbers may be owned too.

    `_owner` is nearly linear, so in validation no sum or difference of two owned numbers ever is; worlds whose figures
    follow from each other need this one. Types told as cases use it; the first four keep theirs.
    """
    mixed = (key * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = ((mixed ^ (mixed >> shift)) * factor) & 0xFFFFFFFFFFFFFFFF
    bucket = (mixed ^ (mixed >> 31)) % 20
    return "train" if bucket < 12 else "validation" if bucket < 15 else "heldout"


@cache
def companies(split: Split) -> tuple[str, ...]:
    """Company stems of a split."""
    names = [onset + ending.lower() for onset in _ONSETS for ending in _ENDINGS]
    return tuple(name for index, name in enumerate(names) if _owner(index + 1) == split)


@cache
def people(split: Split) -> tuple[str, ...]:
    """Full names of a split; surnames are disjoint, first names are shared."""
    surnames = [onset + ending.lower() for onset in _LAST_ONSETS for ending in _LAST_ENDINGS]
    owned = [name for index, name in enumerate(surnames) if _owner(index + 5001) == split]
    return tuple(f"{_FIRST[(7 * i + 3 * j) % len(_FIRST)]} {name}" for i, name in enumerate(owned) for j in range(3))


def draw_companies(rng: random.Random, split: Split, count: int) -> list[str]:
    """`count` different company stems."""
    return rng.sample(companies(split), count)


def draw_people(rng: random.Random, split: Split, roles: tuple[str, ...]) -> dict[str, str]:
    """A different person for each role."""
    chosen: dict[str, str] = {}
    for role, name in zip(roles, rng.sample(people(split), 4 * len(roles)), strict=False):
        chosen[role] = name
    return chosen


class NoFiguresError(ValueError):
    """No number of the split is left that fits."""


class Figures:
    """Draws numbers of one split, none twice within a world."""

    def __init__(self, rng: random.Random, split: Split, owner: Callable[[int], Split] = _owner) -> None:
        self._rng = rng
        self._owner = owner
        self._split = split
        self._used: set[int] = set()

    def draw(self, low: int, high: int) -> int:
        """An unused number of this split in [low, high]. Raises NoFiguresError when there is none."""
        for _ in range(64):
            value = self._rng.randint(low, high)
            if value not in self._used and self._owner(value) == self._split:
                self._used.add(value)
                return value
        free = [n for n in range(low, high + 1) if n not in self._used and self._owner(n) == self._split]
        if not free:
            raise NoFiguresError(f"no figure of split {self._split} is left in [{low}, {high}]")
        value = self._rng.choice(free)
        self._used.add(value)
        return value

    def settle(self, make: Callable[[], tuple[T, tuple[int, ...]]], tries: int = 20_000) -> T:
        """What `make` gives, drawn anew until its derived figures are different and all of this split.

        `make` returns (part, derived figures), drawing with `draw` as it likes; figures below 10 belong to everybody,
        signs do not matter. Settle up to three at a time. Raises NoFiguresError after `tries`.
        """
        before = set(self._used)
        for _ in range(tries):
            part, derived = make()
            sizes = [abs(value) for value in derived]
            new = len(set(sizes)) == len(sizes) and not before.intersection(sizes)
            if new and all(size < 10 or self._owner(size) == self._split for size in sizes):
                self._used.update(sizes)
                return part
            self._used = set(before)
        raise NoFiguresError(f"no part whose derived figures belong to split {self._split} in {tries} tries")


def owns_figure(split: Split, value: int) -> bool:
    """True iff `value` (an integer; ratios in hundredths) belongs to `split`."""
    return _owner(value) == split


def draw_date(rng: random.Random, start: str, days: int) -> str:
    """An ISO date in [start, start + days)."""
    return (datetime.date.fromisoformat(start) + datetime.timedelta(days=rng.randrange(days))).isoformat()


def shift_date(date: str, days: int) -> str:
    """An ISO date `days` later."""
    return (datetime.date.fromisoformat(date) + datetime.timedelta(days=days)).isoformat()


def days_between(start: str, end: str) -> int:
    """Days from one ISO date to another: the first counts, the last does not."""
    return (datetime.date.fromisoformat(end) - datetime.date.fromisoformat(start)).days


def is_working_day(date: str) -> bool:
    """Whether offices are open on an ISO date: Monday to Friday, not at New Year, May Day or Christmas."""
    return datetime.date.fromisoformat(date).weekday() < 5 and date[5:] not in _HOLIDAYS


def working_day(date: str, days: int = 0) -> str:
    """The ISO date `days` later, or the nearest working day beyond it; before it where `days` is not positive."""
    found = shift_date(date, days)
    while not is_working_day(found):
        found = shift_date(found, 1 if days > 0 else -1)
    return found
