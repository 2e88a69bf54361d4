"""A data room before a deal: contracts with clauses, a side letter, one that ended, one whose consent is under way.

Invariant: at least one contract in force needs a missing consent; every wrong reading changes the revenue at risk.
"""

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.cases.model import percent
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import working_day

TRIGGERS = {"share": "control", "asset": "assignment"}
CLAUSES = {
    "control": "The customer may end this contract if control over the supplier changes without its consent.",
    "assignment": "The supplier may not assign this contract to anybody without the consent of the customer.",
    "none": "The contract is silent on a change of control and on assignment.",
}


class Room(Record):
    """Contracts of a target by counterparty. Revenue of a year in thousands; the limit in percent."""

    deal: str
    revenues: dict[str, int]
    clauses: dict[str, str]  # as signed
    letter: dict[str, str]  # what a side letter made of one of them
    ended: str
    consent: str  # whose consent was asked for
    consents: dict[str, str]  # -> "given" or "asked"
    total: int
    limit: int
    signed_on: str  # of the letter
    ended_on: str
    asked_on: str


def simulate(common: Common, *, deal: str, adds: bool, given: bool, condition: bool) -> Room:
    """A room of five contracts: plain, by letter, of the other clause, ended, with a consent asked or given."""
    rng, figures = common.rng, common.figures
    plain, lettered, other, ended, asked = common.spare[:5]
    hit = TRIGGERS[deal]
    miss = next(c for c in ("control", "assignment") if c != hit)

    def at_risk() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        base, letter, consent = rng.randint(300, 2400), rng.randint(150, 1500), rng.randint(150, 1500)
        right = base + (letter if adds else 0) + (0 if given else consent)
        return (base, letter, consent), (
            right,
            right - letter if adds else right + letter,
            right + consent if given else right - consent,
        )

    base, letter, consent = figures.settle(at_risk)
    right = base + (letter if adds else 0) + (0 if given else consent)

    def beside() -> tuple[tuple[int, int], tuple[int, ...]]:
        more, gone = rng.randint(150, 1500), rng.randint(150, 1500)
        return (more, gone), (right + more, right + gone)

    more, gone = figures.settle(beside)

    def whole() -> tuple[int, tuple[int, ...]]:
        total = rng.randint(4 * right, 12 * right)
        return total, (percent(right, total),)

    total = figures.settle(whole)
    share = percent(right, total) // 100
    revenues = {plain: base, lettered: letter, other: more, ended: gone, asked: consent}
    names = rng.sample(list(revenues), 5)
    clauses = {plain: hit, lettered: "none" if adds else hit, other: miss, ended: hit, asked: hit}
    today = common.today
    return Room(
        deal=deal,
        revenues={n: revenues[n] for n in names},
        clauses={n: clauses[n] for n in names},
        letter={lettered: hit if adds else "none"},
        ended=ended,
        consent=asked,
        consents={asked: "given" if given else "asked"},
        total=total,
        limit=max(2, share - rng.randint(0, 5)) if condition else share + rng.randint(1, 6),
        signed_on=working_day(today, -rng.randint(60, 300)),
        ended_on=working_day(today, -rng.randint(20, 50)),
        asked_on=working_day(today, -rng.randint(5, 15)),
    )


def put_room(drive: Drive, r: Room, seller: str, associate: str) -> None:
    """Index of the room, clause extracts, three contracts (sources room, clauses)."""
    currency, target = drive.truth.currency, drive.truth.other_party
    rows = tuple((name, value) for name, value in r.revenues.items())
    drive.book(
        "room",
        "room/index.xlsx",
        "Index",
        Tab("Contracts", ("Customer", f"{currency} thousand"), rows, title=f"Contracts of {target}, revenue of a year"),
        Tab("Whole", ("Item", f"{currency} thousand"), (("Revenue of the target, all customers", r.total),)),
        by=seller,
        dated=working_day(drive.today, -30),
    )
    drive.paper(
        "clauses",
        "room/clause_extracts.docx",
        "Clause extracts",
        by=associate,
        dated=working_day(drive.today, -18),
        facts=(("Target", target), ("Taken from", "the contracts as first signed"), ("Not seen", "later letters")),
        grid=(
            ("Customer", "Kind", "Words"),
            tuple((name, clause, CLAUSES[clause]) for name, clause in r.clauses.items()),
        ),
    )
    for number, name in enumerate(sorted(r.clauses)[:3], 1):
        dated = working_day(r.signed_on, -100 * number)
        drive.paper(
            "",
            f"room/contract_{name.lower()}.pdf",
            f"Customer contract: {name}",
            by=seller,
            dated=dated,
            facts=(("Customer", name), ("Supplier", target), ("Dated", day(dated))),
            body=("# 11. Parties", CLAUSES[r.clauses[name]], "# 12. Law", "The law of the supplier's seat applies."),
            paper=drive.other,
        )


def put_later(drive: Drive, r: Room, partner: str, associate: str, seller: str) -> None:
    """Side letter, status of contracts, the deal's terms, a mail (sources letter, status, terms)."""
    target, (name, clause) = drive.truth.other_party, next(iter(r.letter.items()))
    drive.paper(
        "letter",
        "room/side_letter.docx",
        f"Side letter with {name}",
        by=seller,
        dated=r.signed_on,
        facts=(("Customer", name), ("Supplier", target), ("Dated", day(r.signed_on))),
        body=(
            "Section 11 is deleted without a substitute."
            if clause == "none"
            else f"Section 11 is replaced as follows. {CLAUSES[clause]}",
            f"Kind of clause that is left: {clause}. All else stays as it is.",
        ),
        paper=drive.other,
        signed=(
            (drive.counterpart, f"for {name}", r.signed_on),
            (drive.name(seller), f"for {target}", r.signed_on),
        ),
        status="SIGNED",
    )
    status = "given" if r.consents[r.consent] == "given" else "asked for, no answer yet"
    drive.export(
        "status",
        "room/status.csv",
        ("customer", "matter", "state", "date"),
        ((r.ended, "contract", "ended", r.ended_on), (r.consent, "consent to the deal", status, r.asked_on)),
        working_day(drive.today, -4),
    )
    drive.paper(
        "terms",
        "deal/instructions.docx",
        "Instructions for the review",
        by=partner,
        dated=working_day(drive.today, -25),
        facts=(("Client", drive.truth.legal_name), ("Target", target), ("Deal", f"{r.deal} deal")),
        body=(
            "# What counts",
            "In a share deal only clauses on control matter; in an asset deal only clauses on assignment do.",
            "A contract counts as it stands today: with side letters that both signed, and only while it is in force.",
            "A consent that is given settles the matter. A consent that was only asked for settles nothing.",
            "# What follows",
            f"If the contracts that still need a consent make up {r.limit} percent or more of the target's revenue, "
            "the consents become a condition of closing. Otherwise a covenant is enough.",
        ),
        signed=((drive.name(partner), "partner", working_day(drive.today, -25)),),
    )
    drive.mail(
        "",
        "mail/room_questions.eml",
        sender=associate,
        to=partner,
        dated=drive.ago(6),
        subject="Contracts in the room",
        body=f"The room shows {money(len(r.clauses))} customer contracts. The extracts are done, letters come on top.",
        answer="Good. Please put figures to those that still need a consent.",
    )
