"""Minutes, memos and policies of the standard board forecast."""

from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.model import (
    Block,
    Bullets,
    Commented,
    Document,
    Facts,
    Footnote,
    Grid,
    Heading,
    Para,
    Signatures,
    text,
)
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.types.board_forecast.standard_scene import METRIC_NAMES, Scene


def minutes(scene: Scene) -> Document:
    """Signed minutes of the meeting that approved a version."""
    t = scene.truth
    people = t.people
    return Document(
        f"Minutes of the meeting of the board of {t.legal_name}",
        (
            Facts(
                (
                    ("Held", f"{day(t.board_date)}, 10:00, boardroom"),
                    ("Present", f"{people['chair']} (chair), {people['cfo']} (CFO), four non-executive directors"),
                    ("In attendance", f"{people['secretary']} (secretary), {people['treasurer']} (treasurer)"),
                    ("Apologies", "None"),
                )
            ),
            Heading("1. Minutes of the last meeting"),
            text(f"The minutes of {day(scene.previous_date)} were approved and signed."),
            Heading("2. Trading"),
            text(
                f"{people['cfo']} reported on the year to date. Volumes in {t.sector} are in line with plan. The board "
                "took note."
            ),
            *_forecast_item(scene),
            Heading("4. Health and safety"),
            text("No lost-time accident since the last meeting. The new evacuation plan was noted."),
            Heading("5. People"),
            text(
                f"The search for a head of operations in {t.sector} goes on; a shortlist of three will be presented at "
                "the next meeting. Staff turnover fell to 7.4 per cent."
            ),
            Heading("6. Any other business"),
            text("None. The meeting closed at 12:25."),
            Signatures(
                ((people["chair"], "Chair", t.board_date), (people["secretary"], "Company secretary", t.board_date))
            ),
        ),
        scene.company,
        people["secretary"],
        t.board_date,
        reference=f"BD/{t.board_date}/MIN",
        status="SIGNED",
        confidential="Strictly confidential",
    )


def _forecast_item(scene: Scene) -> tuple[Block, ...]:
    """What the board decided on each version, and to whom it wants it released."""
    t, people = scene.truth, scene.truth.people
    approved, stale, withdrawn = t.version("approved"), t.version("superseded"), t.version("withdrawn")
    return (
        Heading("3. Forecast"),
        text(f"{people['cfo']} tabled three versions of the forecast prepared by {people['analyst']}."),
        Grid(
            ("Version", "Dated", "Decision of the board", "Ground"),
            tuple(
                (
                    v.id,
                    day(v.dated),
                    {"approved": "Approved", "superseded": "Superseded", "withdrawn": "Withdrawn"}[v.status],
                    v.reason,
                )
                for v in t.versions
            ),
            widths=(1, 2, 2, 4),
        ),
        text(
            f"**Resolution {t.resolution}.** The board approves {approved.id} as the forecast of the company for "
            f"{t.years[0]} to {t.years[2]}. {stale.id} is superseded and {withdrawn.id} is withdrawn; neither may "
            "be cited in any paper",
            Footnote("Terms of reference of the board, section 4."),
            ".",
        ),
        text(
            f"The board wishes the forecast to be released to the {t.held}. The secretary pointed out that a "
            "release to anyone outside the company needs the written clearance of counsel as well "
            "(disclosure policy, section 3)."
        ),
    )


def resolution(scene: Scene) -> Document:
    """Certified extract of the resolution."""
    t = scene.truth
    return Document(
        f"Certified extract: resolution {t.resolution}",
        (
            text(
                f"I certify that at a meeting of the board of {t.legal_name} held on {day(t.board_date)}, at which a "
                "quorum was present throughout, the following resolution was passed:"
            ),
            Para(
                (
                    f"Resolution {t.resolution}: that {t.version('approved').id} be approved as the forecast of the "
                    f"company for {t.years[0]} to {t.years[2]}, and that no other version be cited.",
                ),
                "Quote",
            ),
            Signatures(((t.people["secretary"], "Company secretary", t.board_date),)),
        ),
        scene.company,
        t.people["secretary"],
        t.board_date,
        reference=f"BD/{t.board_date}/RES",
    )


def previous_minutes(scene: Scene) -> Document:
    """The meeting before: it took note of a version and approved none."""
    t = scene.truth
    return Document(
        f"Minutes of the meeting of the board of {t.legal_name}",
        (
            Facts(
                (
                    ("Held", f"{day(scene.previous_date)}, 10:00"),
                    ("Present", f"{t.people['chair']} (chair) and five directors"),
                )
            ),
            Heading("1. Forecast"),
            text(
                f"The CFO gave an outlook. **Resolution {scene.previous_resolution}.** The board takes "
                "note of the work "
                f"on forecast {scene.working.id} as a working version. A version for approval will be tabled at the "
                f"meeting of {day(t.board_date)}."
            ),
            Heading("2. Insurance"),
            text("The renewal of the property cover was approved as proposed."),
            Signatures(((t.people["chair"], "Chair", scene.previous_date),)),
        ),
        scene.company,
        t.people["secretary"],
        scene.previous_date,
        reference=f"BD/{scene.previous_date}/MIN",
        status="SIGNED",
    )


def agenda(scene: Scene) -> Document:
    """Agenda of the meeting."""
    t = scene.truth
    rows = (
        ("1", "Minutes of the last meeting", t.people["secretary"], "5 min"),
        ("2", "Trading", t.people["cfo"], "30 min"),
        ("3", "Forecast: decision on the version", t.people["cfo"], "60 min"),
        ("4", "Any other business", t.people["chair"], "10 min"),
    )
    return Document(
        f"Agenda for the board meeting of {day(t.board_date)}",
        (Grid(("Item", "Subject", "Who", "Time"), rows, widths=(1, 5, 3, 1.4)), text("Papers: see the pre-read.")),
        scene.company,
        t.people["secretary"],
        shift_date(t.board_date, -8),
        reference=f"BD/{t.board_date}/AGD",
    )


