"""A dispute before a court: when a claim expires, and what loss a contract lets the claimant recover.

Invariant: one event starts the clock and one broken-off round of talks stops it; one of loss and cap is the lower.
"""

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.documents.folder import day, house
from journeyman.worlds.documents.pptx import Slide
from journeyman.worlds.lexicon import days_between, is_working_day, shift_date, working_day

CLAIMS = ("debt", "delay", "defect", "licence")
EVENTS = ("breach", "discovery", "demand")
WRONGS = ("delay", "defect", "outage", "leak")
COURTS = ("commercial", "district", "regional", "high")


class Claim(Record):
    """A claim that may be out of time. Standstill in days, periods in years."""

    kind: str
    events: dict[str, str]  # event -> ISO date
    triggers: dict[str, str]  # kind of claim -> event that starts the clock
    amended: str  # claims that begin to run from this day on have the new period
    old_years: int
    new_years: int
    talks_from: str
    talks_to: str  # broken off
    last_mail: str  # a courtesy afterwards
    standstill: int
    signed: bool
    filed: str
    today: str

    @property
    def trigger(self) -> str:
        """The event that starts the clock of this claim."""
        return self.triggers[self.kind]


def years_later(start: str, years: int) -> str:
    """The same day `years` later; 28 February stands for the 29th."""
    return f"{int(start[:4]) + years}{start[4:].replace('02-29', '02-28')}"


def simulate_claim(common: Common, *, trigger: str, new: bool, signed: bool, barred: bool) -> Claim:
    """A claim filed shortly before or after it expires; today is soon after."""
    rng, figures, axes = common.rng, common.figures, common.axes
    breach = working_day("2021-01-04", rng.randrange(500))
    found = working_day(breach, rng.randint(60, 250))
    events = {"breach": breach, "discovery": found, "demand": working_day(found, rng.randint(30, 120))}
    began = events[trigger]
    old_years, new_years = rng.choice(((5, 3), (4, 3), (4, 5), (3, 4)))
    talks_from = working_day(events["demand"], rng.randint(20, 100))
    regular = years_later(began, new_years if new else old_years)

    def paused() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        talks, standstill, courtesy = rng.randint(40, 300), rng.randint(30, 200), rng.randint(6, 60)
        right, other = (talks + standstill, talks) if signed else (talks, talks + standstill)
        ends = (shift_date(regular, right), shift_date(talks_from, talks), shift_date(talks_from, talks + courtesy))
        open_then = all(is_working_day(end) for end in ends)
        return (talks, standstill, courtesy), (right, other, right + courtesy) if open_then else (0, 0)

    talks, standstill, courtesy = figures.settle(paused)
    talks_to = shift_date(talks_from, talks)
    last = shift_date(regular, talks + (standstill if signed else 0))
    filed = working_day(last, rng.randint(1, 20) if barred else -rng.randint(0, 20))
    other = rng.choice([e for e in EVENTS if e != trigger])
    return Claim(
        kind=axes["claim"],
        events=events,
        triggers={kind: trigger if kind == axes["claim"] else other for kind in CLAIMS},
        amended=working_day(began, -rng.randint(3, 40) if new else rng.randint(3, 40)),
        old_years=old_years,
        new_years=new_years,
        talks_from=talks_from,
        talks_to=talks_to,
        last_mail=shift_date(talks_to, courtesy),
        standstill=standstill,
        signed=signed,
        filed=filed,
        today=working_day(filed, rng.randint(10, 40)),
    )


def put_clause(drive: Drive, c: Claim, partner: str, clerk: str) -> None:
    """The amended clause, the statement of claim and its stamp (sources clause, events)."""
    company, other = drive.truth.legal_name, drive.truth.other_party
    rest = next(t for kind, t in c.triggers.items() if kind != c.kind)
    dated = working_day(c.events["breach"], -200)
    drive.paper(
        "clause",
        "contract/supply_contract_extract.docx",
        "Supply contract, extract as amended",
        by=partner,
        dated=dated,
        facts=(("Supplier", other), ("Customer", company), ("Version", "consolidated")),
        body=(
            "# 22. Expiry of claims",
            f"22.1 A {c.kind} claim begins to run on the day of the {c.triggers[c.kind]}. Every other claim begins "
            f"to run on the day of the {rest}.",
            f"22.2 A claim that begins to run before {c.amended} expires after {c.old_years} years; one that begins "
            f"to run on or after {c.amended} expires after {c.new_years} years.",
            "22.3 Talks stop the clock from the day they are taken up until the day one side breaks them off in "
            "writing: the first of these days counts, the day of breaking off does not. Courtesies after that day "
            "change nothing. The days of talks are added to the period.",
            "22.4 A standstill adds its days if, and only if, both parties have signed it.",
            "22.5 A period of years ends on the same day of the year as it began. It is not prolonged where its last "
            "day is a Sunday or a holiday. A claim filed on the last day is in time.",
        ),
        reference="SUP/22",
    )
    drive.paper(
        "events",
        "court/statement_of_claim.docx",
        "Statement of claim",
        by=clerk,
        dated=c.filed,
        facts=(("Claimant", company), ("Defendant", other), ("Claim", c.kind), ("Received by the court", c.filed)),
        body=("The facts that matter for time are these.",),
        grid=(
            ("Event", "Date", "Proof"),
            tuple((name.capitalize(), when, f"K {i}") for i, (name, when) in enumerate(c.events.items(), 1)),
        ),
        signed=((drive.name(partner), "for the claimant", c.filed),),
        reference="17 O 204",
    )


