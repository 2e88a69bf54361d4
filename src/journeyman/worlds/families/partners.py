"""Partners of a fund: commitments, a preferred return, a catch-up, and a split above it, changed by a side letter.

Invariant: proceeds always exceed capital and preferred return, so that every tier of the waterfall pays something.
"""

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import working_day


class Waterfall(Record):
    """One distribution. Money in thousands; rates and shares in whole per cent."""

    fund: str
    proceeds: int
    costs: int
    contributed: int
    recalled: int  # given back and called again: counts once
    years: int
    hurdle: int
    old_hurdle: int  # before the amendment
    amended_on: str
    carry: int
    investor: str
    share: int  # of the investor among the partners
    other_investor: str  # the name alike
    other_share: int
    paid_on: str


def tiers(distributable: int, capital: int, preferred: int, carry: int) -> tuple[int, int]:
    """(to the partners, to the manager) with a full catch-up."""
    rest = distributable - capital - preferred
    catch_up = min(rest, preferred * carry // (100 - carry))
    manager = catch_up + (rest - catch_up) * carry // 100
    return distributable - manager, manager


def simulate(common: Common) -> Waterfall:
    """A distribution under an amended hurdle."""
    rng, figures, axes = common.rng, common.figures, common.axes
    hurdle, old_hurdle = int(axes["hurdle"]), int(axes["old_hurdle"])
    carry, years = int(axes["carry"]), int(axes["years"])
    share, other_share = rng.sample((5, 8, 10, 12, 15, 20, 25), 2)

    def paid_in() -> tuple[tuple[int, int], tuple[int, ...]]:
        contributed, recalled = rng.randint(2000, 9000), rng.randint(150, 900)
        capital = contributed - recalled
        bases = ((capital, hurdle), (capital, old_hurdle), (contributed, hurdle))
        return (contributed, recalled), tuple(base * rate * years // 100 for base, rate in bases)

    contributed, recalled = figures.settle(paid_in)
    capital = contributed - recalled
    preferred = capital * hurdle * years // 100

    def paid_out() -> tuple[tuple[int, int], tuple[int, ...]]:
        costs = rng.randint(30, 400)
        proceeds = costs + capital + contributed * max(hurdle, old_hurdle) * years // 100 + rng.randint(900, 5000)
        partners, manager = tiers(proceeds - costs, capital, preferred, carry)
        return (proceeds, costs), (proceeds, proceeds - costs, manager, partners * share // 100)

    proceeds, costs = figures.settle(paid_out)
    stem = common.spare[0]
    return Waterfall(
        fund=f"{common.given['company']} {axes['strategy'].capitalize()} Partners",
        proceeds=proceeds,
        costs=costs,
        contributed=contributed,
        recalled=recalled,
        years=years,
        hurdle=hurdle,
        old_hurdle=old_hurdle,
        amended_on=working_day(common.today, -rng.randint(100, 400)),
        carry=carry,
        investor=f"{stem} Pensions",
        share=share,
        other_investor=f"{stem} Insurance",
        other_share=other_share,
        paid_on=working_day(common.today, -rng.randint(1, 9)),
    )


def put_agreements(drive: Drive, w: Waterfall, manager: str, counsel: str) -> None:
    """Partnership agreement, its amendment, a draft that was not adopted (sources agreement, amendment)."""
    signed = working_day(w.paid_on, -365 * w.years - 40)
    drive.paper(
        "agreement",
        "fund/partnership_agreement.docx",
        f"Partnership agreement: {w.fund}",
        by=counsel,
        dated=signed,
        facts=(("Fund", w.fund), ("Dated", day(signed))),
        body=(
            "# 9. Distributions",
            "9.1 Proceeds less costs are paid in this order: capital, preferred return, catch-up, split.",
            "9.2 Capital is what was contributed less what was given back and called again; that counts once.",
            f"9.3 The preferred return is {w.old_hurdle} per cent of capital for each full year, not compounded.",
            f"9.4 Then the manager receives all until it has {w.carry} per cent of what was paid above capital.",
            f"9.5 Of the rest the manager receives {w.carry} per cent and the partners the remainder.",
            "9.6 Partners share by commitment. Amounts are whole thousands, rounded down at each step.",
        ),
        signed=((drive.name(manager), "for the manager", signed),),
        status="SIGNED",
    )
    drive.paper(
        "amendment",
        "fund/amendment.docx",
        "Amendment to the partnership agreement",
        by=counsel,
        dated=w.amended_on,
        facts=(("Fund", w.fund), ("In force from", day(w.amended_on))),
        body=(
            f"Clause 9.3 is replaced: the preferred return is {w.hurdle} per cent of capital for each full year. This "
            "holds for every distribution made from this day on, for all years.",
        ),
        signed=(
            (drive.name(manager), "for the manager", w.amended_on),
            (drive.counterpart, "for the partners", w.amended_on),
        ),
        status="SIGNED",
    )
    drive.paper(
        "",
        "fund/amendment_draft.pdf",
        "Proposal",
        by=manager,
        dated=working_day(w.paid_on, -8),
        body=(f"We propose {w.carry + 5} per cent for the manager. To be discussed with the partners.",),
        status="DRAFT",
    )


def put_accounts(drive: Drive, w: Waterfall, accountant: str) -> None:
    """Sale and cost sheet, capital account, partner list (sources sale, capital, partners)."""
    currency = drive.truth.currency
    drive.book(
        "sale",
        "sale/closing_statement.xlsx",
        "Closing statement",
        Tab("Closing", ("Line", f"{currency} k"), (("Proceeds", w.proceeds), ("Costs of the sale", w.costs))),
        by=accountant,
        dated=w.paid_on,
    )
    lines = (("Contributed", w.contributed), ("Given back and called again", w.recalled), ("Full years", w.years))
    drive.book(
        "capital",
        "fund/capital_account.xlsx",
        "Capital account",
        Tab("Capital", ("Line", f"{currency} k"), lines, title=f"Capital of {w.fund}"),
        by=accountant,
        dated=working_day(w.paid_on, -2),
    )
    rest = 100 - w.share - w.other_share
    listed = ((w.investor, w.share), (w.other_investor, w.other_share), ("Others", rest))
    drive.book(
        "partners",
        "fund/partners.xlsx",
        "Partners",
        Tab("Partners", ("Partner", "Per cent"), listed, (1,), title="Commitments", look="whole"),
        by=accountant,
        dated=working_day(w.paid_on, -60),
    )
    drive.mail(
        "",
        "mail/question_of_a_partner.eml",
        sender=accountant,
        to=next(iter(drive.truth.people)),
        dated=w.paid_on,
        subject=f"{w.other_investor} asks about the payment",
        body=f"{w.other_investor} expects {money(w.proceeds // 10)} thousand. I said that we work it out first.",
    )
