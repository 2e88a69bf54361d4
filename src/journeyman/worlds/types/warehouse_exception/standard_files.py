"""The warehouse world as a shared drive. Invariant: live systems first, then the procedure in force."""

import random

from journeyman.worlds.documents.background import add_background
from journeyman.worlds.documents.folder import Folder, at
from journeyman.worlds.documents.mail import Message
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.types.warehouse_exception import standard_books as books
from journeyman.worlds.types.warehouse_exception import standard_papers as papers
from journeyman.worlds.types.warehouse_exception.standard_scene import Scene


def build(scene: Scene) -> Folder:
    """All files of the world."""
    t = scene.truth
    rng = random.Random(f"standard-files:operations:{t.split}:{t.seed}")
    folder = Folder()
    folder.document(scene.procedure, papers.procedure(scene))
    folder.document("procedures/exception_handling_2.docx", papers.old_procedure(scene))
    folder.document("procedures/exception_handling_4.docx", papers.draft_procedure(scene))
    folder.document("procedures/system_quick_guide.pdf", papers.manual(scene))
    folder.document("procedures/safety_bulletin.pdf", papers.safety(scene))
    folder.book(scene.contacts, books.contacts(scene))
    folder.document("site/dock_plan.pdf", papers.dock_plan(scene))
    folder.book("site/dock_register.xlsx", books.dock_register(scene))
    folder.table("site/dock_board.csv", *books.board(scene))
    folder.table("site/maintenance.csv", *books.maintenance(scene))
    folder.deck("site/introduction.pptx", books.site_deck(scene))
    notes = [(t.order_id, t.customer, t.pallets, t.goods)]
    notes += [(o.order_id, o.customer, o.pallets, "mixed goods") for o in t.others[:2]]
    for note in notes:
        folder.document(f"orders/{note[0]}_delivery_note.pdf", papers.delivery_note(scene, *note))
    folder.book(f"orders/day_list_{t.date}.xlsx", books.day_list(scene))
    folder.document("orders/service_terms.docx", papers.terms(scene))
    folder.book("shift/roster.xlsx", books.roster(scene, rng))
    folder.document("shift/handover_yesterday.md", papers.handover(scene))
    folder.table("shift/gate_log.csv", *books.gate_log(scene, rng))
    folder.document(f"reports/exception_{t.others[0].ticket_id}.md", papers.earlier_report(scene))
    _order_mail(folder, scene)
    _site_mail(folder, scene)
    add_background(folder, rng, scene.site, t.people, t.date)
    return folder


def wish_mail(scene: Scene) -> str:
    """Path of the mail that asks for the unfit dock."""
    return f"mail/{shift_date(scene.truth.date, -1)}_dock_wish.eml"


def _order_mail(folder: Folder, scene: Scene) -> None:
    t = scene.truth
    driver, planner, customer = (scene.who(r) for r in ("driver", "planner", "customer_contact"))
    before = shift_date(t.date, -1)
    sender = customer if t.asker == "customer" else driver
    wish = Message(
        sender,
        (planner,),
        at(before, 16, 5),
        f"Order {t.order_id}",
        f"Hello,\n\nfor {t.order_id} ({t.pallets} pallets of {t.goods}) we want {t.asked_dock}. It "
        "was free when we were "
        f"there last. We arrive at {scene.first_arrival}.\n\n{sender.name}",
    )
    folder.mail(wish_mail(scene), wish)
    folder.mail(
        scene.correction,
        wish,
        Message(
            driver,
            (planner,),
            at(t.date, 5, 55),
            f"Correction: order {t.order_id}",
            f"The truck is held up. New arrival for {t.order_id} is {scene.arrival}. The time in the "
            "earlier mail is void."
            f"\n\n{driver.name}",
        ),
    )


def _site_mail(folder: Folder, scene: Scene) -> None:
    t = scene.truth
    planner, supervisor = scene.who("planner"), scene.who("supervisor")
    before, other = shift_date(t.date, -1), t.others[0]
    folder.mail(
        f"mail/{before}_order_{other.order_id}.eml",
        Message(
            planner,
            (supervisor,),
            at(before, 12, 30),
            f"Order {other.order_id}",
            f"{other.customer} is settled: {other.pallets} pallets at {other.dock}. Ticket "
            f"{other.ticket_id} stays open "
            f"until they confirm.\n\n{planner.name}",
        ),
    )
    folder.mail(
        f"mail/{t.date}_reminder.eml",
        Message(
            supervisor,
            (planner,),
            at(t.date, 6, 10),
            f"Ticket {t.ticket_id}",
            f"Please close {t.ticket_id} by the procedure in force, and let me have the report.\n\n{supervisor.name}",
        ),
    )