def terms(scene: Scene) -> Document:
    """Terms of reference: which document binds."""
    t = scene.truth
    return Document(
        "Terms of reference of the board: forecasts",
        (
            Heading("4. Which version may be cited"),
            Para(
                ("4.1\tA forecast may be cited only in the version that the board has approved by resolution.",),
                "Clause",
            ),
            Para(("4.2\tTaking note of a version is not an approval.",), "Clause"),
            Para(
                (
                    "4.3\tWhere documents disagree, signed minutes and resolutions of the latest meeting come first, "
                    "then letters of counsel, then the register, then models, decks and mail.",
                ),
                "Clause",
            ),
            Para(
                (
                    "4.4\tA paper that could mislead must say which other version is in circulation and "
                    "why it does not "
                    "count.",
                ),
                "Clause",
            ),
        ),
        scene.company,
        t.people["secretary"],
        shift_date(t.board_date, -400),
        reference="BD/TOR/4",
    )


def commentary(scene: Scene) -> Document:
    """Narrative of the version the note asks for, with its figures: a decoy that reads well."""
    t = scene.truth
    version = next(v for v in t.versions if v.id == t.note_version)
    rows = tuple((METRIC_NAMES[m], *(str(version.by_year[y][m]) for y in t.years)) for m in t.metrics)
    first = t.metrics[0]
    return Document(
        f"Commentary on the forecast ({version.id})",
        (
            Facts((("Prepared by", version.prepared_by), ("Version", version.id), ("Date", day(version.dated)))),
            text(
                f"This note explains the forecast as it stood on {day(version.dated)}. ",
                Commented(
                    f"{METRIC_NAMES[first]} of {t.currency} {version.headline[first]}m in {t.headline_year}",
                    t.people["controller"],
                    shift_date(version.dated, 2),
                    "Is this still the number? I thought it moved.",
                ),
                f" rests on the order book in {t.sector}.",
            ),
            Grid((f"{t.currency} m", *t.years), rows, caption="Table 1: main lines", widths=(3, 1, 1, 1)),
            Bullets(
                ("Prices rise by two per cent a year.", "No acquisition is assumed.", "Energy cost is hedged to June.")
            ),
        ),
        scene.company,
        version.prepared_by,
        version.dated,
        reference=f"FIN/FC/{version.id}",
        status="DRAFT",
    )


def peer_results(scene: Scene) -> Document:
    """Results of a peer whose figures lie about as a decoy."""
    t = scene.truth
    rows = tuple((METRIC_NAMES[m], str(n)) for m, n in t.peer_headline.items())
    return Document(
        f"{t.peer} plc: outlook for {t.headline_year}",
        (
            text(f"{t.peer} plc, active in {t.sector}, expects the following for {t.headline_year}."),
            Grid((f"{t.currency} m", t.headline_year), rows, widths=(3, 1), caption="Outlook"),
            text("The outlook is unaudited and was published to the market."),
        ),
        scene.peer,
        "Investor relations",
        shift_date(t.board_date, -20),
        confidential="Public",
    )


def tie_out(scene: Scene) -> Document:
    """The auditor's tie-out of the approved version's headline figures."""
    t = scene.truth
    approved = t.version("approved")
    rows = tuple((METRIC_NAMES[m], str(approved.headline[m]), "agreed to model") for m in t.metrics)
    return Document(
        f"Tie-out of forecast {approved.id}",
        (
            Facts((("From", t.people["auditor"]), ("To", t.people["cfo"]), ("Date", day(shift_date(t.board_date, 1))))),
            text(
                f"We agreed the headline figures of {approved.id} for {t.headline_year} to the model of that version."
            ),
            Grid((f"{t.currency} m", t.headline_year, "Result"), rows, widths=(3, 1, 2)),
            text("We express no opinion on whether the forecast will be reached."),
        ),
        scene.company,
        t.people["auditor"],
        shift_date(t.board_date, 1),
        reference="AUD/TO/11",
    )


def policy(scene: Scene) -> Document:
    """Disclosure policy: board approval is not enough."""
    t = scene.truth
    return Document(
        "Disclosure policy",
        (
            Heading("3. Release to third parties"),
            Para(
                (
                    "3.1\tA forecast goes outside the company only to an audience that counsel has "
                    "cleared in a signed letter.",
                ),
                "Clause",
            ),
            Para(("3.2\tA wish or approval of the board does not replace counsel's clearance.",), "Clause"),
            Para(
                ("3.3\tA paper on a forecast names the audience that is cleared and any audience that is waiting.",),
                "Clause",
            ),
            Heading("4. Sanctions"),
            text("A breach of this policy is reported to the chair."),
        ),
        scene.company,
        t.people["secretary"],
        shift_date(t.board_date, -500),
        reference="POL/DIS/2",
    )


def style(scene: Scene) -> Document:
    """House style of board papers."""
    t = scene.truth
    return Document(
        "House style of board papers",
        (
            Bullets(
                (
                    f"Amounts in {t.currency} million without decimals.",
                    "Say where each figure comes from.",
                    "Negative amounts with a minus sign or in brackets.",
                    "No more than two pages.",
                )
            ),
        ),
        scene.company,
        t.people["secretary"],
        shift_date(t.board_date, -320),
    )
