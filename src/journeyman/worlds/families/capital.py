"""Capital structure: a loan and a bond limit debt against earnings; add-backs are capped, leases count or do not.

Invariant: the stricter of the two limits binds, and the requested debt either fits with room or exceeds it.
"""

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.cases.model import decimal
from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.pptx import Slide
from journeyman.worlds.lexicon import working_day

QUARTERS = ("q1", "q2", "q3", "q4")


class Capital(Record):
    """Debt and earnings of a borrower. Amounts in millions; multiples in hundredths."""

    quarter: str
    last_quarter: str
    earnings: int  # of the four quarters to `quarter`
    last_earnings: int  # of the four quarters to the quarter before
    add_back: int
    add_back_kind: str
    cap: int
    multiples: dict[str, int]  # "loan" and "bond"
    senior: int
    notes: int
    leases: int
    leases_count: bool
    request: int
    loan_date: str
    bond_date: str


def simulate(common: Common, *, strict: str, leases_count: bool, fits: bool) -> Capital:
    """A borrower whose `strict` document has the lower limit."""
    rng, figures, axes = common.rng, common.figures, common.axes

    def earned() -> tuple[tuple[int, int, int, int], tuple[int, ...]]:
        reported, most, multiple = rng.randint(160, 380), rng.randint(11, 29), rng.randint(290, 480)
        found = most + rng.randint(8, 40)
        tested = reported + most
        return (reported, most, found, multiple), (tested, reported + found, multiple, multiple * tested // 100)

    def earned_before() -> tuple[int, tuple[int, ...]]:
        reported = rng.randint(160, 380)
        return reported, (reported + cap,)

    earnings, cap, add_back, multiple = figures.settle(earned)
    before = figures.settle(earned_before)
    ceiling = multiple * (earnings + cap) // 100

    def borrowed() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        senior, notes, leases = rng.randint(100, 260), rng.randint(60, 160), rng.randint(15, 120)
        base = senior + notes
        right = base + leases if leases_count else base
        return (senior, notes, leases), (base, base + leases, ceiling - right)

    senior, notes, leases = figures.settle(borrowed)
    base = senior + notes
    room = ceiling - base - (leases if leases_count else 0)
    index = QUARTERS.index(axes["quarter"])
    other = "bond" if strict == "loan" else "loan"
    return Capital(
        quarter=axes["quarter"],
        last_quarter=QUARTERS[index - 1],
        earnings=earnings,
        last_earnings=before,
        add_back=add_back,
        add_back_kind=axes["add_back"],
        cap=cap,
        multiples={strict: multiple, other: figures.draw(multiple + 25, multiple + 160)},
        senior=senior,
        notes=notes,
        leases=leases,
        leases_count=leases_count,
        request=figures.draw(max(20, room // 3), room - 5) if fits else figures.draw(room + 6, room + 200),
        loan_date=working_day(common.today, -rng.randint(500, 900)),
        bond_date=working_day(common.today, -rng.randint(200, 450)),
    )


def put_documents(drive: Drive, c: Capital, officer: str, counsel: str) -> None:
    """Loan agreement, indenture and an unsigned term sheet (sources loan, bond)."""
    currency, name = drive.truth.currency, drive.truth.legal_name
    counts = "include" if c.leases_count else "do not include"
    drive.paper(
        "loan",
        "facility/loan_agreement.docx",
        f"{drive.truth.axes['facility'].capitalize()} loan agreement",
        by=counsel,
        dated=c.loan_date,
        facts=(("Borrower", name), ("Lender", drive.truth.other_party), ("Dated", day(c.loan_date))),
        body=(
            "# 1. Definitions",
            f"Earnings are those of the last four quarters as reported, plus {c.add_back_kind} items of up to "
            f"{currency} {c.cap} million. Items beyond that amount are not added.",
            f"Debt is loans and notes; its amounts {counts} lease liabilities, whatever accounting rules say.",
            "# 21. Limits",
            f"New debt may be incurred only if debt after it is not more than {decimal(c.multiples['loan'])} times "
            "Earnings, in whole millions rounded down. Where another agreement sets a lower limit, the lower one is "
            "kept.",
            "# 22. Reports",
            "Flash figures, forecasts and figures of an earlier quarter are not used for a test.",
        ),
        signed=((drive.name(officer), f"for {name}", c.loan_date),),
        status="SIGNED",
    )
    drive.paper(
        "bond",
        "facility/indenture_extract.docx",
        "Indenture, extract",
        by=counsel,
        dated=c.bond_date,
        facts=(("Issuer", name), ("Dated", day(c.bond_date))),
        body=(
            "# 4. Incurrence",
            f"The Issuer incurs no debt if debt after it exceeds {decimal(c.multiples['bond'])} times Earnings.",
            "Earnings and debt have the meaning of the loan agreement.",
        ),
        signed=((drive.name(officer), f"for {name}", c.bond_date),),
        status="EXECUTED",
    )
    drive.paper(
        "",
        "facility/term_sheet_draft.pdf",
        "Term sheet",
        by=officer,
        dated=working_day(drive.today, -25),
        body=(f"Proposed: limit of {decimal(max(c.multiples.values()) + 55)} times Earnings, no cap on add-backs.",),
        status="DRAFT",
    )


def put_figures(drive: Drive, c: Capital, controller: str, officer: str) -> None:
    """Earnings bridge, debt schedule, the quarter before, a lender deck (sources figures, debt)."""
    currency, today = drive.truth.currency, drive.today
    head = ("Line", f"{currency} m")
    bridge = (
        (f"Reported earnings, four quarters to {c.quarter}", c.earnings),
        (f"Reported earnings, four quarters to {c.last_quarter}", c.last_earnings),
        (f"{c.add_back_kind.capitalize()} items identified", c.add_back),
    )
    drive.book(
        "figures",
        f"reporting/earnings_{c.quarter}.xlsx",
        "Earnings",
        Tab("Earnings", head, bridge, title=f"Earnings to {c.quarter}", note="Reported figures, closed."),
        by=controller,
        dated=working_day(today, -12),
    )
    debt = (("Senior loans drawn", c.senior), ("Notes outstanding", c.notes), ("Lease liabilities", c.leases))
    drive.book(
        "debt",
        "reporting/debt_schedule.xlsx",
        "Debt",
        Tab("Debt", head, debt, (1,), title="Debt as in the balance sheet", chart=True),
        by=controller,
        dated=working_day(today, -12),
    )
    drive.deck(
        "",
        "lender/update.pptx",
        "Lender update",
        f"Figures to {c.last_quarter}",
        Slide("Earnings", (f"{currency} {money(c.last_earnings)} million over four quarters", "Trading in line")),
        by=officer,
        dated=working_day(today, -95),
    )
    drive.mail(
        "",
        "mail/leases.eml",
        sender=controller,
        to=officer,
        dated=drive.ago(9),
        subject="Leases in the balance sheet",
        body="The balance sheet shows lease liabilities as debt. For the test the agreement decides, not the standard.",
        answer="Agreed, I look at the definition.",
    )
