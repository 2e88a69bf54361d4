"""Controls and risk: a bank's limit by its rating, what is owed by it, and exceptions granted by those who may.

Invariant: exactly one rating holds on the day; at least one exception on file gives no room.
"""

from journeyman.records.base import Record
from journeyman.worlds.base import Rows
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import working_day

RATINGS = ("AA", "A", "BBB", "BB")
FOREIGN = ("CAD", "AUD", "SGD", "NZD")
INSTRUMENTS = ("swaps", "forwards", "options")


class Exposure(Record):
    """What a bank owes and may owe on one day. Thousands of the currency; rates in hundredths."""

    alert_id: str
    other_alert_id: str  # on a bank with a name alike
    ratings: tuple[str, str]  # older, newer
    rated_on: str  # the newer holds from this day
    limits: dict[str, int]  # by rating
    deposits: int
    foreign: int  # deposit in another currency
    rate: int  # hundredths of the currency for one unit of the other
    gain: int  # contracts the bank owes on
    loss: int  # contracts that are owed to the bank
    netting: str  # "signed" or "draft"
    body: str  # who may grant exceptions
    exceptions: tuple[tuple[int, str, str], ...]  # amount, granted by, last day


def market_value(gain: int, loss: int, netting: str) -> int:
    """What the contracts come to: set off where the master agreement is signed, gains alone where it is not."""
    return max(0, gain - loss) if netting == "signed" else gain


def owed(deposits: int, foreign: int, rate: int, market: int) -> int:
    """All of it in the currency."""
    return deposits + foreign * rate // 100 + market


