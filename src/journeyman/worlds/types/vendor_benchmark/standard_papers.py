"""Contract, briefs, register extracts, cards and memos of the standard benchmark world."""

from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.model import (
    Bullets,
    Commented,
    Deleted,
    Document,
    Facts,
    Footnote,
    Grid,
    Heading,
    Inserted,
    Para,
    Piece,
    Signatures,
    text,
)
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.types.vendor_benchmark.standard_scene import Scene, quarter, quarter_end
from journeyman.worlds.types.vendor_benchmark.truth import PERIODS


def _clause(*pieces: Piece) -> Para:
    return Para(pieces, "Clause")


def _signed(scene: Scene, date: str) -> Signatures:
    t = scene.truth
    return Signatures(
        (
            (t.people["client_lead"], f"for {scene.client.name}", date),
            (t.people["vendor_rep"], f"for {t.vendor}", date),
        )
    )


def contract(scene: Scene) -> Document:
    """The framework agreement: exactly one legal form is the party."""
    t = scene.truth
    return Document(
        f"Framework agreement {t.contract_number}: {t.service}",
        (
            Facts(
                (
                    ("Client", scene.client.name),
                    ("Contractor", f"{t.vendor}, register number {scene.registers[t.vendor]}"),
                    ("Dated", day(t.contract_date)),
                    ("Service", f"{t.service.title()}, charged per {t.unit} in {t.currency}"),
                )
            ),
            Heading("1. Parties"),
            _clause(
                f"1.1\tThe Contractor is {t.vendor} alone. Companies of a similar name, affiliates and "
                "successors are not "
                "parties and may not charge under this agreement."
            ),
            Heading("2. Volume"),
            _clause(
                f"2.1\tThe expected volume is {scene.old_volume:,} units ({t.unit}s) a year",
                Footnote("Schedule 1."),
                ".",
            ),
            Heading("3. Rates"),
            _clause("3.1\tThe rate of a quarter is that of the Contractor's rate card for the quarter."),
            _clause("3.2\tOffers, announcements and cards for later quarters do not change a quarter that has begun."),
            _signed(scene, t.contract_date),
        ),
        scene.client,
        t.people["counsel"],
        t.contract_date,
        reference=t.contract_number,
        status="SIGNED",
    )


def amendment(scene: Scene) -> Document:
    """The signed amendment that replaces the volume."""
    t = scene.truth
    return Document(
        f"Amendment 1 to framework agreement {t.contract_number}",
        (
            Facts((("Between", f"{scene.client.name} and {t.vendor}"), ("Dated", day(scene.amended)))),
            _clause(f"1\tClause 2.1 is replaced: the expected volume is {scene.volume:,} units ({t.unit}s) a year."),
            _clause("2\tEverything else stands."),
            _signed(scene, scene.amended),
        ),
        scene.client,
        t.people["counsel"],
        scene.amended,
        reference=f"{t.contract_number}/A1",
        status="SIGNED",
    )


def side_letter(scene: Scene) -> Document:
    """An unsigned draft that would bring the look-alike in."""
    t = scene.truth
    dated = shift_date(quarter_end(t, t.cutoff), 10)
    return Document(
        f"Side letter to {t.contract_number}",
        (
            text(
                "The parties intend that services may also be charged by ",
                Deleted(t.vendor, t.people["vendor_rep"], dated),
                Inserted(t.lookalike, t.people["vendor_rep"], dated),
                ".",
            ),
            text(
                Commented(
                    "Subject to approval by the client.",
                    t.people["counsel"],
                    shift_date(dated, 3),
                    "We will not sign this. The other company is not known to us.",
                )
            ),
            Signatures(((t.people["client_lead"], f"for {scene.client.name}", ""),)),
        ),
        scene.vendor,
        t.people["vendor_rep"],
        dated,
        status="DRAFT",
    )


def register_extract(scene: Scene, entity: str) -> Document:
    """A register extract of one of the two companies that share a name."""
    t = scene.truth
    party = entity == t.vendor
    remark = "Active; provides services." if party else f"Separate company; {t.lookalike_reason}."
    return Document(
        f"Register extract: {entity}",
        (
            Facts(
                (
                    ("Name", entity),
                    ("Legal form", entity.rsplit(" ", 1)[1]),
                    ("Register number", scene.registers[entity]),
                    ("Remark", remark),
                )
            ),
            Para((f"Extract made on {day(shift_date(scene.today, -30))}. For information only.",), "Small"),
        ),
        scene.vendor._replace(name="Companies register", line="Central register office", colour="3B3B58"),
        "Register office",
        shift_date(scene.today, -30),
        confidential="Public extract",
    )


