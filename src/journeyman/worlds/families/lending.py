"""Asset-based lending: receivables by debtor, stock, the revolver and what may still be drawn on it.

Invariant: one debtor is over the cap, one over the age, one of a kind the agreement leaves out; one counts whole.
"""

from journeyman.records.base import Record
from journeyman.worlds.base import Rows
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import shift_date, working_day

KINDS = ("foreign", "affiliate", "disputed", "public")  # of debtors an agreement leaves out
STOCKS = ("timber", "steel", "yarn", "grain", "tyres")
REVOLVER, TERM_LOAN = "2400", "2410"  # ledger accounts


class Debtor(Record):
    """What one debtor owes: thousands, days since the invoice, and what kind of debtor."""

    amount: int
    age: int
    kind: str  # "trade", or one of KINDS


class Collateral(Record):
    """Collateral of a revolver on one day. Thousands of the currency, rates in per cent."""

    as_of: str
    debtors: dict[str, Debtor]
    max_age: int
    cap: int  # most that counts of one debtor
    left_out: str
    receivables_rate: int
    cost: int
    appraised: int
    stock_rate: int
    reserve: int
    drawn: int
    term_loan: int
    asked: int  # what the borrower wants to draw
    closed: str  # day of the agreement
    debtor_names: tuple[str, ...]


