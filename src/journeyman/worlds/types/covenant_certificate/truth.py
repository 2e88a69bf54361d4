"""Ground truth of a covenant certificate: an amendment moved the threshold of some quarters; look-alikes lie about.

Invariant: exactly one document governs each quarter, and every ratio is numerator / denominator to two decimals.
"""

import random
from typing import Literal

from journeyman.records.base import Record
from journeyman.records.task import Split
from journeyman.worlds.base import Pair, Truth, sample_axes
from journeyman.worlds.lexicon import Figures, draw_companies, draw_date, draw_people

PERIODS = ("q1", "q2", "q3", "q4")
Document = Literal["agreement", "amendment"]
Direction = Literal["maximum", "minimum"]
COVENANTS: dict[str, tuple[Direction, str, str]] = {  # name -> direction, numerator, denominator
    "leverage": ("maximum", "net debt", "ebitda"),
    "gearing": ("maximum", "total debt", "equity"),
    "cover": ("minimum", "ebitda", "interest"),
    "liquidity": ("minimum", "current assets", "current liabilities"),
}
ENTITIES = ("group", "parent", "issuer")
AXES: dict[str, tuple[str, ...]] = {
    "covenant": tuple(COVENANTS),
    "other_covenant": tuple(COVENANTS),
    "governing": ("agreement", "amendment"),
    "period": PERIODS,
    "entity": ENTITIES,
    "decoy_entity": ENTITIES,
    "result": ("met", "breach"),
    "waiver": ("signed", "unsigned"),
    "deliverable": ("certificate", "report", "notice"),
    "facility": ("term", "revolving", "bridge"),
    "currency": ("EUR", "USD", "GBP"),
}
FORBIDDEN: tuple[Pair, ...] = (
    *((("covenant", c), ("other_covenant", c)) for c in COVENANTS),
    *((("entity", e), ("decoy_entity", e)) for e in ENTITIES),
    (("governing", "agreement"), ("period", "q4")),  # the amendment runs from its first quarter to the year's end
    (("governing", "amendment"), ("period", "q1")),
)
ROLES = ("officer", "treasurer", "agent_contact", "counsel", "controller", "auditor")


class RatioLine(Record):
    """One printed ratio of the ledger extract. Ratios are in hundredths; amounts in millions."""

    entity: str
    period: str
    covenant: str
    numerator: int
    denominator: int
    ratio: int  # hundredths: 390 is 3.90


class CovenantTruth(Truth):
    """Everything that is so in one covenant world. Thresholds in hundredths."""

    borrower: str  # stem
    legal_name: str
    lender: str
    agent_bank: str
    facility: str
    facility_amount: int  # millions
    currency: str
    year: int
    agreement_date: str
    amendment_number: int
    amendment_date: str
    amendment_periods: tuple[str, ...]  # the quarters the amendment governs
    agreement_clause: str  # "22.2"
    people: dict[str, str]
    covenant: str
    direction: Direction
    other_covenant: str
    thresholds: dict[Document, int]  # of the tested covenant
    other_thresholds: dict[Document, int]
    governing: Document  # for the tested quarter
    period: str  # the tested quarter
    entity: str  # whose accounts the agreement tests
    decoy_entity: str
    other_period: str
    ledger: tuple[RatioLine, ...]
    ratio: int  # the tested ratio
    result: Literal["met", "breach"]
    waivers: dict[str, str]  # quarter -> "signed" | "unsigned", the tested quarter and one other
    deliverable: str

    def line(self, entity: str, period: str, covenant: str) -> RatioLine:
        """The ledger line of these keys."""
        return next(x for x in self.ledger if (x.entity, x.period, x.covenant) == (entity, period, covenant))

    @property
    def other_document(self) -> Document:
        """The document that does not govern the tested quarter."""
        return "agreement" if self.governing == "amendment" else "amendment"


def decimal(hundredths: int) -> str:
    """390 -> "3.90"."""
    return f"{hundredths // 100}.{hundredths % 100:02d}"


