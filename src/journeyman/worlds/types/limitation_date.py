"""law.limitation_date: the last day to file a claim, by its event, its period and what stopped the clock."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import COUNTS, LEFT_OUT, CaseTruth, Field, Remark, Source, Trap
from journeyman.worlds.families import litigation
from journeyman.worlds.families.litigation import Claim, years_later
from journeyman.worlds.lexicon import days_between, shift_date

DERIVATION = Derivation(
    (
        "kind",
        "triggers",
        "events",
        "amended",
        "old_years",
        "new_years",
        "talks_from",
        "talks_to",
        "standstill",
        "signed",
        "filed",
    ),
    Step("trigger", "choose", ("kind", "triggers"), lambda kind, triggers: triggers[kind]),
    Step("began", "look_up", ("trigger", "events"), lambda trigger, events: events[trigger]),
    Step(
        "years",
        "choose",
        ("began", "amended", "old_years", "new_years"),
        lambda began, amended, old, new: new if began >= amended else old,
    ),
    Step("regular", "accrue", ("began", "years"), years_later),
    Step("talks", "difference", ("talks_from", "talks_to"), days_between),
    Step("extra", "classify", ("standstill", "signed"), lambda days, signed: days if signed else 0),
    Step("pause", "sum", ("talks", "extra"), lambda talks, extra: talks + extra),
    Step("last", "accrue", ("regular", "pause"), shift_date),
    Step("verdict", "compare", ("filed", "last"), lambda filed, last: "timely" if filed <= last else "barred"),
)


class LimitationTruth(CaseTruth):
    """One claim and its clock."""

    c: Claim


class LimitationDate(CaseType[LimitationTruth]):
    """A clause on expiry, the events, talks that broke off, and a standstill that may lack a signature."""

    name = "law.limitation_date"
    domain: Domain = "law"
    practice_area = "litigation"
    own_axes = {
        "trigger": litigation.EVENTS,
        "period": ("old", "new"),
        "standstill": ("signed", "unsigned"),
        "verdict": ("timely", "barred"),
        "claim": litigation.CLAIMS,
        "court": litigation.COURTS,
        "goods": ("pumps", "pallets", "panels", "valves", "chips", "paint"),
        "branch": ("north", "south", "west"),
    }
    setting = {"court": "Court", "goods": "Goods", "branch": "Branch"}
    roles = ("associate", "partner", "counsel", "clerk", "expert", "controller")
    stakeholders = ("partner", "counsel", "clerk", "controller")
    deliverables = ("opinion", "letter", "note")
    derivation = DERIVATION
    fields = (
        Field(
            "trigger",
            "Event that starts the clock",
            "trigger",
            "A {c.kind} claim runs from the {value}",
            ("clause",),
            1.0,
        ),
        Field("began", "Clock begins", "began", "The clock of the {c.kind} claim began on {value}", ("events",)),
        Field("years", "Period in years", "years", "The period is {value} years", ("clause",), 1.0),
        Field(
            "pause",
            "Days the clock stood still",
            "pause",
            "The clock stood still for {value} days",
            ("talks", "standstill"),
        ),
        Field("last", "Last day to file", "last", "The last day to file was {value}", ("clause", "talks"), 2.0),
        Field(
            "verdict",
            "Claim, timely or barred",
            "verdict",
            "Filed on {c.filed}, the claim is {value}",
            ("events",),
            1.0,
        ),
    )
    asks = {
        "train": (
            "Is our {c.kind} claim over {axes[goods]} against {other_party} out of time? Please work out the last "
            "day to file.",
            "Please work out the last day for the {c.kind} claim of {company} before the {axes[court]} court.",
            "Please check whether the claim over {axes[goods]} was filed in time. {other_party} disputes it.",
            "{other_party} says that our {c.kind} claim is barred. Please check that.",
        ),
        "validation": (
            "When did the {c.kind} claim over {axes[goods]} expire? Please work out the day.",
            "The {axes[court]} court asks if the {axes[goods]} claim is in time. Please check.",
        ),
        "heldout": (
            "Before the {axes[court]} court it is disputed whether the {axes[goods]} claim came too late. Would you "
            "find out?",
            "A {c.kind} claim over {axes[goods]} was filed. Would you work out whether that was in time?",
            "For {company}, would you find how long the {c.kind} claim could be filed?",
        ),
    }
    meaning = (
        "Give what starts the clock as breach, discovery or demand, days as in 2019-01-31, and the claim as timely "
        "or barred."
    )
    rumoured = "until_greeting"

    def draw(self, common: Common) -> LimitationTruth:
        """The facts of one world."""
        axes = common.axes
        made = litigation.simulate_claim(
            common,
            trigger=axes["trigger"],
            new=axes["period"] == "new",
            signed=axes["standstill"] == "signed",
            barred=axes["verdict"] == "barred",
        )
        return LimitationTruth(**{**common.given, "frozen_time": f"{made.today}T09:00:00Z"}, c=made)

    def facts(self, truth: LimitationTruth) -> dict[str, Value]:
        """The derivation's facts."""
        return {name: getattr(truth.c, name) for name in DERIVATION.facts}

    def traps(self, truth: LimitationTruth) -> tuple[Trap, ...]:
        """The event of other claims, the other period, the standstill misread, talks until a greeting."""
        c = truth.c
        rest = next(t for kind, t in c.triggers.items() if kind != c.kind)
        years = self.right(truth)["years"]
        said = "without the standstill that both signed" if c.signed else "with a standstill that one side never signed"
        return (
            Trap(
                "other_trigger",
                "exception",
                "trigger",
                rest,
                "began",
                f"The clock is said to begin on {{value}}, with the {rest}, as for other claims",
                ("clause", "events"),
            ),
            Trap(
                "other_period",
                "supersession",
                "years",
                c.old_years + c.new_years - years,
                "years",
                "The period is given as {value} years, that of claims on the other side of {c.amended}",
                ("clause",),
            ),
            Trap(
                "standstill_misread",
                "authority",
                "extra",
                0 if c.signed else c.standstill,
                "pause",
                f"The pause is given as {{value}} days, {said}",
                ("standstill",),
            ),
            Trap(
                "until_greeting",
                "cutoff",
                "talks_to",
                c.last_mail,
                "pause",
                "The pause is given as {value} days, as if a greeting were talks",
                ("talks", RUMOUR),
            ),
        )

    def sources(self, truth: LimitationTruth) -> tuple[Source, ...]:
        """Clause, events, talks and standstill."""
        c, axes = truth.c, truth.axes
        rest = next(t for kind, t in c.triggers.items() if kind != c.kind)
        clause = (
            (f"{c.kind} claim runs from", c.triggers[c.kind]),
            ("other claims from", rest),
            (f"begun before {c.amended}", f"{c.old_years} years"),
            (f"begun since {c.amended}", f"{c.new_years} years"),
        )
        talks = (("begun", c.talks_from), ("broken off, a day not counted,", c.talks_to), ("greeting", c.last_mail))
        signed = "both, so it counts" if c.signed else "one, so it does not count"
        return (
            Source("clause", "clause.txt", f"{truth.other_party} {axes['goods']} contract", clause, c.amended),
            Source(
                "events",
                "events.txt",
                f"{axes['court']} court {c.kind} claim",
                (*c.events.items(), ("filed", c.filed)),
                c.filed,
            ),
            Source("talks", "talks.txt", f"{axes['branch']} talks stop the clock", talks, c.last_mail),
            Source(
                "standstill",
                "standstill.txt",
                "standstill adds days",
                (("days", str(c.standstill)), ("signed by", signed)),
                c.talks_from,
            ),
        )

    def looks(self, truth: LimitationTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """The clause, the events, then what stopped the clock."""
        return ("clause", "events", "talks", "standstill")

    def aside(self, truth: LimitationTruth) -> frozenset[str]:
        """The standstill agreement where it lacks a signature."""
        return frozenset() if truth.c.signed else frozenset({"standstill"})

    def remarks(self, truth: LimitationTruth) -> tuple[Remark, ...]:
        """Whether the standstill counts."""
        signed = truth.c.signed
        return (
            Remark(
                "standstill",
                f"the standstill {'counts' if signed else 'does not count'}",
                (("standstill",),),
                (*COUNTS, "holds", "effective", "valid", "extends"),
                "says whether the standstill counts",
                ("standstill",),
                (*LEFT_OUT, "void", "ineffective", "invalid"),
                true=signed,
            ),
        )

    def drive(self, truth: LimitationTruth, drive: Drive) -> None:
        """The clause and the claim, then the talks."""
        litigation.put_clause(drive, truth.c, "partner", "clerk")
        litigation.put_talks(drive, truth.c, "partner", "associate")
        litigation.put_notes(drive, truth.c, "associate", "counsel")
