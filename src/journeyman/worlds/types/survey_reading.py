"""consulting.survey_reading: shares among users, a lead in points, and whether the survey shows it."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap, decimal, percent
from journeyman.worlds.families import customers
from journeyman.worlds.families.customers import Survey

DERIVATION = Derivation(
    ("completes", "fast", "outside", "mine", "theirs", "margin"),
    Step("read", "difference", ("completes", "fast"), lambda completes, fast: completes - fast),
    Step("base", "difference", ("read", "outside"), lambda read, outside: read - outside),
    Step("share", "ratio", ("mine", "base"), percent),
    Step("rival_share", "ratio", ("theirs", "base"), percent),
    Step("lead", "difference", ("share", "rival_share"), lambda share, rival: share - rival),
    Step("reading", "compare", ("lead", "margin"), lambda lead, margin: "shows" if lead >= margin else "open"),
)


class ReadingTruth(CaseTruth):
    """One survey to be read."""

    s: Survey


class SurveyReading(CaseType[ReadingTruth]):
    """Interviews that do not count, mentions that are no persons, another wave, and a margin."""

    name = "consulting.survey_reading"
    domain: Domain = "consulting"
    practice_area = "commercial due diligence"
    own_axes = {
        "reading": ("shows", "open"),
        "sample": ("panel", "street", "phone", "online"),
        "sector": ("software", "retail", "health", "freight", "food", "energy"),
        "question": ("first choice", "next purchase", "trusted most"),
        "region": ("nordic", "iberia", "benelux", "alpine"),
        "stage": ("teaser", "phase one", "phase two"),
    }
    setting = {"region": "Region", "stage": "Stage"}
    roles = ("lead", "partner", "analyst", "expert", "fund_lead", "planner")
    stakeholders = ("partner", "analyst", "expert", "fund_lead", "planner")
    deliverables = ("brief", "table", "note")
    derivation = DERIVATION
    fields = (
        Field("base", "Base, users", "base", "The base is {value} users", ("field", "method"), 3.0),
        Field(
            "share",
            "Share of the target, percent",
            "share",
            "{company} has {value} percent",
            ("answers",),
            2.0,
            decimal,
        ),
        Field(
            "rival",
            "Share of the rival, percent",
            "rival_share",
            "{s.rival} has {value} percent",
            ("answers",),
            2.0,
            decimal,
        ),
        Field(
            "lead", "Lead in points", "lead", "{company} leads by {value} points", ("answers", "method"), 2.0, decimal
        ),
        Field("reading", "Reading", "reading", "On its lead the survey: {value}", ("method",), 1.0),
    )
    asks = {
        "train": (
            "Please read the {axes[sector]} survey and say whether {company} leads {s.rival}.",
            "Does the {axes[sample]} survey show a lead of {company}? Please work out the shares.",
            "Please work out the {axes[question]} shares in the {axes[region]} survey. We want to know if {company} "
            "leads.",
            "For {axes[stage]} we need to know what {axes[sector]} users say of {company} and {s.rival}. Please "
            "read the survey.",
        ),
        "validation": (
            "Is {company} ahead of {s.rival} among {axes[sector]} users? Please check the survey.",
            "Work on {axes[stage]} needs the {axes[region]} survey in figures. Please read it.",
        ),
        "heldout": (
            "A {axes[sample]} survey compares {company} with {s.rival}. Would you see what it bears out?",
            "Users in {axes[region]} were surveyed ({axes[question]}). Would you turn that into shares?",
            "Would you see if the {axes[sector]} survey is enough to say that {company} leads?",
        ),
    }
    meaning = "Give shares in percent and the lead in points, all with two decimals, and the reading as shows or open."
    rumoured = "mentions_taken"

    def draw(self, common: Common) -> ReadingTruth:
        """The facts of one world."""
        return ReadingTruth(
            **common.given, s=customers.simulate_survey(common, shows=common.axes["reading"] == "shows")
        )

    def facts(self, truth: ReadingTruth) -> dict[str, Value]:
        """The derivation's facts."""
        s = truth.s
        return {
            "completes": s.completes,
            "fast": s.fast,
            "outside": s.outside,
            "mine": s.named[truth.company],
            "theirs": s.named[s.rival],
            "margin": s.margin,
        }

    def traps(self, truth: ReadingTruth) -> tuple[Trap, ...]:
        """Fast answers, people who are no users, mentions, the wave before."""
        s = truth.s
        return (
            Trap(
                "fast_kept",
                "exception",
                "fast",
                0,
                "base",
                "The base is given as {value}, with answers too fast to be read",
                ("field",),
            ),
            Trap(
                "outsiders_kept",
                "lookalike",
                "outside",
                0,
                "base",
                "The base is given as {value}, with people who are no users",
                ("field",),
            ),
            Trap(
                "mentions_taken",
                "unit",
                "mine",
                s.mentions,
                "share",
                "The share is given as {value}, of mentions",
                ("answers", RUMOUR),
            ),
            Trap(
                "wave_before",
                "cutoff",
                "mine",
                s.last_named,
                "share",
                "The share is given as {value}, that of the wave before",
                ("answers",),
            ),
        )

    def sources(self, truth: ReadingTruth) -> tuple[Source, ...]:
        """Method, field report, answers and the other wave."""
        s, axes, today = truth.s, truth.axes, truth.frozen_time[:10]
        method = (
            ("lead shows from", f"{decimal(s.margin)} points, else open"),
            ("share", "of the base, users who prefer it"),
        )
        field = (
            ("interviews", str(s.completes)),
            ("too fast, not counted,", str(s.fast)),
            ("no users, not counted,", str(s.outside)),
        )
        answers = (
            *((f"{name} preferred by", str(n)) for name, n in s.named.items()),
            (f"{truth.company} mentions", str(s.mentions)),
        )
        return (
            Source("method", "method.txt", f"{axes['stage']} rules", method, today),
            Source("field", "field.txt", f"{axes['sample']} {axes['sector']} {axes['region']}", field, today),
            Source("answers", "answers.txt", f"{axes['question']} this wave", answers, today),
            Source(
                "before", "before.txt", "wave before", ((f"{truth.company} preferred by", str(s.last_named)),), today
            ),
        )

    def looks(self, truth: ReadingTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Rules, field report, answers, the other wave."""
        return ("method", "field", "answers", "before")

    def aside(self, truth: ReadingTruth) -> frozenset[str]:
        """The other wave, which is not mixed in."""
        return frozenset({"before"})

    def remarks(self, truth: ReadingTruth) -> tuple[Remark, ...]:
        """What is counted."""
        return (
            Remark(
                "persons",
                "mentions are not persons",
                (("mentions", "mention"),),
                ("persons", "people", "person", "respondents", "respondent", "users", "interviews"),
                "says why mentions are left out, which is what they are not",
                ("method",),
                true=False,
            ),
        )

    def drive(self, truth: ReadingTruth, drive: Drive) -> None:
        """The rules and the field, then the answers."""
        customers.put_method(drive, truth.s, "partner", "analyst")
        customers.put_answers(drive, truth.s, "analyst", "lead", "expert")
        customers.put_before(drive, truth.s, "analyst")
