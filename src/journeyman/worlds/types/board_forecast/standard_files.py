"""The board forecast as a shared drive. Invariant: only minutes, resolution and counsel's letter bind."""

import random

from journeyman.worlds.documents.background import add_background
from journeyman.worlds.documents.folder import Folder, at
from journeyman.worlds.documents.mail import Message, address
from journeyman.worlds.lexicon import draw_companies, shift_date
from journeyman.worlds.types.board_forecast import standard_books as books
from journeyman.worlds.types.board_forecast import standard_counsel as counsel
from journeyman.worlds.types.board_forecast import standard_papers as papers
from journeyman.worlds.types.board_forecast.standard_scene import Scene
from journeyman.worlds.types.board_forecast.truth import ForecastVersion


def build(setting: Scene) -> Folder:
    """All files of the world."""
    truth = setting.truth
    rng = random.Random(f"standard-files:finance:{truth.split}:{truth.seed}")
    folder = Folder()
    _board(folder, setting)
    for version in truth.versions:
        folder.book(model_path(version), books.model(setting, version))
    folder.book("forecast/version_bridge.xlsx", books.bridge(setting))
    folder.book("forecast/prior_year_actuals.xlsx", books.actuals(setting, rng))
    folder.table("forecast/version_log.csv", *books.log(setting))
    commentary = f"forecast/{truth.note_version}_commentary.docx"
    folder.document(commentary, papers.commentary(setting))
    folder.table("forecast/budget_by_month.csv", *books.budget(setting, rng))
    folder.document(setting.letter, counsel.clearance_letter(setting))
    folder.document(setting.draft_letter, counsel.clearance_draft(setting))
    folder.document("counsel/engagement_terms.docx", counsel.engagement(setting))
    _release_mail(folder, setting)
    _other_mail(folder, setting)
    folder.document(f"market/{truth.peer.lower()}_results.pdf", papers.peer_results(setting))
    folder.deck("market/sector_outlook.pptx", books.outlook(setting, rng))
    folder.document("audit/tie_out_memo.docx", papers.tie_out(setting))
    folder.document("policies/disclosure_policy.docx", papers.policy(setting))
    folder.document("policies/board_paper_style.md", papers.style(setting))
    add_background(folder, rng, setting.company, truth.people, truth.board_date)
    return folder


def model_path(version: ForecastVersion) -> str:
    """Where a version's model lies; the name says nothing of its status."""
    return f"forecast/forecast_model_{version.id}.xlsx"


def _board(folder: Folder, setting: Scene) -> None:
    truth = setting.truth
    folder.document(setting.minutes, papers.minutes(setting))
    folder.document(setting.resolution, papers.resolution(setting))
    folder.document(f"board/{setting.previous_date}_minutes_signed.docx", papers.previous_minutes(setting))
    folder.document(f"board/{truth.board_date}_agenda.docx", papers.agenda(setting))
    folder.deck(f"board/{shift_date(truth.board_date, -7)}_pre_read.pptx", books.pre_read(setting))
    folder.book("board/document_register.xlsx", books.register(setting))
    folder.document("board/terms_of_reference.docx", papers.terms(setting))


def _release_mail(folder: Folder, setting: Scene) -> None:
    truth = setting.truth
    author, cfo, analyst = setting.who(truth.note_author), setting.who("cfo"), setting.who("analyst")
    note = Message(
        author,
        (analyst,),
        at(truth.note_date, 17, 42),
        f"Forecast {truth.deliverable}",
        f"Hi,\n\nfor the {truth.deliverable} please use {truth.note_version}. The numbers in it are the ones everybody "
        f"has seen, and the commentary is written already.\n\nThanks\n{author.name}\n{truth.note_author.title()}",
        cc=(cfo,),
    )
    folder.mail(f"mail/{truth.note_date}_use_{truth.note_version}.eml", note)
    question = Message(
        cfo,
        (setting.lawyer,),
        at(truth.board_date, 18, 10),
        f"Release of the forecast: {truth.cleared} and {truth.held}",
        f"Dear {setting.lawyer.name},\n\nthe board approved the forecast today and wants it to go to the {truth.held}. "
        f"We also want to show it to the {truth.cleared}. Can both have it this week?\n\nRegards\n{cfo.name}",
    )
    answer = Message(
        setting.lawyer,
        (cfo,),
        at(truth.counsel_date, 9, 31),
        f"Re: Release of the forecast: {truth.cleared} and {truth.held}",
        f"Dear {cfo.name},\n\nour letter of today is on its way. In short: the {truth.cleared} are cleared. The "
        f"{truth.held} are not; we still review the forward-looking statements for them and will write separately. "
        f"Until you have that letter, please do not send them anything.\n\nKind regards\n{setting.lawyer.name}\n"
        f"{truth.counsel_firm}",
    )
    folder.mail(f"mail/{truth.counsel_date}_re_release.eml", question, answer)


def _other_mail(folder: Folder, setting: Scene) -> None:
    truth = setting.truth
    chair, secretary, cfo = setting.who("chair"), setting.who("secretary"), setting.who("cfo")
    folder.mail(
        f"mail/{shift_date(truth.board_date, -2)}_re_seating.eml",
        Message(
            secretary,
            (chair,),
            at(shift_date(truth.board_date, -3), 11, 2),
            "Seating and lunch",
            "Dear Chair,\n\nwe are ten at the table. Lunch is at 12:30.\n\nBest\n" + secretary.name,
        ),
        Message(
            chair,
            (secretary,),
            at(shift_date(truth.board_date, -2), 7, 48),
            "Re: Seating and lunch",
            "Thank you. Please put the auditor next to me.",
        ),
    )
    stem = draw_companies(random.Random(f"bank:{truth.seed}"), truth.split, 1)[0]
    banker = address(truth.people["auditor"], f"{stem} Capital")
    folder.mail(
        f"mail/{shift_date(truth.board_date, 1)}_{truth.held}_request.eml",
        Message(
            banker,
            (cfo,),
            at(shift_date(truth.board_date, 1), 14, 20),
            f"Forecast for the {truth.held}",
            f"Dear {cfo.name},\n\nwe hear that your board agreed to release the forecast to the {truth.held}. When may "
            f"we expect it? We would also like last year's actuals.\n\nRegards\n{banker.name}",
        ),
    )
