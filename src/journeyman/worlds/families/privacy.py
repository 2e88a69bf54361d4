"""A personal data breach: a log in UTC, records that were lost, a rule for the clock, and a report that was sent.

Invariant: of the two events in the log one starts the clock, and the report is hours before or after it runs out.
"""

import datetime

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import shift_date, working_day

STARTS = ("found", "told")
DATA = ("health", "pay", "contact", "travel", "school")
CAUSES = ("theft", "loss", "error", "attack")
UTC_PLUS = {"Germany": 1, "France": 1, "Poland": 1, "Finland": 2}  # hours in winter; in summer one more
MEANING = {"found": "own staff found it", "told": "the host told us"}


class Breach(Record):
    """One breach. Stamps are "YYYY-MM-DD HH:MM"; those in `events` are UTC, `sent` is local."""

    starts: str
    events: dict[str, str]
    plus: int  # hours local time is ahead of UTC
    hours: int  # that the authority allows
    client_hours: int  # that a client contract allows for something else
    records: int
    locked: int  # encrypted, the key safe
    twice: int  # among the open ones, a second record of the same person
    threshold: int
    sent: str
    today: str


def hours_later(stamp: str, hours: int) -> str:
    """A stamp so many hours later."""
    moved = datetime.datetime.strptime(stamp, "%Y-%m-%d %H:%M") + datetime.timedelta(hours=hours)
    return moved.strftime("%Y-%m-%d %H:%M")


def summer_time(day: str) -> bool:
    """Whether European clocks are an hour ahead: from the last Sunday of March until that of October."""

    def last_sunday(month: int) -> str:
        end = datetime.date(int(day[:4]), month, 31)
        return (end - datetime.timedelta(days=(end.weekday() + 1) % 7)).isoformat()

    return last_sunday(3) <= day < last_sunday(10)


def simulate(common: Common, *, starts: str, late: bool, inform: bool) -> Breach:
    """A breach of the last days. The host tells after or before own staff find out."""
    rng, figures = common.rng, common.figures
    hours = rng.choice((48, 72))
    first_day = shift_date(common.today, -rng.randint(8, 14))
    if summer_time(first_day) != summer_time(shift_date(first_day, 8)):
        first_day = shift_date(first_day, -9)
    plus = UTC_PLUS[common.axes["country"]] + summer_time(first_day)
    first = f"{first_day} {rng.randint(5, 22):02d}:{rng.choice(('05', '20', '35', '50'))}"
    second = hours_later(first, rng.randint(6, 40))
    pair = (first, second) if rng.random() < 0.5 else (second, first)
    events = dict(zip(STARTS, pair, strict=True))
    due = hours_later(events[starts], plus + hours)

    def lost() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        records, locked, twice = rng.randint(900, 9800), rng.randint(60, 700), rng.randint(12, 160)
        right = records - locked - twice
        return (records, locked, twice), (right, right + locked, right + twice)

    records, locked, twice = figures.settle(lost)
    persons = records - locked - twice
    step = rng.choice((100, 250))
    below, above = persons // step * step, (persons // step + rng.randint(1, 3)) * step
    return Breach(
        starts=starts,
        events=events,
        plus=plus,
        hours=hours,
        client_hours=rng.choice((24, 36)),
        records=records,
        locked=locked,
        twice=twice,
        threshold=below if inform else above,
        sent=hours_later(due, rng.randint(1, 5) if late else -rng.randint(1, 9)),
        today=common.today,
    )


def put_rules(drive: Drive, b: Breach, officer: str, counsel: str) -> None:
    """Breach procedure and a client's contract with a clock of its own (source rules)."""
    data, dated = drive.truth.axes["data"], working_day(drive.today, -240)
    start = {"found": "our own staff find the breach", "told": "the host tells us of the breach"}[b.starts]
    drive.paper(
        "rules",
        "privacy/breach_procedure.docx",
        "Procedure for personal data breaches",
        by=officer,
        dated=dated,
        facts=(("In force from", day(dated)), ("Agreed with", "the supervisory authority"), ("Data", f"{data} data")),
        body=(
            "# 1. Clock",
            f"For {data} data the clock starts when {start}. Other events do not start it.",
            f"The authority is notified within {b.hours} hours. Hours run through nights and weekends.",
            "All times in a notification are local time.",
            "# 2. Persons",
            "Records that are encrypted, their key being safe, are not counted. A person with several records is "
            "counted once.",
            f"Where {money(b.threshold)} persons or more are concerned, they are informed as well.",
        ),
        signed=((drive.name(officer), "data protection officer", dated),),
        reference="DP/7",
        status="IN FORCE",
    )
    drive.paper(
        "",
        "clients/data_clause.pdf",
        "Client contract, data clause",
        by=counsel,
        dated=working_day(dated, -100),
        facts=(("Client", drive.truth.other_party),),
        body=(
            f"The client is told of a breach within {b.client_hours} hours. This concerns the client only; what is "
            "owed to an authority follows from its own rules.",
        ),
        signed=((drive.name(counsel), f"for {drive.truth.legal_name}", working_day(dated, -100)),),
    )


def put_incident(drive: Drive, b: Breach, analyst: str, officer: str, registrar: str) -> None:
    """Log in UTC, forensic count, what was sent, a press line (sources log, count, report)."""
    axes = drive.truth.axes
    remarks = ("closed as noise", "scan of a printer", "password mistyped", "update installed", "port closed")
    hours = drive.rng.sample(range(2, 240), 26)
    noise = [(hours_later(b.events["found"], -n), "alert", drive.rng.choice(remarks)) for n in hours]
    rows = [(b.events["found"], "found", MEANING["found"]), (b.events["told"], "told", MEANING["told"]), *noise]
    drive.export("log", "incident/log_utc.csv", ("time_utc", "event", "remark"), sorted(rows), b.sent[:10])
    drive.paper(
        "report",
        "incident/report_sent.docx",
        "Notification as sent",
        by=officer,
        dated=b.sent[:10],
        facts=(("To", "Supervisory authority"), ("Sent, local time", b.sent), ("Cause", axes["cause"])),
        body=(
            f"Local time was UTC plus {b.plus} on these days.",
            "The number of persons concerned is being worked out and will follow.",
        ),
        signed=((drive.name(officer), "data protection officer", b.sent[:10]),),
    )
    part = ("Lost records", b.records), ("of these encrypted, key safe", b.locked)
    same = ("of the open ones, further records of the same person", b.twice)
    drive.book(
        "count",
        "incident/records.xlsx",
        "Records",
        Tab("Records", ("Item", "Records"), (*part, same), title=f"Lost {axes['data']} records"),
        by=analyst,
        dated=working_day(b.sent[:10], 1),
    )
    drive.mail(
        "",
        "mail/press_line.eml",
        sender=registrar,
        to=officer,
        dated=b.sent[:10],
        subject="Line for the press",
        body=f"The press writes of {money(b.records)} victims. Can we say that?",
        answer="Say nothing about numbers until they are worked out.",
    )
    drive.paper(
        "",
        "incident/call_with_host.md",
        "Talk with the host",
        by=analyst,
        dated=b.events["told"][:10],
        body=("The host confirms that its backup was affected. Its report has no times.",),
    )
