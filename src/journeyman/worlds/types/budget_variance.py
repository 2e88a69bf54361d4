"""finance.budget_variance: sales against the budget that was adopted, split into volume and price."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap, spelled
from journeyman.worlds.families import budgets
from journeyman.worlds.families.budgets import BudgetLine

DERIVATION = Derivation(
    ("adopted", "plan_units", "plan_price", "units", "price", "counted_one_off"),
    Step("budget_units", "look_up", ("adopted", "plan_units"), lambda v, units: units[v]),
    Step("budget_price", "look_up", ("adopted", "plan_price"), lambda v, prices: prices[v]),
    Step("gross", "product", ("units", "price"), lambda u, p: u * p),
    Step("sales", "sum", ("gross", "counted_one_off"), lambda g, o: g + o),
    Step("more", "difference", ("units", "budget_units"), lambda a, b: a - b),
    Step("volume", "product", ("more", "budget_price"), lambda m, p: m * p),
    Step("dearer", "difference", ("price", "budget_price"), lambda a, b: a - b),
    Step("price_effect", "product", ("dearer", "units"), lambda d, u: d * u),
    Step("driver", "compare", ("volume", "price_effect"), lambda v, p: "volume" if abs(v) > abs(p) else "price"),
)


RULES = (  # of the compact world; the standard one has a paper on the method
    ("volume", "units less budget units at budget price"),
    ("price", "price less budget price at units sold"),
    ("one-offs", "no sales"),
)


class VarianceTruth(CaseTruth):
    """One line to be explained."""

    budget: BudgetLine
    line: str
    period: str
    adopted: str


class BudgetVariance(CaseType[VarianceTruth]):
    """A variance by driver from plan versions, a resolution and the books."""

    name = "finance.budget_variance"
    domain: Domain = "finance"
    practice_area = "corporate finance"
    own_axes = {
        "units": ("more", "fewer"),
        "price": ("higher", "lower"),
        "line": ("valves", "boards", "lenses", "motors", "filters", "panels"),
        "period": ("q1", "q2", "q3", "q4"),
        "one_off": ("damages", "grant", "refund"),
        "market": ("home", "export", "online"),
        "currency": CURRENCIES,
    }
    setting = {"market": "Sold to, market"}
    roles = ("controller", "cfo", "treasurer", "chair", "analyst", "sales_head")
    stakeholders = ("cfo", "treasurer", "chair", "analyst", "sales_head")
    deliverables = ("comment", "workbook", "note")
    derivation = DERIVATION
    fields = (
        Field("plan", "Budget version", "adopted", "{value} is the adopted budget of {period}", ("minutes",), 1.0),
        Field("sales", "Sales", "sales", "Sales of {line} in {period} are {value}, the one-off apart", ("actuals",)),
        Field("volume", "Volume effect", "volume", "The volume effect of {line} is {value}", ("plan", "actuals")),
        Field("price", "Price effect", "price_effect", "The price effect of {line} is {value}", ("actuals", "plan")),
        Field("driver", "Main driver", "driver", "Mostly {value} moved {line} in {period}", ("actuals",), 1.0),
    )
    asks = {
        "train": (
            "Please explain the {period} sales of {line} at {company} against budget, by volume and by price.",
            "Why do {line} of {company} differ from budget in {period}? Please work out the drivers.",
            "Please comment on {line} in {period}. Split the difference from budget into volume and price.",
            "We need the {period} variance of {line} by driver. Please set it against the budget.",
        ),
        "validation": (
            "How far are {line} from budget in {period}, and why? Please split it into volume and price.",
            "The {period} variance of {line} needs an explanation. Please give one in figures.",
        ),
        "heldout": (
            "For {period}, would you say how volume and price moved {line} from budget?",
            "The sales of {line} at {company} depart from the {period} budget. Would you split the difference by "
            "driver?",
            "In {period} {line} did not come in as budgeted. Would you find the drivers?",
        ),
    }
    meaning = (
        "Name the version of the budget, give both effects with their sign, and the main driver as volume or price."
    )
    rumoured = "one_off_in_sales"

    def draw(self, common: Common) -> VarianceTruth:
        """The facts of one world."""
        made = budgets.simulate(common)
        return VarianceTruth(**common.given, budget=made, line=made.line, period=made.period, adopted=made.adopted)

    def facts(self, truth: VarianceTruth) -> dict[str, Value]:
        """The derivation's facts."""
        b = truth.budget
        return {
            "adopted": b.adopted,
            "plan_units": b.plan_units,
            "plan_price": b.plan_price,
            "units": b.units,
            "price": b.price,
            "counted_one_off": 0,
        }

    def traps(self, truth: VarianceTruth) -> tuple[Trap, ...]:
        """The version that was never adopted, the one-off in sales, volume at the wrong price."""
        b = truth.budget
        return (
            Trap(
                "later_version",
                "authority",
                "adopted",
                b.revised,
                "volume",
                "The volume effect is given as {value}, against a version never adopted",
                ("plan",),
            ),
            Trap(
                "one_off_in_sales",
                "exception",
                "counted_one_off",
                b.one_off,
                "sales",
                "Sales are given as {value}, the one-off among them",
                ("actuals", RUMOUR),
            ),
            Trap(
                "wrong_driver",
                "claim",
                "driver",
                "price" if self.right(truth)["driver"] == "volume" else "volume",
                "driver",
                "The driver is given as {value}, the smaller of the two effects",
                ("actuals",),
                -3.0,
            ),
        )

    def sources(self, truth: VarianceTruth) -> tuple[Source, ...]:
        """Resolution, plan versions, actuals."""
        b, axes = truth.budget, truth.axes
        today = truth.frozen_time[:10]
        plan = tuple(
            pair
            for v in b.plan_units
            for pair in ((f"{v} units", str(b.plan_units[v])), (f"{v} price", str(b.plan_price[v])))
        )
        sales = (("units", str(b.units)), ("price", str(b.price)), (f"{axes['one_off']} once", str(b.one_off)))
        return (
            Source("minutes", "minutes.txt", f"{truth.company} board", (("adopted", b.adopted), *RULES), b.adopted_on),
            Source("plan", "plan.txt", f"{b.line} {axes['market']} {b.period}", plan, b.adopted_on),
            Source("actuals", "sales.txt", f"{b.line} {b.period} {truth.currency}", sales, today),
            Source("parts", "parts.txt", b.other_line, (("units", str(b.other_units)),), today),
        )

    def looks(self, truth: VarianceTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """What was adopted, the plans, the books, and that parts are another line."""
        return ("minutes", "plan", "actuals", "parts")

    def aside(self, truth: VarianceTruth) -> frozenset[str]:
        """The line of parts, which is another one."""
        return frozenset({"parts"})

    def remarks(self, truth: VarianceTruth) -> tuple[Remark, ...]:
        """The one-off, apart."""
        n, once = truth.budget.one_off, truth.axes["one_off"]
        asks = "states the one-off apart, with its amount"
        ways = ("one-off", "one off", once)
        return (
            Remark("one_off", f"apart from this there was a one-off of {n}", (spelled(n),), ways, asks, ("actuals",)),
        )

    def drive(self, truth: VarianceTruth, drive: Drive) -> None:
        """Plans, resolution, books, method."""
        budgets.put_plans(drive, truth.budget, "controller", "chair")
        budgets.put_actuals(drive, truth.budget, "controller", "cfo")
        drive.export(
            "parts",
            "books/parts.csv",
            ("line", "units_hundred", "remark"),
            ((truth.budget.other_line, truth.budget.other_units, "a line of its own"),),
            truth.budget.adopted_on,
        )
