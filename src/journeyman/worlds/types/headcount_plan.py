"""consulting.headcount_plan: heads and equivalents on a plan day, and the room that a cap leaves."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import COUNTS, LEFT_OUT, CaseTruth, Field, Remark, Source, Trap, spelled
from journeyman.worlds.families import organisations
from journeyman.worlds.families.organisations import Movements


def _gone(exits: Mapping[str, int], day: str) -> int:
    """Heads whose last day of work is before the plan day or on it."""
    return sum(heads for last, heads in exits.items() if last <= day)


DERIVATION = Derivation(
    ("start", "day", "exits", "entries", "away", "part_time", "cap", "cost"),
    Step("gone", "filter", ("exits", "day"), _gone),
    Step("joined", "filter", ("entries",), lambda entries: entries["signed"]),
    Step("heads", "sum", ("start", "joined", "gone"), lambda start, joined, gone: start + joined - gone),
    Step("present", "difference", ("heads", "away"), lambda heads, away: heads - away),
    Step("fte", "convert", ("present", "part_time"), lambda present, halves: present - halves // 2),
    Step("room", "difference", ("cap", "fte"), lambda cap, fte: cap - fte),
    Step("verdict", "decide", ("room",), lambda room: "hire" if room > 0 else "stop"),
    Step("bill", "product", ("fte", "cost"), lambda fte, cost: fte * cost),
)


class PlanTruth(CaseTruth):
    """One plan day."""

    m: Movements


class HeadcountPlan(CaseType[PlanTruth]):
    """Staff today, exits around the plan day, offers that nobody signed, people on leave and half posts."""

    name = "consulting.headcount_plan"
    domain: Domain = "consulting"
    practice_area = "people and technology"
    own_axes = {
        "verdict": ("hire", "stop"),
        "unit": ("sales", "claims", "support", "research", "payroll", "logistics"),
        "site": ("head", "plant", "branch", "remote"),
        "leave": ("parental", "study", "sick"),
        "stage": ("diagnosis", "design", "rollout"),
        "union": ("works council", "union", "staff board"),
        "currency": CURRENCIES,
    }
    setting = {"site": "Site", "stage": "Stage of the project", "union": "Staff body"}
    roles = ("hr_lead", "partner", "client_lead", "analyst", "cio", "controller")
    stakeholders = ("partner", "client_lead", "analyst", "cio", "controller")
    deliverables = ("workbook", "plan", "note")
    derivation = DERIVATION
    fields = (
        Field(
            "heads",
            "Heads on the plan day",
            "heads",
            "{axes[unit]} has {value} heads on {m.day}",
            ("staff", "moves"),
            3.0,
        ),
        Field(
            "fte",
            "Full-time equivalents on the plan day",
            "fte",
            "{axes[unit]} has {value} equivalents on {m.day}",
            ("staff", "rules"),
            3.0,
        ),
        Field("room", "Room under the cap", "room", "The room under the cap is {value}", ("rules",)),
        Field("verdict", "Hire or stop", "verdict", "The plan says: {value}", ("rules",), 1.0),
        Field("bill", "Cost a month", "bill", "The equivalents cost {value} a month", ("cost",), 1.0),
    )
    asks = {
        "train": (
            "Please plan the staff of {axes[unit]} for {m.day}. We want to know whether we may hire.",
            "How many work in {axes[unit]} on {m.day}, and may {company} hire? Please work it out.",
            "For the {axes[stage]} we need heads and full-time equivalents of {axes[unit]}. Please plan them.",
            "The {axes[union]} asks how {axes[unit]} will stand on {m.day}. Please make the plan.",
        ),
        "validation": (
            "Is there room for more staff in {axes[unit]} on {m.day}? Please work it out.",
            "The {axes[stage]} needs the staff plan of {axes[unit]}. Please make it.",
        ),
        "heldout": (
            "On {m.day} the {axes[unit]} staff must fit its cap. Would you plan it?",
            "Before {axes[unit]} hires, the {axes[union]} wants to see a plan. Would you make one?",
            "For {m.day}, would you find who is at work in {axes[unit]} and what that costs?",
        ),
    }
    meaning = (
        "Give full-time equivalents as fte, the room as a signed number of them, the verdict as hire or stop, and "
        "the cost a month as bill."
    )
    rumoured = "offers_counted"

    def draw(self, common: Common) -> PlanTruth:
        """The facts of one world."""
        made = organisations.simulate_movements(common, over=common.axes["verdict"] == "stop")
        return PlanTruth(**common.given, m=made)

    def facts(self, truth: PlanTruth) -> dict[str, Value]:
        """The derivation's facts."""
        return {name: getattr(truth.m, name) for name in DERIVATION.facts}

    def traps(self, truth: PlanTruth) -> tuple[Trap, ...]:
        """Later exits, offers, people on leave, half posts taken for whole ones."""
        m = truth.m
        return (
            Trap(
                "later_exits",
                "cutoff",
                "gone",
                sum(m.exits.values()),
                "heads",
                "The heads are given as {value}, less those who leave after the plan day",
                ("moves",),
            ),
            Trap(
                "offers_counted",
                "claim",
                "joined",
                sum(m.entries.values()),
                "heads",
                "The heads are given as {value}, with offers nobody signed",
                ("moves", RUMOUR),
            ),
            Trap(
                "leave_ignored",
                "exception",
                "away",
                0,
                "fte",
                "The equivalents are given as {value}, people on {axes[leave]} leave included",
                ("staff",),
            ),
            Trap(
                "halves_as_wholes",
                "unit",
                "part_time",
                0,
                "fte",
                "The equivalents are given as {value}, half posts taken for whole ones",
                ("staff",),
            ),
        )

    def sources(self, truth: PlanTruth) -> tuple[Source, ...]:
        """Staff, moves and rules."""
        m, axes, today = truth.m, truth.axes, truth.frozen_time[:10]
        staff = (
            ("heads today", str(m.start)),
            (f"{axes['leave']} leave then", str(m.away)),
            ("part-time", str(m.part_time)),
        )
        entries = ((f"joining, {state}", str(heads)) for state, heads in m.entries.items())
        exits = ((f"leaving {last}", str(heads)) for last, heads in m.exits.items())
        rules = (
            ("plan day", m.day),
            ("cap", str(m.cap)),
            ("fte", "part-time half, on leave 0"),
            ("room", "cap less fte"),
        )
        return (
            Source("staff", "staff.txt", f"{axes['unit']} {axes['site']} staff", staff, today),
            Source("moves", "moves.txt", f"{axes['union']} moves, offered is not signed", (*exits, *entries), today),
            Source("rules", "rules.txt", f"{axes['stage']} rules", rules, today),
            Source("cost", "cost.txt", f"cost {truth.currency}", (("fte a month", str(m.cost)),), today),
        )

    def looks(self, truth: PlanTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Staff, moves, rules, cost."""
        return ("staff", "moves", "rules", "cost")

    def remarks(self, truth: PlanTruth) -> tuple[Remark, ...]:
        """That offers do not count."""
        offered = truth.m.entries["offered"]
        return (
            Remark(
                "offers",
                f"{offered} offers are not counted",
                (spelled(offered), ("offers", "offer", "offered")),
                COUNTS,
                "says how many offers are not counted",
                ("moves",),
                LEFT_OUT,
                true=False,
            ),
        )

    def drive(self, truth: PlanTruth, drive: Drive) -> None:
        """Staff and moves, then the rules."""
        organisations.put_staff(drive, truth.m, "hr_lead", "analyst")
        organisations.put_plan_rules(drive, truth.m, "partner", "client_lead", "hr_lead")
        organisations.put_cost(drive, truth.m, "controller")