def simulate(common: Common) -> Collateral:
    """A day; axes: which stock value is lower, what the agreement leaves out, whether the draw fits."""
    rng, figures, axes = common.rng, common.figures, common.axes
    receivables_rate, stock_rate = rng.choice((75, 80, 85, 90)), rng.choice((40, 50, 60))

    def owed() -> tuple[tuple[int, int, int, int], tuple[int, ...]]:
        cap = 20 * rng.randint(20, 60)
        over, whole = cap + rng.randint(90, 700), 20 * rng.randint(8, cap // 20 - 1)
        old, base = rng.randint(60, cap - 10), cap + whole
        return (cap, over, whole, old), (base, base + old, over + whole, base * receivables_rate // 100)

    cap, over, whole, old = figures.settle(owed)
    lent = (cap + whole) * receivables_rate // 100

    def kept() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        low, high, reserve = 10 * rng.randint(30, 120), 10 * rng.randint(121, 180), rng.randint(20, 140)
        stock = low * stock_rate // 100
        return (low, high, reserve), (stock, high * stock_rate // 100, lent + stock - reserve)

    low, high, reserve = figures.settle(kept)
    available = lent + low * stock_rate // 100 - reserve

    def drawn() -> tuple[tuple[int, int], tuple[int, ...]]:
        now, other = rng.randint(available // 4, available - 60), rng.randint(available // 4, available - 60)
        return (now, other), (available - now, available - other)

    now, other = figures.settle(drawn)
    headroom = available - now
    fits = axes["verdict"] == "lend"
    asked = rng.randint(headroom // 2, headroom - 5) if fits else rng.randint(headroom + 5, headroom * 2)
    max_age = rng.choice((60, 75, 90))
    names = common.spare[:4]
    debtors = [
        Debtor(amount=over, age=rng.randint(12, max_age - 4), kind="trade"),
        Debtor(amount=whole, age=rng.randint(12, max_age - 4), kind="trade"),
        Debtor(amount=old, age=max_age + rng.randint(4, 60), kind="trade"),
        Debtor(amount=rng.randint(60, cap - 10), age=rng.randint(12, max_age - 4), kind=axes["left_out"]),
    ]
    rng.shuffle(debtors)
    cheaper = axes["lower"] == "cost"
    return Collateral(
        as_of=shift_date(f"{common.today[:7]}-01", -1),
        debtors=dict(zip(names, debtors, strict=True)),
        max_age=max_age,
        cap=cap,
        left_out=axes["left_out"],
        receivables_rate=receivables_rate,
        cost=low if cheaper else high,
        appraised=high if cheaper else low,
        stock_rate=stock_rate,
        reserve=reserve,
        drawn=now,
        term_loan=other,
        asked=asked,
        closed=working_day(common.today, -rng.randint(200, 700)),
        debtor_names=names,
    )


def erp_rows(c: Collateral) -> dict[str, Rows]:
    """The ledger: the revolver, and a term loan beside it."""
    return {
        "erp": {
            "accounts": [
                {"account": REVOLVER, "title": "Revolving facility, drawn", "balance": c.drawn},
                {"account": TERM_LOAN, "title": "Term facility", "balance": c.term_loan},
            ]
        }
    }


def put_papers(drive: Drive, c: Collateral, lender: str, stock: str, cfo: str, clerk: str) -> None:
    """Agreement, ageing, stock report with appraisal, draw request, last month's statement."""
    currency = drive.truth.currency
    drive.paper(
        "agreement",
        "facility/borrowing_base_agreement.docx",
        f"Borrowing base agreement with {lender}",
        by=cfo,
        dated=c.closed,
        facts=(("Borrower", drive.truth.legal_name), ("Lender", lender), ("Amounts", f"thousand {currency}")),
        body=(
            "# 1. Receivables",
            f"A receivable counts if it is at most {c.max_age} days old on the day of the statement and its debtor "
            f"is not {c.left_out}. Of one debtor no more than {c.cap} counts; what counts, added up, is the base.",
            f"The advance rate on the base is {c.receivables_rate} per cent.",
            "# 2. Stock",
            f"Stock counts at the lower of cost and appraised value; the advance rate is {c.stock_rate} per cent.",
            "# 3. Availability",
            f"From both together a reserve of {c.reserve} is taken off: that is what is available. Headroom is what is "
            f"available less what is drawn under the revolving facility, account {REVOLVER}. The term facility does "
            "not count.",
            "The lender lends what is asked for if it does not exceed the headroom, and declines otherwise.",
        ),
        signed=((drive.name(cfo), drive.truth.legal_name, c.closed), ("P. Ravel", lender, c.closed)),
        status="SIGNED",
    )
    rows = tuple((name, d.amount, d.age, d.kind) for name, d in c.debtors.items())
    ageing = Tab("Ageing", ("Debtor", "Owed", "Days", "Kind"), rows, (1,), title=f"Receivables on {c.as_of}")
    drive.book("ageing", f"collateral/receivables_{c.as_of}.xlsx", "Ageing", ageing, by=clerk, dated=c.as_of)
    drive.paper(
        "stock",
        f"collateral/stock_{c.as_of}.docx",
        f"Stock of {stock}",
        by=clerk,
        dated=c.as_of,
        facts=(("Counted on", day(c.as_of)), ("Amounts", f"thousand {currency}")),
        grid=(("Value", "Amount"), (("At cost", str(c.cost)), ("As appraised", str(c.appraised)))),
        body=("The appraisal was made by a valuer the lender accepted.",),
    )
    _put_request(drive, c, lender, cfo, clerk)


def _put_request(drive: Drive, c: Collateral, lender: str, cfo: str, clerk: str) -> None:
    """What is asked for, last month's statement, both facilities."""
    currency = drive.truth.currency
    drive.mail(
        "request",
        "mail/draw_request.eml",
        sender=cfo,
        to=clerk,
        dated=drive.ago(1),
        subject="Draw next week",
        body=f"We want to draw {currency} {c.asked} thousand next week. Please prepare the statement for {lender}.",
    )
    drive.paper(
        "last",
        f"statements/statement_{shift_date(c.as_of, -30)[:7]}.pdf",
        f"Borrowing base statement {shift_date(c.as_of, -30)[:7]}",
        by=clerk,
        dated=working_day(c.as_of, -22),
        facts=(("Available", str(c.drawn + c.reserve + 211)), ("Drawn", str(c.drawn - 17))),
        body=("As sent to the lender. Superseded with each month.",),
    )
    drive.export(
        "facilities",
        "facility/facilities.csv",
        ("account", "facility", "limit"),
        ((REVOLVER, "revolving", c.cap * 9), (TERM_LOAN, "term", c.cap * 7)),
        shift_date(c.as_of, -2),
    )
