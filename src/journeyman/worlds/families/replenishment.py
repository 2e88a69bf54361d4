"""Replenishment: what a site needs of an article, what it has, and the tool that works out its order, with faults.

Invariant: every fault stands in a function of its own, and shows in this site's figures and in each set of held-out
inputs; the caller is sound.
"""

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from journeyman.records.base import Record
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab
from journeyman.worlds.lexicon import working_day

GOODS = ("tiles", "paper", "pumps", "cheese", "cables", "glass", "paint", "seeds")
UNITS = ("cases", "boxes", "drums", "rolls", "sacks", "crates")
TOOLS = ("refill", "supply", "restock", "reorder")
CALLER = "tools/order.py"
Cases = tuple[tuple[tuple[int, ...], int], ...]


class Function(NamedTuple):
    """One function of the tool: its arguments, what it should give, and lines that give something else."""

    arguments: str
    right: str
    wrong: tuple[str, ...]  # kinds of fault
    draw: Callable[[random.Random], tuple[int, ...]]  # arguments on which all kinds show
    also: tuple[tuple[int, ...], ...] = ()  # arguments at an edge, where another wrong line would show


def _of_lot(rng: random.Random) -> tuple[int, ...]:
    lot = rng.randint(5, 14)
    return (lot * rng.randint(3, 30) + rng.randint(1, lot - 1), lot)


def _of_room(rng: random.Random) -> tuple[int, ...]:
    lot = rng.randint(5, 14)
    room = lot * rng.randint(3, 30) + rng.randint(1, lot - 1)
    return (room - room % lot + lot * rng.randint(1, 9), room, lot)


FUNCTIONS: dict[str, Function] = {
    "need": Function(
        "week, weeks, safety",
        "week * weeks + safety",
        ("week * weeks", "week * (weeks - 1) + safety", "week * weeks - safety"),
        lambda rng: (rng.randint(12, 90), rng.randint(2, 9), rng.randint(11, 80)),
    ),
    "net": Function(
        "need, stock, due",
        "need - stock - due",
        ("need - stock", "need - due", "need - stock + due"),
        lambda rng: (rng.randint(300, 900), rng.randint(11, 120), rng.randint(11, 120)),
    ),
    "lots": Function(
        "net, lot", "-(-net // lot) * lot", ("net // lot * lot", "-(-net // lot)", "net"), _of_lot, ((96, 12),)
    ),
    "fit": Function(
        "lots, room, lot", "min(lots, room // lot * lot)", ("lots", "min(lots, room)"), _of_room, ((24, 90, 12),)
    ),
}


class Replenishment(Record):
    """One article at one site. Pieces, and weeks."""

    module: str  # of the tool
    faults: dict[str, str]  # function -> the line it has instead of the right one
    week: int  # demand
    weeks: int  # to cover
    safety: int
    stock: int
    due: int  # ordered and not yet there
    lot: int
    room: int
    last_order: int
    other_lot: int  # of another article

    @property
    def path(self) -> str:
        """Where the functions stand."""
        return f"tools/{self.module}.py"


@cache
def _function(name: str, line: str) -> Callable[..., int]:
    """A function of the tool with one of our own lines, as Python runs it."""
    made: Callable[..., int] = eval(f"lambda {FUNCTIONS[name].arguments}: {line}", {"min": min})
    return made


def worked(function: str, *given: int, line: str = "") -> int:
    """What a function gives by its right line, or by `line`."""
    return _function(function, line or FUNCTIONS[function].right)(*given)


