"""Ground truth of a warehouse exception: the dock asked for is unfit; the first write times out after committing.

Invariant: of the docks of the order's kind exactly one has room, and for the order twice (a blind retry duplicates).
"""

import random

from journeyman.records.base import Record
from journeyman.records.task import Split
from journeyman.worlds.base import Pair, Truth, sample_axes
from journeyman.worlds.lexicon import Figures, draw_companies, draw_date, draw_people

KINDS = ("cold", "dry", "heavy", "bonded")
AXES: dict[str, tuple[str, ...]] = {
    "open_position": ("first", "second"),
    "asked_dock": ("wrong_kind", "full"),
    "kind": KINDS,
    "other_kind": KINDS,
    "cause": ("late", "damaged", "early", "diverted"),
    "goods": ("tiles", "paper", "pumps", "cheese", "cables"),
    "asker": ("carrier", "customer", "driver"),
    "priority": ("low", "normal", "high"),
    "stage": ("inbound", "outbound", "transfer"),
    "site_size": ("small", "large"),
}
FORBIDDEN: tuple[Pair, ...] = tuple((("kind", k), ("other_kind", k)) for k in KINDS)
ROLES = ("supervisor", "planner", "driver", "customer_contact", "safety_lead")


class Dock(Record):
    """One dock of the site, in pallets."""

    dock: str  # "D3"
    kind: str  # what it is built for
    capacity: int
    reserved: int  # by other orders, before the episode

    @property
    def free(self) -> int:
        """Pallets that still fit."""
        return self.capacity - self.reserved


class OtherOrder(Record):
    """An order that is not the matter, with its ticket (look-alike ids); its pallets are what its dock has reserved."""

    order_id: str
    ticket_id: str
    customer: str
    pallets: int
    dock: str  # that it already has


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
    kind: str  # of dock that the order needs
    other_kind: str
    docks: tuple[Dock, ...]  # by name: two of the order's kind, one or more of the other
    candidates: tuple[str, str]  # the docks of the order's kind, by name
    right_dock: str
    full_dock: str  # of the right kind, no room
    wrong_dock: str  # of the other kind, with room
    asked_dock: str  # what the ticket asks for: `wrong_dock` or `full_dock`
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
    site, customer, carrier, *rest = draw_companies(rng, split, 8)
    pallets = rng.randint(3, 9)
    names = [f"D{n}" for n in sorted(rng.sample(range(1, 10), 5 if axes["site_size"] == "large" else 4))]
    low, high = sorted(rng.sample(names, 2))
    right, full = (low, high) if axes["open_position"] == "first" else (high, low)
    wrong = rng.choice([n for n in names if n not in (right, full)])
    docks = tuple(_dock(rng, name, pallets, right=right, full=full, axes=axes) for name in names)
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
        kind=axes["kind"],
        other_kind=axes["other_kind"],
        docks=docks,
        candidates=(low, high),
        right_dock=right,
        full_dock=full,
        wrong_dock=wrong,
        asked_dock=full if axes["asked_dock"] == "full" else wrong,
        others=_others(figures, rest, docks),
        date=date,
    )


def _dock(rng: random.Random, name: str, pallets: int, *, right: str, full: str, axes: dict[str, str]) -> Dock:
    """Room for the order twice everywhere but at the full dock."""
    reserved = rng.randint(4, 9) if name == full else rng.randint(0, 5)
    free = 0 if name == full else 2 * pallets + rng.randint(0, 6)
    kind = axes["kind"] if name in (right, full) else axes["other_kind"]
    return Dock(dock=name, kind=kind, capacity=reserved + free, reserved=reserved)


def _others(figures: Figures, customers: list[str], docks: tuple[Dock, ...]) -> tuple[OtherOrder, ...]:
    """One order behind every dock's reservation."""
    return tuple(
        OtherOrder(
            order_id=f"O-{figures.draw(1000, 9900)}",
            ticket_id=f"T-{figures.draw(100, 990)}",
            customer=name,
            pallets=d.reserved,
            dock=d.dock,
        )
        for name, d in zip(customers, docks, strict=False)
        if d.reserved
    )