def draw(seed: int, split: Split) -> CovenantTruth:
    """The world of (seed, split)."""
    rng = random.Random(f"law.covenant_certificate:{split}:{seed}")
    axes = sample_axes(rng, AXES, FORBIDDEN)
    figures = Figures(rng, split)
    borrower, lender, agent = draw_companies(rng, split, 3)
    governing: Document = "agreement" if axes["governing"] == "agreement" else "amendment"
    period, index = axes["period"], PERIODS.index(axes["period"])
    start = rng.randint(1, index) if governing == "amendment" else rng.randint(index + 1, 3)
    direction = COVENANTS[axes["covenant"]][0]
    thresholds = _thresholds(rng, figures)
    result: Literal["met", "breach"] = "met" if axes["result"] == "met" else "breach"
    ratio = _tested_ratio(rng, figures, thresholds[governing], direction, result)
    other_period = rng.choice([p for p in PERIODS if p != period])
    year = rng.choice((2026, 2027))
    other = {"signed": "unsigned", "unsigned": "signed"}[axes["waiver"]]
    return CovenantTruth(
        seed=seed,
        split=split,
        axes=axes,
        frozen_time=f"{year + 1}-01-20T09:00:00Z",
        borrower=borrower,
        legal_name=f"{borrower} {rng.choice(('Finance BV', 'Holdings plc', 'Group SA'))}",
        lender=f"{lender} Bank",
        agent_bank=f"{agent} Trust",
        facility=axes["facility"],
        facility_amount=figures.draw(120, 900),
        currency=axes["currency"],
        year=year,
        agreement_date=draw_date(rng, "2023-02-01", 500),
        amendment_number=rng.randint(1, 4),
        amendment_date=f"{year}-{3 * start:02d}-15",
        amendment_periods=PERIODS[start:],
        agreement_clause=f"{rng.randint(18, 24)}.{rng.randint(1, 6)}",
        people=draw_people(rng, split, ROLES),
        covenant=axes["covenant"],
        direction=direction,
        other_covenant=axes["other_covenant"],
        thresholds=thresholds,
        other_thresholds={"agreement": figures.draw(110, 620), "amendment": figures.draw(110, 620)},
        governing=governing,
        period=period,
        entity=axes["entity"],
        decoy_entity=axes["decoy_entity"],
        other_period=other_period,
        ledger=_ledger(rng, figures, axes, ratio),
        ratio=ratio,
        result=result,
        waivers={period: axes["waiver"], other_period: other},
        deliverable=axes["deliverable"],
    )


def _thresholds(rng: random.Random, figures: Figures) -> dict[Document, int]:
    """Far enough apart for a ratio to pass one and fail the other."""
    low, high = figures.draw(160, 260), figures.draw(420, 560)
    return {"agreement": high, "amendment": low} if rng.random() < 0.5 else {"agreement": low, "amendment": high}


def _tested_ratio(rng: random.Random, figures: Figures, threshold: int, direction: str, result: str) -> int:
    """A ratio on the right side of the threshold; often between the two documents' thresholds, where the trap bites."""
    below = (direction == "maximum") == (result == "met")
    if below:
        return figures.draw(max(100, threshold - rng.choice((70, 200))), threshold - 4)
    return figures.draw(threshold + 4, threshold + rng.choice((70, 200)))


def _ledger(rng: random.Random, figures: Figures, axes: dict[str, str], ratio: int) -> tuple[RatioLine, ...]:
    """Every (entity, quarter, covenant) of the two entities and two covenants; the tested one carries `ratio`."""
    lines = []
    for entity in (axes["entity"], axes["decoy_entity"]):
        for period in PERIODS:
            for covenant in (axes["covenant"], axes["other_covenant"]):
                tested = (entity, period, covenant) == (axes["entity"], axes["period"], axes["covenant"])
                value = ratio if tested else figures.draw(110, 720)
                denominator = 100 * rng.randint(1, 4)
                lines.append(
                    RatioLine(
                        entity=entity,
                        period=period,
                        covenant=covenant,
                        numerator=value * denominator // 100,
                        denominator=denominator,
                        ratio=value,
                    )
                )
    return tuple(lines)