def simulate(common: Common) -> Replenishment:
    """An order that room limits, and a tool in which as many functions are at fault as the axis says."""
    rng, figures, axes = common.rng, common.figures, common.axes
    count = {"two": 2, "three": 3, "four": 4}[axes["faults"]]
    faulty = sorted(rng.sample(list(FUNCTIONS), count), key=list(FUNCTIONS).index)
    lines = {name: rng.choice(FUNCTIONS[name].wrong) for name in faulty}

    def shown(name: str, *given: int) -> tuple[int, ...]:
        """The right figure and, where the function is at fault, the wrong one."""
        right = worked(name, *given)
        return (right, worked(name, *given, line=lines[name])) if name in lines else (right,)

    def needed() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        given = (rng.randint(21, 95), rng.randint(3, 8), rng.randint(11, 90))
        return given, shown("need", *given)

    week, weeks, safety = figures.settle(needed)
    need = worked("need", week, weeks, safety)

    def packed() -> tuple[tuple[int, int], tuple[int, ...]]:
        net, lot = rng.randint(need // 3, need - 30), rng.randint(4, 18)
        figs = (net, *(n for n in shown("lots", net, lot) if n != net))
        return (net, lot), figs if net % lot else (0, 0)  # two equal figures: drawn anew

    net, lot = figures.settle(packed)

    def lacking() -> tuple[int, tuple[int, ...]]:
        stock = rng.randint(11, need - net - 11)
        return stock, shown("net", need, stock, need - net - stock)[1:]

    stock = figures.settle(lacking)
    lots = worked("lots", net, lot)

    def limited() -> tuple[int, tuple[int, ...]]:
        room = rng.randint(lot + 1, lots - 1)
        order, *wrong = shown("fit", lots, room, lot)
        return room, (order, room - order, *(n for n in wrong if n != lots)) if room % lot else (0, 0)

    room = figures.settle(limited)
    return Replenishment(
        module=axes["tool"],
        faults=lines,
        week=week,
        weeks=weeks,
        safety=safety,
        stock=stock,
        due=need - net - stock,
        lot=lot,
        room=room,
        last_order=figures.draw(60, 900),
        other_lot=lot + rng.randint(1, 9),
    )


def tool(r: Replenishment, left: Sequence[str], constants: dict[str, int] | None = None) -> str:
    """The module's text with the faults `left` in it; `constants` are functions that give one figure for any input."""
    made: list[str] = []
    for name, function in FUNCTIONS.items():
        line = r.faults[name] if name in left else function.right
        made += [f"def {name}({function.arguments}):", f"    return {(constants or {}).get(name, line)}"]
    return "\n".join(made) + "\n"


def caller(r: Replenishment) -> str:
    """The sound caller."""
    chain = "fit(lots(net(need(d, w, s), h, c), k), r, k)"
    return f"from {r.module} import *\n\n\ndef order(d, w, s, h, c, r, k):\n    return {chain}\n"


def held_out(seed: str, function: str) -> Cases:
    """Inputs that stand in no world, and what the function should give for them."""
    rng = random.Random(f"{seed}:{function}")
    drawn = [*(FUNCTIONS[function].draw(rng) for _ in range(3)), *FUNCTIONS[function].also]
    return tuple((given, worked(function, *given)) for given in drawn)


def held_out_orders(seed: str) -> Cases:
    """Whole orders: demand, weeks, safety, stock, due, room, lot. Each kind of fault shows in one of them."""
    rng = random.Random(f"{seed}:order")
    lines = [(name, line) for name, function in FUNCTIONS.items() for line in function.wrong]
    while True:
        drawn = [_inputs(rng, limited=number % 2 == 0) for number in range(4)]
        right = [_order(given) for given in drawn]
        if all([_order(given, *line) for given in drawn] != right for line in lines):
            return tuple(zip(drawn, right, strict=True))


def _inputs(rng: random.Random, *, limited: bool) -> tuple[int, ...]:
    week, weeks, safety = FUNCTIONS["need"].draw(rng)
    need = worked("need", week, weeks, safety)
    stock, due, lot = rng.randint(5, need // 3), rng.randint(5, need // 3), rng.randint(5, 14)
    net = need - stock - due
    room = rng.randint(lot, net) if limited else rng.randint(need + lot, 3 * need)
    return (week, weeks, safety, stock, due, room, lot)


def _order(given: tuple[int, ...], function: str = "", line: str = "") -> int:
    """The whole order, with another line in one function."""
    week, weeks, safety, stock, due, room, lot = given
    other = {function: line}
    need = worked("need", week, weeks, safety, line=other.get("need", ""))
    net = worked("net", need, stock, due, line=other.get("net", ""))
    lots = worked("lots", net, lot, line=other.get("lots", ""))
    return worked("fit", lots, room, lot, line=other.get("fit", ""))


def put_papers(drive: Drive, r: Replenishment, planner: str, keeper: str) -> None:
    """Rules, article sheet, stock export, orders on the way, room, the tool's notes and what was said about it."""
    axes, today = drive.truth.axes, drive.today
    goods, site, unit = axes["goods"], axes["site"], axes["unit"]
    drive.paper(
        "rules",
        "policies/replenishment.docx",
        "Replenishment of the sites",
        by=planner,
        dated=working_day(today, -310),
        reference="POL/SC/7",
        rules=(
            "What is needed covers the weekly demand for the weeks of cover, and the safety stock on top of it.",
            "What is lacking is what is needed, less what is in stock and less what is ordered and still to come.",
            "Orders are placed in whole lots. What is lacking is rounded up to the next lot.",
            "An order never exceeds the room left at the site: then it is the largest number of whole lots that fits.",
            "The planner states what room the order leaves. Habit and last month's order are no reason.",
        ),
    )
    article = (
        ("Weekly demand", r.week),
        ("Weeks of cover", r.weeks),
        ("Safety stock", r.safety),
        ("Lot size", r.lot),
    )
    drive.book(
        "data",
        f"articles/{goods}_{site}.xlsx",
        f"Article sheet {goods}",
        Tab("Article", ("Item", f"{unit.capitalize()} or weeks"), article, title=f"{goods.capitalize()} at the {site}"),
        Tab(
            "Today",
            ("Item", unit.capitalize()),
            (("In stock", r.stock), ("Ordered, to come", r.due), ("Room left", r.room)),
            title=f"{goods.capitalize()} at the {site}, {today}",
        ),
        by=keeper,
        dated=working_day(today, -1),
    )
    _put_notes(drive, r, planner, keeper)


def _put_notes(drive: Drive, r: Replenishment, planner: str, keeper: str) -> None:
    axes, today = drive.truth.axes, drive.today
    goods, site, unit = axes["goods"], axes["site"], axes["unit"]
    drive.paper(
        "",
        "tools/readme.md",
        "The order tool",
        by=planner,
        dated=working_day(today, -200),
        body=(
            f"`order.py` has one function, `order(d, w, s, h, c, r, k)`: demand a week, weeks of cover, safety stock, "
            f"stock in hand, to come, room, lot. It calls the functions of `{r.module}.py` one after the other.",
            "Other sites import the same functions, so their names and arguments must not change.",
        ),
    )
    drive.export(
        "",
        "articles/other_articles.csv",
        ("article", "lot", "weeks"),
        [(g, r.other_lot + i, 2 + i) for i, g in enumerate(g for g in GOODS if g != goods)],
        working_day(today, -30),
    )
    drive.paper(
        "",
        f"orders/last_order_{site}.pdf",
        f"Order of {goods}, last month",
        by=keeper,
        dated=working_day(today, -31),
        facts=(("Article", goods), ("Ordered", f"{r.last_order} {unit}"), ("Supplier", drive.truth.other_party)),
        body=("Placed by hand.",),
    )
    drive.mail(
        "",
        "mail/the_tool_again.eml",
        sender=keeper,
        to=planner,
        dated=drive.ago(2),
        subject=f"Order of {goods} for the {site}",
        body=f"What the order tool says for {goods} cannot be right: it does not agree with the rules. I ordered by "
        "hand last month. Could somebody look into it before the next round?",
        answer="Yes. Nothing is ordered by the tool until it is mended.",
    )
