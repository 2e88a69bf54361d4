"""The covenant world as a shared drive. Invariant: only executed documents and the closed ledger bind."""

import random

from journeyman.worlds.documents.background import add_background
from journeyman.worlds.documents.folder import Folder, at, day
from journeyman.worlds.documents.mail import Message
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.types.covenant_certificate import standard_books as books
from journeyman.worlds.types.covenant_certificate import standard_memos as memos
from journeyman.worlds.types.covenant_certificate import standard_papers as papers
from journeyman.worlds.types.covenant_certificate.standard_scene import ENTITY_NAMES, Scene, quarter, quarter_end
from journeyman.worlds.types.covenant_certificate.truth import decimal


def build(scene: Scene) -> Folder:
    """All files of the world."""
    t = scene.truth
    rng = random.Random(f"standard-files:law:{t.split}:{t.seed}")
    folder = Folder()
    folder.document(scene.agreement, papers.agreement(scene))
    folder.document("facility/facility_agreement_signed.pdf", papers.agreement(scene)._replace(status="SIGNED"))
    folder.document(scene.amendment, papers.amendment(scene))
    folder.document(f"facility/amendment_no_{t.amendment_number + 1}.docx", papers.draft_amendment(scene))
    folder.document("facility/schedule_6_form_of_certificate.docx", papers.form(scene))
    folder.document("facility/agency_fee_letter.pdf", memos.fee_letter(scene))
    folder.document("facility/at_a_glance.md", memos.factsheet(scene))
    folder.book(scene.ledger, books.ledger(scene))
    folder.table(f"ledger/ledger_lines_{t.year}.csv", *books.ledger_lines(scene))
    folder.book(f"ledger/flash_{t.period}_{t.year}.xlsx", books.flash(scene))
    folder.document(f"ledger/commentary_{t.decoy_entity}_{t.period}.docx", memos.commentary(scene))
    folder.table("ledger/cash_forecast.csv", *books.cash_forecast(scene, rng))
    for period in t.waivers:
        folder.document(f"waivers/{period}_{t.year}_waiver_letter.docx", papers.waiver(scene, period))
    folder.document(f"waivers/{t.period}_{t.year}_waiver_request.docx", papers.waiver_request(scene))
    folder.book("waivers/waiver_log.xlsx", books.waiver_log(scene))
    folder.document(f"agent/certificate_{t.other_period}_{t.year}.docx", papers.previous_certificate(scene))
    folder.deck("agent/lender_update.pptx", books.lender_deck(scene))
    folder.document("advice/counsel_memo.docx", memos.counsel_memo(scene))
    folder.document("policies/treasury_policy.docx", memos.treasury_policy(scene))
    _own_mail(folder, scene)
    _agent_mail(folder, scene)
    add_background(folder, rng, scene.borrower, t.people, scene.today)
    return folder


def misleading_note(scene: Scene) -> str:
    """Path of the treasurer's mail that asks for the wrong document and the wrong accounts."""
    return f"mail/{shift_date(quarter_end(scene.truth, scene.truth.period), 16)}_certificate_numbers.eml"


def _own_mail(folder: Folder, scene: Scene) -> None:
    t = scene.truth
    treasurer, controller, officer = scene.who("treasurer"), scene.who("controller"), scene.who("officer")
    closing = shift_date(quarter_end(t, t.period), 16)
    folder.mail(
        misleading_note(scene),
        Message(
            treasurer,
            (controller,),
            at(closing, 18, 3),
            f"Certificate {scene.quarter}",
            f"Hello {controller.name.split()[0]},\n\nfor the certificate I would take the limit of "
            f"{decimal(t.thresholds[t.other_document])} from the {t.other_document} and the accounts of the "
            f"{ENTITY_NAMES[t.decoy_entity]}, as in the lender update.\n\n{treasurer.name}",
        ),
    )
    question = Message(
        controller,
        (officer,),
        at(shift_date(closing, 1), 9, 15),
        f"Flash and ledger differ: {scene.quarter}",
        f"The flash report of the {scene.entity} and the closed ledger show different figures. Late invoices came in "
        f"after the flash.\n\n{controller.name}",
    )
    folder.mail(
        f"mail/{shift_date(closing, 1)}_flash_and_ledger.eml",
        question,
        Message(
            officer,
            (controller,),
            at(shift_date(closing, 1), 11, 40),
            f"Re: {question.subject}",
            f"Then the closed ledger it is, as always.\n\n{officer.name}",
        ),
    )


def _agent_mail(folder: Folder, scene: Scene) -> None:
    t = scene.truth
    treasurer, officer = scene.who("treasurer"), scene.who("officer")
    folder.mail(
        f"mail/{shift_date(scene.today, -5)}_agent_reminder.eml",
        Message(
            scene.agent_contact,
            (officer, treasurer),
            at(shift_date(scene.today, -5), 10, 0),
            f"Compliance certificate {scene.quarter}",
            f"Dear {officer.name},\n\nplease let us have the certificate for {scene.quarter} ({scene.covenant}) by "
            f"{day(shift_date(scene.today, 6))}, in the agreed form and signed by you.\n\nKind regards\n"
            f"{scene.agent_contact.name}\n{t.agent_bank}",
        ),
    )
    folder.mail(
        f"mail/{shift_date(quarter_end(t, t.other_period), 17)}_receipt.eml",
        Message(
            scene.agent_contact,
            (officer,),
            at(shift_date(quarter_end(t, t.other_period), 17), 15, 0),
            f"Receipt: certificate {quarter(t, t.other_period)}",
            f"We received your certificate for {quarter(t, t.other_period)}. No "
            f"questions.\n\n{scene.agent_contact.name}",
        ),
    )
