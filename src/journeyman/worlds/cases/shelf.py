"""What lies on a company's drive beside any matter: budgets, minutes, charts, notices. Never load-bearing."""

from journeyman.worlds.cases.drive import Drive, Row, Tab, money, plot
from journeyman.worlds.documents.background import add_background
from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.pptx import Slide
from journeyman.worlds.lexicon import shift_date

_CENTRES = ("Reception", "Canteen", "Post room", "Car pool", "Gardens", "Library")
_TOPICS = (
    ("Safety week", "The safety week was a success; two reports of loose cables were closed."),
    ("Canteen", "The canteen offers a second soup from next week."),
    ("Parking", "Parking on the north side is reserved for visitors until the works end."),
    ("Apprentices", "Four apprentices start in September; mentors are named."),
    ("Archive", "Files older than ten years move to the external archive."),
)
_LETTERS = (
    ("Summer fair", "We thank you for the cakes. The fair made its day."),
    ("New telephone exchange", "Our switchboard is new and rings a little longer. Please bear with us."),
    ("Open house", "We show our new hall to neighbours and friends. There is parking behind it."),
)


def add_shelf(drive: Drive) -> None:
    """Fifteen files nobody needs: five of any drive, ten of this company."""
    rng, today = drive.rng, drive.today
    roles = tuple(drive.truth.people)
    add_background(drive.folder, rng, drive.house, drive.truth.people, today)
    budget: list[Row] = [(c, *(rng.randint(40, 400) for _ in range(4))) for c in _CENTRES]
    header = ("Cost centre", "Q1", "Q2", "Q3", "Q4")
    year = today[:4]
    tab = Tab("Budget", header, tuple(budget), (1, 2, 3, 4), title=f"Budget {year}, thousand", chart=True)
    drive.book("", f"company/budget_{year}.xlsx", f"Budget {year}", tab, by=roles[0], dated=shift_date(today, -140))
    _papers(drive, roles)
    heads = [(c, rng.randint(4, 90), rng.randint(0, 6)) for c in _CENTRES]
    drive.export("", "company/headcount.csv", ("cost_centre", "staff", "open_posts"), heads, shift_date(today, -35))
    _deck(drive, roles[0], heads)
    _letters(drive, roles)


def _papers(drive: Drive, roles: tuple[str, ...]) -> None:
    rng, today = drive.rng, drive.today
    chart = tuple((drive.name(r), r.replace("_", " ")) for r in roles)
    drive.paper(
        "",
        "company/organisation.pdf",
        "Who does what",
        by=roles[0],
        dated=shift_date(today, -90),
        body=("Changes are made by the secretary's office only.",),
        grid=(("Name", "Function"), chart),
    )
    drive.paper(
        "",
        "company/petty_cash_rules.docx",
        "Petty cash rules",
        by=roles[0],
        dated=shift_date(today, -400),
        rules=(
            "Petty cash pays for stamps, flowers and coffee, up to 40 at a time.",
            "Hand in the receipt on the same day.",
            "The box is counted on the last Friday of a month.",
        ),
        reference="POL/2",
    )
    talked = rng.sample(_TOPICS, 3)
    held = shift_date(today, -rng.randint(15, 60))
    body = [part for topic, said in talked for part in (f"# {topic}", said)]
    drive.paper(
        "",
        f"company/minutes_{held}.docx",
        f"Minutes of {day(held)}",
        by=roles[1],
        dated=held,
        facts=(("Present", ", ".join(drive.name(r) for r in roles[:3])), ("Minutes", drive.name(roles[1]))),
        body=body,
    )
    drive.paper(
        "",
        "company/training_plan.md",
        "Training plan",
        by=roles[-1],
        dated=shift_date(today, -75),
        grid=(("Course", "Month", "Places"), tuple((n, m, str(rng.randint(6, 20))) for n, m in _COURSES)),
    )


_COURSES = (
    ("Spreadsheets", "March"),
    ("Writing reports", "May"),
    ("First aid", "June"),
    ("Data protection", "October"),
)


def _deck(drive: Drive, role: str, heads: list[tuple[str, int, int]]) -> None:
    first = Slide(
        "Staff by cost centre",
        (f"{money(sum(h[1] for h in heads))} colleagues", "Open posts are being filled"),
        plot=plot("column", [h[0] for h in heads], Staff=[float(h[1]) for h in heads]),
    )
    second = Slide("Next steps", ("Town hall next month", "Survey in the autumn"), notes="Questions by mail.")
    drive.deck(
        "",
        "company/all_hands.pptx",
        "All hands",
        "An update for everybody",
        first,
        second,
        by=role,
        dated=shift_date(drive.today, -30),
    )


def _letters(drive: Drive, roles: tuple[str, ...]) -> None:
    rng, today = drive.rng, drive.today
    subject, said = rng.choice(_LETTERS)
    sent = shift_date(today, -rng.randint(20, 80))
    drive.paper(
        "",
        "post/letter.pdf",
        subject,
        dated=sent,
        facts=(("To", drive.truth.legal_name),),
        body=(f"Dear Sir or Madam, {said}",),
        paper=drive.other,
    )
    asked = shift_date(today, -rng.randint(8, 30))
    drive.mail(
        "",
        "mail/meeting_room.eml",
        sender=roles[-1],
        to=roles[0],
        dated=asked,
        subject="Room for Thursday",
        body="Is the large room free on Thursday at ten?",
        answer="Yes, booked for you.",
    )
    drive.mail(
        "",
        "mail/printer.eml",
        sender=roles[1],
        to=roles[-1],
        dated=shift_date(asked, -2),
        subject="Printer",
        body="The printer on floor 2 is repaired. Please send no more tickets about it.",
    )
