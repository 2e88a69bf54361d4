"""Ground truth of a vendor benchmark: two companies share a name but not a legal form, and later rates do not count.

Invariant: only one legal form is a party to the contract, and only the cut-off quarter's rates count.
"""

import random
from typing import Literal

from journeyman.records.base import Record
from journeyman.records.task import Split
from journeyman.worlds.base import Pair, Truth, sample_axes
from journeyman.worlds.lexicon import Figures, draw_companies, draw_date, draw_people, shift_date

FORMS = ("Ltd", "GmbH", "SA", "BV", "AG", "Inc")
PERIODS = ("q1", "q2", "q3", "q4")
AXES: dict[str, tuple[str, ...]] = {
    "form": FORMS,
    "lookalike_form": FORMS,
    "cutoff": ("q1", "q2", "q3"),
    "cheaper": ("vendor", "peer"),
    "offer_from": ("lookalike", "vendor"),
    "service": ("hosting", "cleaning", "haulage", "staffing", "payroll"),
    "unit": ("hour", "pallet", "site"),
    "deliverable": ("benchmark", "summary", "table"),
    "stage": ("renewal", "tender", "review"),
    "currency": ("EUR", "USD", "GBP"),
}
FORBIDDEN: tuple[Pair, ...] = (
    *((("form", f), ("lookalike_form", f)) for f in FORMS),
    (("service", "hosting"), ("unit", "pallet")),
    (("service", "payroll"), ("unit", "pallet")),
)
ROLES = ("partner", "analyst", "client_lead", "buyer", "vendor_rep", "counsel")


class Rate(Record):
    """One line of the rate table: price per unit in whole currency units."""

    entity: str  # full name with legal form
    period: str
    rate: int


class VendorBenchmarkTruth(Truth):
    """Everything that is so in one vendor-benchmark world."""

    client: str
    stem: str  # the shared name
    vendor: str  # the party to the contract, "Dalven Ltd"
    lookalike: str  # same stem, other legal form
    peer: str  # the vendor it is compared with
    others: tuple[str, ...]  # further vendors, for the larger world
    service: str
    unit: str
    currency: str
    year: int
    cutoff: str  # last quarter that counts
    after: str  # the quarter right after it
    people: dict[str, str]
    contract_number: str
    contract_date: str
    lookalike_reason: str
    rates: tuple[Rate, ...]
    rate: int  # vendor, cut-off quarter
    peer_rate: int
    cheaper: str  # full name of the lower of the two
    offer_entity: str  # who the sales mail quotes
    offer_rate: int  # its rate in the quarter after the cut-off
    mail_date: str
    deliverable: str

    def rate_of(self, entity: str, period: str) -> int:
        """The printed rate of these keys."""
        return next(r.rate for r in self.rates if (r.entity, r.period) == (entity, period))


def draw(seed: int, split: Split) -> VendorBenchmarkTruth:
    """The world of (seed, split)."""
    rng = random.Random(f"consulting.vendor_benchmark:{split}:{seed}")
    axes = sample_axes(rng, AXES, FORBIDDEN)
    figures = Figures(rng, split)
    client, stem, peer_stem, *more = draw_companies(rng, split, 6)
    vendor, lookalike = f"{stem} {axes['form']}", f"{stem} {axes['lookalike_form']}"
    peer = f"{peer_stem} {rng.choice(FORMS)}"
    others = tuple(f"{name} {rng.choice(FORMS)}" for name in more)
    cutoff = axes["cutoff"]
    after = PERIODS[PERIODS.index(cutoff) + 1]
    side: Literal["vendor", "peer"] = "vendor" if axes["cheaper"] == "vendor" else "peer"
    rates = _rates(figures, (vendor, lookalike, peer, *others), (vendor, cutoff), (peer, cutoff), side)
    table = {(r.entity, r.period): r.rate for r in rates}
    offer = lookalike if axes["offer_from"] == "lookalike" else vendor
    contract_date = draw_date(rng, "2024-01-10", 600)
    year = 2026
    return VendorBenchmarkTruth(
        seed=seed,
        split=split,
        axes=axes,
        frozen_time=f"{year + 1}-01-12T09:00:00Z",
        client=client,
        stem=stem,
        vendor=vendor,
        lookalike=lookalike,
        peer=peer,
        others=others,
        service=axes["service"],
        unit=axes["unit"],
        currency=axes["currency"],
        year=year,
        cutoff=cutoff,
        after=after,
        people=draw_people(rng, split, ROLES),
        contract_number=f"C-{figures.draw(1000, 9000)}",
        contract_date=contract_date,
        lookalike_reason=rng.choice(("it serves another region", "it was sold last year", "it is a holding shell")),
        rates=rates,
        rate=table[vendor, cutoff],
        peer_rate=table[peer, cutoff],
        cheaper=vendor if side == "vendor" else peer,
        offer_entity=offer,
        offer_rate=table[offer, after],
        mail_date=shift_date(f"{year}-12-01", rng.randint(0, 20)),
        deliverable=axes["deliverable"],
    )


def _rates(
    figures: Figures,
    entities: tuple[str, ...],
    vendor_key: tuple[str, str],
    peer_key: tuple[str, str],
    cheaper: Literal["vendor", "peer"],
) -> tuple[Rate, ...]:
    """A rate per entity and quarter, all different; the two compared ones ordered as `cheaper` says."""
    low, high = figures.draw(40, 260), figures.draw(300, 560)
    fixed = {vendor_key: low if cheaper == "vendor" else high, peer_key: high if cheaper == "vendor" else low}
    return tuple(
        Rate(entity=entity, period=period, rate=fixed.get((entity, period)) or figures.draw(40, 700))
        for entity in entities
        for period in PERIODS
    )
