"""What an author gives of a case: facts, traps, sources and one derivation; worlds of both sizes follow in `kind`.

Invariant: everything that is graded comes from one derivation, solved right for credit and wrong for each named error.
"""

import datetime
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from journeyman.records.task import Domain, PlanStep, Size, Split
from journeyman.worlds.base import Pair, sample_axes
from journeyman.worlds.cases.derivation import READ, Derivation, Value
from journeyman.worlds.cases.model import CaseTruth, Claim, Field, Remark, Source, Systems, Trap
from journeyman.worlds.cases.wording import HINTS, RUMOURS, USES
from journeyman.worlds.lexicon import Figures, NoFiguresError, draw_companies, draw_people, scattered, working_day

if TYPE_CHECKING:
    from journeyman.worlds.cases.drive import Drive

C = TypeVar("C", bound=CaseTruth)
_FORMS = ("plc", "Group SA", "Holdings BV", "AG", "Ltd", "Industries NV")
_OTHER_FORMS = ("GmbH", "SARL", "Partners LLP", "Limited", "SpA", "Company AB")
_ATTEMPTS = 6
_SEASONS = {  # days after 1 February; two weeks on it is the same season
    "any": (0, 300),
    "winter": (0, 14),
    "spring": (33, 100),
    "summer": (125, 195),
    "autumn": (217, 286),
}
RUMOUR = "rumour"  # source id of the misleading statement
CURRENCIES = ("EUR", "USD", "GBP", "CHF")  # what books are kept in
SITES = ("depot", "plant", "shop", "store")


class Common(NamedTuple):
    """What is drawn alike for every case. `given` are the fields of `CaseTruth`, ready to pass on."""

    rng: random.Random
    figures: Figures
    axes: dict[str, str]
    split: Split
    today: str  # ISO date
    spare: tuple[str, ...]  # company stems nobody else uses
    given: dict[str, Any]


class Authored(ABC, Generic[C]):
    """A case of one environment type. Stateless; one instance serves every seed."""

    name: ClassVar[str]
    domain: Domain
    practice_area: ClassVar[str]
    own_axes: ClassVar[Mapping[str, tuple[str, ...]]]
    forbidden: tuple[Pair, ...] = ()
    setting: ClassVar[Mapping[str, str]] = {}  # own axis that no document of the standard world tells -> its label
    roles: ClassVar[tuple[str, ...]]  # everybody in the world; lower-case words joined by "_"
    stakeholders: ClassVar[tuple[str, ...]]  # those of `roles` who may ask
    deliverables: ClassVar[tuple[str, ...]]  # see `formats.ENDINGS`; none is a word of RUMOURS
    derivation: ClassVar[Derivation]
    fields: ClassVar[tuple[Field, ...]]
    asks: ClassVar[Mapping[Split, tuple[str, ...]]]  # {names} are the truth's attributes, and {deliverable}
    meaning: ClassVar[str]  # which values the fields take; also formatted
    rumoured: ClassVar[str]  # the trap that somebody recommends

    @cached_property
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        """The type's own axes and those all cases have: who asks, for what, which hint, where the rumour stands."""
        return {
            **self.own_axes,
            "stakeholder": self.stakeholders,
            "use": USES,
            "hint": HINTS,
            "rumour": RUMOURS,
            "deliverable": self.deliverables,
        }

    @abstractmethod
    def draw(self, common: Common) -> C:
        """The facts of one world. Deterministic in `common`."""

    @abstractmethod
    def facts(self, truth: C) -> dict[str, Value]:
        """The derivation's facts."""

    @abstractmethod
    def traps(self, truth: C) -> tuple[Trap, ...]:
        """At least three wrong turns, each shown by a field; one is `rumoured`."""

    @abstractmethod
    def sources(self, truth: C) -> tuple[Source, ...]:
        """The compact world's files, the rumour apart."""

    @abstractmethod
    def looks(self, truth: C, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """What somebody reads (source ids) or asks a system who takes these values: one look a turn."""

    def aside(self, truth: C) -> frozenset[str]:
        """Sources of `looks` that are found not to count: no answer rests on them, so none has to name them."""
        return frozenset()

    @abstractmethod
    def drive(self, truth: C, drive: "Drive") -> None:
        """Put the load-bearing and misleading documents of the standard world on the drive, by source id."""

    def programs(self, truth: C) -> Mapping[str, str]:
        """Programs that lie in both worlds, none by default: path -> text; a path is also the id to look at and cite.

        Requests do not name them: who is told a symptom has to find what is wrong.
        """
        return {}

    def systems(self, truth: C, size: Size) -> Systems:
        """Live systems; none by default."""
        return Systems()

    def acts(self, truth: C, values: Mapping[str, Value]) -> tuple[PlanStep, ...]:
        """What somebody does in the systems who takes these values."""
        return ()

    def wrong_acts(self, truth: C) -> dict[str, tuple[PlanStep, ...]]:
        """Other things that might be done: name of the negative -> acts. Each must lose or break a claim."""
        return {}

    def claims(self, truth: C) -> tuple[Claim, ...]:
        """Criteria on the systems."""
        return ()

    def remarks(self, truth: C) -> tuple[Remark, ...]:
        """What the standard deliverable says in words, beyond sources and addressee."""
        return ()

    @cached_property
    def derived(self) -> frozenset[str]:
        """Keys of fields whose value stands in no source: it is worked out."""
        return frozenset(f.key for f in self.fields if self.derivation.op(f.step) not in {*READ, None})

    def right(self, truth: C) -> dict[str, Value]:
        """The solution."""
        return self.derivation.solve(self.facts(truth))

    def truth(self, seed: int, split: Split) -> C:
        """The frozen ground truth of one world; drawn anew, from another stream, where figures of the split run out."""
        for attempt in range(_ATTEMPTS):
            stream = f"{self.name}:{split}:{seed}" + (f":{attempt}" if attempt else "")
            try:
                return self._drawn(random.Random(stream), seed, split)
            except NoFiguresError as error:
                last = error
        raise last

    def _drawn(self, rng: random.Random, seed: int, split: Split) -> C:
        axes = sample_axes(rng, self.axes, self.forbidden)
        first, second, *spare = draw_companies(rng, split, 8)
        people = draw_people(rng, split, self.roles)
        start = datetime.date(rng.choice((2026, 2027)), 2, 1)
        today = working_day(start.isoformat(), rng.randrange(*_SEASONS[axes.get("season", "any")]))
        given = {
            "seed": seed,
            "split": split,
            "axes": axes,
            "frozen_time": f"{today}T09:00:00Z",
            "company": first,
            "legal_name": f"{first} {rng.choice(_FORMS)}",
            "other_party": f"{second} {rng.choice(_OTHER_FORMS)}",
            "currency": axes.get("currency", "EUR"),
            "people": people,
            "stakeholder": axes["stakeholder"],
            "deliverable": axes["deliverable"],
        }
        return self.draw(Common(rng, Figures(rng, split, scattered), axes, split, today, tuple(spare), given))
