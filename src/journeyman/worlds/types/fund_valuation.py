"""finance.fund_valuation: net asset value per unit, by the price source, the cut-off and the waiver that hold."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap, decimal
from journeyman.worlds.families import funds
from journeyman.worlds.families.funds import Fund


def _nav(net: int, units: int) -> int:
    """Hundredths a unit, rounded half up."""
    return (200 * net + units) // (2 * units)


DERIVATION = Derivation(
    (
        "asset",
        "policy",
        "day",
        "prices",
        "quantity",
        "cash",
        "daily_fee",
        "days",
        "waived",
        "units",
        "subscribed",
        "received",
        "cutoff",
    ),
    Step("source", "choose", ("asset", "policy"), lambda asset, policy: policy[asset]),
    Step("price", "look_up", ("prices", "source", "day"), lambda prices, source, day: prices[source][day]),
    Step("value", "product", ("quantity", "price"), lambda q, p: q * p),
    Step("charged", "difference", ("days", "waived"), lambda d, w: d - w),
    Step("fee", "accrue", ("daily_fee", "charged"), lambda f, d: f * d),
    Step("net", "sum", ("value", "cash", "fee"), lambda v, c, f: v + c - f),
    Step("counted", "filter", ("subscribed", "received", "cutoff"), lambda s, r, c: s if r <= c else 0),
    Step("outstanding", "sum", ("units", "counted"), lambda u, c: u + c),
    Step("nav", "ratio", ("net", "outstanding"), _nav),
)


class ValuationTruth(CaseTruth):
    """One valuation to be made."""

    fund: Fund
    fund_name: str
    security: str
    valued_on: str
    other_source: str


class FundValuation(CaseType[ValuationTruth]):
    """A net asset value from price sheet, custody, register and policy."""

    name = "finance.fund_valuation"
    domain: Domain = "finance"
    practice_area = "private equity and funds"
    own_axes = {
        "asset": tuple(funds.ASSETS),
        "other_source": funds.SOURCES,
        "subscription": ("late", "timely"),
        "strategy": ("growth", "income", "balanced", "credit", "property", "climate"),
        "share_class": ("A", "B", "C"),
        "waiver": ("launch", "merger", "transfer"),
        "frequency": ("daily", "weekly", "monthly", "quarterly"),
        "seat": ("Luxembourg", "Dublin", "Zurich", "London"),
        "currency": CURRENCIES,
    }
    setting = {"seat": "Seat of the fund", "frequency": "Valued"}
    forbidden = tuple((("asset", a), ("other_source", s)) for a, s in funds.ASSETS.items())
    roles = ("manager", "accountant", "agent", "secretary", "auditor", "depositary")
    stakeholders = ("manager", "accountant", "secretary", "auditor", "depositary")
    deliverables = ("valuation", "worksheet", "report")
    derivation = DERIVATION
    fields = (
        Field(
            "price",
            "Price of the holding",
            "price",
            "The price of {security} is {value}, that of the {source} on the day valued",
            ("policy", "prices"),
        ),
        Field(
            "value",
            "Value of the holding",
            "value",
            "The holding of {security} is worth {value}",
            ("prices", "ledger"),
            1.0,
        ),
        Field("fee", "Accrued fee", "fee", "The accrued fee is {value} after the waiver", ("policy", "ledger")),
        Field("net", "Net asset value", "net", "The net asset value of {fund_name} is {value}", ("ledger", "prices")),
        Field(
            "units",
            "Units outstanding",
            "outstanding",
            "{value} units count for the valuation of {valued_on}",
            ("policy", "register"),
        ),
        Field(
            "unit",
            "Net asset value per unit",
            "nav",
            "The net asset value per unit is {value}",
            ("register", "ledger"),
            3.0,
            decimal,
        ),
    )
    asks = {
        "train": (
            "Please value {fund_name} as of {valued_on}. We need the net asset value, in total and per unit.",
            "We have to publish a unit value of {fund_name} for {valued_on}. Please work it out.",
            "{fund_name} holds {security} and cash. Please value it on {valued_on}, in total and per unit.",
            "Could you do the {valued_on} valuation of {fund_name}? We need every step up to the unit value.",
        ),
        "validation": (
            "What is one unit of {fund_name} worth on {valued_on}? Please show how you get there.",
            "The valuation of {fund_name} for {valued_on} is due. Please prepare it.",
        ),
        "heldout": (
            "Investors expect the {valued_on} unit value of {fund_name}. Would you calculate it, step by step?",
            "A unit of {fund_name} has to be valued as of {valued_on}. Would you take this on?",
            "Would you find out what {fund_name} was worth on {valued_on}, in total and per unit?",
        ),
    }
    meaning = "Give the value per unit with two decimals, everything else in whole numbers, and the fee without a sign."
    rumoured = "other_source"

    def draw(self, common: Common) -> ValuationTruth:
        """The facts of one world."""
        made = funds.simulate(common, late=common.axes["subscription"] == "late")
        return ValuationTruth(
            **common.given,
            fund=made,
            fund_name=made.name,
            security=made.security,
            valued_on=made.valued_on,
            other_source=made.other_source,
        )

    def facts(self, truth: ValuationTruth) -> dict[str, Value]:
        """The derivation's facts."""
        f = truth.fund
        return {
            "asset": f.asset,
            "policy": funds.ASSETS,
            "day": f.valued_on,
            "prices": f.prices,
            "quantity": f.quantity,
            "cash": f.cash,
            "daily_fee": f.daily_fee,
            "days": f.fee_days,
            "waived": f.waived_days,
            "units": f.units,
            "subscribed": f.subscribed,
            "received": f.subscribed_on,
            "cutoff": f.cutoff,
        }

    def traps(self, truth: ValuationTruth) -> tuple[Trap, ...]:
        """Another source, another day, the waiver forgotten, the subscription on the wrong side of the cut-off."""
        f = truth.fund
        late = f.subscribed_on > f.cutoff
        return (
            Trap(
                "other_source",
                "authority",
                "source",
                f.other_source,
                "price",
                "The price is given as {value}, that of the {other_source}",
                ("prices", RUMOUR),
            ),
            Trap(
                "stale_price",
                "cutoff",
                "day",
                f.previous_day,
                "price",
                "The price is given as {value}, that of the day before",
                ("prices",),
            ),
            Trap(
                "waiver_ignored",
                "exception",
                "waived",
                0,
                "fee",
                "The fee is given as {value}, with the waived days in it",
                ("ledger",),
            ),
            Trap(
                "wrong_side_of_cutoff",
                "cutoff",
                "counted",
                f.subscribed if late else 0,
                "units",
                "The units are given as {value}, the subscription on the wrong side of the cut-off",
                ("register",),
            ),
        )

    def sources(self, truth: ValuationTruth) -> tuple[Source, ...]:
        """Policy, prices, ledger and register."""
        f, axes = truth.fund, truth.axes
        return (
            Source(
                "policy",
                "policy.txt",
                f"{truth.fund_name} {axes['frequency']} policy, {axes['seat']}",
                (
                    (f"{f.asset} price by", f.source),
                    ("units in by", f.cutoff),
                    ("net", "holding and cash less fee"),
                    (f"{f.waiver} waived days", str(f.waived_days)),
                ),
                f.cutoff,
            ),
            Source(
                "prices",
                "prices.txt",
                f"{truth.security} prices in {truth.currency}",
                tuple(
                    (f"{source} {day}", str(price))
                    for source, by_day in f.prices.items()
                    for day, price in by_day.items()
                ),
                f.valued_on,
            ),
            Source(
                "ledger",
                "ledger.txt",
                f"{truth.fund_name} ledger",
                (
                    (f"{f.asset} holding", str(f.quantity)),
                    ("cash", str(f.cash)),
                    ("daily fee", str(f.daily_fee)),
                    ("fee days", str(f.fee_days)),
                ),
                f.valued_on,
            ),
            Source(
                "register",
                "register.txt",
                f"class {f.share_class} register",
                (
                    ("units", str(f.units)),
                    (f"new units {f.subscribed_on}", str(f.subscribed)),
                ),
                f.valued_on,
            ),
        )

    def looks(self, truth: ValuationTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Everything, in the order of the calculation."""
        return ("policy", "prices", "ledger", "register")

    def remarks(self, truth: ValuationTruth) -> tuple[Remark, ...]:
        """Whose price was taken."""
        source = truth.fund.source
        return (
            Remark(
                "source",
                f"the price of the {source} was taken",
                ((source,),),
                (
                    "take",
                    "taken",
                    "takes",
                    "took",
                    "use",
                    "used",
                    "uses",
                    "hold",
                    "holds",
                    "price of the",
                    "priced",
                    "valued",
                    "price source",
                ),
                "says whose price was taken",
                ("policy",),
            ),
        )

    def drive(self, truth: ValuationTruth, drive: Drive) -> None:
        """Policy, fee letter, prices, custody, register and the day before's valuation."""
        funds.put_rules(drive, truth.fund, "manager", "secretary")
        funds.put_books(drive, truth.fund, "accountant", "agent")
