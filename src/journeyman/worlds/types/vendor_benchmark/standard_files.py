"""The benchmark world as a shared drive. Invariant: contract as amended, signed brief and closed rate table decide."""

import random

from journeyman.worlds.documents.background import add_background
from journeyman.worlds.documents.folder import Folder, at
from journeyman.worlds.documents.mail import Message
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.types.vendor_benchmark import standard_books as books
from journeyman.worlds.types.vendor_benchmark import standard_papers as papers
from journeyman.worlds.types.vendor_benchmark.standard_scene import Scene, file_name, quarter, quarter_end


def build(scene: Scene) -> Folder:
    """All files of the world."""
    t = scene.truth
    rng = random.Random(f"standard-files:consulting:{t.split}:{t.seed}")
    folder = Folder()
    folder.document(scene.contract, papers.contract(scene))
    folder.document(scene.amendment, papers.amendment(scene))
    folder.document("contract/side_letter.docx", papers.side_letter(scene))
    for entity in (t.vendor, t.lookalike):
        folder.document(f"register/{file_name(entity)}.pdf", papers.register_extract(scene, entity))
    folder.table("register/vendor_master.csv", *books.vendor_master(scene, rng))
    folder.book(scene.rate_table, books.rate_table(scene))
    folder.document(f"rates/card_{file_name(t.vendor)}.pdf", papers.rate_card(scene, t.vendor))
    folder.document(f"rates/card_{file_name(t.lookalike)}.docx", papers.rate_card(scene, t.lookalike))
    folder.document(f"rates/card_{file_name(t.peer)}.docx", papers.rate_card(scene, t.peer))
    folder.table(f"rates/history_{t.year - 1}.csv", *books.history(scene))
    folder.table("rates/exchange_rates.csv", *books.exchange(scene, rng))
    folder.document(scene.brief, papers.brief(scene))
    folder.book(scene.eligibility, books.eligibility(scene))
    folder.document("scope/benchmark_method.md", papers.method(scene))
    folder.deck("scope/kick_off.pptx", books.kick_off(scene))
    folder.table("scope/milestones.csv", *books.dates(scene))
    for number, (entity, period) in enumerate(((t.vendor, t.cutoff), (t.lookalike, t.cutoff), (t.vendor, t.after)), 1):
        folder.document(f"invoices/{period}_{file_name(entity)}.pdf", papers.invoice(scene, entity, period, number))
    folder.book("invoices/units_called_off.xlsx", books.volumes(scene))
    folder.book(f"archive/benchmark_{t.year - 1}.xlsx", books.old_benchmark(scene))
    folder.document("notes/interview_buyer.docx", papers.interview(scene))
    folder.deck("notes/market_overview.pptx", books.market(scene, rng))
    _offer_thread(folder, scene)
    _project_mail(folder, scene)
    add_background(folder, rng, scene.advisor, t.people, scene.today)
    return folder


def offer_mail(scene: Scene) -> str:
    """Path of the sales mail with the rate that does not count."""
    return f"mail/{scene.truth.mail_date}_offer.eml"


def _offer_thread(folder: Folder, scene: Scene) -> None:
    t = scene.truth
    rep, lead, partner, analyst = (scene.who(r) for r in ("vendor_rep", "client_lead", "partner", "analyst"))
    folder.mail(
        offer_mail(scene),
        Message(
            rep,
            (lead,),
            at(t.mail_date, 16, 12),
            f"Our best rate for {t.service}",
            f"Dear {lead.name},\n\nin {quarter(t, t.after)} {t.offer_entity} charges {t.offer_rate} {t.currency} per "
            f"{t.unit}. Please use this in your comparison.\n\nKind regards\n{rep.name}",
        ),
    )
    asked = shift_date(t.mail_date, 1)
    question = Message(
        lead,
        (partner,),
        at(asked, 9, 5),
        "Fwd: Our best rate",
        f"Should we not take the newest rate of {t.stem}? It is in the mail below.\n\n{lead.name}",
    )
    folder.mail(
        f"mail/{asked}_newest_rate.eml",
        question,
        Message(
            partner,
            (lead, analyst),
            at(asked, 11, 30),
            "Re: Fwd: Our best rate",
            "Thank you. The brief decides what is in scope; we will mention the offer and not use it.\n\n"
            + partner.name,
        ),
    )


def _project_mail(folder: Folder, scene: Scene) -> None:
    t = scene.truth
    partner, analyst = scene.who("partner"), scene.who("analyst")
    folder.mail(
        f"mail/{shift_date(scene.today, -2)}_deadline.eml",
        Message(
            partner,
            (analyst,),
            at(shift_date(scene.today, -2), 8, 20),
            f"{t.client}: benchmark",
            f"Hi {analyst.name.split()[0]},\n\nplease finish the workbook this week. Check the legal form twice.\n\n"
            f"{partner.name}",
        ),
    )
    folder.mail(
        f"mail/{shift_date(quarter_end(t, t.after), 8)}_panel.eml",
        Message(
            analyst,
            (partner,),
            at(shift_date(quarter_end(t, t.after), 8), 17, 0),
            "Panel",
            f"{scene.barred} {scene.barred_reason}, so I take it out of the panel. The list is in "
            f"{scene.eligibility}.\n\n"
            f"{analyst.name}",
        ),
    )
