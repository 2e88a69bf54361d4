"""Memos, policies and notes of the standard covenant world: they say how to read, or mislead; none binds."""

from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.model import (
    Bullets,
    Document,
    Facts,
    Grid,
    Signatures,
    text,
)
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.types.covenant_certificate.standard_scene import (
    ENTITY_NAMES,
    Scene,
    bound,
    quarter,
    quarter_end,
)
from journeyman.worlds.types.covenant_certificate.truth import COVENANTS, PERIODS, decimal


def counsel_memo(scene: Scene) -> Document:
    """How counsel reads the documents: rules, no figures."""
    t = scene.truth
    dated = shift_date(t.amendment_date, 9)
    return Document(
        "Reading the covenant after the amendment",
        (
            Facts((("From", t.people["counsel"]), ("To", t.people["treasurer"]), ("Date", day(dated)))),
            Bullets(
                (
                    "Look first at which Quarters an executed amendment names. For all others the agreement stands.",
                    "A draft amendment has no effect, whatever the parties intend.",
                    "A waiver that the Agent has not signed is not a waiver. Signed or not, the ratio is "
                    "stated as it is.",
                    "Only the accounts of the Tested Entity count; those of the "
                    f"{ENTITY_NAMES[t.decoy_entity]} do not.",
                ),
                numbered=True,
            ),
        ),
        scene.counsel,
        t.people["counsel"],
        dated,
        confidential="Privileged and confidential",
    )


def commentary(scene: Scene) -> Document:
    """Management commentary on the other entity: a decoy with good figures."""
    t = scene.truth
    rows = tuple(
        (quarter(t, p), str(line.numerator), str(line.denominator), decimal(line.ratio))
        for p in PERIODS
        if (line := t.line(t.decoy_entity, p, t.covenant))
    )
    _, numerator, denominator = COVENANTS[t.covenant]
    dated = shift_date(quarter_end(t, t.period), 15)
    return Document(
        f"Management commentary: {ENTITY_NAMES[t.decoy_entity]}, {scene.quarter}",
        (
            text(
                f"The {scene.covenant} of the {ENTITY_NAMES[t.decoy_entity]} develops as follows "
                f"({t.currency} million)."
            ),
            Grid(
                ("Quarter", numerator.capitalize(), denominator.capitalize(), "Ratio"), rows, caption="Ratio by quarter"
            ),
            text("Working capital is seasonal. The outlook is unchanged."),
        ),
        scene.borrower,
        t.people["controller"],
        dated,
    )


def treasury_policy(scene: Scene) -> Document:
    """Internal rules on certificates."""
    t = scene.truth
    return Document(
        "Treasury policy: covenant reporting",
        (
            Bullets(
                (
                    "A certificate is prepared from the closed ledger and from executed documents only.",
                    "It says which document governs, with its date, and cites the clause.",
                    "It is addressed to the Agent and names the signing officer.",
                    "A breach is reported as a breach. Nobody may state that there is no Default when there is one.",
                ),
                numbered=True,
            ),
        ),
        scene.borrower,
        t.people["treasurer"],
        shift_date(t.agreement_date, 40),
        reference="POL/TR/7",
    )


def fee_letter(scene: Scene) -> Document:
    """Fees of the agent: nothing for the certificate."""
    t = scene.truth
    return Document(
        "Agency fee letter",
        (
            text(f"The Borrower pays the Agent {t.currency} 45,000 a year in advance."),
            Signatures(((t.people["agent_contact"], f"for {t.agent_bank}", t.agreement_date),)),
        ),
        scene.agent,
        t.people["agent_contact"],
        t.agreement_date,
    )


def factsheet(scene: Scene) -> Document:
    """Facility at a glance, from before the amendment."""
    t = scene.truth
    return Document(
        f"{t.facility.title()} facility at a glance",
        (
            Facts(
                (
                    ("Borrower", t.legal_name),
                    ("Amount", f"{t.currency} {t.facility_amount} million"),
                    ("Covenants", f"{scene.covenant}: {bound(scene, t.thresholds['agreement'])} (agreement as signed)"),
                    ("Agent", t.agent_bank),
                )
            ),
        ),
        scene.borrower,
        t.people["treasurer"],
        shift_date(t.agreement_date, 30),
    )
