"""What the standard warehouse world adds to the truth: more docks, orders, tickets, codes, contacts, times."""

import random
from typing import Any, NamedTuple

from journeyman.worlds.base import Rows
from journeyman.worlds.documents.folder import house
from journeyman.worlds.documents.mail import Person, address
from journeyman.worlds.documents.model import House
from journeyman.worlds.lexicon import Figures, draw_companies, draw_people, shift_date
from journeyman.worlds.types.warehouse_exception.compact import initial_state
from journeyman.worlds.types.warehouse_exception.truth import KINDS, Dock, OtherOrder, WarehouseTruth

CAUSES = ("late", "damaged", "early", "diverted")
INFORMED = {"low": "planner", "normal": "supervisor", "high": "safety_lead"}  # by priority of the ticket


class Scene(NamedTuple):
    """The setting of one standard world. `truth` has the larger site's docks and orders."""

    truth: WarehouseTruth
    site: House
    carrier: House
    customer: House
    waiting: tuple[tuple[str, str, int, str], ...]  # further open orders: id, customer, pallets, kind
    codes: dict[str, str]  # cause -> exception code in force
    old_codes: dict[str, str]  # of the procedure before
    arrival: str  # "15:10", as corrected
    first_arrival: str  # as announced first
    clerk: str  # who writes the comments already on tickets
    procedure: str  # paths
    contacts: str
    correction: str

    @property
    def reservation(self) -> str:
        """The number the next reservation gets."""
        return f"R-{len(self.truth.others) + 1}"

    @property
    def reason(self) -> str:
        """Why the dock asked for does not do."""
        return "full" if self.truth.asked_dock == self.truth.full_dock else "wrong kind"

    @property
    def informed(self) -> str:
        """Who must be told, by name."""
        return self.truth.people[INFORMED[self.truth.priority]]

    @property
    def left(self) -> int:
        """Free pallets of the right dock after the reservation."""
        return self.truth.dock(self.truth.right_dock).free - self.truth.pallets

    def who(self, role: str) -> Person:
        """A correspondent of the site, the carrier or the customer."""
        t = self.truth
        firm = {"driver": t.carrier, "customer_contact": t.customer}.get(role, t.site)
        return address(t.people[role], firm)


def scene(truth: WarehouseTruth) -> Scene:
    """The scene of a truth."""
    rng = random.Random(f"standard:operations:{truth.split}:{truth.seed}")
    large = _enlarged(truth, rng)
    numbers = rng.sample(range(11, 98), 2 * len(CAUSES))
    first = rng.randint(9, 13)
    minute = rng.choice((5, 10, 20, 35, 40, 50))
    taken = {o.customer for o in large.others} | {truth.customer, truth.site}
    free = [c for c in draw_companies(rng, truth.split, 16) if c not in taken][:5]
    figures = Figures(rng, truth.split)
    return Scene(
        truth=large,
        site=house(rng, f"{truth.site} Distribution Centre"),
        carrier=house(rng, truth.carrier),
        customer=house(rng, f"{truth.customer} Trading", serif=True),
        waiting=tuple(
            (_fresh(figures, large), name, rng.randint(2, 9), rng.choice([k for k in KINDS if k != truth.kind]))
            for name in free
        ),
        codes={cause: f"EX-{n}" for cause, n in zip(CAUSES, numbers, strict=False)},
        old_codes={cause: f"EX-{n}" for cause, n in zip(CAUSES, numbers[len(CAUSES) :], strict=True)},
        arrival=f"{first + rng.randint(1, 3)}:{minute:02d}",
        first_arrival=f"{first:02d}:{rng.choice((0, 15, 30, 45)):02d}",
        clerk=draw_people(rng, truth.split, ("clerk",))["clerk"],
        procedure="procedures/exception_handling_current.docx",
        contacts="procedures/contacts_and_escalation.xlsx",
        correction=f"mail/{truth.date}_arrival_corrected.eml",
    )


def _enlarged(truth: WarehouseTruth, rng: random.Random) -> WarehouseTruth:
    """The same exception on a larger site: docks of the remaining kinds, each with an order that has it."""
    kinds = [k for k in KINDS if k != truth.kind]
    names = [f"D{n}" for n in sorted(rng.sample(range(10, 30), 5))]
    docks = tuple(
        Dock(dock=name, kind=kinds[i % len(kinds)], capacity=18 + 2 * i, reserved=rng.randint(2, 8))
        for i, name in enumerate(names)
    )
    known = {truth.customer, truth.site, *(o.customer for o in truth.others)}
    customers = [c for c in draw_companies(rng, truth.split, 16) if c not in known]
    figures = Figures(rng, truth.split)
    others = tuple(
        OtherOrder(
            order_id=_fresh(figures, truth),
            ticket_id=_fresh_ticket(figures, truth),
            customer=customer,
            pallets=dock.reserved,
            dock=dock.dock,
        )
        for customer, dock in zip(customers, docks, strict=False)
    )
    return truth.model_copy(update={"docks": (*truth.docks, *docks), "others": (*truth.others, *others)})


def _fresh(figures: Figures, truth: WarehouseTruth) -> str:
    taken = {truth.order_id, *(o.order_id for o in truth.others)}
    return next(o for _ in range(99) if (o := f"O-{figures.draw(1000, 9900)}") not in taken)


def _fresh_ticket(figures: Figures, truth: WarehouseTruth) -> str:
    taken = {truth.ticket_id, *(o.ticket_id for o in truth.others)}
    return next(o for _ in range(99) if (o := f"T-{figures.draw(100, 990)}") not in taken)


def state(setting: Scene) -> dict[str, Rows]:
    """The systems of record before the episode."""
    t = setting.truth
    made = initial_state(t, "{goods} {cause}: {asker} asks for dock {d}")
    wms, ticketing = made["wms"], made["ticketing"]
    waiting: list[dict[str, Any]] = [
        {"order_id": o, "customer": c, "pallets": p, "kind": k, "status": "open"} for o, c, p, k in setting.waiting
    ]
    orders = [{**row, "due": t.date} for row in (*wms["orders"], *waiting)]
    stock: list[dict[str, Any]] = [
        {
            "line_id": f"L-{i}",
            "sku": t.sku if i < 3 else f"{t.sku[:2]}-{1000 + i}",
            "location": f"A{i:02d}",
            "quantity": 12 * i,
        }
        for i in range(1, 9)
    ]
    comments: list[dict[str, Any]] = [
        {
            "comment_id": "C-1",
            "ticket_id": t.ticket_id,
            "author": setting.clerk,
            "text": f"The {t.asker} asks for {t.asked_dock}. Not checked.",
            "created_at": f"{t.date}T05:50:00Z",
        },
        *(
            {
                "comment_id": f"C-{i}",
                "ticket_id": other.ticket_id,
                "author": setting.clerk,
                "text": f"{other.customer} has {other.dock}.",
                "created_at": f"{shift_date(t.date, -1)}T15:00:00Z",
            }
            for i, other in enumerate(t.others[:4], start=2)
        ),
    ]
    return {
        "wms": {**wms, "orders": sorted(orders, key=lambda row: str(row["order_id"])), "stock": stock},
        "ticketing": {**ticketing, "comments": comments},
    }
