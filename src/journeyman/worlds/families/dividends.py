"""Dividends: shares on the record day, a proposal in two versions, reserves, and a loan that limits payments.

Invariant: either the proposal fits under the lower of reserves and what the loan still allows, or it is cut to that.
"""

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.cases.model import decimal
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import working_day


class Dividend(Record):
    """One proposal. Shares and money in thousands; per share in hundredths."""

    issued: int
    treasury: int
    new_shares: int
    issued_on: str  # of the new shares
    record_day: str
    per_share: dict[str, int]  # paper -> amount: the resolution's and the draft's
    reserves: int
    basket: int
    interim: int
    year: str


def simulate(common: Common, *, late: bool, covenant_binds: bool, allowed: bool) -> Dividend:
    """A proposal; `late`, the new shares were issued after the record day."""
    rng, figures = common.rng, common.figures
    record_day = working_day(common.today, rng.randint(5, 20) - 40)

    def shares() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        issued, treasury, new = rng.randint(900, 4900), rng.randint(20, 190), rng.randint(40, 300)
        outside, inside = issued - treasury, issued - treasury + new
        counted = outside if late else inside
        return (issued, treasury, new), (outside, inside, counted + treasury)

    issued, treasury, new = figures.settle(shares)
    counted = issued - treasury + (0 if late else new)

    def proposed() -> tuple[int, tuple[int, ...]]:
        amount = rng.randint(31, 190)
        return amount, (counted * amount // 100,)

    resolved, drafted = figures.settle(proposed), figures.settle(proposed)
    cost = counted * resolved // 100
    low, high = (cost + 20, 2 * cost + 60) if allowed else (max(20, cost // 3), cost - 10)

    def limited() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        cap, higher, interim = rng.randint(low, high), rng.randint(30, 900), rng.randint(40, 500)
        room, reserves = (cap, cap + higher) if covenant_binds else (cap + higher, cap)
        return (room, reserves, interim), (room, reserves, room + interim)

    room, reserves, interim = figures.settle(limited)
    return Dividend(
        issued=issued,
        treasury=treasury,
        new_shares=new,
        issued_on=working_day(record_day, rng.randint(1, 9) if late else -rng.randint(5, 60)),
        record_day=record_day,
        per_share={"resolution": resolved, "draft": drafted},
        reserves=reserves,
        basket=room + interim,
        interim=interim,
        year=str(int(common.today[:4]) - 1),
    )


def put_papers(drive: Drive, d: Dividend, secretary: str, cfo: str) -> None:
    """Resolution, draft, share register, loan extract (sources resolution, draft, register, loan)."""
    currency, name = drive.truth.currency, drive.truth.legal_name
    for source, status, shift in (("resolution", "ADOPTED", -6), ("draft", "DRAFT", -30)):
        dated = working_day(d.record_day, shift)
        drive.paper(
            source,
            f"board/dividend_{source}.docx",
            f"Dividend for {d.year}",
            by=secretary,
            dated=dated,
            facts=(("Company", name), ("Record day", day(d.record_day))),
            body=(
                f"The dividend is {currency} {decimal(d.per_share[source])} a share, if law and contracts allow it.",
            ),
            signed=((drive.name(secretary), "secretary", dated if source == "resolution" else ""),),
            status=status,
        )
    drive.book(
        "register",
        "shares/register.xlsx",
        "Shares",
        Tab(
            "Shares",
            ("Entry", "Shares, thousand", "Date"),
            (
                ("Issued before this year", d.issued, working_day(d.record_day, -700)),
                ("Own shares held by the company", d.treasury, working_day(d.record_day, -200)),
                ("New issue", d.new_shares, d.issued_on),
            ),
            title=f"Share register of {name}",
        ),
        by=secretary,
        dated=d.issued_on if d.issued_on <= drive.today else drive.today,
    )
    drive.paper(
        "loan",
        "loan/agreement_extract.docx",
        "Loan agreement, extract",
        by=cfo,
        dated=working_day(d.record_day, -500),
        facts=(("Lender", drive.truth.other_party), ("Borrower", name)),
        body=(
            f"14.2 In one financial year payments to shareholders are not more than {currency} "
            f"{money(d.basket)} thousand in all, interim payments included.",
            "14.3 The company pays no dividend on shares it holds itself, nor on shares issued after the record day.",
        ),
        status="SIGNED",
    )


def put_accounts(drive: Drive, d: Dividend, cfo: str, auditor: str) -> None:
    """Accounts with reserves and the interim payment, and a broker's note (source accounts)."""
    currency = drive.truth.currency
    other = ("Other reserves", d.reserves + 517)
    lines = (("Distributable reserves", d.reserves), ("Interim dividend paid", d.interim), other)
    drive.book(
        "accounts",
        f"accounts/reserves_{d.year}.xlsx",
        "Reserves",
        Tab("Reserves", ("Line", f"{currency} k"), lines, title=f"Audited, {d.year}", note="Audited figures."),
        by=cfo,
        dated=working_day(d.record_day, -25),
    )
    drive.paper(
        "rules",
        "policies/dividend_rules.md",
        "How a dividend is tested",
        by=auditor,
        dated=working_day(d.record_day, -90),
        rules=(
            "Only a resolution that was adopted counts.",
            "The cost is shares entitled on the record day times the amount a share, in whole thousands, rounded down.",
            "It may not exceed distributable reserves, nor what the loan allows less what was paid as interim.",
            "If it does, the dividend is cut to the lower of the two.",
        ),
    )
    drive.paper(
        "",
        "market/broker_note.pdf",
        "Income stocks",
        dated=working_day(d.record_day, -12),
        paper=drive.other,
        body=(f"We expect {currency} {decimal(d.per_share['draft'] + 9)} a share, on all issued shares.",),
    )