def rate_card(scene: Scene, entity: str) -> Document:
    """A vendor's own card with its four quarters."""
    t = scene.truth
    paper = {t.vendor: scene.vendor, t.lookalike: scene.lookalike}.get(entity, scene.peer._replace(name=entity))
    rows = tuple((quarter(t, p), f"{t.rate_of(entity, p)}") for p in PERIODS)
    return Document(
        f"Rate card {t.year}: {t.service}",
        (
            Grid(("Quarter", f"{t.currency} per {t.unit}"), rows, widths=(2, 2)),
            Bullets(("Rates exclude tax.", "A rate holds for services of its quarter.", "Payment within 30 days.")),
        ),
        paper,
        "Sales desk",
        shift_date(quarter_end(t, "q4"), -80),
        reference=f"RC/{t.year}/{scene.registers[entity]}",
        confidential="Commercial in confidence",
    )


def brief(scene: Scene) -> Document:
    """The signed brief: cut-off, peer, panel and which source comes first."""
    t = scene.truth
    dated = shift_date(quarter_end(t, t.after), 6)
    return Document(
        f"Engagement brief: {t.service} benchmark for {scene.client.name}",
        (
            Facts(
                (
                    ("Client", scene.client.name),
                    ("Stage", t.axes["stage"]),
                    ("Partner", t.people["partner"]),
                    ("Date", day(dated)),
                )
            ),
            Heading("1. Question"),
            text(f"Is the rate the client pays under {t.contract_number} competitive against {t.peer} and the panel?"),
            Heading("2. Rules"),
            Bullets(
                (
                    f"The cut-off is {scene.quarter}. Rates of later quarters, offers and announcements "
                    "are out of scope.",
                    "Only the company that is party to the contract is benchmarked; check its legal form.",
                    "The panel is the list marked eligible; the vendor is part of it.",
                    "Rates come from the closed rate table. Cards and invoices are for checking.",
                    "Volume is that of the contract as amended.",
                    "This brief replaces the kick-off deck where they differ.",
                ),
                numbered=True,
            ),
            Signatures(
                (
                    (t.people["partner"], f"Partner, {scene.advisor.name}", dated),
                    (t.people["client_lead"], scene.client.name, dated),
                )
            ),
        ),
        scene.advisor,
        t.people["partner"],
        dated,
        reference="EB/2",
        status="SIGNED",
    )


def method(scene: Scene) -> Document:
    """Method of the firm."""
    t = scene.truth
    return Document(
        "Benchmark method",
        (
            Bullets(
                (
                    "Difference in per cent: (vendor rate - peer rate) / peer rate, one decimal, sign kept.",
                    "Median: of the panel rates of the cut-off quarter; with an even number the mean of "
                    "the middle two.",
                    "Rank: 1 is the lowest rate of the panel.",
                    "Annual cost: volume times rate, in whole currency units.",
                    "State what was left out and why.",
                ),
                numbered=True,
            ),
        ),
        scene.advisor,
        t.people["partner"],
        shift_date(scene.today, -300),
        reference="MET/7",
    )


def invoice(scene: Scene, entity: str, period: str, number: int) -> Document:
    """One invoice of a quarter."""
    t = scene.truth
    units = 40 + 7 * number
    rate = t.rate_of(entity, period)
    dated = shift_date(quarter_end(t, period), 3)
    paper = {t.vendor: scene.vendor, t.lookalike: scene.lookalike}.get(entity, scene.peer)
    return Document(
        f"Invoice {number}{period[1]}{t.year}",
        (
            Facts((("To", scene.client.name), ("Date", day(dated)), ("Service period", quarter(t, period)))),
            Grid(
                ("Service", "Units", "Rate", f"Amount {t.currency}"),
                (
                    (t.service.title(), str(units), str(rate), f"{units * rate:,}"),
                    ("Total", "", "", f"{units * rate:,}"),
                ),
                total=True,
                widths=(3, 1, 1, 2),
            ),
            text(f"{entity}, register number {scene.registers[entity]}. Payable within 30 days."),
        ),
        paper,
        "Accounts receivable",
        dated,
        confidential="",
    )


def interview(scene: Scene) -> Document:
    """Notes of an interview with the buyer."""
    t = scene.truth
    dated = shift_date(quarter_end(t, t.after), 12)
    return Document(
        f"Interview with {t.people['buyer']}",
        (
            Facts((("By", t.people["analyst"]), ("Date", day(dated)))),
            Bullets(
                (
                    f"The buyer always says just {t.stem} and does not look at the legal form.",
                    f"Quality of {t.peer} is seen as equal.",
                    "Volumes went the other way than first planned; there is an amendment.",
                )
            ),
            text(
                Commented(
                    "One invoice in the files comes from the other company.",
                    t.people["partner"],
                    shift_date(dated, 1),
                    "Then keep it out of the benchmark.",
                )
            ),
        ),
        scene.advisor,
        t.people["analyst"],
        dated,
    )