def simulate(common: Common) -> Exposure:
    """A day; axes: which rating holds, whether netting does, whether an exception gives room, and which does not."""
    rng, figures, axes, today = common.rng, common.figures, common.axes, common.today
    netting = axes["netting"]
    other_netting = "draft" if netting == "signed" else "signed"

    def positions() -> tuple[tuple[int, int, int, int, int], tuple[int, ...]]:
        d, f, r = rng.randint(300, 2400), 100 * rng.randint(2, 9), rng.randint(54, 95)
        gain, loss = rng.randint(120, 480), rng.randint(30, 110)
        right, wrong = market_value(gain, loss, netting), market_value(gain, loss, other_netting)
        return (d, f, r, gain, loss), (owed(d, f, r, right), owed(d, f, r, wrong), owed(d, f, 100, right))

    deposits, foreign, rate, gain, loss = figures.settle(positions)
    exposure = owed(deposits, foreign, rate, market_value(gain, loss, netting))
    breach, waived = axes["outcome"] == "breach", axes["waiver"] == "granted"

    def room() -> tuple[tuple[int, int], tuple[int, ...]]:
        granted = rng.randint(40, exposure // 4) if waived else 0
        excess = rng.randint(25, exposure // 4) * (1 if breach else -1)
        limit = exposure - excess - granted
        return (limit, granted), (limit, limit + granted, excess) if waived else (limit, excess)

    limit, granted = figures.settle(room)
    idle = figures.settle(lambda: _idle(rng.randint(40, 600), limit + granted))
    other_limit = figures.draw(limit // 2, limit * 2)
    at = rng.randrange(len(RATINGS) - 1)
    older, newer = RATINGS[at : at + 2] if rng.random() < 0.5 else RATINGS[at : at + 2][::-1]
    holds_newer = axes["rating"] == "newer"
    rated_on = working_day(today, -rng.randint(2, 30) if holds_newer else rng.randint(2, 9))
    holds, lapsed = (newer, older) if holds_newer else (older, newer)
    body = axes["body"]
    open_until = working_day(today, rng.randint(15, 90))
    if axes["idle"] == "officer":
        void = (idle, "treasurer", open_until)
    else:
        void = (idle, body, working_day(today, -rng.randint(1, 9)))
    exceptions = [void, *([(granted, body, open_until)] if waived else [])]
    rng.shuffle(exceptions)
    return Exposure(
        alert_id=f"AL-{rng.randint(100, 499)}",
        other_alert_id=f"AL-{rng.randint(500, 999)}",
        ratings=(older, newer),
        rated_on=rated_on,
        limits={holds: limit, lapsed: other_limit},
        deposits=deposits,
        foreign=foreign,
        rate=rate,
        gain=gain,
        loss=loss,
        netting=netting,
        body=body,
        exceptions=tuple(exceptions),
    )


def _idle(amount: int, room: int) -> tuple[int, tuple[int, ...]]:
    return amount, (room + amount,)


def grc_rows(x: Exposure, bank: str, other_bank: str) -> dict[str, Rows]:
    """What GRC holds: exceptions for the bank, its alert, and an alert on a bank with a name alike."""
    return {
        "grc": {
            "exceptions": [
                {
                    "exception_id": f"X-{i}",
                    "subject": bank,
                    "amount": amount,
                    "granted_by": by,
                    "last_day": last,
                }
                for i, (amount, by, last) in enumerate(x.exceptions, 1)
            ],
            "findings": [
                {"finding_id": x.alert_id, "subject": bank, "title": "limit alert"},
                {"finding_id": x.other_alert_id, "subject": other_bank, "title": "limit alert"},
            ],
        }
    }


def put_papers(drive: Drive, x: Exposure, bank: str, other: str, kind: str, officer: str, desk: str) -> None:
    """Limit policy, rating letter, positions, contracts, master agreement (sources policy, rating, positions)."""
    currency, today = drive.truth.currency, drive.today
    older, newer = x.ratings
    drive.paper(
        "policy",
        "policies/counterparty_limits.docx",
        "Counterparty limits",
        by=officer,
        dated=working_day(today, -260),
        reference="POL/TR/2",
        grid=(("Rating", f"Limit, thousand {currency}"), tuple((r, str(v)) for r, v in sorted(x.limits.items()))),
        rules=(
            "The rating in force on the day sets the limit. A rating that is announced for a later day does not.",
            "Exposure is deposits, those in other currencies converted, and contracts at market value.",
            "Contracts are set off against each other only under a master agreement signed by both. Otherwise gains "
            "count and losses do not.",
            f"Exceptions are granted by the {x.body}, by nobody else, for a time. Room is the limit plus exceptions "
            "that hold on the day.",
            "Excess is exposure less room. Above zero it is a breach and is opened as a finding on the bank with its "
            "amount; otherwise the alert is closed.",
        ),
    )
    drive.paper(
        "rating",
        "counterparties/rating_letter.pdf",
        f"Rating of {bank}",
        dated=min(x.rated_on, working_day(today, -2)),
        paper=drive.other,
        facts=(("Issuer", bank), ("Rating so far", older), ("New rating", newer), ("In force from", day(x.rated_on))),
        body=(f"Until {day(x.rated_on)} the rating {older} stays in force.",),
    )
    _put_positions(drive, x, bank, kind, desk)
    _put_master(drive, x, bank, other, officer, desk)


def _put_positions(drive: Drive, x: Exposure, bank: str, kind: str, desk: str) -> None:
    """Deposits, contracts at market value, and rates."""
    currency, today = drive.truth.currency, drive.today
    rows = ((f"Deposits {currency}", x.deposits), (f"Deposit {drive.truth.axes['foreign']}", x.foreign))
    drive.book(
        "positions",
        f"positions/exposure_{today}.xlsx",
        "Positions",
        Tab("Deposits", ("Position", "Thousand"), rows, title=f"Deposits with {bank}", look="whole"),
        Tab(
            "Market",
            ("Contracts", "Thousand"),
            ((f"{kind}, gains", x.gain), (f"{kind}, losses", x.loss)),
            title=f"{kind.capitalize()} with {bank} at market value",
            look="whole",
        ),
        Tab(
            "Rates",
            ("Currency", "Hundredths of one"),
            ((drive.truth.axes["foreign"], x.rate),),
            title=f"{currency} for one unit, in hundredths",
            look="whole",
        ),
        by=desk,
        dated=today,
    )


def _put_master(drive: Drive, x: Exposure, bank: str, other: str, officer: str, desk: str) -> None:
    """Master agreement, alerts, and a wish for more room."""
    today = drive.today
    signed = x.netting == "signed"
    dated = working_day(today, -300)
    hand = dated if signed else ""
    drive.paper(
        "master",
        f"counterparties/master_agreement{'' if signed else '_draft'}.docx",
        f"Master agreement with {bank}",
        by=officer,
        dated=dated,
        facts=(("Party A", drive.truth.legal_name), ("Party B", bank)),
        body=("All contracts form one agreement and are set off against each other when it ends.",),
        signed=(
            (drive.name(officer), drive.truth.legal_name, hand),
            ("K. Amsel", bank, hand),
        ),
        status="SIGNED" if signed else "DRAFT",
    )
    drive.export(
        "alerts",
        "risk/alerts.csv",
        ("alert", "bank", "status"),
        (
            (x.alert_id, bank, "open"),
            (x.other_alert_id, other, "open"),
            *(
                (f"AL-{n}", drive.rng.choice(("Alder Bank", "Birch Bank", "Rowan Bank")), "closed")
                for n in range(31, 47)
            ),
        ),
        today,
    )
    drive.mail(
        "asked",
        "mail/room_at_the_bank.eml",
        sender=desk,
        to=officer,
        dated=drive.ago(1),
        subject=f"Room at {bank}",
        body="I was told we have more room than the limit says. Is that so? I would like to roll the deposit.",
    )
