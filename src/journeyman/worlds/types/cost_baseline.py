"""consulting.cost_baseline: what a function costs in a year and per full-time equivalent, once it is cleaned."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap, decimal
from journeyman.worlds.families import costs
from journeyman.worlds.families.costs import CostBook, each


def _one_offs(amounts: Mapping[str, int], ruled: Mapping[str, str]) -> int:
    """The sum of what was ruled a one-off."""
    return sum(amount for name, amount in amounts.items() if ruled[name] == "one-off")


DERIVATION = Derivation(
    ("booked", "one_offs", "ruled", "foreign", "missing", "months", "fte"),
    Step("total", "sum", ("booked",), lambda booked: sum(booked.values())),
    Step("odd", "filter", ("one_offs", "ruled"), _one_offs),
    Step("recurring", "difference", ("total", "odd", "foreign"), lambda total, odd, foreign: total - odd - foreign),
    Step("clean", "sum", ("recurring", "missing"), lambda recurring, missing: recurring + missing),
    Step("month", "ratio", ("clean", "months"), lambda clean, months: clean // months),
    Step("baseline", "product", ("month",), lambda month: 12 * month),
    Step("a_head", "ratio", ("baseline", "fte"), each),
)


RULES = (  # of the compact world; the standard one has a paper on the baseline
    ("clean", "booked, less one-offs and cost of others, plus not booked"),
    ("year", "twelve clean months"),
    ("head", "year over equivalents"),
)


class BaselineTruth(CaseTruth):
    """One function to be costed."""

    b: CostBook


class CostBaseline(CaseType[BaselineTruth]):
    """Booked cost with a true one-off, one that is only called so, a stray posting and a missing invoice."""

    name = "consulting.cost_baseline"
    domain: Domain = "consulting"
    practice_area = "cost and operating model"
    own_axes = {
        "function": ("finance", "sales", "supply", "service"),
        "neighbour": ("legal", "marketing", "research"),
        "one_off": costs.ONE_OFFS[:3],
        "claimed": costs.ONE_OFFS[3:],
        "stage": ("baseline", "design", "delivery"),
        "site": ("head office", "plant", "branch", "depot"),
        "currency": CURRENCIES,
    }
    setting = {"site": "Site", "stage": "Stage of the project"}
    roles = ("plant_lead", "partner", "controller", "analyst", "client_cfo", "planner")
    stakeholders = ("partner", "controller", "analyst", "client_cfo", "planner")
    deliverables = ("workbook", "brief", "note")
    derivation = DERIVATION
    fields = (
        Field("odd", "One-offs taken out", "odd", "One-offs of {value} are taken out", ("rulings", "postings"), 2.0),
        Field(
            "clean",
            "Cleaned cost of the months",
            "clean",
            "The cleaned cost of {b.months} months is {value}",
            ("ledger", "postings"),
        ),
        Field("month", "Cleaned cost a month", "month", "A month costs {value}", ("ledger",), 1.0),
        Field("year", "Baseline of a year", "baseline", "The baseline of a year is {value}", ("ledger",), 2.0),
        Field(
            "head",
            "Baseline per equivalent",
            "a_head",
            "The baseline is {value} per full-time equivalent",
            ("staff",),
            2.0,
            decimal,
        ),
    )
    asks = {
        "train": (
            "Please work out the cost baseline of {axes[function]} at the {axes[site]}. We need a normal year.",
            "What does {axes[function]} of {company} cost in a normal year? Please work it out.",
            "Please clean the {axes[function]} costs for the {axes[stage]} of our project. We need a yearly baseline.",
            "{company} needs its {axes[function]} baseline, also per full-time post. Please prepare it.",
        ),
        "validation": (
            "How much is a normal year of {axes[function]} at the {axes[site]}? Please calculate it.",
            "The {axes[stage]} needs the cost of {axes[function]}, cleaned. Please prepare it.",
        ),
        "heldout": (
            "At the {axes[site]} nobody agrees what {axes[function]} costs. Would you settle it?",
            "For the {axes[stage]} the cost of {axes[function]} has to be made comparable. Would you do that?",
            "Would you find the yearly cost of {axes[function]} at {company}, cleaned?",
        ),
    }
    meaning = "Amounts are in thousands. Give the baseline per equivalent with two decimals, everything else whole."
    rumoured = "called_one_off"

    def draw(self, common: Common) -> BaselineTruth:
        """The facts of one world."""
        return BaselineTruth(**common.given, b=costs.simulate(common))

    def facts(self, truth: BaselineTruth) -> dict[str, Value]:
        """The derivation's facts."""
        return {name: getattr(truth.b, name) for name in DERIVATION.facts}

    def traps(self, truth: BaselineTruth) -> tuple[Trap, ...]:
        """What is called a one-off, the neighbour's posting, the missing invoice, heads for equivalents."""
        b = truth.b
        return (
            Trap(
                "called_one_off",
                "claim",
                "odd",
                sum(b.one_offs.values()),
                "odd",
                "One-offs are given as {value}, with {b.claimed} that the controller ruled recurring",
                ("postings", RUMOUR),
            ),
            Trap(
                "neighbour_kept",
                "lookalike",
                "foreign",
                0,
                "clean",
                "The cleaned cost is given as {value}, with a posting of {axes[neighbour]} in it",
                ("postings",),
            ),
            Trap(
                "invoice_forgotten",
                "missing",
                "missing",
                0,
                "clean",
                "The cleaned cost is given as {value}, without rent that is not booked yet",
                ("postings",),
            ),
            Trap(
                "per_head",
                "unit",
                "fte",
                b.heads,
                "head",
                "The baseline is given as {value} each, per head",
                ("staff",),
            ),
        )

    def sources(self, truth: BaselineTruth) -> tuple[Source, ...]:
        """Ledger, postings, rulings and staff."""
        b, axes, today = truth.b, truth.axes, truth.frozen_time[:10]
        postings = (
            *((name, str(amount)) for name, amount in b.one_offs.items()),
            (f"of {axes['neighbour']}", str(b.foreign)),
            ("rent not booked", str(b.missing)),
        )
        staff = (("full-time equivalents", str(b.fte)), ("heads", str(b.heads)))
        booked = (*((account, str(amount)) for account, amount in b.booked.items()), ("months", str(b.months)))
        return (
            Source("ledger", "ledger.txt", f"{axes['function']} {truth.currency}", booked, today),
            Source("postings", "postings.txt", f"{axes['site']} postings", postings, today),
            Source("rulings", "rulings.txt", f"{axes['stage']} rulings", (*b.ruled.items(), *RULES), today),
            Source("staff", "staff.txt", f"{truth.company} {axes['function']}", staff, today),
        )

    def looks(self, truth: BaselineTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Cost, what is to be cleaned, who rules, and staff."""
        return ("ledger", "postings", "rulings", "staff")

    def remarks(self, truth: BaselineTruth) -> tuple[Remark, ...]:
        """What stays in."""
        b = truth.b
        return (
            Remark(
                "recurring",
                f"{b.claimed} is recurring",
                ((b.claimed,),),
                ("recurring", "recurs", "recurrent", "regular"),
                "says which item is recurring, whatever it is called",
                ("rulings",),
                ("one-off", "one off", "exceptional"),
                (b.own,),
            ),
        )

    def drive(self, truth: BaselineTruth, drive: Drive) -> None:
        """Ledger and staff, then rules and rulings."""
        costs.put_ledger(drive, truth.b, "controller", "analyst")
        costs.put_rulings(drive, truth.b, "partner", "controller")
        costs.put_voices(drive, truth.b, "partner", "controller", "plant_lead")
