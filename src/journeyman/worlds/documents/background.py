"""What lies on any shared drive beside the matter at hand: notices, calendars, directories. Never load-bearing."""

import random

from journeyman.worlds.documents.folder import Folder, at, day
from journeyman.worlds.documents.mail import Message, address
from journeyman.worlds.documents.model import Bullets, Document, Grid, Heading, House, Para
from journeyman.worlds.lexicon import shift_date

_NOTICES = (
    (
        "Planned maintenance of the document store",
        "The document store is read-only on Saturday from 06:00 to 10:00. Please save open files before you leave on "
        "Friday. Links do not change.",
    ),
    (
        "Phishing exercise: results",
        "Thank you for reporting. 92 per cent of you spotted the test message. Report suspicious mail with the button, "
        "do not forward it.",
    ),
    (
        "New badge readers on floor 3",
        "From Monday the readers on floor 3 ask for the badge and the code. Codes are in the staff portal under "
        "Access.",
    ),
)
_SAVING = (
    "Name folders in lower case, words joined by an underscore.",
    "Photos and videos go to the media library.",
    "Empty the recycle bin at the end of a month.",
    "Ask the service desk for more space before a disk is full.",
)


def add_background(
    folder: Folder, rng: random.Random, house: House, people: dict[str, str], today: str, where: str = "admin"
) -> None:
    """Five files nobody needs for the task: a notice, a directory, filing rules, a calendar and a rota."""
    names = list(dict.fromkeys(people.values()))
    sender, receiver = address(names[0], house.name), address(names[-1], house.name)
    subject, body = rng.choice(_NOTICES)
    sent = shift_date(today, -rng.randint(4, 20))
    folder.mail(
        f"{where}/it_notice.eml",
        Message(sender, (receiver,), at(sent, 8, 5), subject, f"Dear all,\n\n{body}\n\nIT service desk"),
    )
    roles = [(name, role.replace("_", " ").title()) for role, name in people.items()]
    folder.table(
        f"{where}/staff_directory.csv",
        ("name", "role", "extension", "mail"),
        tuple((n, r, 4100 + 7 * i, address(n, house.name).address) for i, (n, r) in enumerate(roles)),
        shift_date(today, -60),
    )
    folder.document(f"{where}/filing_rules.md", _filing(house, names[0], shift_date(today, -200)))
    folder.document(f"{where}/room_bookings.docx", _rooms(rng, house, names, shift_date(today, -rng.randint(1, 6))))
    days = [shift_date(today, offset) for offset in range(-9, 12, 3)]
    events = (
        "Team meeting",
        "Fire drill",
        "Training: spreadsheets",
        "Quarterly close call",
        "Visitors",
        "Cake",
        "Audit",
    )
    folder.table(
        f"{where}/calendar.csv", ("date", "event"), tuple(zip(days, events, strict=True)), shift_date(today, -10)
    )


def _filing(house: House, owner: str, dated: str) -> Document:
    return Document(
        "Filing rules",
        (Para(("So that all find their way.",)), Bullets(_SAVING, numbered=True)),
        house,
        owner,
        dated,
        reference="ADM/4",
    )


def _rooms(rng: random.Random, house: House, names: list[str], dated: str) -> Document:
    rows = tuple(
        (f"{8 + 2 * i:02d}:00", rng.choice(("Oak", "Elm", "Ash")), rng.choice(names), rng.choice(("4", "6", "8", "12")))
        for i in range(5)
    )
    return Document(
        f"Room bookings for {day(dated)}",
        (
            Heading("Bookings"),
            Grid(("From", "Room", "Booked by", "Seats"), rows),
            Para(("Please leave rooms as you found them.",)),
        ),
        house,
        names[0],
        dated,
    )
