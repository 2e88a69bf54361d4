"""finance.borrowing_base: what may still be drawn on a revolver, by receivables that count and stock at the lower."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep, ServiceGrant, Size
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import COUNTS, LEFT_OUT, CaseTruth, Field, Remark, Source, Systems, Trap
from journeyman.worlds.families import lending
from journeyman.worlds.families.lending import REVOLVER, Collateral, Debtor
from journeyman.worlds.lexicon import working_day
from journeyman.worlds.scripts import call


def _eligible(debtors: dict[str, Debtor], max_age: int, left_out: str) -> tuple[int, ...]:
    return tuple(d.amount for d in debtors.values() if d.age <= max_age and d.kind != left_out)


def _lent(amount: int, rate: int) -> int:
    return amount * rate // 100


DERIVATION = Derivation(
    ("debtors", "max_age", "left_out", "cap", "rate", "cost", "appraised", "stock_rate", "reserve", "drawn", "asked"),
    Step("eligible", "filter", ("debtors", "max_age", "left_out"), _eligible),
    Step("capped", "limit", ("eligible", "cap"), lambda eligible, cap: tuple(min(x, cap) for x in eligible)),
    Step("base", "sum", ("capped",), sum),
    Step("receivables", "product", ("base", "rate"), _lent),
    Step("worth", "limit", ("cost", "appraised"), min),
    Step("stock", "product", ("worth", "stock_rate"), _lent),
    Step("available", "sum", ("receivables", "stock", "reserve"), lambda r, s, reserve: r + s - reserve),
    Step("headroom", "difference", ("available", "drawn"), lambda available, drawn: available - drawn),
    Step(
        "verdict", "decide", ("asked", "headroom"), lambda asked, headroom: "lend" if asked <= headroom else "decline"
    ),
)
NO_CAP = 10**9


class BaseTruth(CaseTruth):
    """One statement to be made."""

    collateral: Collateral
    lender: str
    stock_kind: str
    left_out: str
    asked: int
    month: str
    site: str


class BorrowingBase(CaseType[BaseTruth]):
    """Ageing, stock and agreement, with the revolver's balance in a live ledger."""

    name = "finance.borrowing_base"
    domain: Domain = "finance"
    practice_area = "credit and lending"
    own_axes = {
        "lower": ("cost", "appraised"),
        "verdict": ("lend", "decline"),
        "left_out": lending.KINDS,
        "stock": lending.STOCKS,
        "currency": CURRENCIES,
        "reserve": ("rent", "tax", "wages"),
        "report": ("ageing", "listing", "ledger"),
        "site": ("yard", "depot", "mill", "harbour"),
    }
    setting = {"site": "Stock lies at the", "reserve": "Reserve for"}
    roles = ("borrower_cfo", "collateral_clerk", "analyst", "credit_officer", "committee_chair", "auditor")
    stakeholders = ("credit_officer", "analyst", "committee_chair", "borrower_cfo", "auditor")
    deliverables = ("statement", "schedule", "report")
    derivation = DERIVATION
    fields = (
        Field("base", "Base of receivables", "base", "Receivables that count come to {value}", ("ageing", "agreement")),
        Field(
            "receivables",
            "Receivables at their rate",
            "receivables",
            "On receivables {value} may be lent",
            ("ageing", "agreement"),
            1.0,
        ),
        Field("stock", "Stock at its rate", "stock", "On {stock_kind} {value} may be lent", ("stock", "agreement")),
        Field("available", "Available", "available", "Available of the facility is {value}", ("agreement",), 1.0),
        Field("headroom", "Headroom", "headroom", "The headroom is {value}", ("agreement", "erp.accounts.2400"), 2.0),
        Field("verdict", "Verdict", "verdict", "On the draw of {asked} the verdict is {value}", ("agreement",), 1.0),
    )
    asks = {
        "train": (
            "{company} would like to draw {asked} from {lender}. Please make the borrowing base and say whether it "
            "fits.",
            "May {company} draw {asked}? Please make its {month} borrowing base.",
            "Please make the borrowing base of {month} for {lender}. {company} asks for {asked}.",
            "With {stock_kind} at the {site}, {company} wants to draw {asked}. Please test that.",
        ),
        "validation": (
            "{lender} was asked for {asked} by {company}. Please test the draw.",
            "The base of {month} decides a draw of {asked}. Please work it out.",
        ),
        "heldout": (
            "A draw of {asked} by {company} waits for the {month} statement. Would you prepare it?",
            "For {lender}, would you see whether {asked} can go to {company}?",
            "Would you work out what room the {site} gives for a draw of {asked}?",
        ),
    }
    meaning = (
        "Amounts are in thousands, the base before and the others after their rate. Give the verdict as lend or "
        "decline."
    )
    rumoured = "term_loan_drawn"

    def draw(self, common: Common) -> BaseTruth:
        """The facts of one world."""
        made = lending.simulate(common)
        return BaseTruth(
            **common.given,
            collateral=made,
            lender=common.given["other_party"],
            stock_kind=common.axes["stock"],
            left_out=made.left_out,
            asked=made.asked,
            month=made.as_of[:7],
            site=common.axes["site"],
        )

    def facts(self, truth: BaseTruth) -> dict[str, Value]:
        """The derivation's facts."""
        c = truth.collateral
        return {
            "debtors": c.debtors,
            "max_age": c.max_age,
            "left_out": c.left_out,
            "cap": c.cap,
            "rate": c.receivables_rate,
            "cost": c.cost,
            "appraised": c.appraised,
            "stock_rate": c.stock_rate,
            "reserve": c.reserve,
            "drawn": c.drawn,
            "asked": c.asked,
        }

    def traps(self, truth: BaseTruth) -> tuple[Trap, ...]:
        """Old receivables counted, one debtor uncapped, stock at the higher value, the other facility's balance."""
        c = truth.collateral
        return (
            Trap(
                "old_counted",
                "cutoff",
                "max_age",
                NO_CAP,
                "base",
                "Receivables that count are given as {value}, too old ones among them",
                ("ageing",),
            ),
            Trap(
                "uncapped",
                "exception",
                "cap",
                NO_CAP,
                "base",
                "Receivables that count are given as {value}, one debtor beyond the cap",
                ("ageing", "agreement"),
            ),
            Trap(
                "higher_value",
                "conflict",
                "worth",
                max(c.cost, c.appraised),
                "stock",
                "On stock {value} is given, at the higher of two values",
                ("stock",),
                chance=0.15,
            ),
            Trap(
                "term_loan_drawn",
                "lookalike",
                "drawn",
                c.term_loan,
                "headroom",
                "The headroom is given as {value}, by the balance of another facility",
                ("erp.accounts.2410", RUMOUR),
                -3.0,
            ),
        )

    def sources(self, truth: BaseTruth) -> tuple[Source, ...]:
        """Agreement, ageing and stock."""
        c, axes = truth.collateral, truth.axes
        agreement = (
            ("oldest that counts", f"{c.max_age} days"),
            ("rate of receivables", f"{c.receivables_rate} %"),
            ("most of one debtor", str(c.cap)),
            (c.left_out, "does not count"),
            ("rate of stock at the lower", f"{c.stock_rate} %"),
            (f"{axes['reserve']} reserve", str(c.reserve)),
            ("drawn", f"account {REVOLVER}"),
            ("headroom", "receivables, stock, less reserve and drawn"),
        )
        owed = tuple(
            (name, f"{d.amount} {d.age} days{'' if d.kind == 'trade' else ' ' + d.kind}")
            for name, d in c.debtors.items()
        )
        stock = ((f"{truth.stock_kind} cost", str(c.cost)), (f"{truth.stock_kind} appraised", str(c.appraised)))
        return (
            Source("agreement", "agreement.txt", f"{truth.lender} {truth.currency}", agreement, c.closed),
            Source("ageing", f"{axes['report']}.txt", f"owed {c.as_of}", owed, c.as_of),
            Source("stock", "stock.txt", f"{truth.site} {c.as_of}", stock, c.as_of),
        )

    def looks(self, truth: BaseTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Agreement, ageing, stock, and what is drawn."""
        return ("agreement", "ageing", "stock", call(("erp__get_account", {"account": REVOLVER})))

    def systems(self, truth: BaseTruth, size: Size) -> Systems:
        """The ledger, to look at."""
        tools = ("get_account", "list_accounts") if size == "standard" else ("get_account",)
        return Systems((ServiceGrant(service="erp", actor="viewer", tools=tools),), lending.erp_rows(truth.collateral))

    def remarks(self, truth: BaseTruth) -> tuple[Remark, ...]:
        """Who is left out, and why."""
        c = truth.collateral
        name = next(n for n, d in c.debtors.items() if d.kind == c.left_out)
        return (
            Remark(
                "left_out",
                f"the receivable of {name} does not count, because its kind is {c.left_out}",
                ((name,), (c.left_out,)),
                (c.left_out, *LEFT_OUT, "ineligible"),
                "names the debtor of a kind that does not count, and that kind",
                ("ageing",),
                (*COUNTS, "trade", "eligible"),
                tuple(n for n in c.debtors if n != name),
            ),
        )

    def drive(self, truth: BaseTruth, drive: Drive) -> None:
        """Agreement, ageing, stock, request and last month's statement."""
        lending.put_papers(drive, truth.collateral, truth.lender, truth.stock_kind, "borrower_cfo", "collateral_clerk")
        drive.paper(
            "guide",
            "policies/collateral_guide.docx",
            "Guide to collateral statements",
            by="credit_officer",
            dated=working_day(truth.collateral.closed, 20),
            reference="POL/CR/4",
            rules=(
                "The agreement decides what counts; a borrower's own listing does not.",
                "Ages run to the day of the statement. First leave out, then cap, then add up, then take the rate.",
                "What is drawn stands in the ledger today, not in last month's statement.",
            ),
        )
