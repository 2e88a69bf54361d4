"""Ground truth of a board forecast: three versions disagree, the board approved one, counsel cleared less than that.

Invariant: exactly one version is approved, and the audience the board approved is not the one counsel cleared.
"""

import random
from typing import Literal

from journeyman.records.base import Record
from journeyman.records.task import Split
from journeyman.worlds.base import Pair, Truth, sample_axes
from journeyman.worlds.lexicon import Figures, draw_companies, draw_date, draw_people, shift_date

AUDIENCES = ("lenders", "auditors", "insurers", "investors", "trustees", "suppliers")
METRIC_SETS: dict[str, tuple[str, str, str]] = {
    "cash": ("revenue", "ebitda", "cash"),
    "debt": ("revenue", "ebitda", "debt"),
    "capex": ("revenue", "margin", "capex"),
}
RANGES: dict[str, tuple[int, int]] = {  # millions
    "revenue": (420, 980),
    "ebitda": (110, 260),
    "margin": (110, 260),
    "cash": (20, 180),
    "debt": (100, 400),
    "capex": (20, 105),
}
AXES: dict[str, tuple[str, ...]] = {
    "approved_position": ("first", "second", "third"),
    "note_asks_for": ("superseded", "withdrawn"),
    "note_author": ("treasurer", "controller", "secretary"),
    "metrics": ("cash", "debt", "capex"),
    "cleared": AUDIENCES,
    "held": AUDIENCES,
    "deliverable": ("memo", "section", "brief"),
    "sector": ("logistics", "packaging", "software", "dairy"),
    "currency": ("EUR", "USD", "GBP"),
    "stage": ("pre_read", "ratification", "refinancing"),
}
FORBIDDEN: tuple[Pair, ...] = tuple((("cleared", a), ("held", a)) for a in AUDIENCES)
ROLES = ("chair", "cfo", "treasurer", "controller", "secretary", "counsel", "analyst", "auditor")
_REASONS = {
    "superseded": ("a later close replaced it", "a customer loss came after it", "the budget round overtook it"),
    "withdrawn": ("a pricing error was found", "a contract was counted twice", "a currency table was wrong"),
    "approved": ("the committee reviewed it in full", "it reflects the signed contracts", "the audit tie-out passed"),
}
Status = Literal["approved", "superseded", "withdrawn"]


class ForecastVersion(Record):
    """One version of the forecast. Amounts in millions of the company's currency."""

    id: str  # "v7"
    status: Status
    dated: str
    prepared_by: str
    reason: str  # why it has that status
    headline: dict[str, int]  # metric -> amount for the headline year, the three metrics of the world
    by_year: dict[str, dict[str, int]]  # year -> metric -> amount; the headline year agrees with `headline`


class BoardForecastTruth(Truth):
    """Everything that is so in one board-forecast world."""

    company: str  # stem, "Norvane"
    legal_name: str
    peer: str  # another company whose figures lie about as a decoy
    peer_headline: dict[str, int]
    sector: str
    currency: str
    headline_year: str  # "FY27"
    years: tuple[str, str, str]
    board_date: str
    resolution: str  # number of the board resolution that approved the forecast
    people: dict[str, str]  # role -> name
    counsel_firm: str
    counsel_date: str
    versions: tuple[ForecastVersion, ForecastVersion, ForecastVersion]  # ascending number
    metrics: tuple[str, str, str]
    note_version: str  # the version the misleading note asks for
    note_author: str  # role
    note_date: str
    cleared: str  # the audience counsel cleared
    held: str  # the audience the board approved and counsel has not cleared
    deliverable: str  # "memo" | "section" | "brief"

    def version(self, status: Status) -> ForecastVersion:
        """The one version with this status."""
        return next(v for v in self.versions if v.status == status)


def draw(seed: int, split: Split) -> BoardForecastTruth:
    """The world of (seed, split)."""
    rng = random.Random(f"finance.board_forecast:{split}:{seed}")
    axes = sample_axes(rng, AXES, FORBIDDEN)
    figures = Figures(rng, split)
    company, peer, firm = draw_companies(rng, split, 3)
    people = draw_people(rng, split, ROLES)
    board_date = draw_date(rng, "2026-03-02", 240)
    first = rng.randint(25, 29)
    years = (f"FY{first}", f"FY{first + 1}", f"FY{first + 2}")
    metrics = METRIC_SETS[axes["metrics"]]
    versions = _versions(rng, figures, axes, years, board_date, people)
    asked: Status = "superseded" if axes["note_asks_for"] == "superseded" else "withdrawn"
    return BoardForecastTruth(
        seed=seed,
        split=split,
        axes=axes,
        frozen_time=f"{shift_date(board_date, 2)}T09:00:00Z",
        company=company,
        legal_name=f"{company} {rng.choice(('Holdings plc', 'Group SA', 'Industries NV'))}",
        peer=peer,
        peer_headline={m: figures.draw(*RANGES[m]) for m in metrics},
        sector=axes["sector"],
        currency=axes["currency"],
        headline_year=years[1],
        years=years,
        board_date=board_date,
        resolution=f"{board_date[:4]}-{rng.randint(11, 89)}",
        people=people,
        counsel_firm=f"{firm} Legal",
        counsel_date=shift_date(board_date, 1),
        versions=versions,
        metrics=metrics,
        note_version=next(v.id for v in versions if v.status == asked),
        note_author=axes["note_author"],
        note_date=shift_date(board_date, -rng.randint(3, 9)),
        cleared=axes["cleared"],
        held=axes["held"],
        deliverable=axes["deliverable"],
    )


def _versions(
    rng: random.Random,
    figures: Figures,
    axes: dict[str, str],
    years: tuple[str, str, str],
    board_date: str,
    people: dict[str, str],
) -> tuple[ForecastVersion, ForecastVersion, ForecastVersion]:
    numbers = sorted(rng.sample(range(2, 10), 3))
    position = ("first", "second", "third").index(axes["approved_position"])
    others: list[Status] = ["superseded", "withdrawn"]
    rng.shuffle(others)
    statuses: list[Status] = [*others[:position], "approved", *others[position:]]
    metrics = METRIC_SETS[axes["metrics"]]
    made = []
    for index, (number, status) in enumerate(zip(numbers, statuses, strict=True)):
        headline = {m: figures.draw(*RANGES[m]) for m in metrics}
        by_year = {
            year: headline if year == years[1] else {m: v * rng.randint(88, 112) // 100 for m, v in headline.items()}
            for year in years
        }
        made.append(
            ForecastVersion(
                id=f"v{number}",
                status=status,
                dated=shift_date(board_date, -42 + 12 * index + rng.randint(0, 5)),
                prepared_by=people["analyst"],
                reason=rng.choice(_REASONS[status]),
                headline=headline,
                by_year=by_year,
            )
        )
    return made[0], made[1], made[2]
