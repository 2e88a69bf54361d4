"""Ground truth of a warehouse exception: the asked-for dock is full, another is open, and the first write times out after committing.

Invariant: exactly one of the order's candidate docks has room for its pallets.
"""

import random

from journeyman.records.base import Record
from journeyman.records.task import Split
from journeyman.worlds.base import Pair, Truth, sample_axes
from journeyman.worlds.lexicon import Figures, draw_companies, draw_date, draw_people

AXES: dict[str, tuple[str, ...]] = {
    "open_position": ("first", "second"),
    "asked_dock": ("full", "closed"),
    "cause": ("late", "damaged", "early", "diverted"),
    "goods": ("tiles", "paper", "pumps", "cheese", "cables"),
    "asker": ("carrier", "customer", "driver"),
    "priority": ("low", "normal", "high"),
    "stage": ("inbound", "outbound", "transfer"),
    "site_size": ("small", "large"),
}
FORBIDDEN: tuple[Pair, ...] = ((("cause", "damaged"), ("goods", "cables")),)
ROLES = ("supervisor", "planner", "driver", "customer_contact", "safety_lead")


class Dock(Record):
    """One dock of the site. `free` is in pallets, after existing reservations."""

    dock: str  # "D3"
    free: int
    status: str  # "open" | "full" | "closed"
    candidate: bool  # the order may go there


class OtherOrder(Record):
    """An order that is not the matter, with its ticket (look-alike ids)."""

    order_id: str
    ticket_id: str
    customer: str
    pallets: int
    dock: str


class WarehouseTruth(Truth):
    """Everything that is so in one warehouse world."""

    site: str
    customer: str
    carrier: str
    people: dict[str, str]
    order_id: str  # "O-4417"
    ticket_id: str  # "T-815"
    sku: str
    goods: str
    cause: str
    asker: str  # who asks for the wrong dock in the ticket
    priority: str
    stage: str
    pallets: int
    docks: tuple[Dock, ...]
    candidates: tuple[str, str]  # as the order lists them
    right_dock: str
    full_dock: str  # the other candidate
    asked_dock: str  # named in the ticket: full or closed
    others: tuple[OtherOrder, ...]
    date: str

    def dock(self, name: str) -> Dock:
        """The dock called `name`."""
        return next(d for d in self.docks if d.dock == name)


def draw(seed: int, split: Split) -> WarehouseTruth:
    """The world of (seed, split)."""
    rng = random.Random(f"operations.warehouse_exception:{split}:{seed}")
    axes = sample_axes(rng, AXES, FORBIDDEN)
    figures = Figures(rng, split)
    site, customer, carrier, *rest = draw_companies(rng, split, 6)
    pallets = rng.randint(3, 9)
    names = [f"D{n}" for n in sorted(rng.sample(range(1, 10), 5 if axes["site_size"] == "large" else 4))]
    right, full, closed, *spare = rng.sample(names, len(names))
    candidates = (right, full) if axes["open_position"] == "first" else (full, right)
    docks = []
    for name in names:
        if name == right:
            free, status = pallets + rng.randint(1, 9), "open"
        elif name == closed:
            free, status = 0, "closed"
        elif name == full:
            free, status = 0, "full"
        else:
            free, status = pallets + rng.randint(1, 6), "open"
        docks.append(Dock(dock=name, free=free, status=status, candidate=name in candidates))
    others = tuple(
        OtherOrder(
            order_id=f"O-{figures.draw(1000, 9900)}",
            ticket_id=f"T-{figures.draw(100, 990)}",
            customer=name,
            pallets=rng.randint(2, 9),
            dock=rng.choice(spare),
        )
        for name in rest
    )
    date = draw_date(rng, "2026-02-01", 280)
    return WarehouseTruth(
        seed=seed,
        split=split,
        axes=axes,
        frozen_time=f"{date}T06:30:00Z",
        site=site,
        customer=customer,
        carrier=f"{carrier} Freight",
        people=draw_people(rng, split, ROLES),
        order_id=f"O-{figures.draw(1000, 9900)}",
        ticket_id=f"T-{figures.draw(100, 990)}",
        sku=f"{axes['goods'][:2].upper()}-{figures.draw(100, 990)}",
        goods=axes["goods"],
        cause=axes["cause"],
        asker=axes["asker"],
        priority=axes["priority"],
        stage=axes["stage"],
        pallets=pallets,
        docks=tuple(docks),
        candidates=candidates,
        right_dock=right,
        full_dock=full,
        asked_dock=full if axes["asked_dock"] == "full" else closed,
        others=others,
        date=date,
    )
