"""A service contract, an amendment, a proposal and a notice of termination.

Invariant: the paper that governs is the latest that both sides signed, and the notice counts on receipt.
"""

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.model import Deleted, Inserted, text
from journeyman.worlds.lexicon import shift_date, working_day

GOODS = ("software", "freight", "cleaning", "payroll", "machines", "catering")
CARRIERS = ("courier", "post", "portal")
PAPERS = ("contract", "amendment", "proposal")

_OTHERS = (  # subjects of other contracts
    "lift",
    "plants",
    "windows",
    "alarm",
    "water",
    "waste",
    "printers",
    "vehicles",
    "guards",
    "post",
    "coffee",
    "mats",
)


class Contract(Record):
    """One contract and what was sent about it. Terms and renewal in months, notice in days, the fee a month."""

    goods: str
    start: str
    signed: dict[str, str]  # paper -> "both", "one" or "none", in the order of their dates
    dated: dict[str, str]
    terms: dict[str, int]
    notices: dict[str, int]
    carrier: str
    sent: str
    received: str
    renewal: int
    monthly: int
    governing: str
    deadline: str
    today: str


def months_later(start: str, months: int) -> str:
    """The first of the month `months` after `start`, itself the first of a month."""
    count = int(start[:4]) * 12 + int(start[5:7]) - 1 + months
    return f"{count // 12}-{count % 12 + 1:02d}-01"


def end_of(start: str, months: int) -> str:
    """The last day of a term of `months` that begins on `start`, the first of a month."""
    return shift_date(months_later(start, months), -1)


def simulate(common: Common, *, governing: str, late: bool) -> Contract:
    """A contract whose notice was received shortly before or after the last day for it; today is soon after."""
    rng, figures, axes = common.rng, common.figures, common.axes
    start = f"{rng.choice((2023, 2024, 2025))}-{rng.randint(1, 12):02d}-01"
    while True:
        terms = dict(zip(PAPERS, rng.sample((12, 18, 24, 30, 36, 48), 3), strict=True))
        notices = dict(zip(PAPERS, rng.sample((30, 45, 60, 75, 90, 120), 3), strict=True))
        deadlines = {p: shift_date(end_of(start, terms[p]), -notices[p]) for p in PAPERS}
        if len(set(deadlines.values())) == 3:
            break
    deadline = deadlines[governing]
    received = working_day(deadline, rng.randint(1, 5) if late else -rng.randint(0, 9))
    amended = working_day(start, rng.randint(50, 120))

    def charged() -> tuple[tuple[int, int], tuple[int, ...]]:
        months, monthly = rng.choice((6, 9, 12, 18)), 10 * rng.randint(90, 960)
        return (months, monthly), (months * monthly,)

    renewal, monthly = figures.settle(charged)
    return Contract(
        goods=axes["goods"],
        start=start,
        signed={"contract": "both", "amendment": "both" if governing == "amendment" else "one", "proposal": "none"},
        dated={
            "contract": working_day(start, -rng.randint(12, 40)),
            "amendment": amended,
            "proposal": working_day(amended, rng.randint(20, 60)),
        },
        terms=terms,
        notices=notices,
        carrier=axes["carrier"],
        sent=working_day(received, -rng.randint(2, 7)),
        received=received,
        renewal=renewal,
        monthly=monthly,
        governing=governing,
        deadline=deadline,
        today=working_day(received, rng.randint(2, 9)),
    )


def put_contract(drive: Drive, c: Contract, manager: str, counsel: str) -> None:
    """The contract as first signed (source contract)."""
    company, other, currency = drive.truth.legal_name, drive.truth.other_party, drive.truth.currency
    mine, theirs = drive.name(manager), drive.counterpart
    drive.paper(
        "contract",
        "contracts/contract.docx",
        f"Contract on {c.goods} services",
        by=counsel,
        dated=c.dated["contract"],
        facts=(("Customer", company), ("Supplier", other), ("Services from", day(c.start))),
        body=(
            "# 2. Term",
            f"This contract begins on {day(c.start)} and runs for {c.terms['contract']} months.",
            f"It is renewed for {c.renewal} months unless notice is given at least {c.notices['contract']} days before "
            "the last day of the term. The last day for notice is the last day of the term less the days of notice.",
            "# 5. Fee",
            f"The fee is {currency} {money(c.monthly)} a month, also in a renewed term.",
            "# 14. Notices",
            "A notice counts on the day it is received, however it is sent. The day it was written or handed over for "
            "carriage does not matter.",
            "# 17. Changes",
            "This contract is changed only by a paper that both parties have signed. A paper that one party has not "
            "signed changes nothing.",
        ),
        signed=((mine, f"for {company}", c.dated["contract"]), (theirs, f"for {other}", c.dated["contract"])),
        reference="CT/118",
    )


