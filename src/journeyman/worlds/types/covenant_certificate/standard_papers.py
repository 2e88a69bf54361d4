"""Agreement, amendments, waivers and certificates of the standard covenant world."""

from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.model import (
    Block,
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
from journeyman.worlds.types.covenant_certificate.standard_scene import (
    COVENANT_NAMES,
    Scene,
    quarter,
    quarter_end,
)
from journeyman.worlds.types.covenant_certificate.truth import COVENANTS, decimal


def _clause(*pieces: Piece) -> Para:
    return Para(pieces, "Clause")


def _ratio_clause(scene: Scene, covenant: str, threshold: int) -> str:
    direction, numerator, denominator = COVENANTS[covenant]
    limit = f"not {'more' if direction == 'maximum' else 'less'} than {decimal(threshold)} : 1"
    return f"the {COVENANT_NAMES[covenant]}, being {numerator} divided by {denominator}, shall be {limit}"


def agreement(scene: Scene) -> Document:
    """The agreement as signed: thresholds, whose accounts are tested, what an amendment and a waiver need."""
    t = scene.truth
    top = t.agreement_clause.split(".")[0]
    return Document(
        f"{t.facility.title()} facility agreement",
        (
            Facts(
                (
                    ("Dated", day(t.agreement_date)),
                    ("Borrower", t.legal_name),
                    ("Original lender", t.lender),
                    ("Agent", t.agent_bank),
                    ("Amount", f"{t.currency} {t.facility_amount} million"),
                )
            ),
            text("Conformed extract. It shows the agreement as signed and takes in no amendment."),
            Heading("1. Definitions"),
            _clause("1.1\t**Quarter** means a period of three months ending on a Test Date."),
            _clause("1.2\t**Test Date** means 31 March, 30 June, 30 September and 31 December in each year."),
            _clause(
                f"1.3\t**Tested Entity** means the {scene.entity}, and no other member of the group. Accounts of other "
                "entities do not count for any test."
            ),
            *_general_clauses(),
            Heading(f"{top}. Financial covenants"),
            *_covenant_clauses(scene),
            *_closing_clauses(),
            Signatures(
                (
                    (t.people["officer"], f"for {t.legal_name}", t.agreement_date),
                    (t.people["agent_contact"], f"for {t.agent_bank} as Agent", t.agreement_date),
                )
            ),
        ),
        scene.counsel,
        t.people["counsel"],
        t.agreement_date,
        reference=f"FA/{t.agreement_date[:4]}",
        status="CONFORMED COPY",
    )


def _general_clauses() -> tuple[Block, ...]:
    """Clauses no test depends on."""
    return (
        Heading("2. The facility"),
        _clause("2.1\tThe Lenders make the facility available to the Borrower for its general corporate purposes."),
        _clause("2.2\tThe rights and obligations of each Finance Party are several."),
        Heading("5. Utilisation"),
        _clause(
            "5.1\tThe Borrower may draw by a utilisation request delivered three business days before "
            "the date of drawing."
        ),
        _clause("5.2\tA request is irrevocable and names the amount, the currency and the first interest period."),
        Heading("8. Interest"),
        _clause("8.1\tThe rate of interest is the reference rate plus the margin of 2.35 per cent a year."),
        _clause("8.2\tInterest accrues from day to day and is paid on the last day of each interest period."),
        Heading("16. Information"),
        _clause(
            "16.1\tThe Borrower delivers audited accounts within 120 days of its year end and closed "
            "quarterly ledgers within 20 days of each Quarter."
        ),
        _clause("16.2\tThe Borrower notifies the Agent of any Default promptly upon becoming aware of it."),
    )


def _covenant_clauses(scene: Scene) -> tuple[Block, ...]:
    """The two ratios with their limits, on what they are tested, and what a miss is."""
    t = scene.truth
    top, sub = t.agreement_clause.split(".")[0], int(t.agreement_clause.split(".")[1])
    return (
        *(
            _clause(f"{top}.{n}\tThe Borrower shall procure that its accounting records are kept in {t.currency}.")
            for n in range(1, sub)
        ),
        _clause(
            f"{t.agreement_clause}\tOn each Test Date, on the accounts of the Tested Entity: (a) "
            f"{_ratio_clause(scene, t.covenant, t.thresholds['agreement'])}; and (b) "
            f"{_ratio_clause(scene, t.other_covenant, t.other_thresholds['agreement'])}",
            Footnote("Ratios are stated to two decimals; no other rounding is made."),
            ".",
        ),
        _clause(
            f"{top}.{sub + 1}\tThe ratios are tested on the closed ledger of the Quarter. Flash reports, forecasts "
            "and management estimates are not used."
        ),
        _clause(
            f"{top}.{sub + 2}\tA Quarter in which a ratio is outside its limit is a Default from the Test Date, "
            "unless it is waived by a signed waiver."
        ),
    )


def _closing_clauses() -> tuple[Block, ...]:
    """Default, notices, and what amendments, waivers and certificates need."""
    return (
        Heading("28. Events of default"),
        _clause(
            "28.1\tNon-payment, a breach of a financial covenant, misrepresentation, cross-default "
            "and insolvency are Events of Default while they continue."
        ),
        _clause(
            "28.2\tThe Agent may, and shall if the Majority Lenders so direct, cancel the facility "
            "while an Event of Default continues."
        ),
        Heading("32. Notices"),
        _clause(
            "32.1\tNotices are made in writing to the address under the party's signature and take effect on receipt."
        ),
        Heading("37. Amendments and waivers"),
        _clause(
            "37.1\tAn amendment takes effect only when signed by the Borrower and the Agent, and only for the "
            "Quarters it names. For other Quarters this agreement stands."
        ),
        _clause("37.2\tA waiver takes effect only when signed by the Agent. An unsigned letter is no waiver."),
        Heading("38. Certificates"),
        _clause(
            "38.1\tWithin 30 days of each Test Date the Borrower delivers to the Agent a certificate that states "
            "the governing document, the limit, both figures, the ratio, the headroom and the result."
        ),
    )


def amendment(scene: Scene) -> Document:
    """The signed amendment, for the quarters it names."""
    t = scene.truth
    quarters = ", ".join(quarter(t, p) for p in t.amendment_periods)
    rows = (
        (COVENANT_NAMES[t.covenant], decimal(t.thresholds["agreement"]), decimal(t.thresholds["amendment"])),
        (
            COVENANT_NAMES[t.other_covenant],
            decimal(t.other_thresholds["agreement"]),
            decimal(t.other_thresholds["amendment"]),
        ),
    )
    return Document(
        f"Amendment No. {t.amendment_number} to the {t.facility} facility agreement",
        (
            Facts((("Dated", day(t.amendment_date)), ("Borrower", t.legal_name), ("Agent", t.agent_bank))),
            _clause(f"1\tThis amendment governs the Quarters {quarters}. It does not touch any other Quarter."),
            _clause(f"2\tFor those Quarters the limits in clause {t.agreement_clause} are replaced as follows:"),
            Grid(("Ratio", "Limit in the agreement", "Limit in this amendment"), rows, widths=(3, 2, 2)),
            _clause("3\tWhether a limit is a maximum or a minimum does not change. The Tested Entity does not change."),
            Signatures(
                (
                    (t.people["officer"], f"for {t.legal_name}", t.amendment_date),
                    (t.people["agent_contact"], f"for {t.agent_bank} as Agent", t.amendment_date),
                )
            ),
        ),
        scene.counsel,
        t.people["counsel"],
        t.amendment_date,
        reference=f"FA/{t.agreement_date[:4]}/A{t.amendment_number}",
        status="EXECUTED",
    )


def draft_amendment(scene: Scene) -> Document:
    """A further amendment under negotiation: tracked changes, no signature."""
    t = scene.truth
    dated = shift_date(quarter_end(t, t.period), -10)
    author = t.people["counsel"]
    return Document(
        f"Amendment No. {t.amendment_number + 1} to the {t.facility} facility agreement",
        (
            Facts((("Dated", "[to be completed]"), ("Borrower", t.legal_name), ("Agent", t.agent_bank))),
            _clause(f"1\tThis amendment governs the Quarter {scene.quarter} and later Quarters."),
            _clause(
                f"2\tThe {scene.covenant} shall be not {'more' if t.direction == 'maximum' else 'less'} than ",
                Deleted(decimal(t.thresholds[t.governing]), author, dated),
                Inserted(decimal(scene.draft_threshold), author, dated),
                " : 1.",
            ),
            _clause(
                Commented(
                    "3\tSubject to credit approval of the lenders.",
                    t.people["agent_contact"],
                    shift_date(dated, 2),
                    "We have no approval for this. Please do not circulate.",
                )
            ),
            Signatures(
                (
                    (t.people["officer"], f"for {t.legal_name}", ""),
                    (t.people["agent_contact"], f"for {t.agent_bank}", ""),
                )
            ),
        ),
        scene.counsel,
        author,
        dated,
        status="DRAFT 2",
    )


def waiver(scene: Scene, period: str) -> Document:
    """The waiver letter of a quarter, signed by the agent or not."""
    t = scene.truth
    dated = shift_date(quarter_end(t, period), 12)
    signed = t.waivers[period] == "signed"
    return Document(
        f"Waiver letter: {quarter(t, period)}",
        (
            Facts((("From", f"{t.agent_bank} as Agent"), ("To", t.legal_name), ("Date", day(dated)))),
            text(
                f"We refer to your request concerning clause {t.agreement_clause} of the {t.facility} "
                "facility agreement "
                f"of {day(t.agreement_date)} for {quarter(t, period)}."
            ),
            text(
                "The Agent, on the instructions of the lenders, waives any Default that results from that "
                "clause on the "
                "Test Date of that Quarter, and no other."
            ),
            text("This letter takes effect when it is signed below on behalf of the Agent."),
            Signatures(((t.people["agent_contact"], f"for {t.agent_bank} as Agent", dated if signed else ""),)),
        ),
        scene.agent,
        t.people["agent_contact"],
        dated,
        reference=f"W/{t.year}/{period.upper()}",
    )


def waiver_request(scene: Scene) -> Document:
    """The borrower's request for the tested quarter."""
    t = scene.truth
    dated = shift_date(quarter_end(t, t.period), -4)
    return Document(
        f"Request for a waiver: {scene.quarter}",
        (
            Facts((("To", f"{t.agent_bank} as Agent"), ("From", t.people["treasurer"]), ("Date", day(dated)))),
            text(
                f"As a precaution we ask for a waiver of clause {t.agreement_clause} for {scene.quarter}. "
                "The ledger is not closed."
            ),
        ),
        scene.borrower,
        t.people["treasurer"],
        dated,
    )


def form(scene: Scene) -> Document:
    """The agreed form of the certificate."""
    t = scene.truth
    return Document(
        "Schedule 6: form of compliance certificate",
        (
            Facts((("To", "[Agent]"), ("From", "[Borrower]"), ("Dated", "[date]"))),
            text("We certify for the Quarter [quarter] on the accounts of [Tested Entity]:"),
            Grid(
                ("Item", "Statement"),
                (
                    ("Governing document", "[agreement or amendment]"),
                    ("Threshold", "[limit]"),
                    ("Ratio", "[two decimals]"),
                    ("Headroom", "[two decimals, negative in a breach]"),
                    ("Result", "[met or breach]"),
                ),
            ),
            text(
                "[We confirm that no Default is continuing.] / [A Default is continuing: details and "
                "steps taken.] / [A Default was waived by letter of [date].]"
            ),
            Signatures((("[name]", "Officer of the Borrower", ""),)),
        ),
        scene.counsel,
        t.people["counsel"],
        t.agreement_date,
        reference="FA/SCH6",
    )


def previous_certificate(scene: Scene) -> Document:
    """The certificate of another quarter, as delivered: other figures, perhaps another document."""
    t = scene.truth
    line = t.line(t.entity, t.other_period, t.covenant)
    document = "Agreement" if t.other_period not in t.amendment_periods else f"Amendment No. {t.amendment_number}"
    dated = shift_date(quarter_end(t, t.other_period), 15)
    return Document(
        f"Compliance certificate: {quarter(t, t.other_period)}",
        (
            Facts((("To", t.agent_bank), ("From", t.legal_name), ("Dated", day(dated)))),
            Grid(
                ("Item", "Statement"),
                (
                    ("Governing document", document),
                    ("Tested entity", scene.entity),
                    (scene.covenant, decimal(line.ratio)),
                ),
            ),
            Signatures(((t.people["officer"], "Chief financial officer", dated),)),
        ),
        scene.borrower,
        t.people["officer"],
        dated,
        reference=f"CC/{t.year}/{t.other_period.upper()}",
        status="DELIVERED",
    )
