"""Manufacturing and quality: a batch with its readings and limits, and a shift with its stops.

Invariant: one revision holds for a batch, by the day it was made; the void reading is the highest of all.
"""

from journeyman.records.base import Record
from journeyman.worlds.base import Rows
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import working_day

PRODUCTS = ("valve", "board", "gasket", "pump", "cable")
MEASURES = ("leak", "gap", "wear", "noise")
LINES = ("one", "two", "three", "four")
SHIFTS = ("early", "late", "night")
CAUSES = ("jam", "tool", "part", "power", "sensor")
PLANNED = ("service", "meal")
DEVIATIONS = ("label missing", "seal torn", "tool worn", "mix doubted")


class Batch(Record):
    """One batch under test. Readings and limits in the measure's unit; less is better."""

    batch_id: str
    other_id: str  # another batch of the product, with a deviation of its own
    size: int
    made: str
    revisions: tuple[str, str]  # older, newer
    newer_from: str  # batches made from this day on fall under the newer
    limits: dict[str, int]  # by revision
    customer_limit: int
    readings: dict[str, int]  # piece -> value
    void: str  # piece whose reading was withdrawn
    step: int  # batches above this size may have one piece over the limit, others none
    deviation: str  # title of the one on this batch
    deviation_status: str  # "open" or "closed"


