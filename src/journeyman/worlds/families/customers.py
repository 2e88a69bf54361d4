"""What a target's customers say in a survey and what they buy, by account and by the group behind it.

Invariant: the largest group is larger than the largest account of any other group, and no wrong reading agrees with it.
"""

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money, plot
from journeyman.worlds.cases.model import decimal, percent
from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.pptx import Slide
from journeyman.worlds.lexicon import working_day


class Survey(Record):
    """One survey wave. Answers are persons; the margin is in hundredths of a point."""

    completes: int
    fast: int  # answered faster than one can read
    outside: int  # among the rest, no users
    named: dict[str, int]  # brand -> users who prefer it
    mentions: int  # how often the target was named at all, several answers allowed
    last_named: int  # users who preferred it in the wave before
    margin: int
    rival: str


def simulate_survey(common: Common, *, shows: bool) -> Survey:
    """A wave whose lead is beyond the margin (`shows`) or within it."""
    rng, figures = common.rng, common.figures
    target, rival = common.given["company"], common.spare[0]

    def asked() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        base, fast, outside = figures.draw(310, 1900), rng.randint(12, 150), rng.randint(12, 150)
        return (base, fast, outside), (base + fast, base + outside)

    base, fast, outside = figures.settle(asked)

    def told() -> tuple[tuple[int, int], tuple[int, ...]]:
        mine = rng.randint(base * 28 // 100, base * 48 // 100)
        theirs = rng.randint(base * 12 // 100, mine - base * 3 // 100)
        first, second = percent(mine, base), percent(theirs, base)
        return (mine, theirs), (first, second, first - second)

    mine, theirs = figures.settle(told)
    lead = percent(mine, base) - percent(theirs, base)

    def misread() -> tuple[tuple[int, int], tuple[int, ...]]:
        mentions = rng.randint(mine + base * 5 // 100, base * 85 // 100)
        last = rng.randint(base * 15 // 100, mine - base * 2 // 100)
        return (mentions, last), (percent(mentions, base), percent(last, base))

    mentions, last = figures.settle(misread)
    steps = lead // 50
    margin = 50 * (rng.randint(max(1, steps - 8), max(1, steps)) if shows else steps + rng.randint(1, 8))
    return Survey(
        completes=base + outside + fast,
        fast=fast,
        outside=outside,
        named={target: mine, rival: theirs},
        mentions=mentions,
        last_named=last,
        margin=margin,
        rival=rival,
    )


def put_method(drive: Drive, s: Survey, partner: str, analyst: str) -> None:
    """How the survey is read, and its field report (sources method, field)."""
    axes, dated = drive.truth.axes, working_day(drive.today, -30)
    drive.paper(
        "method",
        "survey/reading_rules.docx",
        "How this survey is read",
        by=partner,
        dated=dated,
        facts=(("Target", drive.truth.company), ("Sample", axes["sample"]), ("Sector", axes["sector"])),
        body=(
            "# Base",
            "The base is users: completed interviews less those answered too fast to be read and less people who are "
            "no users.",
            "# Shares",
            "A share is persons who prefer a brand over the base, in percent to two decimals. Mentions are not "
            "persons, since one may name several brands. Other waves are not mixed in.",
            "# What it shows",
            f"A lead in percentage points of at least {decimal(s.margin)} shows something. A smaller one "
            "leaves it open.",
        ),
        signed=((drive.name(partner), "partner", dated),),
        reference="SV/3",
        status="AGREED",
    )
    made = working_day(drive.today, -16)
    rows = (
        ("Completed interviews", money(s.completes)),
        ("of these answered too fast", money(s.fast)),
        ("of the rest, no users", money(s.outside)),
    )
    drive.paper(
        "field",
        "survey/field_report.docx",
        "Field report",
        dated=made,
        facts=(("Sample", axes["sample"]), ("Field work ended", day(made))),
        grid=(("Measure", "Persons"), rows),
        paper=drive.other,
    )


def put_answers(drive: Drive, s: Survey, analyst: str, lead: str, expert: str) -> None:
    """Answers of this wave, a management slide, an expert's opinion (source answers)."""
    axes, target = drive.truth.axes, drive.truth.company
    names = (target, s.rival)
    tabs = (
        Tab(
            "Preferred", ("Brand", "Users who prefer it"), tuple((n, s.named[n]) for n in names), title=axes["question"]
        ),
        Tab("Named", ("Brand", "Mentions, several allowed"), ((target, s.mentions), (s.rival, s.mentions - 9))),
    )
    drive.book("answers", "survey/answers.xlsx", "Answers", *tabs, by=analyst, dated=working_day(drive.today, -15))
    drive.deck(
        "",
        "target/management_view.pptx",
        "Management view",
        f"Why users like {target}",
        Slide(
            "Named most",
            ("Users name us all the time",),
            plot=plot("column", names, Mentions=[float(s.mentions), float(s.mentions - 9)]),
        ),
        by=lead,
        dated=working_day(drive.today, -40),
    )
    drive.mail(
        "",
        "mail/clear_lead.eml",
        sender=lead,
        to=analyst,
        dated=drive.ago(12),
        subject="A clear lead",
        body=f"{s.mentions} mentions: that is a clear lead, is it not?",
        answer="Mentions are no persons. I come back with shares of users.",
    )
    drive.paper(
        "",
        "survey/expert_call.pdf",
        "Note of an expert call",
        by=expert,
        dated=working_day(drive.today, -22),
        body=(f"The expert finds {target} and {s.rival} about equal, without figures.",),
    )


def put_before(drive: Drive, s: Survey, analyst: str) -> None:
    """Answers of the wave before (source before)."""
    rows = ((drive.truth.company, s.last_named), (s.rival, s.last_named + 6))
    drive.book(
        "before",
        "survey/answers_wave_before.xlsx",
        "Answers",
        Tab("Preferred", ("Brand", "Users who preferred it"), rows, title="Wave before, same question"),
        by=analyst,
        dated=working_day(drive.today, -200),
    )


class Accounts(Record):
    """What accounts bought in a year, in thousands, and which group owns them."""

    revenue: dict[str, int]  # account -> billed
    owners: dict[str, str]  # account -> group, as of the cut-off or before
    move: dict[str, str]  # account that changed hands -> new owner
    moved_on: str
    cutoff: str
    internal: int
    total: int
    limit: int  # percent
    group: str


def simulate_accounts(common: Common, *, moved: str, over: bool) -> Accounts:
    """A group that leads by its sum only; `moved` "before" or "after" the cut-off an account went to it."""
    rng, figures = common.rng, common.figures
    group, single, one, two, swing, rest = common.spare[:6]
    cutoff = working_day(common.today, -rng.randint(30, 70))

    def bought() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        first, second, third = rng.randint(500, 1900), rng.randint(500, 1900), rng.randint(120, 480)
        right = first + second + (third if moved == "before" else 0)
        return (first, second, third), (right, first + second if moved == "before" else right + third)

    first, second, third = figures.settle(bought)
    right = first + second + (third if moved == "before" else 0)
    big = rng.randint(max(first, second) + 20, first + second - 20)
    small = rng.randint(100, 480)
    if moved == "after":
        big = max(max(first, second) + 10, min(big, right - third - 10))

    def whole() -> tuple[tuple[int, int], tuple[int, ...]]:
        base, internal = rng.randint(3 * right, 11 * right), rng.randint(150, 1900)
        return (base, internal), (base, base + internal, percent(right, base))

    base, internal = figures.settle(whole)
    share = percent(right, base) // 100
    revenue = {one: first, two: second, swing: third, single: big, rest: small}
    names = rng.sample(list(revenue), 5)
    return Accounts(
        revenue={n: revenue[n] for n in names},
        owners={n: group if n in (one, two) else n for n in names},
        move={swing: group},
        moved_on=working_day(cutoff, -rng.randint(3, 60) if moved == "before" else rng.randint(3, 25)),
        cutoff=cutoff,
        internal=internal,
        total=base + internal,
        limit=max(2, share - rng.randint(0, 5)) if over else share + rng.randint(1, 6),
        group=group,
    )


def put_revenue(drive: Drive, a: Accounts, analyst: str, lead: str) -> None:
    """Billed revenue and what is sold within the target (source revenue)."""
    currency, target = drive.truth.currency, drive.truth.other_party
    others = a.total - sum(a.revenue.values()) - a.internal
    rows = (
        *((n, v) for n, v in a.revenue.items()),
        ("Some hundred others", others),
        ("Sold within the target", a.internal),
    )
    drive.book(
        "revenue",
        "data/billed_revenue.xlsx",
        "Revenue",
        Tab(
            "Billed",
            ("Account", f"{currency} thousand"),
            rows,
            (1,),
            title=f"Revenue of {target} by account",
            chart=True,
        ),
        by=analyst,
        dated=working_day(drive.today, -20),
    )
    drive.deck(
        "",
        "target/customer_base.pptx",
        "Customer base",
        f"{target} in short",
        Slide("No account is large", tuple(f"{n}: {money(v)}" for n, v in a.revenue.items()), notes="By account."),
        by=lead,
        dated=working_day(drive.today, -33),
    )


def put_owners(drive: Drive, a: Accounts, partner: str, analyst: str, expert: str) -> None:
    """Who owns accounts, a change of hands, the rules (sources owners, moves, rules)."""
    (account, buyer), dated = next(iter(a.move.items())), working_day(drive.today, -26)
    drive.export(
        "owners",
        "data/owners.csv",
        ("account", "group", "as_of"),
        [(n, owner, working_day(a.cutoff, -90)) for n, owner in a.owners.items()],
        a.cutoff,
    )
    drive.paper(
        "moves",
        "data/change_of_hands.docx",
        f"{account} changes hands",
        by=analyst,
        dated=a.moved_on,
        facts=(("Account", account), ("New group", buyer), ("With effect from", a.moved_on)),
        body=(f"{buyer} has bought {account}. The table of owners does not show it.",),
    )
    drive.paper(
        "rules",
        "project/rules_on_concentration.docx",
        "How concentration is measured",
        by=partner,
        dated=dated,
        facts=(("Client", drive.truth.legal_name), ("Target", drive.truth.other_party), ("Cut-off", a.cutoff)),
        rules=(
            f"Accounts of one group count as one customer. Groups are those of {a.cutoff}: what changed hands by then "
            "is counted with its new group, what changed hands later is not.",
            "The base is billed revenue less what is sold within the target.",
            "The share of the largest customer is stated in percent to two decimals.",
            f"At {a.limit} percent or more it is a risk for the report; below that it is none.",
        ),
        signed=((drive.name(partner), "partner", dated),),
        status="AGREED",
    )
    drive.mail(
        "",
        "mail/change_of_hands.eml",
        sender=expert,
        organisation=f"{drive.name(expert).split()[-1]} Experts",
        to=analyst,
        dated=a.moved_on,
        subject=f"{account} sold",
        body=f"From the market: {buyer} now owns {account}.",
        answer="Thank you. The rules say from when on that counts.",
    )
