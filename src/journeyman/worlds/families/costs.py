"""A function's cost of some months: one-offs, a posting of another function, an invoice that is still missing.

Invariant: the baseline of a year is twelve times the cleaned month, which is a whole number.
"""

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.pptx import Slide
from journeyman.worlds.lexicon import working_day

ACCOUNTS = ("pay", "services", "rent", "travel")
ONE_OFFS = ("lawsuit", "removal", "flood", "recruiting", "jubilee", "licence fine")


class CostBook(Record):
    """Cost of one function. Amounts in thousands."""

    booked: dict[str, int]  # account -> amount of the months
    one_offs: dict[str, int]  # what somebody calls a one-off -> amount, within the booked cost
    ruled: dict[str, str]  # the same -> "one-off" or "recurring", by the controller
    foreign: int  # of another function, booked here
    missing: int  # rent that is not booked yet
    months: int
    fte: int
    heads: int
    own: str  # the true one-off
    claimed: str


def each(amount: int, parts: int) -> int:
    """Amount a part, in hundredths, rounded half up."""
    return (200 * amount + parts) // (2 * parts)


def simulate(common: Common) -> CostBook:
    """A function whose cleaned month is a whole number."""
    rng, figures = common.rng, common.figures

    def yearly() -> tuple[tuple[int, int], tuple[int, ...]]:
        amount, period = figures.draw(150, 2400), rng.randint(5, 11)
        return (amount, period), (12 * amount, period * amount)

    month, months = figures.settle(yearly)
    full = month * months

    def spread() -> tuple[tuple[int, int], tuple[int, ...]]:
        fte = rng.randint(month // 14, month // 4)
        heads = rng.randint(fte + 3, fte * 3 // 2 + 12)
        return (fte, heads), (each(12 * month, fte), each(12 * month, heads))

    fte, heads = figures.settle(spread)

    def cleaned() -> tuple[tuple[int, int], tuple[int, ...]]:
        foreign, missing = rng.randint(20, 60 + month // 2), rng.randint(20, 60 + month // 2)
        return (foreign, missing), (full + foreign, full - missing)

    foreign, missing = figures.settle(cleaned)

    def odd() -> tuple[tuple[int, int], tuple[int, ...]]:
        own, claimed = rng.randint(40, 60 + month), rng.randint(30, 60 + month // 2)
        return (own, claimed), (own, own + claimed)

    own, claimed = figures.settle(odd)

    total = month * months - missing + foreign + own
    shares = [rng.randint(10, 30) for _ in ACCOUNTS[1:]]
    parts = [total * share // 160 for share in shares]
    names = (common.axes["one_off"], common.axes["claimed"])
    return CostBook(
        booked=dict(zip(ACCOUNTS, (total - sum(parts), *parts), strict=True)),
        one_offs=dict(zip(names, (own, claimed), strict=True)),
        ruled=dict(zip(names, ("one-off", "recurring"), strict=True)),
        foreign=foreign,
        missing=missing,
        months=months,
        fte=fte,
        heads=heads,
        own=names[0],
        claimed=names[1],
    )


def put_ledger(drive: Drive, b: CostBook, controller: str, analyst: str) -> None:
    """Ledger, postings in question, staff register (sources ledger, postings, staff)."""
    axes, currency = drive.truth.axes, drive.truth.currency
    rows = tuple((account.capitalize(), amount) for account, amount in b.booked.items())
    drive.book(
        "ledger",
        "ledger/cost_centre.xlsx",
        "Ledger",
        Tab(
            axes["function"].capitalize(),
            ("Account", f"{currency} thousand"),
            rows,
            (1,),
            title=f"Booked cost of {axes['function']}, {b.months} months",
            note="As booked. Not cleaned.",
            chart=True,
        ),
        by=controller,
        dated=working_day(drive.today, -15),
    )
    drive.export(
        "postings",
        "ledger/postings_in_question.csv",
        ("posting", "text", "thousand", "cost_centre_booked", "belongs_to"),
        (
            *(
                (f"J-{40 + i}", name, amount, axes["function"], axes["function"])
                for i, (name, amount) in enumerate(b.one_offs.items())
            ),
            ("J-48", "services", b.foreign, axes["function"], axes["neighbour"]),
            ("not booked", "rent of the last months, invoice to come", b.missing, "", axes["function"]),
        ),
        working_day(drive.today, -13),
    )
    drive.book(
        "staff",
        "staff/register.xlsx",
        "Staff",
        Tab("Staff", ("Measure", axes["function"]), (("Full-time equivalents", b.fte), ("Heads", b.heads))),
        by=analyst,
        dated=working_day(drive.today, -14),
    )


def put_rulings(drive: Drive, b: CostBook, partner: str, controller: str) -> None:
    """Rules of the baseline and the controller's rulings (sources rules, rulings)."""
    axes, dated = drive.truth.axes, working_day(drive.today, -30)
    drive.paper(
        "rules",
        "project/baseline_rules.docx",
        "Rules of the baseline",
        by=partner,
        dated=dated,
        facts=(
            ("Client", drive.truth.legal_name),
            ("Function", axes["function"]),
            ("Basis", f"{b.months} months booked"),
        ),
        rules=(
            "From the booked cost take what belongs to another function, and one-offs.",
            "A one-off is what the controller has ruled to be one. Nobody else rules.",
            "Add cost of these months that is not booked yet.",
            "The cleaned cost over the months gives a month; twelve months give the baseline.",
            "The baseline is also stated per full-time equivalent, to two decimals; heads do not matter.",
        ),
        signed=((drive.name(partner), "partner", dated),),
        reference="BL/2",
    )
    ruled = working_day(drive.today, -10)
    drive.paper(
        "rulings",
        "ledger/rulings_of_controller.docx",
        "Rulings on one-offs",
        by=controller,
        dated=ruled,
        grid=(("Item", "Ruling"), tuple((name.capitalize(), kind) for name, kind in b.ruled.items())),
        body=(f"I have looked at the items that {axes['function']} calls one-offs.",),
        signed=((drive.name(controller), "controller", ruled),),
        status="FINAL",
    )


def put_voices(drive: Drive, b: CostBook, partner: str, controller: str, plant_lead: str) -> None:
    """What the function says of itself, and a baseline that is closed."""
    axes, currency, both = drive.truth.axes, drive.truth.currency, sum(b.one_offs.values())
    drive.deck(
        "",
        "project/view_of_the_function.pptx",
        "View of the function",
        f"{axes['function'].capitalize()} speaks",
        Slide("One-offs", (f"{currency} {money(both)} thousand will not come again", "We are lean"), notes="Own view."),
        by=plant_lead,
        dated=working_day(drive.today, -19),
    )
    drive.mail(
        "",
        "mail/one_offs.eml",
        sender=plant_lead,
        to=controller,
        dated=drive.ago(12),
        subject="Our one-offs",
        body=f"Please take out both, {b.own} and {b.claimed}.",
        answer="I rule on them one by one and put it in writing.",
    )
    drive.paper(
        "",
        "project/baseline_last_year.pdf",
        "Baseline of last year",
        by=partner,
        dated=working_day(drive.today, -380),
        body=(f"Baseline of {day(working_day(drive.today, -380))}: see the workbook of that project.",),
        status="CLOSED",
    )
