"""Currency exposure and its cover: a forecast in two versions, forwards and options, a policy band by horizon.

Invariant: one forecast version is approved; options count half; the band is that of the horizon in question.
"""

from typing import Literal

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import working_day

CURRENCIES = ("USD", "GBP", "JPY", "SEK", "NOK")
HORIZONS = ("q1", "q2", "q3", "q4")


class Exposure(Record):
    """Sales less costs in a foreign currency, and what covers them. Amounts in thousands."""

    foreign: str
    horizon: str
    next_horizon: str
    approved: str  # forecast version, "v3"
    draft: str
    sales: dict[str, int]  # version -> sales
    costs: int
    forwards: int
    options: int
    other_forwards: int  # in a look-alike currency
    other_currency: str
    floors: dict[str, int]  # horizon -> lowest cover in per cent
    approved_on: str

    @property
    def exposure(self) -> int:
        """Sales of the approved version less costs."""
        return self.sales[self.approved] - self.costs


def simulate(common: Common, *, state: Literal["below", "within"]) -> Exposure:
    """An exposure whose cover is `state` of the floor."""
    rng, figures, axes = common.rng, common.figures, common.axes
    floor = rng.choice((50, 60, 70, 80))
    other_floor = rng.choice([f for f in (40, 55, 65, 75, 90) if f != floor])

    def exposed() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        costs, gap, wrong = 10 * rng.randint(20, 90), 10 * rng.randint(60, 300), 10 * rng.randint(60, 300)
        return (costs, gap, wrong), (gap, wrong)

    costs, gap, wrong = figures.settle(exposed)
    needed = gap * floor // 100

    def covered() -> tuple[tuple[int, int], tuple[int, ...]]:
        low, high = (needed // 4, max(needed // 4, needed - 60)) if state == "below" else (needed, gap)
        cover = rng.randint(low, high)
        half = rng.randint(10, max(11, cover // 3))
        top_up = needed - cover
        return (cover - half, 2 * half), (cover, cover + half, *((top_up,) if top_up > 0 else ()))

    forwards, options = figures.settle(covered)
    index = HORIZONS.index(axes["horizon"])
    number = rng.randint(2, 7)
    return Exposure(
        foreign=axes["foreign"],
        horizon=axes["horizon"],
        next_horizon=HORIZONS[(index + 1) % 4],
        approved=f"v{number}",
        draft=f"v{number + 1}",
        sales={f"v{number}": gap + costs, f"v{number + 1}": wrong + costs},
        costs=costs,
        forwards=forwards,
        options=options,
        other_forwards=rng.randint(100, 900),
        other_currency=axes["other_currency"],
        floors={axes["horizon"]: floor, HORIZONS[(index + 1) % 4]: other_floor},
        approved_on=working_day(common.today, -rng.randint(10, 40)),
    )


def put_papers(drive: Drive, e: Exposure, treasurer: str, controller: str) -> None:
    """Policy, forecast versions, deal list (sources policy, forecast, deals)."""
    today = drive.today
    drive.paper(
        "policy",
        "policies/hedging_policy.docx",
        "Hedging policy",
        by=treasurer,
        dated=working_day(today, -260),
        reference="POL/TR/4",
        rules=(
            "Exposure is sales less costs of the approved forecast. A later version counts once it is approved.",
            "Forwards count in full. Options count half. Deals in other currencies do not count.",
            "Cover is stated against the floor of the quarter in question, in whole per cent.",
            "Where cover is below the floor, the missing amount is stated; where it is not, the amount is 0.",
        ),
        grid=(("Quarter", "Floor, per cent of exposure"), tuple((q, str(f)) for q, f in sorted(e.floors.items()))),
    )
    versions = tuple(
        (f"{v}, {'approved' if v == e.approved else 'draft'}", sales, e.costs) for v, sales in e.sales.items()
    )
    drive.book(
        "forecast",
        f"forecast/{e.horizon}_{e.foreign.lower()}.xlsx",
        "Forecast",
        Tab(
            "Forecast",
            ("Version", f"Sales {e.foreign} k", f"Costs {e.foreign} k"),
            versions,
            title=f"{e.foreign} flows in {e.horizon}",
            note=f"Approved {e.approved_on}: {e.approved}.",
        ),
        by=controller,
        dated=e.approved_on,
    )
    _put_deals(drive, e, treasurer, controller)


def _put_deals(drive: Drive, e: Exposure, treasurer: str, controller: str) -> None:
    today = drive.today
    deals = (
        ("Forwards", e.foreign, e.forwards),
        ("Options", e.foreign, e.options),
        ("Forwards", e.other_currency, e.other_forwards),
    )
    drive.book(
        "deals",
        "deals/deal_list.xlsx",
        "Deals",
        Tab("Deals", ("Kind", "Currency", "Amount k"), deals, title=f"Open deals for {e.horizon}"),
        by=treasurer,
        dated=working_day(today, -1),
    )
    drive.paper(
        "minutes",
        f"forecast/approval_{e.approved}.pdf",
        f"Approval of forecast {e.approved}",
        by=controller,
        dated=e.approved_on,
        body=(f"Forecast {e.approved} is approved. {e.draft} will be discussed after the next close.",),
        signed=((drive.name(controller), "controller", e.approved_on),),
    )
    drive.export(
        "",
        "market/rates.csv",
        ("pair", "rate"),
        [(f"EUR{c}", round(0.8 + drive.rng.random(), 4)) for c in CURRENCIES],
        working_day(today, -1),
    )
    drive.mail(
        "",
        "mail/bank_quote.eml",
        sender=treasurer,
        to=controller,
        dated=drive.ago(4),
        subject=f"Quote of {drive.truth.other_party}",
        body=f"{drive.truth.other_party} quotes for {e.other_currency} as of {day(today)}; nothing is dealt.",
    )
