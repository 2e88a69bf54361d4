"""Company budgets: plan versions, actual units and prices of one product line, a one-off, a line of nearly its name.

Invariant: one plan version is adopted; the change against it is volume effect plus price effect plus one-off, exactly.
"""

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money, plot
from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.pptx import Slide
from journeyman.worlds.lexicon import working_day


class BudgetLine(Record):
    """Sales of one line in one period. Units in hundreds, prices in whole units, amounts in hundreds."""

    line: str
    other_line: str
    period: str
    plan_units: dict[str, int]  # plan version -> units
    plan_price: dict[str, int]
    adopted: str
    revised: str  # a later version that was never adopted
    units: int
    price: int
    one_off: int  # in the books of the period, not sales of the line
    other_units: int
    adopted_on: str


def simulate(common: Common) -> BudgetLine:
    """A line whose sales differ from plan in units, price and a one-off."""
    rng, figures, axes = common.rng, common.figures, common.axes
    up = 1 if axes["units"] == "more" else -1
    dearer = 1 if axes["price"] == "higher" else -1

    def planned() -> tuple[tuple[int, int, int, int], tuple[int, ...]]:
        units, price = rng.randint(120, 400), rng.randint(20, 90)
        sold, paid = units + up * rng.randint(5, 60), price + dearer * rng.randint(2, 9)
        return (units, price, sold, paid), ((sold - units) * price, (paid - price) * sold, sold * paid)

    units, price, sold, paid = figures.settle(planned)

    def revised() -> tuple[tuple[int, int], tuple[int, ...]]:
        later_units, later_price = units + rng.randint(-70, 70), price + rng.randint(-8, 8)
        return (later_units, later_price), ((sold - later_units) * later_price,)

    later_units, later_price = figures.settle(revised)

    def booked() -> tuple[int, tuple[int, ...]]:
        one_off = rng.randint(60, 900)
        return one_off, (one_off, sold * paid + one_off)

    one_off = figures.settle(booked)
    number = rng.randint(1, 4)
    return BudgetLine(
        line=axes["line"],
        other_line=f"{axes['line']} parts",
        period=axes["period"],
        plan_units={f"b{number}": units, f"b{number + 1}": later_units},
        plan_price={f"b{number}": price, f"b{number + 1}": later_price},
        adopted=f"b{number}",
        revised=f"b{number + 1}",
        units=sold,
        price=paid,
        one_off=one_off,
        other_units=rng.randint(20, 300),
        adopted_on=working_day(common.today, -rng.randint(120, 300)),
    )


def put_plans(drive: Drive, b: BudgetLine, controller: str, chair: str) -> None:
    """Both plan versions and the resolution that adopted one (sources plan, minutes)."""
    currency = drive.truth.currency
    tabs = (
        Tab(
            version,
            ("Line", "Units, hundred", f"Price {currency}"),
            ((b.line, b.plan_units[version], b.plan_price[version]), (b.other_line, b.other_units, 7)),
            title=f"Plan {version}, {b.period}",
        )
        for version in b.plan_units
    )
    drive.book("plan", f"plan/versions_{b.period}.xlsx", "Plan versions", *tabs, by=controller, dated=b.adopted_on)
    drive.paper(
        "minutes",
        "board/resolution_budget.docx",
        "Resolution on the budget",
        by=chair,
        dated=b.adopted_on,
        facts=(("Company", drive.truth.legal_name), ("Date", day(b.adopted_on))),
        body=(
            f"Plan {b.adopted} is adopted as the budget. Later versions may be prepared; they replace it only by a "
            "resolution of this board.",
        ),
        signed=((drive.name(chair), "chair", b.adopted_on),),
        status="ADOPTED",
    )
    drive.deck(
        "",
        "plan/outlook.pptx",
        "Outlook",
        f"Version {b.revised}, for discussion",
        Slide(
            f"Units of {b.line}",
            ("A later view", "Not adopted"),
            plot=plot("column", tuple(b.plan_units), Units=tuple(float(v) for v in b.plan_units.values())),
        ),
        by=controller,
        dated=working_day(b.adopted_on, 60),
    )


def put_actuals(drive: Drive, b: BudgetLine, controller: str, cfo: str) -> None:
    """Sales of the period with the one-off, the method, an exchange of mails (sources actuals, method)."""
    currency, today, once = drive.truth.currency, drive.today, drive.truth.axes["one_off"]
    sales = ((b.line, b.units, b.price, b.units * b.price), (b.other_line, b.other_units, 7, b.other_units * 7))
    drive.book(
        "actuals",
        f"books/sales_{b.period}.xlsx",
        "Sales",
        Tab(
            "Sales", ("Line", "Units, hundred", f"Price {currency}", f"Sales {currency} hundred"), sales, title=b.period
        ),
        Tab("Other", ("Item", f"{currency} hundred"), ((f"One-off: {once}", b.one_off),), title="Other income"),
        by=controller,
        dated=working_day(today, -6),
    )
    drive.paper(
        "method",
        "policies/variance_method.docx",
        "How variances are explained",
        by=cfo,
        dated=working_day(b.adopted_on, -30),
        reference="POL/FC/6",
        rules=(
            "Actual sales are compared with the budget the board adopted.",
            "Volume effect: actual units less budget units, times the budget price.",
            "Price effect: actual price less budget price, times actual units.",
            "One-offs are no sales of a line; they are stated apart and stand in neither effect.",
            "A line and its parts are two lines.",
        ),
    )
    drive.mail(
        "",
        "mail/good_month.eml",
        sender=controller,
        to=cfo,
        dated=drive.ago(5),
        subject=f"{b.line.capitalize()}: a good period",
        body=f"Everything that came in for {b.line} adds up to {money(b.units * b.price + b.one_off)}.",
        answer=f"That includes the {once}, does it not?",
    )
