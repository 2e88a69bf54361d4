"""consulting.entry_decision: the country to enter, by licence and payback, and whether the budget bears it."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap
from journeyman.worlds.families import markets
from journeyman.worlds.families.markets import Entry


def _months(invest: Mapping[str, int], profits: Mapping[str, int]) -> dict[str, int]:
    """Months until the investment is earned, broken ones rounded up."""
    return {country: -(-invest[country] // profits[country]) for country in invest}


DERIVATION = Derivation(
    ("licences", "sales", "costs", "duties", "invest", "budget"),
    Step(
        "free", "filter", ("licences",), lambda licences: tuple(c for c, state in licences.items() if state == "open")
    ),
    Step(
        "profits",
        "difference",
        ("sales", "costs", "duties"),
        lambda sales, costs, duties: {c: sales[c] - costs[c] - duties[c] for c in sales},
    ),
    Step("paybacks", "ratio", ("invest", "profits"), _months),
    Step("choice", "rank", ("free", "paybacks"), lambda free, months: min(free, key=lambda c: months[c])),
    Step("profit", "match", ("profits", "choice"), lambda profits, choice: profits[choice]),
    Step("months", "match", ("paybacks", "choice"), lambda months, choice: months[choice]),
    Step("rest", "difference", ("budget", "invest", "choice"), lambda budget, invest, c: budget - invest[c]),
    Step("funds", "decide", ("rest",), lambda rest: "own" if rest >= 0 else "loan"),
)


class EntryTruth(CaseTruth):
    """One choice among countries."""

    e: Entry


class EntryDecision(CaseType[EntryTruth]):
    """Four countries: the best pays back soonest but is closed, the next has only been asked for a licence."""

    name = "consulting.entry_decision"
    domain: Domain = "consulting"
    practice_area = "strategy"
    own_axes = {
        "funds": ("own", "loan"),
        "mode": ("shop", "depot", "office", "plant"),
        "sector": ("health", "freight", "retail", "energy", "food", "software"),
        "licence": ("trade", "health", "port", "customs"),
        "team": ("sales", "export", "growth"),
        "stage": ("scoping", "analysis", "board"),
        "currency": CURRENCIES,
    }
    setting = {"team": "Team", "stage": "Stage of the project", "sector": "Sector"}
    roles = ("strategist", "partner", "member", "analyst", "lead", "planner")
    stakeholders = ("partner", "member", "analyst", "lead", "planner")
    deliverables = ("brief", "table", "note")
    derivation = DERIVATION
    fields = (
        Field("country", "Country to enter", "choice", "{value} is the country to enter", ("licences", "setup"), 3.0),
        Field(
            "profit",
            "Profit a month",
            "profit",
            "{choice} earns {value} thousand a month, duty paid",
            ("plans", "setup"),
        ),
        Field("months", "Months to pay back", "months", "{choice} pays back in {value} months", ("plans", "setup")),
        Field("rest", "Budget left", "rest", "The budget leaves {value} thousand", ("rules", "setup")),
        Field("funds", "Paid with", "funds", "It is paid with: {value}", ("rules",), 1.0),
    )
    asks = {
        "train": (
            "Which country should {company} enter with its {axes[mode]}? Please choose by the rules.",
            "Please choose the country for the {axes[sector]} {axes[mode]} of {company}, and say how it is paid for.",
            "Please find out where the {axes[team]} team may open its {axes[sector]} {axes[mode]}.",
            "{company} plans a {axes[mode]} abroad. Please say where, and with what money.",
        ),
        "validation": (
            "Where should the {axes[sector]} {axes[mode]} go? Please work it out.",
            "The {axes[team]} team needs a country for its {axes[mode]}. Please choose it.",
        ),
        "heldout": (
            "For its next {axes[mode]} {company} has four countries to choose from. Would you pick one?",
            "A {axes[sector]} {axes[mode]} abroad is planned. Would you choose its country?",
            "In the {axes[stage]} the {axes[team]} team asks where to go. Would you work it out?",
        ),
    }
    meaning = "Amounts are in thousands; months are rounded up. Give what it is paid with as own or loan."
    rumoured = "closed_country"

    def draw(self, common: Common) -> EntryTruth:
        """The facts of one world."""
        return EntryTruth(**common.given, e=markets.simulate_entry(common, own=common.axes["funds"] == "own"))

    def facts(self, truth: EntryTruth) -> dict[str, Value]:
        """The derivation's facts."""
        return {name: getattr(truth.e, name) for name in DERIVATION.facts}

    def traps(self, truth: EntryTruth) -> tuple[Trap, ...]:
        """A closed country, a licence only asked for, duty forgotten, last year's budget."""
        e = truth.e
        return (
            Trap(
                "closed_country",
                "exception",
                "choice",
                e.closed,
                "country",
                "{value} is chosen, where foreign firms get no licence",
                ("licences", RUMOUR),
            ),
            Trap(
                "licence_hoped_for",
                "claim",
                "choice",
                e.asked,
                "country",
                "{value} is chosen, whose licence was only asked for",
                ("licences",),
            ),
            Trap(
                "duty_forgotten",
                "missing",
                "duties",
                dict.fromkeys(e.duties, 0),
                "profit",
                "The profit is given as {value}, before duty",
                ("plans",),
            ),
            Trap(
                "old_budget",
                "supersession",
                "budget",
                e.old_budget,
                "rest",
                "The budget left is given as {value}, from last year's budget",
                ("rules",),
            ),
        )

    def sources(self, truth: EntryTruth) -> tuple[Source, ...]:
        """Rules, plans, setup and licences."""
        e, axes, today = truth.e, truth.axes, truth.frozen_time[:10]
        plans = (
            *((f"{c} sales", str(e.sales[c])) for c in e.countries),
            *((f"{c} cost", str(e.costs[c])) for c in e.countries),
        )
        setup = (
            *((f"{c} {axes['mode']}", str(e.invest[c])) for c in e.countries),
            *((f"{c} duty", str(e.duties[c])) for c in e.countries),
        )
        rules = (
            ("old budget", str(e.old_budget)),
            ("new budget", str(e.budget)),
            ("enter", "soonest paid, licence open"),
            ("profit", "sales less cost and duty"),
            ("loan", f"where budget less {axes['mode']} lacks"),
        )
        return (
            Source("rules", "rules.txt", f"{axes['stage']} rules", rules, today),
            Source("plans", "plans.txt", f"{axes['sector']} a month {truth.currency}", plans, today),
            Source("setup", "setup.txt", f"{axes['team']} team costs", setup, today),
            Source("licences", "licences.txt", f"{axes['licence']} licences", tuple(e.licences.items()), today),
        )

    def looks(self, truth: EntryTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Rules, licences, then the figures."""
        return ("rules", "licences", "plans", "setup")

    def remarks(self, truth: EntryTruth) -> tuple[Remark, ...]:
        """Which country is closed."""
        e = truth.e
        return (
            Remark(
                "closed",
                f"{e.closed} is closed to foreign firms",
                ((e.closed,),),
                ("closed", "no licence", "barred"),
                "says which country is closed",
                ("licences",),
                ("open",),
                tuple(c for c in e.countries if c != e.closed),
            ),
        )

    def drive(self, truth: EntryTruth, drive: Drive) -> None:
        """The board's rules and the plans, then other voices."""
        markets.put_entry(drive, truth.e, "partner", "member", "analyst")
        markets.put_voices(drive, truth.e, "partner", "strategist", "member")
