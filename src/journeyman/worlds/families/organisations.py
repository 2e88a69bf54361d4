"""A department's posts, leads and staff movements: how wide it is led, and how many will be at work on a day.

Invariant: leads above the guideline number two to nine, under the guideline in force and under the old one.
"""

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Row, Tab, money
from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.pptx import Slide
from journeyman.worlds.lexicon import working_day

GRADES = ("one", "two", "three", "four")


class Department(Record):
    """Posts and leads of a department. Cost of a lead in thousands a year."""

    posts: int
    vacant: int
    contractors: int
    titled: dict[str, int]  # grade -> people with a lead's title
    alone: dict[str, int]  # grade -> those of them who lead nobody
    guide: int  # staff a lead
    old_guide: int
    cost: int


def leads_needed(staff: int, guide: int) -> int:
    """Leads for a staff of which one is the head: broken leads rounded up."""
    return -(-(staff - 1) // guide)


def span(staff: int, leads: int) -> int:
    """Staff without the head over leads, in hundredths, rounded half up."""
    return (200 * (staff - 1) + leads) // (2 * leads)


def simulate_department(common: Common) -> Department:
    """A department with too many leads, some of whom lead nobody."""
    rng, figures = common.rng, common.figures

    def led() -> tuple[tuple[int, int, int, int], tuple[int, ...]]:
        staff, leads = rng.randint(160, 980), rng.randint(30, 140)
        fit = [g for g in range(4, 16) if 2 <= leads - leads_needed(staff, g) <= 9]
        if len(fit) < 2 or leads_needed(staff, fit[0]) == leads_needed(staff, fit[-1]):
            return (0, 0, 0, 0), (0, 0)
        guides = (fit[0], fit[-1]) if rng.random() < 0.5 else (fit[-1], fit[0])
        return (staff, leads, *guides), (staff, leads, span(staff, leads))

    staff, leads, guide, old_guide = figures.settle(led)

    def beside() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        vacant, contractors, alone = rng.randint(4, 99), rng.randint(4, 99), rng.randint(3, 70)
        return (vacant, contractors, alone), (staff + vacant, staff + contractors, leads + alone)

    vacant, contractors, alone = figures.settle(beside)
    surplus = leads - leads_needed(staff, guide)

    def paid() -> tuple[int, tuple[int, ...]]:
        cost = rng.randint(60, 240)
        return cost, (surplus * cost,)

    low = rng.randint(leads // 2, leads * 2 // 3)
    middle = leads - low - 1 - (split := rng.randint(1, max(1, (leads - low - 1) // 2)))
    true = dict(zip(GRADES, (low, middle, split, 1), strict=True))
    flat = common.axes["flat_grade"]
    if flat != "none":  # a grade whose people lead nobody: its leads count elsewhere
        true["one"] += true[flat]
        true[flat] = 0
    stands_alone = dict.fromkeys(GRADES, 0) | {flat if flat != "none" else "two": alone}
    return Department(
        posts=staff + vacant + contractors,
        vacant=vacant,
        contractors=contractors,
        titled={g: true[g] + stands_alone[g] for g in GRADES},
        alone=stands_alone,
        guide=guide,
        old_guide=old_guide,
        cost=figures.settle(paid),
    )


def put_register(drive: Drive, d: Department, analyst: str, hr_lead: str) -> None:
    """Register of posts, list of leads, an organisation chart (sources register, leads)."""
    unit = drive.truth.axes["unit"]
    rows = (("Posts", d.posts), ("of these vacant", d.vacant), ("of these held by contractors", d.contractors))
    drive.book(
        "register",
        "staff/register_of_posts.xlsx",
        "Register",
        Tab("Posts", ("Measure", "Number"), rows, title=f"Posts of {unit}", note="Posts, not people."),
        by=analyst,
        dated=working_day(drive.today, -12),
    )
    drive.export(
        "leads",
        "staff/leads.csv",
        ("grade", "people_with_a_leads_title", "of_these_lead_nobody"),
        [(g, d.titled[g], d.alone[g]) for g in GRADES],
        working_day(drive.today, -11),
    )
    drive.deck(
        "",
        "staff/organisation_chart.pptx",
        f"Organisation of {unit}",
        "By title",
        Slide(
            "Titles by grade", tuple(f"Grade {g}: {d.titled[g]} leads by title" for g in GRADES), notes="Titles only."
        ),
        by=hr_lead,
        dated=working_day(drive.today, -45),
    )


def put_guideline(drive: Drive, d: Department, partner: str, hr_lead: str, client: str) -> None:
    """The guideline in force, the one before, cost of a lead, a mail (sources guideline, cost)."""
    currency, unit, dated = drive.truth.currency, drive.truth.axes["unit"], working_day(drive.today, -70)
    old = working_day(dated, -500)
    drive.paper(
        "guideline",
        "rules/guideline_on_spans.docx",
        "Guideline on spans",
        by=client,
        dated=dated,
        facts=(("In force from", day(dated)), ("Replaces", f"guideline of {day(old)}")),
        body=(
            "# Who counts",
            "Staff are posts that are filled by own people: vacant posts and contractors do not count.",
            "A lead is somebody who leads at least one person. A lead's title alone makes nobody a lead.",
            "A grade is a layer where it has at least one lead.",
            "# How many",
            f"One lead has {d.guide} staff. The head of the department is not led and is taken off the staff first. "
            "Broken leads are rounded up.",
            "The span is staff without the head over leads, to two decimals.",
        ),
        signed=((drive.name(client), "for the board", dated),),
        reference="ORG/4",
        status="IN FORCE",
    )
    drive.paper(
        "",
        "rules/guideline_on_spans_old.pdf",
        "Guideline on spans",
        by=client,
        dated=old,
        body=(f"One lead has {d.old_guide} staff.",),
        status="REPLACED",
    )
    made = working_day(drive.today, -20)
    drive.paper(
        "cost",
        "staff/cost_of_a_lead.docx",
        "Cost of a lead",
        by=hr_lead,
        dated=made,
        facts=(("Department", unit), (f"{currency} thousand a year", str(d.cost)), ("Old guideline", str(d.old_guide))),
        body=("Mean cost of a lead with all charges. Use it for savings.",),
    )
    drive.mail(
        "",
        "mail/vacancies.eml",
        sender=hr_lead,
        to=partner,
        dated=drive.ago(9),
        subject="Posts or people",
        body=f"The register has {money(d.posts)} posts. Surely that is our staff?",
        answer="Posts are not people. The guideline says who counts.",
    )


class Movements(Record):
    """Who leaves, joins and is away until a day. Numbers are heads; a part-timer works half."""

    start: int
    day: str
    exits: dict[str, int]  # last day of work -> heads
    entries: dict[str, int]  # "signed" or "offered" -> heads that start by the day
    away: int
    part_time: int  # of those at work
    cap: int  # equivalents
    cost: int  # of an equivalent a month, in full
    late_exit: str


def simulate_movements(common: Common, *, over: bool) -> Movements:
    """Staff on a day; `over`, more equivalents than the cap allows."""
    rng, figures = common.rng, common.figures
    plan_day = working_day(common.today, rng.randint(40, 100))

    def working() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        present, off, halves = figures.draw(240, 1400), rng.randint(4, 80), rng.randint(8, 140)
        return (present, off, halves), (present + off, present + halves, present + off + halves)

    fte, away, halves = figures.settle(working)
    heads = fte + away + halves

    def moved() -> tuple[tuple[int, int], tuple[int, ...]]:
        later, offered = rng.randint(4, 90), rng.randint(4, 90)
        return (later, offered), (heads - later, heads + offered)

    later, offered = figures.settle(moved)
    signed, soon = rng.randint(5, 60), rng.randint(4, 50)

    def capped() -> tuple[tuple[int, int], tuple[int, ...]]:
        room, cost = rng.randint(3, 90) * (-1 if over else 1), rng.randint(3000, 14000)
        return (room, cost), (room, fte * cost)

    room, cost = figures.settle(capped)
    late_exit = working_day(plan_day, rng.randint(5, 40))
    return Movements(
        start=heads - signed + soon,
        day=plan_day,
        exits={working_day(plan_day, -rng.randint(5, 30)): soon, late_exit: later},
        entries={"signed": signed, "offered": offered},
        away=away,
        part_time=2 * halves,
        cap=fte + room,
        cost=cost,
        late_exit=late_exit,
    )


def put_staff(drive: Drive, m: Movements, hr_lead: str, analyst: str) -> None:
    """Staff today, exits, entries and leave (sources staff, moves)."""
    unit = drive.truth.axes["unit"]
    rows: tuple[Row, ...] = (
        ("Heads today", m.start),
        ("Away on the day", m.away),
        ("Part-time, half, at work", m.part_time),
    )
    drive.book(
        "staff",
        "staff/staff_today.xlsx",
        "Staff",
        Tab("Staff", ("Measure", "Heads"), rows, title=f"Staff of {unit}", note="From the staff register."),
        by=analyst,
        dated=working_day(drive.today, -4),
    )
    exits = [("leaves", f"last day of work {last}", heads) for last, heads in m.exits.items()]
    entries = [("joins", f"contract {state}, starts before {m.day}", heads) for state, heads in m.entries.items()]
    drive.export(
        "moves", "staff/moves.csv", ("move", "remark", "heads"), [*exits, *entries], working_day(drive.today, -3)
    )
    offered = m.entries["offered"]
    drive.mail(
        "",
        "mail/offers.eml",
        sender=hr_lead,
        to=analyst,
        dated=drive.ago(5),
        subject="Offers",
        body=f"We have {offered} offers out. Nearly everybody says yes in the end.",
        answer="They count when they have signed.",
    )


def put_plan_rules(drive: Drive, m: Movements, partner: str, client: str, hr_lead: str) -> None:
    """Rules of the plan and its cap, an old plan (source rules)."""
    dated = working_day(drive.today, -35)
    drive.paper(
        "rules",
        "plan/planning_rules.docx",
        "Rules of the staff plan",
        by=client,
        dated=dated,
        facts=(
            ("Plan day", m.day),
            ("Cap, equivalents", str(m.cap)),
        ),
        rules=(
            "Heads on the plan day are heads today, plus those who join, less those who leave by then.",
            "Who leaves after the plan day is still there on it.",
            "Who joins counts once the contract is signed. Offers do not count.",
            "Equivalents are heads less those away, and a part-timer counts half.",
            "Room is the cap less equivalents; it may be negative, and then nobody is hired.",
        ),
        signed=((drive.name(client), "for the board", dated),),
        reference="HR/9",
        status="IN FORCE",
    )
    drive.paper(
        "",
        "plan/plan_of_last_year.pdf",
        "Staff plan",
        by=hr_lead,
        dated=working_day(drive.today, -370),
        body=(f"Last year {money(m.start + 17)} heads were planned, offers included.",),
        status="CLOSED",
    )
    drive.deck(
        "",
        "plan/hiring_round.pptx",
        "Hiring round",
        "Where we stand",
        Slide("Hiring", (f"{sum(m.entries.values())} people are on their way", "Leave is as usual")),
        by=hr_lead,
        dated=working_day(drive.today, -15),
    )
    drive.paper(
        "",
        "plan/leave_policy.md",
        "Leave",
        by=partner,
        dated=working_day(drive.today, -210),
        body=("Who is on long leave keeps the post and is counted as a head, but not as an equivalent.",),
    )


def put_cost(drive: Drive, m: Movements, controller: str) -> None:
    """What an equivalent costs (source cost)."""
    rows: tuple[Row, ...] = (("Pay and charges", m.cost - 640), ("Workplace", 640))
    drive.book(
        "cost",
        "plan/cost_of_an_equivalent.xlsx",
        "Cost",
        Tab("Cost", ("Item", f"{drive.truth.currency} a month"), rows, (1,), title="Cost of one equivalent"),
        by=controller,
        dated=working_day(drive.today, -28),
    )
