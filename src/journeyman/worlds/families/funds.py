"""Fund administration: one security's prices from several sources, custody, the unit register and the fee.

Invariant: one price source holds by the policy, one day is valued, and the net asset value per unit is exact to a cent.
"""

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import days_between, shift_date, working_day

SOURCES = ("exchange", "broker", "committee")
ASSETS = {"listed": "exchange", "thin": "broker", "private": "committee"}  # asset -> whose price the policy takes


class Fund(Record):
    """One valuation. Money in whole units of the currency; `nav` in hundredths a unit."""

    name: str
    security: str
    asset: str
    source: str  # whose price holds
    other_source: str
    valued_on: str
    previous_day: str
    prices: dict[str, dict[str, int]]  # source -> day -> price
    quantity: int
    cash: int
    daily_fee: int
    fee_days: int
    waived_days: int
    waiver: str  # why days are waived
    units: int  # on the register before the subscription
    subscribed: int
    subscribed_on: str
    cutoff: str  # ISO date
    share_class: str
    nav: int

    @property
    def price(self) -> int:
        """The price that holds."""
        return self.prices[self.source][self.valued_on]


def simulate(common: Common, *, late: bool) -> Fund:
    """A fund; `late`, the last subscription came after the cut-off and does not count."""
    rng, figures, axes = common.rng, common.figures, common.axes
    valued_on = working_day(common.today, -rng.randint(2, 6))
    source = ASSETS[axes["asset"]]

    def fees() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        daily, days, waived = figures.draw(12, 60), rng.randint(15, 30), rng.randint(3, 9)
        return (daily, days, waived), (daily * (days - waived), daily * days)

    def register() -> tuple[tuple[int, int], tuple[int, ...]]:
        units, subscribed = 100 * rng.randint(20, 70), 100 * rng.randint(2, 12)
        return (units, subscribed), (units, units + subscribed)

    daily, days, waived = figures.settle(fees)
    units, subscribed = figures.settle(register)
    counted = units if late else units + subscribed

    def valued() -> tuple[int, tuple[int, ...]]:
        nav = figures.draw(905, 1990)
        return nav, (nav * counted // 100,)

    nav = figures.settle(valued)
    net = nav * counted // 100

    def priced() -> tuple[tuple[int, int], tuple[int, ...]]:
        quantity = rng.randint(10, min(60, net // 900))
        price = figures.draw(net * 6 // (10 * quantity), net * 9 // (10 * quantity))
        return (quantity, price), (quantity * price,)

    def near(value: int, per_cent: int) -> int:
        return figures.draw(value * (100 - per_cent) // 100, value * (100 + per_cent) // 100)

    quantity, price = figures.settle(priced)
    previous = working_day(valued_on, -1)
    quoted = {source: price, axes["other_source"]: near(price, 7)}
    prices = {s: {valued_on: value, previous: near(value, 4)} for s, value in quoted.items()}
    return Fund(
        name=f"{common.given['company']} {axes['strategy'].capitalize()} Fund",
        security=common.spare[0],
        asset=axes["asset"],
        source=source,
        other_source=axes["other_source"],
        valued_on=valued_on,
        previous_day=previous,
        prices=prices,
        quantity=quantity,
        cash=net + daily * (days - waived) - quantity * price,
        daily_fee=daily,
        fee_days=days,
        waived_days=waived,
        waiver=axes["waiver"],
        units=units,
        subscribed=subscribed,
        subscribed_on=valued_on if late else working_day(previous, -1),
        cutoff=previous,
        share_class=axes["share_class"],
        nav=nav,
    )


def put_rules(drive: Drive, f: Fund, manager: str, secretary: str) -> None:
    """Valuation policy, fee letter and an old draft of the policy (source policy)."""
    currency, dated = drive.truth.currency, working_day(f.valued_on, -300)
    drive.paper(
        "policy",
        "fund/valuation_policy.docx",
        f"Valuation policy: {f.name}",
        by=manager,
        dated=dated,
        facts=(("Fund", f.name), ("Class", f.share_class), ("In force from", day(dated))),
        body=(
            "# 1. Prices",
            f"{f.security} is a {f.asset} holding. Its price is that of the {f.source} on the day that is valued. "
            "Prices of other sources are kept for comparison and are not used, nor are those of another day.",
            "# 2. Units",
            f"Subscriptions received up to and on {day(f.cutoff)} count for this valuation. Later ones do not.",
            "# 3. Fee",
            f"The fee accrues by the day. Of the days that ran, {f.waived_days} are waived ({f.waiver}).",
            "# 4. Result",
            "The net asset value is holdings and cash less the accrued fee. Per unit it is stated to two decimals.",
        ),
        signed=((drive.name(manager), "for the board", dated), (drive.name(secretary), "secretary", dated)),
        reference="FUND/VP/5",
        status="IN FORCE",
    )
    drive.paper(
        "",
        "fund/valuation_policy_draft.docx",
        f"Valuation policy: {f.name}",
        by=secretary,
        dated=working_day(f.valued_on, -20),
        body=(f"Proposal: use the price of the {f.other_source} for all holdings and waive no days. Not adopted.",),
        status="DRAFT",
    )
    drive.paper(
        "",
        "fund/fee_agreement.pdf",
        "Fee agreement",
        by=manager,
        dated=dated,
        body=(
            f"The manager is paid {currency} {f.daily_fee} a day, accrued daily and paid at least every five weeks. "
            "A day on which it is paid is not counted, the day that is valued is.",
        ),
        signed=((drive.name(manager), "for the fund", dated),),
    )


def put_books(drive: Drive, f: Fund, accountant: str, agent: str) -> None:
    """Price sheet, custody statement, unit register, last valuation (prices, ledger, register, previous)."""
    currency = drive.truth.currency
    tabs = (
        Tab(
            source.capitalize(),
            ("Security", day(f.previous_day), day(f.valued_on)),
            ((f.security, by_day[f.previous_day], by_day[f.valued_on]), *_other_prices(drive)),
            title=f"Prices of the {source}, {currency}",
        )
        for source, by_day in sorted(f.prices.items())
    )
    drive.book("prices", "prices/price_sheet.xlsx", "Price sheet", *tabs, by=accountant, dated=f.valued_on)
    drive.paper(
        "ledger",
        f"custody/statement_{f.valued_on}.docx",
        f"Holdings and accruals, {day(f.valued_on)}",
        dated=f.valued_on,
        paper=drive.other,
        grid=(
            ("Item", "Quantity", currency),
            (
                (f.security, money(f.quantity), ""),
                ("Cash", "", money(f.cash)),
                ("Fee a day", "", money(f.daily_fee)),
                (f"Days since the fee was last paid, {day(shift_date(f.valued_on, -f.fee_days))}", str(f.fee_days), ""),
            ),
        ),
    )
    _put_register(drive, f, accountant, agent)


def _put_register(drive: Drive, f: Fund, accountant: str, agent: str) -> None:
    drive.export(
        "register",
        "register/units.csv",
        ("entry", "class", "units", "received_on"),
        (
            ("opening", f.share_class, f.units, working_day(f.valued_on, -60)),
            ("subscription", f.share_class, f.subscribed, f.subscribed_on),
        ),
        f.valued_on,
    )
    stale = f.prices[f.source][f.previous_day]
    fee = f.daily_fee * (f.fee_days - f.waived_days - days_between(f.previous_day, f.valued_on))
    rows = (
        (f.security, f.quantity, stale, f.quantity * stale),
        ("Cash", "", "", f.cash),
        ("Accrued fee", "", "", -fee),
    )
    drive.book(
        "previous",
        f"valuations/valuation_{f.previous_day}.xlsx",
        "Valuation",
        Tab(
            "Valuation",
            ("Holding", "Quantity", "Price", "Value"),
            rows,
            (3,),
            title=f"Valuation of {day(f.previous_day)}",
        ),
        by=accountant,
        dated=f.previous_day,
    )
    drive.mail(
        "",
        "mail/subscription.eml",
        sender=agent,
        to=accountant,
        dated=f.subscribed_on,
        subject="Subscription",
        body=f"We entered {money(f.subscribed)} new units of class {f.share_class} on {day(f.subscribed_on)}.",
        answer="Thank you. The policy says for which valuation it counts.",
    )


def _other_prices(drive: Drive) -> tuple[tuple[str, int, int], ...]:
    """Securities of other funds on the same sheet."""
    rng = drive.rng
    return tuple((name, rng.randint(30, 400), rng.randint(30, 400)) for name in ("Auster", "Boreal", "Cirrus", "Dune"))
