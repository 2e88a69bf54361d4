"""consulting.market_sizing: a market's value and the client's share, by the study and the price level that hold."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap, decimal, percent
from journeyman.worlds.families import markets
from journeyman.worlds.families.markets import METHODS, Market


def _latest(fielded: Mapping[str, str], cutoff: str) -> str:
    """The study whose field work ended last, but not after the cut-off."""
    return max((study for study in fielded if fielded[study] <= cutoff), key=lambda study: fielded[study])


DERIVATION = Derivation(
    ("fielded", "cutoff", "units", "left_out", "level", "prices", "sales"),
    Step("study", "choose", ("fielded", "cutoff"), _latest),
    Step("found", "look_up", ("units", "study"), lambda units, study: units[study]),
    Step("scope", "difference", ("found", "left_out"), lambda units, out: units - out),
    Step("price", "look_up", ("prices", "level"), lambda prices, level: prices[level]),
    Step("market", "product", ("scope", "price"), lambda units, price: units * price),
    Step("share", "ratio", ("sales", "market"), percent),
)


class SizingTruth(CaseTruth):
    """One market to be sized."""

    m: Market


class MarketSizing(CaseType[SizingTruth]):
    """Three studies of different dates, two price levels and a definition that leaves something out."""

    name = "consulting.market_sizing"
    domain: Domain = "consulting"
    practice_area = "strategy"
    own_axes = {
        "holds": METHODS,
        "level": markets.LEVELS,
        "sector": ("health", "freight", "retail", "energy", "food", "software"),
        "region": ("north", "south", "east", "west"),
        "left_out": ("exports", "repairs", "rentals", "samples"),
        "stage": ("scoping", "analysis", "board"),
        "currency": CURRENCIES,
    }
    setting = {"stage": "Stage of the project"}
    roles = ("lead", "partner", "analyst", "member", "strategist", "planner")
    stakeholders = ("partner", "analyst", "member", "strategist", "planner")
    deliverables = ("brief", "workbook", "note")
    derivation = DERIVATION
    fields = (
        Field("study", "Study that holds", "study", "The {value} study holds at the cut-off", ("studies", "brief")),
        Field("units", "Units in scope", "scope", "The market is {value} thousand units", ("studies", "brief"), 3.0),
        Field("price", "Price a unit", "price", "The {m.level} price a unit is {value}", ("prices",)),
        Field("market", "Market value", "market", "The market is worth {value} thousand", ("prices", "studies"), 2.0),
        Field(
            "share", "Share of the client, percent", "share", "{company} has {value} percent", ("sales",), 2.0, decimal
        ),
    )
    asks = {
        "train": (
            "Please size the {axes[sector]} market of the {axes[region]}. We also need the share of {company}.",
            "How large is the {axes[region]} {axes[sector]} market, and what share has {company}? Please work it out.",
            "For the {axes[stage]} of our project we need the {axes[sector]} market in figures. Please size it.",
            "{company} wants to know its share in the {axes[region]}. Please size the {axes[sector]} market.",
        ),
        "validation": (
            "What is the {axes[region]} market for {axes[sector]} worth? Please work out its size.",
            "The {axes[stage]} needs the {axes[sector]} market in figures. Please provide them.",
        ),
        "heldout": (
            "For the {axes[stage]} the {axes[region]} has to be sized. Would you do that for {axes[sector]}?",
            "Three studies tell {company} three things about {axes[sector]}. Would you settle how large the market is?",
            "Would you find what {axes[sector]} in the {axes[region]} comes to, and what part {company} has?",
        ),
    }
    meaning = (
        "Name the study you use. Units and market value are in thousands, the share is in percent with two decimals."
    )
    rumoured = "later_study"

    def draw(self, common: Common) -> SizingTruth:
        """The facts of one world."""
        made = markets.simulate_market(common, holds=common.axes["holds"], level=common.axes["level"])
        return SizingTruth(**common.given, m=made)

    def facts(self, truth: SizingTruth) -> dict[str, Value]:
        """The derivation's facts."""
        return {name: getattr(truth.m, name) for name in DERIVATION.facts}

    def traps(self, truth: SizingTruth) -> tuple[Trap, ...]:
        """An older study, one after the cut-off, what is out of scope, the other price level."""
        m = truth.m
        level = next(x for x in markets.LEVELS if x != m.level)
        return (
            Trap(
                "older_study",
                "conflict",
                "study",
                m.older,
                "units",
                "The market is given as {value} thousand units, by the older {m.older} study",
                ("studies",),
            ),
            Trap(
                "later_study",
                "cutoff",
                "study",
                m.later,
                "units",
                "The market is given as {value} thousand units, by the {m.later} study after the cut-off",
                ("studies", RUMOUR),
            ),
            Trap(
                "out_of_scope_kept",
                "exception",
                "left_out",
                0,
                "units",
                "The market is given as {value} thousand units, {axes[left_out]} included",
                ("studies",),
            ),
            Trap(
                "other_level",
                "unit",
                "level",
                level,
                "price",
                f"The price is given as {{value}}, that of the {level}",
                ("prices",),
            ),
        )

    def sources(self, truth: SizingTruth) -> tuple[Source, ...]:
        """Brief, studies, prices and sales."""
        m, axes, today = truth.m, truth.axes, truth.frozen_time[:10]
        brief = (
            ("take the last study up to", m.cutoff),
            ("price level", m.level),
            (axes["left_out"], "not in scope"),
            ("share", "sales over market"),
        )
        studies = (
            *((f"{study} of {m.fielded[study]}", str(m.units[study])) for study in METHODS),
            (f"{axes['left_out']} in them", str(m.left_out)),
        )
        prices = tuple((level, str(price)) for level, price in m.prices.items())
        return (
            Source("brief", "scope.txt", f"{axes['stage']} scope", brief, m.cutoff),
            Source("studies", "studies.txt", f"{axes['sector']} units {axes['region']}", studies, today),
            Source("prices", "prices.txt", f"{axes['sector']} prices {truth.currency}", prices, today),
            Source("sales", "sales.txt", f"{truth.company} {axes['region']}", (("sales", str(m.sales)),), today),
        )

    def looks(self, truth: SizingTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """The definition, then volume, price and sales."""
        return ("brief", "studies", "prices", "sales")

    def remarks(self, truth: SizingTruth) -> tuple[Remark, ...]:
        """At which level units are valued."""
        level = truth.m.level
        return (
            Remark(
                "level",
                f"units are valued at the {level} price",
                ((level,),),
                ("valued", "priced", "at the", "at", "taken", "used", "applies", "price level"),
                "says at which price level units are valued",
                ("brief",),
                rivals=tuple(x for x in markets.LEVELS if x != level),
            ),
        )

    def drive(self, truth: SizingTruth, drive: Drive) -> None:
        """The definition and the client's data, then the studies."""
        markets.put_definition(drive, truth.m, "partner", "lead")
        markets.put_studies(drive, truth.m, "analyst", "lead", "member")