def put_talks(drive: Drive, c: Claim, partner: str, associate: str) -> None:
    """Talks with their end, and the standstill (sources talks, standstill)."""
    company, other = drive.truth.legal_name, drive.truth.other_party
    drive.export(
        "talks",
        "talks/log.csv",
        ("date", "who", "what"),
        (
            (c.talks_from, company, "talks taken up"),
            (working_day(c.talks_from, days_between(c.talks_from, c.talks_to) // 2), "both", "round two, no result"),
            (c.talks_to, other, "talks broken off in writing"),
            (c.last_mail, other, "greetings, no offer"),
        ),
        c.last_mail,
    )
    drive.paper(
        "",
        "talks/letter_breaking_off.pdf",
        "End of our talks",
        dated=c.talks_to,
        facts=(("To", company), ("Date", day(c.talks_to))),
        body=("We see no basis for further talks and break them off with this letter.",),
        paper=drive.other,
    )
    signed = working_day(c.talks_from, 6)
    drive.paper(
        "standstill",
        "talks/standstill.docx",
        "Standstill",
        by=partner,
        dated=working_day(c.talks_from, 4),
        body=(
            f"The parties agree that the period of section 22 stands still for a further {c.standstill} days, besides "
            "any days of talks. It binds when both have signed.",
        ),
        signed=(
            (drive.name(partner), f"for {company}", signed),
            (drive.counterpart, f"for {other}", signed if c.signed else ""),
        ),
        status="" if c.signed else "NOT COUNTERSIGNED",
    )


def put_notes(drive: Drive, c: Claim, associate: str, counsel: str) -> None:
    """A courtesy of the other side and an overview of the case; nobody cites them."""
    drive.mail(
        "",
        "mail/greetings.eml",
        sender=associate,
        to=counsel,
        dated=c.last_mail,
        subject="Greetings from the other side",
        body="They wrote again today. Only good wishes, nothing on the matter.",
        answer="File it please.",
    )
    steps = ((name.capitalize(), day(when)) for name, when in sorted(c.events.items(), key=lambda e: e[1]))
    drive.deck(
        "",
        "notes/case_overview.pptx",
        "Case overview",
        f"{c.kind.capitalize()} claim against {drive.truth.other_party}",
        Slide("What happened when", tuple(f"{name}: {when}" for name, when in steps)),
        by=associate,
        dated=working_day(c.filed, -30),
    )


class Loss(Record):
    """A loss and what the contract allows of it. Amounts in thousands, the fee of a year, interest a day."""

    kind: str
    heads: dict[str, int]  # head of loss -> amount
    barred_head: str
    saved: int
    fees: dict[str, int]  # calendar year -> fee
    year: str
    last_year: str
    percent: int
    daily: int
    due: str  # default began
    breach: str
    paid_until: str


def simulate_loss(common: Common, *, binding: str) -> Loss:
    """A loss below or above the cap of the contract; `binding` is "loss" or "cap"."""
    rng, figures, axes = common.rng, common.figures, common.axes
    names = (axes["first_head"], axes["second_head"], axes["barred"])

    def lost() -> tuple[tuple[tuple[int, ...], int], tuple[int, ...]]:
        amounts, saved = tuple(rng.randint(6000, 19_000) for _ in names), rng.randint(600, 2800)
        right = amounts[0] + amounts[1] - saved
        return (amounts, saved), (right, right + amounts[2], right + saved)

    amounts, saved = figures.settle(lost)
    loss = amounts[0] + amounts[1] - saved
    low, high = (40, 88) if binding == "cap" else (112, 190)

    def capped() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        share, blocks, before = rng.randint(10, 30), rng.randint(loss * low // 3000, loss * high // 1000), 0
        before = blocks + rng.choice((-1, 1)) * max(3, blocks * rng.randint(3, 30) // 100)
        inside = loss * low < 100 * share * blocks < loss * high
        return (share, blocks, before), (share * blocks, share * before) if inside else (0, 0)

    share, blocks, before = figures.settle(capped)
    award = min(loss, share * blocks)
    today = common.today

    def late() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        yearly = award * rng.randint(8, 12) // 100
        daily, ran, more = max(1, yearly // 365), rng.randint(30, 220), rng.randint(8, 70)
        worked = is_working_day(shift_date(today, -ran)) and is_working_day(shift_date(today, -ran - more))
        right = (daily * ran, award + daily * ran, daily * (ran + more))
        return (daily, ran, more), right if worked else (0, 0)

    daily, ran, more = figures.settle(late)
    breach = shift_date(today, -ran - more)
    year = int(breach[:4])
    return Loss(
        kind=axes["claim"],
        heads=dict(zip(names, amounts, strict=True)),
        barred_head=names[2],
        saved=saved,
        fees={str(year - 1): 20 * before, str(year): 20 * blocks},
        year=str(year),
        last_year=str(year - 1),
        percent=5 * share,
        daily=daily,
        due=shift_date(today, -ran),
        breach=breach,
        paid_until=today,
    )


def put_contract(drive: Drive, x: Loss, partner: str, counsel: str) -> None:
    """Liability section and fee notes of two years (sources clause, fees)."""
    company, other, currency = drive.truth.legal_name, drive.truth.other_party, drive.truth.currency
    dated = working_day(x.breach, -700)
    drive.paper(
        "clause",
        "contract/liability_section.docx",
        "Contract, section on liability",
        by=counsel,
        dated=dated,
        facts=(("Customer", company), ("Contractor", other), ("Dated", day(dated))),
        body=(
            "# 30. Loss",
            f"30.1 The contractor makes good the customer's proven loss. Loss under the head of {x.barred_head} is not "
            "made good, whether proven or not.",
            "30.2 What the customer saved because of the breach is taken off its loss.",
            "# 31. Cap",
            f"31.1 Liability is capped at {x.percent} percent of the fee of the calendar year in which the breach "
            "falls. Fees of other years do not matter.",
            "31.2 The cap applies to loss. Interest is owed on top.",
            "# 32. Interest",
            f"32.1 In place of interest by law, {currency} {x.daily} thousand is owed for each day from the day the "
            "contractor is in default, that is the day a demand falls due, to the day before the schedule. The day "
            "of the breach does not matter.",
        ),
        signed=((drive.name(partner), f"for {company}", dated), (drive.counterpart, f"for {other}", dated)),
    )
    rows = tuple((f"Fee of {year}", fee) for year, fee in x.fees.items())
    drive.book(
        "fees",
        "contract/fee_notes.xlsx",
        "Fees",
        Tab("Fees", ("Item", f"{currency} thousand"), rows, title=f"Fees agreed with {other}"),
        by=counsel,
        dated=working_day(x.breach, -20),
    )


def put_evidence(drive: Drive, x: Loss, expert: str, counsel: str, clerk: str) -> None:
    """The expert's loss report, the demand, a first estimate and the court's order (sources report, demand)."""
    company, currency, made = drive.truth.legal_name, drive.truth.currency, working_day(drive.today, -14)
    drive.paper(
        "report",
        "evidence/expert_report.docx",
        "Expert report on loss",
        by=expert,
        dated=made,
        facts=(("Instructed by", company), ("Amounts in", f"{currency} thousand")),
        body=(
            "I was asked what was lost, not what the contract lets the customer claim.",
            f"Because of the breach the customer saved {money(x.saved)}, which the amounts below do not take into "
            "account.",
        ),
        grid=(("Head of loss", "Amount"), tuple((n.capitalize(), money(v)) for n, v in x.heads.items())),
        signed=((drive.name(expert), "expert", made),),
        paper=house(drive.rng, f"{drive.name(expert).split()[-1]} Experts"),
    )
    drive.paper(
        "demand",
        "evidence/demand.pdf",
        "Demand for damages",
        by=counsel,
        dated=working_day(x.breach, 3),
        facts=(("Breach on", x.breach), ("Payment due on", x.due)),
        body=(f"The {x.kind} of {day(x.breach)} is a breach. We expect payment by {day(x.due)}.",),
        signed=((drive.name(counsel), f"for {company}", working_day(x.breach, 3)),),
    )
    guess = tuple((name.capitalize(), value * 2) for name, value in x.heads.items())
    drive.book(
        "",
        "evidence/first_estimate.xlsx",
        "Estimate",
        Tab("Estimate", ("Head", f"{currency} thousand"), guess, (1,), title="First estimate, before the report"),
        by=counsel,
        dated=working_day(x.breach, 12),
    )
    drive.paper(
        "",
        "court/order.pdf",
        "Order of the court",
        dated=working_day(drive.today, -9),
        body=(f"The claimant files a schedule of its {x.kind} damages as of {day(drive.today)}, interest included.",),
        paper=house(drive.rng, f"{drive.truth.axes['court'].capitalize()} Court"),
    )
    drive.mail(
        "",
        "mail/heads_of_loss.eml",
        sender=expert,
        organisation=f"{drive.name(expert).split()[-1]} Experts",
        to=counsel,
        dated=drive.ago(12),
        subject="Heads of loss",
        body="I list every head. Which of them count is a matter of the contract, and so is anything saved.",
        answer="Understood, the schedule follows section 30.",
    )
