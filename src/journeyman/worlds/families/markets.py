"""A market told by three studies, and countries one might enter: with definitions, licences and duties.

Invariant: one study holds, the latest whose field work ended by the cut-off; one open country pays back first.
"""

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money, plot
from journeyman.worlds.cases.model import percent
from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.pptx import Slide
from journeyman.worlds.lexicon import working_day

METHODS = ("panel", "census", "tracker")
LEVELS = ("works", "shop")
COUNTRIES = ("Poland", "Spain", "Italy", "Norway", "Ireland", "Austria", "Portugal", "Greece")


class Market(Record):
    """A market in a year. Units and sales in thousands, prices a unit, shares in hundredths of a percent."""

    fielded: dict[str, str]  # study -> last day of its field work
    cutoff: str
    units: dict[str, int]  # study -> units
    left_out: int  # units that the definition leaves out
    level: str
    prices: dict[str, int]  # level -> price
    sales: int
    older: str
    later: str


def simulate_market(common: Common, *, holds: str, level: str) -> Market:
    """A market whose study `holds` is the latest by the cut-off; one is older, one came too late."""
    rng, figures = common.rng, common.figures
    older, later = rng.sample([m for m in METHODS if m != holds], 2)
    cutoff = working_day(common.today, -rng.randint(40, 90))
    fielded = {
        older: working_day(cutoff, -rng.randint(150, 400)),
        holds: working_day(cutoff, -rng.randint(0, 60)),
        later: working_day(cutoff, rng.randint(2, 30)),
    }

    def counted() -> tuple[tuple[int, int], tuple[int, ...]]:
        units, left_out = rng.randint(420, 3900), rng.randint(25, 180)
        return (units, left_out), (units - left_out, units)

    units, left_out = figures.settle(counted)

    def others() -> tuple[tuple[int, int], tuple[int, ...]]:
        before, after = rng.randint(units * 6 // 10, units - 20), rng.randint(units + 20, units * 15 // 10)
        return (before, after), (before - left_out, after - left_out)

    before, after = figures.settle(others)
    scope = units - left_out

    def priced() -> tuple[tuple[int, int], tuple[int, ...]]:
        price = rng.randint(12, 900)
        sales = rng.randint(scope * price // 50, scope * price // 4)
        return (price, sales), (price, scope * price, percent(sales, scope * price))

    price, sales = figures.settle(priced)
    other = (
        figures.draw(price + 9, 2 * price + 20) if level == "works" else figures.draw(max(10, price // 3), price + 9)
    )
    return Market(
        fielded={m: fielded[m] for m in METHODS},
        cutoff=cutoff,
        units={m: {holds: units, older: before, later: after}[m] for m in METHODS},
        left_out=left_out,
        level=level,
        prices={name: price if name == level else other for name in LEVELS},
        sales=sales,
        older=older,
        later=later,
    )


def put_definition(drive: Drive, m: Market, partner: str, lead: str) -> None:
    """Definition of the market, price list and sales (sources brief, prices, sales)."""
    axes, currency, dated = drive.truth.axes, drive.truth.currency, working_day(drive.today, -20)
    drive.paper(
        "brief",
        "project/market_definition.docx",
        "Definition of the market",
        by=partner,
        dated=dated,
        facts=(("Client", drive.truth.legal_name), ("Market", f"{axes['sector']}, {axes['region']}")),
        body=(
            "# Volume",
            f"Of the studies the latest one holds whose field work ended on or before {m.cutoff}. Studies are not "
            "mixed and not averaged. What came later goes into the next update.",
            f"{axes['left_out'].capitalize()} are no part of the market and are taken off the study's units.",
            "# Value",
            f"Units are valued at the {m.level} price. The share is the client's sales over that value, in percent to "
            "two decimals.",
        ),
        signed=((drive.name(partner), "partner", dated),),
        status="AGREED",
    )
    prices = tuple((f"{level.capitalize()} price a unit", price) for level, price in m.prices.items())
    drive.book(
        "prices",
        "data/prices.xlsx",
        "Prices",
        Tab("Prices", ("Level", currency), prices, title=f"Mean {axes['sector']} prices, {axes['region']}"),
        by=lead,
        dated=working_day(drive.today, -25),
    )
    quarter = m.sales // 4
    rows = (("Q1", quarter - 7), ("Q2", quarter + 12), ("Q3", quarter - 3), ("Q4", m.sales - 3 * quarter - 2))
    drive.book(
        "sales",
        "data/client_sales.xlsx",
        "Sales",
        Tab(
            "Sales",
            ("Quarter", f"{currency} thousand"),
            rows,
            (1,),
            title=f"Sales of {drive.truth.company}",
            chart=True,
        ),
        by=lead,
        dated=working_day(drive.today, -22),
    )


def put_studies(drive: Drive, m: Market, analyst: str, lead: str, member: str) -> None:
    """Overview of studies, an extract of each, a deck, a mail (source studies)."""
    axes = drive.truth.axes
    drive.export(
        "studies",
        "studies/overview.csv",
        ("study", "field_work_ended", "units_thousand"),
        [(name, m.fielded[name], m.units[name]) for name in METHODS]
        + [(f"customs: {axes['left_out']}", m.cutoff, m.left_out)],
        working_day(drive.today, -12),
    )
    for name in METHODS:
        made = working_day(m.fielded[name], 9)
        drive.paper(
            "",
            f"studies/{name}_{made}.{'pdf' if name == 'census' else 'docx'}",
            f"{axes['sector'].capitalize()} {name} study",
            dated=made,
            facts=(("Field work ended", day(m.fielded[name])), ("Region", axes["region"])),
            body=(
                f"We find {money(m.units[name])} thousand units, {axes['left_out']} included.",
                "Prices were not collected.",
            ),
            paper=drive.other,
        )
    names = [n.capitalize() for n in METHODS]
    drive.deck(
        "",
        "project/first_findings.pptx",
        "First findings",
        "Three studies, three markets",
        Slide(
            "Units by study",
            ("Studies differ in date",),
            plot=plot("column", names, Units=[float(m.units[n]) for n in METHODS]),
        ),
        by=analyst,
        dated=working_day(drive.today, -10),
    )
    drive.mail(
        "",
        "mail/which_study.eml",
        sender=member,
        to=lead,
        dated=drive.ago(8),
        subject="Which study?",
        body="The three studies do not agree. Should we take the mean?",
        answer="No mean. The definition says which one holds.",
    )


class Entry(Record):
    """Countries one might enter. Sales, cost and duty a month and investments in thousands."""

    countries: tuple[str, ...]
    licences: dict[str, str]  # "open", "closed" or "asked"
    sales: dict[str, int]
    costs: dict[str, int]
    duties: dict[str, int]
    invest: dict[str, int]
    budget: int
    old_budget: int
    choice: str
    closed: str
    asked: str


def simulate_entry(common: Common, *, own: bool) -> Entry:
    """Four countries: a closed one and one whose licence was only asked for would pay back sooner."""
    rng, figures = common.rng, common.figures
    choice, closed, asked, slow = rng.sample(COUNTRIES, 4)

    def earned() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        profit, months, duty = rng.randint(45, 460), rng.randint(14, 60), rng.randint(8, 60)
        return (profit, months, duty), (profit, months, profit + duty)

    profit, months, duty = figures.settle(earned)
    profits = {choice: profit, **{c: rng.randint(45, 460) for c in (closed, asked, slow)}}
    late = {choice: months, closed: months - rng.randint(2, 6), asked: months - rng.randint(2, 6), slow: months + 14}
    duties = {choice: duty, **{c: rng.randint(8, max(9, profits[c] // 5)) for c in (closed, asked, slow)}}
    duties[slow] = min(duties[slow], max(4, profits[slow] // 8))
    invest = {c: profits[c] * late[c] for c in late}

    def granted() -> tuple[tuple[int, int], tuple[int, ...]]:
        rest, before = rng.randint(60, 900) * (1 if own else -1), rng.randint(60, 900)
        return (invest[choice] + rest, invest[choice] + before), (rest, before)

    budget, old_budget = figures.settle(granted)
    order = tuple(rng.sample((choice, closed, asked, slow), 4))
    costs = {c: rng.randint(60, 700) for c in order}
    return Entry(
        countries=order,
        licences={c: {closed: "closed", asked: "asked"}.get(c, "open") for c in order},
        sales={c: profits[c] + costs[c] + duties[c] for c in order},
        costs=costs,
        duties={c: duties[c] for c in order},
        invest={c: invest[c] for c in order},
        budget=budget,
        old_budget=old_budget,
        choice=choice,
        closed=closed,
        asked=asked,
    )


def put_entry(drive: Drive, e: Entry, partner: str, member: str, analyst: str) -> None:
    """Rules of the board, business plans, duties and investments (sources rules, plans, setup)."""
    currency, axes, dated = drive.truth.currency, drive.truth.axes, working_day(drive.today, -40)
    drive.paper(
        "rules",
        "board/resolution_on_entry.docx",
        "Resolution on entry",
        by=member,
        dated=dated,
        facts=(("Company", drive.truth.legal_name), ("Way in", axes["mode"]), ("Resolved on", day(dated))),
        body=(
            "A country is entered only where the licence is open to us. Where it was merely asked for, it is not open.",
            "Of the countries left, the one that pays its investment back in the fewest months is entered. Profit a "
            "month is sales less cost less duty. Broken months are rounded up.",
            f"The budget is {currency} {money(e.budget)} thousand. It replaces the {currency} {money(e.old_budget)} "
            "thousand of the year before. What it leaves, or lacks, after the investment is reported.",
            "Where it leaves something, own funds are used; where it lacks something, a loan is taken.",
        ),
        signed=((drive.name(member), "for the board", dated),),
        reference="BR/31",
    )
    rows = tuple((c, e.sales[c], e.costs[c]) for c in e.countries)
    head = ("Country", f"Sales a month, {currency} thousand", "Cost a month, without duty")
    drive.book(
        "plans",
        "plans/country_plans.xlsx",
        "Plans",
        Tab("Plans", head, rows, title=f"{axes['sector'].capitalize()} plans by country", chart=True),
        by=analyst,
        dated=working_day(drive.today, -18),
    )
    drive.export(
        "setup",
        "plans/setup_and_duty.csv",
        ("country", "investment_thousand", "duty_a_month_thousand"),
        [(c, e.invest[c], e.duties[c]) for c in e.countries],
        working_day(drive.today, -16),
    )
    told = {
        "open": "The licence is open to us.",
        "closed": "Foreign firms get no licence.",
        "asked": "We asked; no answer.",
    }
    drive.paper(
        "licences",
        "plans/licence_review.docx",
        "Review of licences",
        by=partner,
        dated=working_day(drive.today, -14),
        grid=(("Country", "State", "Remark"), tuple((c, e.licences[c], told[e.licences[c]]) for c in e.countries)),
    )


def put_voices(drive: Drive, e: Entry, partner: str, strategist: str, member: str) -> None:
    """Last year's resolution, a deck and a mail that push other countries."""
    drive.paper(
        "",
        "board/resolution_last_year.pdf",
        "Resolution on entry",
        by=member,
        dated=working_day(drive.today, -400),
        body=(f"The budget for entry is {drive.truth.currency} {money(e.old_budget)} thousand.",),
        status="REPLACED",
    )
    drive.deck(
        "",
        "plans/wish_list.pptx",
        "Wish list",
        "Ideas of the sales team",
        Slide(
            f"{e.closed} first", (f"{e.closed} looks cheap", f"{e.asked} looks cheap too"), notes="No licence check."
        ),
        by=strategist,
        dated=working_day(drive.today, -60),
    )
    drive.mail(
        "",
        "mail/licence.eml",
        sender=strategist,
        to=partner,
        dated=drive.ago(11),
        subject=f"Licence for {e.asked}",
        body=f"I am sure that {e.asked} will say yes.",
        answer="Being sure is no licence. We go by the review.",
    )
    drive.paper(
        "",
        "plans/travel_notes.md",
        "Travel notes",
        by=strategist,
        dated=working_day(drive.today, -50),
        body=("Good talks everywhere. No figures were given.",),
    )