def simulate_batch(common: Common) -> Batch:
    """A batch; axes: which revision holds, which limit binds, and what has to become of it."""
    rng, figures, axes = common.rng, common.figures, common.axes
    decision, large = axes["decision"], axes["lot"] == "large"
    bound = figures.draw(110, 380)
    looser = figures.draw(bound + 15, bound + 90)
    spec, customer = (bound, looser) if axes["bound"] == "spec" else (looser, bound)
    other_spec = figures.draw(bound + 5, bound + 120)
    allowed = 1 if large else 0
    over = allowed + rng.randint(1, 2) if decision == "rework" else rng.randint(0, allowed)
    worst = figures.draw(bound + 14, bound + 80) if over else figures.draw(bound - 70, bound - 1)
    void = figures.draw(max(bound, worst) + 5, max(bound, worst) + 90)
    valid = [worst, *(rng.randint(bound + 1, worst - 1) for _ in range(over - 1))] if over else [worst]
    valid += [rng.randint(min(bound, worst) // 2, min(bound, worst) - 1) for _ in range(3 - len(valid))]
    values = [*valid, void]
    rng.shuffle(values)
    readings = {str(i + 1): v for i, v in enumerate(values)}
    made = working_day(common.today, -rng.randint(6, 20))
    letter = rng.choice("ABCDEFG")
    older, newer = letter, chr(ord(letter) + 1)
    holds, lapsed = (older, newer) if axes["revision"] == "older" else (newer, older)
    step = rng.choice((400, 500, 800))
    return Batch(
        batch_id=f"B-{rng.randint(1000, 4999)}",
        other_id=f"B-{rng.randint(5000, 9999)}",
        size=step + rng.randint(40, 300) if large else step - rng.randint(40, 300),
        made=made,
        revisions=(older, newer),
        newer_from=working_day(made, rng.randint(1, 4) if axes["revision"] == "older" else -rng.randint(1, 30)),
        limits={holds: spec, lapsed: other_spec},
        customer_limit=customer,
        readings=readings,
        void=next(p for p, v in readings.items() if v == void),
        step=step,
        deviation=axes["deviation"],
        deviation_status="open" if decision == "block" else "closed",
    )


def batch_rows(b: Batch, product: str) -> dict[str, Rows]:
    """What MES and GRC hold: the batch, its readings, its deviation, and a batch alike with an open one."""
    other = {"reading_id": "R-90", "batch_id": b.other_id, "piece": "1", "value": b.customer_limit - 3}
    return {
        "mes": {
            "batches": [
                {"batch_id": b.batch_id, "product": product, "size": b.size, "made_on": b.made},
                {"batch_id": b.other_id, "product": product, "size": b.size + 60, "made_on": working_day(b.made, 1)},
            ],
            "readings": [
                *(
                    {
                        "reading_id": f"R-{piece}",
                        "batch_id": b.batch_id,
                        "piece": piece,
                        "value": value,
                        "status": "void" if piece == b.void else "valid",
                    }
                    for piece, value in b.readings.items()
                ),
                other,
            ],
        },
        "grc": {
            "findings": [
                {"finding_id": "D-1", "subject": b.batch_id, "title": b.deviation, "status": b.deviation_status},
                {"finding_id": "D-2", "subject": b.other_id, "title": b.deviation, "status": "open"},
            ]
        },
    }


def put_batch(drive: Drive, b: Batch, product: str, measure: str, customer: str, lead: str, lab: str) -> None:
    """Specification, customer's agreement, laboratory report, the void reading and the register of deviations."""
    older, newer = b.revisions
    drive.paper(
        "spec",
        f"specifications/{product}_specification.docx",
        f"Specification: {product}",
        by=lead,
        dated=b.newer_from,
        reference=f"SP/{product[:2].upper()}/{newer}",
        body=(
            f"The {measure} of a piece must not exceed the limit of the revision that its batch was made under. "
            f"Revision {newer} holds for batches made from {day(b.newer_from)} on; earlier ones keep revision {older}.",
        ),
        grid=(
            ("Revision", f"Limit, {measure}", "For batches made"),
            (
                (older, str(b.limits[older]), f"before {day(b.newer_from)}"),
                (newer, str(b.limits[newer]), f"from {day(b.newer_from)}"),
            ),
        ),
        signed=((drive.name(lead), "quality", b.newer_from),),
        status="RELEASED",
    )
    drive.paper(
        "agreement",
        "customer/quality_agreement.docx",
        f"Quality agreement with {customer}",
        by=lead,
        dated=working_day(b.made, -300),
        facts=(("Customer", customer), ("Product", product)),
        body=(
            f"For every {product} the {measure} must not exceed {b.customer_limit}. Where the specification is "
            "stricter, the specification holds.",
            "A batch with an open deviation is not shipped.",
        ),
        signed=((drive.name(lead), f"for {drive.truth.legal_name}", working_day(b.made, -300)),),
        status="SIGNED",
    )
    _put_laboratory(drive, b, measure, customer, lead, lab)


def _put_laboratory(drive: Drive, b: Batch, measure: str, customer: str, lead: str, lab: str) -> None:
    """Readings, the one withdrawn, the register of deviations and the customer's question."""
    readings = tuple((f"Piece {p}", v) for p, v in b.readings.items())
    drive.book(
        "report",
        f"laboratory/{b.batch_id}_readings.xlsx",
        f"Readings of {b.batch_id}",
        Tab(
            "Readings",
            ("Piece", f"{measure.capitalize()} as read"),
            readings,
            look="whole",
            title=b.batch_id,
            chart=True,
        ),
        by=lab,
        dated=working_day(b.made, 2),
    )
    drive.paper(
        "void",
        f"laboratory/{b.batch_id}_void_reading.pdf",
        f"Reading withdrawn: {b.batch_id}",
        by=lab,
        dated=working_day(b.made, 3),
        facts=(("Batch", b.batch_id), ("Piece", b.void)),
        body=("The gauge had slipped; the reading is void and the piece was scrapped. It does not count.",),
        signed=((drive.name(lab), "laboratory", working_day(b.made, 3)),),
    )
    register = (
        (b.batch_id, b.deviation, "see GRC"),
        (b.other_id, b.deviation, "open"),
        ("B-211", "box bent", "closed"),
    )
    drive.export(
        "register", "quality/deviations.csv", ("batch", "deviation", "status"), register, working_day(drive.today, -5)
    )
    drive.mail(
        "chaser",
        "mail/truck_waits.eml",
        sender=lab,
        to=lead,
        dated=drive.ago(1),
        subject=f"{b.batch_id}",
        body=f"{customer} asks when {b.batch_id} ships. What shall I say?",
    )


class Shift(Record):
    """One shift on one line. Minutes and pieces."""

    shift_id: str
    nominal: int  # what a shift has on paper
    minutes: int  # what this one had
    stops: dict[str, tuple[str, int]]  # stop -> cause as the terminal coded it, minutes
    miscoded: str  # stop whose cause the signed sheet corrects
    true_cause: str
    rate: int  # pieces a minute at the line's speed
    made: int
    scrapped: int
    held_on: str


def simulate_shift(common: Common) -> Shift:
    """A shift of four stops; axis `coded`: the miscoded one hides among planned ones or stands under a wrong cause."""
    rng, figures, axes = common.rng, common.figures, common.axes
    small_cause, wrong_cause = rng.sample([c for c in CAUSES if c != axes["cause"]], 2)

    def stopped() -> tuple[tuple[int, int, int, int, int], tuple[int, ...]]:
        big, small, other, planned = (rng.randint(a, b) for a, b in ((52, 99), (11, 38), (5, 10), (20, 45)))
        rate, lost = rng.randint(3, 14), big + small + other
        return (big, small, other, planned, rate), (lost, lost * rate, lost + planned)

    big, small, other, planned, rate = figures.settle(stopped)
    lost = big + small + other
    off = planned + lost

    def lasted() -> tuple[tuple[int, int], tuple[int, ...]]:
        nominal = rng.randrange(400, 520, 5)
        minutes = nominal - rng.randint(25, 90)
        return (nominal, minutes), (minutes - off, nominal - off)

    nominal, minutes = figures.settle(lasted)
    made = (minutes - off) * rate - rng.randint(0, 2)
    scrapped = figures.settle(lambda: _scrap(rng.randint(12, max(40, made // 9)), lost * rate))
    number = rng.randint(100, 800)
    hidden = axes["planned"] if axes["coded"] == "planned" else wrong_cause
    rows = [(hidden, big), (small_cause, small), (small_cause, other), (axes["planned"], planned)]
    order = rng.sample(range(4), 4)
    stops = {f"S-{number + i}": rows[at] for i, at in enumerate(order)}
    return Shift(
        shift_id=f"L{LINES.index(axes['line']) + 1}-{axes['shift']}",
        nominal=nominal,
        minutes=minutes,
        stops=stops,
        miscoded=f"S-{number + order.index(0)}",
        true_cause=axes["cause"],
        rate=rate,
        made=made,
        scrapped=scrapped,
        held_on=working_day(common.today, -rng.randint(2, 6)),
    )


def _scrap(scrapped: int, missed: int) -> tuple[int, tuple[int, ...]]:
    return scrapped, (missed + scrapped,)


def shift_rows(s: Shift) -> dict[str, Rows]:
    """What the MES holds: the shift, the one before it, stops as the terminals coded them, the list of causes."""
    stops = [{"stop_id": k, "shift_id": s.shift_id, "cause": c, "minutes": m} for k, (c, m) in s.stops.items()]
    before = {"shift_id": "L9-early", "minutes": s.nominal, "made": s.made - 40, "scrapped": s.scrapped + 3}
    return {
        "mes": {
            "shifts": [
                {"shift_id": s.shift_id, "minutes": s.minutes, "made": s.made, "scrapped": s.scrapped},
                before,
            ],
            "stops": [*stops, {"stop_id": "S-90", "shift_id": "L9-early", "cause": "power", "minutes": 9}],
            "causes": [{"cause": c} for c in (*CAUSES, *PLANNED)],
        }
    }


def put_shift(drive: Drive, s: Shift, lead: str, planner: str, operator: str) -> None:
    """Signed sheet, unsigned note, line card, the model shift, rules of counting, last week's losses."""
    drive.paper(
        "sheet",
        f"shifts/{s.shift_id}_sheet.pdf",
        f"Shift sheet {s.shift_id}",
        by=operator,
        dated=s.held_on,
        facts=(("Held on", day(s.held_on)), ("Line and shift", s.shift_id)),
        grid=(("Stop", "Cause found by the fitter"), ((s.miscoded, s.true_cause),)),
        body=("All other stops are coded as they were.",),
        signed=((drive.name(operator), "shift", s.held_on), (drive.name(lead), "maintenance", s.held_on)),
    )
    small = next(k for k in s.stops if k != s.miscoded)
    drive.paper(
        "note",
        f"shifts/{s.shift_id}_note.md",
        f"Note on {s.shift_id}",
        by=planner,
        dated=s.held_on,
        body=(f"I think {small} was a {s.true_cause} as well. Not looked into, not signed.",),
    )
    drive.paper(
        "rules",
        "policies/counting_losses.docx",
        "How losses of a line are counted",
        by=lead,
        dated=working_day(s.held_on, -220),
        reference="POL/OEE/1",
        rules=(
            f"Stops for {' and '.join(PLANNED)} are planned. They take minutes off the shift and are no loss.",
            "A signed shift sheet goes before the code of the terminal. Recode the stop; its minutes stay.",
            "Lost minutes are those of all stops that are not planned. Run minutes are the minutes of the shift, as "
            "the system has them, less planned stops, less lost minutes.",
            f"The line makes {s.rate} pieces a minute; missed pieces are lost minutes times that. The loss in pieces "
            "is missed and scrapped pieces together.",
            "The top cause is the unplanned cause with the most minutes, all its stops together.",
        ),
    )
    drive.paper(
        "card",
        f"lines/{s.shift_id[:2]}_line_card.docx",
        f"Line card {s.shift_id[:2]}",
        by=planner,
        dated=working_day(s.held_on, -320),
        facts=(("Pieces a minute", str(s.rate)), ("Minutes of a model shift", str(s.nominal))),
        body=("A model shift is for planning. What a shift had stands in the system.",),
    )
    _put_week(drive, s, lead, planner)


def _put_week(drive: Drive, s: Shift, lead: str, planner: str) -> None:
    """Losses by week, the terminal's export, and who asks."""
    weeks = tuple((f"Week {w}", drive.rng.randint(200, 700), drive.rng.randint(20, 150)) for w in range(21, 27))
    header = ("Week", "Lost minutes", "Scrapped")
    tab = Tab("Losses", header, weeks, (1, 2), look="whole", title="Losses by week", chart=True)
    drive.book("weeks", "shifts/losses_by_week.xlsx", "Losses", tab, by=planner, dated=working_day(s.held_on, -1))
    drive.export(
        "stops",
        f"shifts/{s.shift_id}_terminal.csv",
        ("stop", "coded_as", "minutes"),
        tuple((k, c, m) for k, (c, m) in s.stops.items()),
        s.held_on,
    )
    drive.mail(
        "",
        "mail/losses_please.eml",
        sender=planner,
        to=lead,
        dated=working_day(s.held_on, 1),
        subject=f"Losses of {s.shift_id}",
        body=f"The morning round made {money(s.made)} pieces of it. Can we have the causes by tomorrow?",
    )