def put_changes(drive: Drive, c: Contract, manager: str, counsel: str) -> None:
    """An amendment and a proposal with tracked changes (sources amendment, proposal)."""
    company, other = drive.truth.legal_name, drive.truth.other_party
    mine, theirs = drive.name(manager), drive.counterpart
    both = c.signed["amendment"] == "both"
    drive.paper(
        "amendment",
        "contracts/amendment.docx",
        f"Amendment to the contract on {c.goods} services",
        by=counsel,
        dated=c.dated["amendment"],
        facts=(("Customer", company), ("Supplier", other), ("Dated", day(c.dated["amendment"]))),
        body=(
            f"In section 2 the term becomes {c.terms['amendment']} months from {day(c.start)}, and notice is to be "
            f"given at least {c.notices['amendment']} days before its last day. All else stays as it is.",
            "This amendment takes effect when both parties have signed it.",
        ),
        signed=(
            (mine, f"for {company}", c.dated["amendment"]),
            (theirs, f"for {other}", working_day(c.dated["amendment"], 4) if both else ""),
        ),
        reference="CT/118/A1",
    )
    term = (Deleted(f"{c.terms[c.governing]} months", mine, c.dated["proposal"]),)
    drive.paper(
        "proposal",
        "contracts/proposal_markup.docx",
        "Second change, for discussion",
        by=manager,
        dated=c.dated["proposal"],
        body=(
            text(
                "The term is ", *term, Inserted(f"{c.terms['proposal']} months", mine, c.dated["proposal"]), " instead."
            ),
            f"Notice would be given {c.notices['proposal']} days before the last day.",
        ),
        signed=((mine, f"for {company}", ""), (theirs, f"for {other}", "")),
        status="DRAFT",
    )


def put_trail(drive: Drive, c: Contract, manager: str, secretary: str, buyer: str) -> None:
    """The notice, the post book, the contract list, invoices and a mail (source notice: the post book)."""
    other, currency = drive.truth.other_party, drive.truth.currency
    drive.paper(
        "",
        f"contracts/notice_{c.sent}.pdf",
        "Notice of termination",
        by=manager,
        dated=c.sent,
        facts=(("To", other), ("By", c.carrier), ("Written on", day(c.sent))),
        body=(f"We give notice under section 2 of the contract on {c.goods} services, to the last day of its term.",),
        signed=((drive.name(manager), f"for {drive.truth.legal_name}", c.sent),),
    )
    letters = [
        (drive.rng.choice(("letter", "parcel")), working_day(c.sent, -n), working_day(c.sent, 3 - n))
        for n in range(48, 2, -3)
    ]
    book = [(f"P-{72 - len(letters) + i}", kind, "other matter", *days) for i, (kind, *days) in enumerate(letters)]
    drive.export(
        "notice",
        "post/post_book.csv",
        ("entry", "kind", "matter", "handed_over", "received_by_addressee"),
        (*book, ("P-72", c.carrier, f"notice, {c.goods} contract", c.sent, c.received)),
        c.received,
    )
    drive.mail(
        "",
        "mail/receipt.eml",
        sender=secretary,
        to=manager,
        dated=c.received,
        subject="Your notice has arrived",
        body=f"The {c.carrier} service reports that {other} received our notice today, {c.received}.",
        answer="Thank you. Please file the receipt with the contract.",
    )
    last = (int(c.received[:4]) - int(c.start[:4])) * 12 + int(c.received[5:7]) - int(c.start[5:7])
    months = [(months_later(c.start, n)[:7], c.monthly, "paid") for n in range(max(0, last - 6), last)]
    drive.book(
        "",
        "contracts/fees.xlsx",
        "Fees",
        Tab("Fees", ("Month", currency, "Status"), tuple(months), (1,), title=f"Fees of {other}"),
        by=buyer,
        dated=working_day(c.received, -1),
    )
    shared = other.split()[0]
    drive.export(
        "",
        "contracts/register.csv",
        ("contract", "supplier", "subject", "term_months", "owner"),
        (
            ("CT/118", other, c.goods, c.terms["contract"], drive.name(manager)),
            ("CT/093", f"{shared} Rentals Ltd", "lift", 24, drive.name(buyer)),
            ("CT/127", f"{shared} Training Ltd", "courses", 12, drive.name(buyer)),
            *((f"CT/{n}", f"Supplier {n}", what, 12, drive.name(buyer)) for n, what in enumerate(_OTHERS, 131)),
        ),
        working_day(c.received, -15),
    )
