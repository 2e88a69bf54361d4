"""Listed companies: market values, debt and earnings of peers in two years, and one candidate from another sector.

Invariant: exactly one candidate does not belong to the peers; every multiple is rounded half up to two decimals.
"""

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money, plot
from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.pptx import Slide
from journeyman.worlds.lexicon import working_day

SECTORS = ("energy", "retail", "software", "health", "freight", "food")


class Peers(Record):
    """Candidates and a target. Amounts in millions; multiples in hundredths."""

    sector: str
    other_sector: str
    sectors: dict[str, str]  # candidate -> sector
    values: dict[str, int]  # candidate -> market value plus net debt
    earnings: dict[str, dict[str, int]]  # year -> candidate -> earnings
    year: str
    last_year: str
    target_earnings: int
    gross_debt: int
    target_cash: int

    @property
    def outsider(self) -> str:
        """The candidate that is no peer."""
        return next(c for c, s in self.sectors.items() if s != self.sector)


def multiple(value: int, earnings: int) -> int:
    """Value over earnings in hundredths, rounded half up."""
    return (200 * value + earnings) // (2 * earnings)


def median(multiples: tuple[int, ...]) -> int:
    """The middle one of three."""
    return sorted(multiples)[len(multiples) // 2]


def simulate(common: Common) -> Peers:
    """Three peers, an outsider with a value that would move the median, and a target."""
    rng, figures, axes = common.rng, common.figures, common.axes
    names = list(common.spare[:4])
    outsider = names[("first", "second", "third", "fourth").index(axes["outsider"])]
    peers = [n for n in names if n != outsider]
    year = str(int(common.today[:4]) - 1)
    last_year = str(int(year) - 1)

    def traded() -> tuple[tuple[dict[str, int], dict[str, int], dict[str, int], int], tuple[int, ...]]:
        values = {n: rng.randint(900, 4800) for n in names}
        now = {n: rng.randint(150, 480) for n in names}
        before = {n: rng.randint(150, 480) for n in names}
        earned = rng.randint(90, 290)
        right = median(tuple(multiple(values[n], now[n]) for n in peers))
        stale = median(tuple(multiple(values[n], before[n]) for n in peers))
        return (values, now, before, earned), (right, stale, right * earned // 100)

    values, now, before, earned = figures.settle(traded)
    worth = median(tuple(multiple(values[n], now[n]) for n in peers)) * earned // 100

    def owed() -> tuple[tuple[int, int], tuple[int, ...]]:
        gross, held = rng.randint(60, 60 + 3 * worth // 4), rng.randint(10, 140)
        return (gross, held), (gross, gross - held, worth - gross + held)

    gross, held = figures.settle(owed)
    return Peers(
        sector=axes["sector"],
        other_sector=axes["other_sector"],
        sectors={n: axes["other_sector"] if n == outsider else axes["sector"] for n in names},
        values=values,
        earnings={year: now, last_year: before},
        year=year,
        last_year=last_year,
        target_earnings=earned,
        gross_debt=gross,
        target_cash=held,
    )


def put_data(drive: Drive, p: Peers, analyst: str, director: str) -> None:
    """Market sheet, earnings by year, method, target accounts (sources scope, values, earnings, old, target)."""
    currency, today = drive.truth.currency, drive.today
    drive.book(
        "values",
        "market/values.xlsx",
        "Market values",
        Tab(
            "Values",
            ("Company", f"Market value and net debt, {currency} m"),
            tuple(p.values.items()),
            title=f"As of {day(working_day(today, -3))}",
            chart=True,
        ),
        by=analyst,
        dated=working_day(today, -3),
    )
    for source, year in (("earnings", p.year), ("old", p.last_year)):
        drive.book(
            source,
            f"market/earnings_{year}.xlsx",
            f"Earnings {year}",
            Tab(
                "Earnings", ("Company", f"Earnings {currency} m"), tuple(p.earnings[year].items()), title=f"Year {year}"
            ),
            by=analyst,
            dated=working_day(today, -20 if source == "earnings" else -300),
        )
    drive.paper(
        "scope",
        "mandate/method.docx",
        "Method of the valuation",
        by=director,
        dated=working_day(today, -40),
        facts=(("Client", drive.truth.legal_name), ("Sector", p.sector)),
        body=(
            "# Peers",
            f"Peers are candidates whose main business is {p.sector}. A candidate of another sector is left out.",
            "# Multiple",
            f"Value over earnings of {p.year}, two decimals, rounded half up. The median of the peers is used.",
            "# From value to equity",
            "The median times the target's earnings, in whole millions rounded down, less net debt: debt less cash.",
        ),
        grid=(("Candidate", "Main business"), tuple(p.sectors.items())),
        status="AGREED",
    )
    lines = (("Earnings", p.target_earnings), ("Debt", p.gross_debt), ("Cash", p.target_cash))
    drive.book(
        "target",
        f"target/accounts_{p.year}.xlsx",
        f"Accounts {p.year}",
        Tab("Accounts", ("Line", f"{currency} m"), lines, title=f"{drive.truth.legal_name}, {p.year}"),
        by=analyst,
        dated=working_day(today, -60),
    )


def put_profiles(drive: Drive, p: Peers, analyst: str, director: str) -> None:
    """A profile of the outsider that argues for taking it in, a deck with last year's figures, an exchange of mails."""
    today = drive.today
    drive.paper(
        "",
        f"market/profile_{p.outsider.lower()}.pdf",
        f"Profile: {p.outsider}",
        by=analyst,
        dated=working_day(today, -70),
        body=(
            f"{p.outsider} sells to {p.sector} customers and likes to be compared with them. Its main business is "
            f"{p.other_sector}.",
        ),
    )
    before = p.earnings[p.last_year]
    drive.deck(
        "",
        "pitch/first_thoughts.pptx",
        "First thoughts",
        f"On figures of {p.last_year}",
        Slide(
            "Earnings of the candidates",
            (f"Total {money(sum(before.values()))} million", "To be updated"),
            plot=plot("column", tuple(before), Earnings=tuple(float(v) for v in before.values())),
        ),
        by=director,
        dated=working_day(today, -90),
    )
    drive.mail(
        "",
        "mail/net_or_gross.eml",
        sender=analyst,
        to=director,
        dated=drive.ago(6),
        subject="Net or gross debt",
        body="The client's summary shows debt without the cash. Which one do we take off?",
        answer="The method says it. Please look there and not at the summary.",
    )
