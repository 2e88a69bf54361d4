"""Counsel's letter, its unsigned draft and the terms of engagement. Only the signed letter clears a release."""

from journeyman.worlds.documents.folder import day
from journeyman.worlds.documents.model import (
    Bullets,
    Commented,
    Deleted,
    Document,
    Facts,
    Heading,
    Inserted,
    Signatures,
    text,
)
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.types.board_forecast.standard_scene import Scene


def clearance_letter(scene: Scene) -> Document:
    """Counsel's signed letter: what is cleared, and what is not."""
    t = scene.truth
    return Document(
        "Clearance of forecast for release",
        (
            Facts(
                (
                    ("To", f"{t.people['cfo']}, {t.legal_name}"),
                    ("Date", day(t.counsel_date)),
                    ("Our ref", f"LT/{t.counsel_date[:4]}/204"),
                )
            ),
            text(
                f"We refer to resolution {t.resolution} of the board of {day(t.board_date)} and to "
                f"forecast {t.version('approved').id}."
            ),
            Heading("1. Cleared"),
            text(
                f"We clear the release of forecast {t.version('approved').id} to the **{t.cleared}** of "
                "the company, with the usual notice on forward-looking statements."
            ),
            Heading("2. Not cleared"),
            text(
                f"We have **not** cleared a release to the {t.held}. Our review is pending. The wish of "
                "the board that they "
                "should have it does not replace our clearance."
            ),
            Heading("3. Earlier drafts"),
            text("This letter replaces every draft of it. Drafts may not be relied on."),
            Signatures(((t.people["counsel"], f"Partner, {t.counsel_firm}", t.counsel_date),)),
        ),
        scene.counsel,
        t.people["counsel"],
        t.counsel_date,
        reference=f"LT/{t.counsel_date[:4]}/204",
        confidential="Privileged and confidential",
    )


def clearance_draft(scene: Scene) -> Document:
    """An unsigned draft that still listed the audience later held back, under tracked changes."""
    t = scene.truth
    dated = shift_date(t.board_date, -5)
    return Document(
        "Clearance of forecast for release",
        (
            Facts((("To", f"{t.people['cfo']}, {t.legal_name}"), ("Date", "[date of letter]"))),
            Heading("1. Cleared"),
            text(
                "Subject to the decision of the board we expect to clear the release of the forecast to the ",
                Deleted(f"{t.cleared}", t.people["counsel"], dated),
                Inserted(f"{t.cleared} and the {t.held}", t.people["counsel"], dated),
                " of the company.",
            ),
            text(
                Commented(
                    "Subject to partner review.",
                    t.people["counsel"],
                    dated,
                    f"I doubt that we can include the {t.held}. To be decided after the board meeting.",
                )
            ),
            Signatures(((t.people["counsel"], f"Partner, {t.counsel_firm}", ""),)),
        ),
        scene.counsel,
        t.people["counsel"],
        dated,
        status="DRAFT - NOT TO BE RELIED ON",
        confidential="Privileged and confidential",
    )


def engagement(scene: Scene) -> Document:
    """Engagement terms of counsel."""
    t = scene.truth
    return Document(
        "Terms of engagement",
        (
            text(f"{t.counsel_firm} advises {t.legal_name} on disclosure and corporate matters."),
            Bullets(
                (
                    "Only letters signed by a partner are advice of the firm.",
                    "Mail may summarise a letter and does not replace it.",
                    "Fees are charged by the hour at the rates of the schedule.",
                ),
                numbered=True,
            ),
            Signatures(((t.people["counsel"], f"Partner, {t.counsel_firm}", shift_date(t.board_date, -300)),)),
        ),
        scene.counsel,
        t.people["counsel"],
        shift_date(t.board_date, -300),
    )
