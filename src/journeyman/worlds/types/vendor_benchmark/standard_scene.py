"""What the standard benchmark world adds to the truth: volumes, a panel, register numbers, paper."""

import random
from statistics import median
from typing import NamedTuple

from journeyman.worlds.documents.folder import house, slug
from journeyman.worlds.documents.mail import Person, address
from journeyman.worlds.documents.model import House
from journeyman.worlds.lexicon import Figures, shift_date
from journeyman.worlds.types.vendor_benchmark.truth import PERIODS, VendorBenchmarkTruth

QUARTER_ENDS = {"q1": "03-31", "q2": "06-30", "q3": "09-30", "q4": "12-31"}


class Scene(NamedTuple):
    """The setting of one standard world."""

    truth: VendorBenchmarkTruth
    client: House
    advisor: House
    vendor: House
    lookalike: House
    peer: House
    volume: int  # units a year, as amended
    old_volume: int  # units a year, as first agreed
    amended: str  # ISO date of the amendment, before the cut-off
    registers: dict[str, str]  # entity -> register number
    barred: str  # the vendor of the market that is not in the panel
    barred_reason: str
    today: str
    contract: str  # paths
    amendment: str
    rate_table: str
    brief: str
    eligibility: str

    def who(self, role: str) -> Person:
        """A correspondent; partner and analyst are the advisor's."""
        t = self.truth
        firm = {"partner": self.advisor.name, "analyst": self.advisor.name, "vendor_rep": t.stem}.get(role, t.client)
        return address(t.people[role], firm)

    @property
    def panel(self) -> tuple[str, ...]:
        """Entities that count: vendor, peer and the eligible others."""
        t = self.truth
        return (t.vendor, t.peer, *(o for o in t.others if o != self.barred))

    @property
    def panel_rates(self) -> dict[str, int]:
        """Rate of each panel member in the cut-off quarter."""
        return {entity: self.truth.rate_of(entity, self.truth.cutoff) for entity in self.panel}

    @property
    def median(self) -> float:
        """Median rate of the panel."""
        return float(median(self.panel_rates.values()))

    @property
    def rank(self) -> int:
        """The vendor's place in the panel; 1 is the lowest rate."""
        return sorted(self.panel_rates.values()).index(self.truth.rate) + 1

    @property
    def quarter(self) -> str:
        """The cut-off quarter in words, "Q2 2026"."""
        return quarter(self.truth, self.truth.cutoff)


def quarter(truth: VendorBenchmarkTruth, period: str) -> str:
    """ "Q2 2026"."""
    return f"{period.upper()} {truth.year}"


def quarter_end(truth: VendorBenchmarkTruth, period: str) -> str:
    """ISO date of the quarter's last day."""
    return f"{truth.year}-{QUARTER_ENDS[period]}"


def percent(rate: int, peer_rate: int) -> str:
    """How far `rate` lies above `peer_rate`, in per cent with one decimal, sign kept."""
    return f"{(rate - peer_rate) / peer_rate * 100:.1f}"


def number(value: float) -> str:
    """262.0 -> "262", 262.5 -> "262.5"."""
    return f"{value:g}"


def scene(truth: VendorBenchmarkTruth) -> Scene:
    """The scene of a truth."""
    rng = random.Random(f"standard:consulting:{truth.split}:{truth.seed}")
    figures = Figures(rng, truth.split)
    entities = (truth.vendor, truth.lookalike, truth.peer, *truth.others)
    first = quarter_end(truth, PERIODS[0])
    return Scene(
        truth=truth,
        client=house(rng, f"{truth.client} Group"),
        advisor=house(rng, f"{truth.people['partner'].split()[-1]} Advisory"),
        vendor=house(rng, truth.vendor, serif=True),
        lookalike=house(rng, truth.lookalike, serif=True),
        peer=house(rng, truth.peer),
        volume=figures.draw(1100, 4800),
        old_volume=figures.draw(1100, 4800),
        amended=shift_date(first, -rng.randint(20, 60)),
        registers={entity: f"{rng.randint(1, 9)}{rng.randint(10000, 99999)}" for entity in entities},
        barred=_barred(truth, rng),
        barred_reason=rng.choice(("withdrew from the tender", "quotes net of travel", "serves one region only")),
        today=truth.frozen_time[:10],
        contract=f"contract/framework_agreement_{truth.contract_number}.docx",
        amendment=f"contract/amendment_1_{truth.contract_number}.docx",
        rate_table=f"rates/rate_table_{truth.year}.xlsx",
        brief="scope/engagement_brief_signed.docx",
        eligibility="scope/panel_eligibility.xlsx",
    )


def _barred(truth: VendorBenchmarkTruth, rng: random.Random) -> str:
    """A vendor of the market whose presence in the panel would move the median."""

    def moves(entity: str) -> bool:
        panel = (truth.vendor, truth.peer, *truth.others)
        rates = {e: truth.rate_of(e, truth.cutoff) for e in panel}
        return median(rates.values()) != median(rate for e, rate in rates.items() if e != entity)

    return rng.choice([entity for entity in truth.others if moves(entity)])


def file_name(entity: str) -> str:
    """An entity as part of a file name; the legal form stays, because it matters."""
    return slug(entity)
