"""consulting.spans_layers: how wide a department is led, in how many layers, and what leads too many cost."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap, decimal, spelled
from journeyman.worlds.families import organisations
from journeyman.worlds.families.organisations import GRADES, Department, leads_needed, span

DERIVATION = Derivation(
    ("posts", "vacant", "contractors", "titled", "alone", "guide", "cost"),
    Step("filled", "difference", ("posts", "vacant"), lambda posts, vacant: posts - vacant),
    Step("staff", "difference", ("filled", "contractors"), lambda filled, others: filled - others),
    Step("leading", "filter", ("titled", "alone"), lambda titled, alone: {g: titled[g] - alone[g] for g in titled}),
    Step("leads", "sum", ("leading",), lambda leading: sum(leading.values())),
    Step("layers", "count", ("leading",), lambda leading: sum(n > 0 for n in leading.values())),
    Step("span", "ratio", ("staff", "leads"), span),
    Step("needed", "ratio", ("staff", "guide"), leads_needed),
    Step("surplus", "difference", ("leads", "needed"), lambda leads, needed: leads - needed),
    Step("saving", "product", ("surplus", "cost"), lambda surplus, cost: surplus * cost),
)


class SpansTruth(CaseTruth):
    """One department to be measured."""

    d: Department


class SpansLayers(CaseType[SpansTruth]):
    """Posts that are not people, titles that lead nobody, and a guideline that replaced another."""

    name = "consulting.spans_layers"
    domain: Domain = "consulting"
    practice_area = "cost and operating model"
    own_axes = {
        "flat_grade": ("none", "two", "three"),
        "unit": ("finance", "sales", "supply", "service", "research"),
        "site": ("north", "south", "centre"),
        "style": ("matrix", "line", "project"),
        "stage": ("baseline", "design", "delivery"),
        "reason": ("merger", "growth", "budget"),
        "currency": CURRENCIES,
    }
    setting = {"site": "Site", "style": "Organisation", "stage": "Stage of the project", "reason": "Ahead of a"}
    roles = ("hr_lead", "partner", "client_cfo", "analyst", "planner", "controller")
    stakeholders = ("partner", "client_cfo", "analyst", "planner", "controller")
    deliverables = ("table", "workbook", "brief")
    derivation = DERIVATION
    fields = (
        Field("staff", "Staff that counts", "staff", "The staff of {axes[unit]} is {value}", ("register", "guideline")),
        Field(
            "leads", "Leads that lead", "leads", "{value} people of {axes[unit]} lead somebody", ("leads", "guideline")
        ),
        Field("layers", "Layers", "layers", "{axes[unit]} has {value} layers", ("leads",), 1.0),
        Field("span", "Span", "span", "The span of {axes[unit]} is {value}", ("register", "leads"), 2.0, decimal),
        Field(
            "surplus", "Leads above the guideline", "surplus", "{value} leads are above the guideline", ("guideline",)
        ),
        Field("saving", "Saving a year", "saving", "They cost {value} thousand a year", ("cost",), 1.0),
    )
    asks = {
        "train": (
            "Please measure spans and layers of {axes[unit]} at {company}. We want to know which leads could be saved.",
            "How many leads of {axes[unit]} in the {axes[site]} are too many? Please work it out.",
            "Please work out the span of {axes[unit]} before the {axes[reason]}, and what surplus leads cost.",
            "{company} reviews {axes[unit]}, a {axes[style]} organisation. Please count its leads against the "
            "guideline.",
        ),
        "validation": (
            "Is {axes[unit]} in the {axes[site]} led too closely? Please measure it.",
            "The {axes[stage]} needs the span of {axes[unit]}. Please work it out.",
        ),
        "heldout": (
            "With the {axes[reason]} ahead, {company} asks how {axes[unit]} is led. Would you measure it?",
            "In a {axes[style]} organisation like {axes[unit]} leads are hard to count. Would you do it?",
            "Would you find out for the {axes[stage]} whether {axes[unit]} has leads to spare?",
        ),
    }
    meaning = (
        "Give the span with two decimals, the leads above the guideline as surplus, and the saving in thousands a year."
    )
    rumoured = "titles_counted"

    def draw(self, common: Common) -> SpansTruth:
        """The facts of one world."""
        return SpansTruth(**common.given, d=organisations.simulate_department(common))

    def facts(self, truth: SpansTruth) -> dict[str, Value]:
        """The derivation's facts."""
        return {name: getattr(truth.d, name) for name in DERIVATION.facts}

    def traps(self, truth: SpansTruth) -> tuple[Trap, ...]:
        """Vacant posts, contractors, titles that lead nobody, the guideline before."""
        d = truth.d
        return (
            Trap(
                "vacant_counted",
                "exception",
                "vacant",
                0,
                "staff",
                "The staff is given as {value}, vacant posts included",
                ("register",),
            ),
            Trap(
                "contractors_counted",
                "lookalike",
                "contractors",
                0,
                "staff",
                "The staff is given as {value}, contractors included",
                ("register",),
            ),
            Trap(
                "titles_counted",
                "claim",
                "alone",
                dict.fromkeys(GRADES, 0),
                "leads",
                "The leads are given as {value}, by title",
                ("leads", RUMOUR),
            ),
            Trap(
                "old_guideline",
                "supersession",
                "guide",
                d.old_guide,
                "surplus",
                "Leads above the guideline are given as {value}, by the guideline of before",
                ("cost",),
            ),
        )

    def sources(self, truth: SpansTruth) -> tuple[Source, ...]:
        """Register, leads, guideline and cost."""
        d, axes, today = truth.d, truth.axes, truth.frozen_time[:10]
        register = (
            ("posts", str(d.posts)),
            ("vacant, not staff,", str(d.vacant)),
            ("contractors, not staff,", str(d.contractors)),
        )
        leads = tuple((f"grade {g}", f"{d.titled[g]} titles, {d.alone[g]} lead nobody") for g in GRADES)
        return (
            Source("register", "register.txt", f"{axes['unit']} posts {axes['site']}", register, today),
            Source("leads", "leads.txt", f"{axes['style']} leads", leads, today),
            Source(
                "guideline",
                "guideline.txt",
                f"{truth.company} guideline",
                (
                    ("staff a lead", str(d.guide)),
                    ("span", "staff without the head over leads"),
                    ("leads needed", "rounded up, for staff without the head"),
                ),
                today,
            ),
            Source(
                "cost",
                "cost.txt",
                f"{axes['stage']} cost {truth.currency}, {axes['reason']}",
                (("a lead", str(d.cost)), ("old guideline", str(d.old_guide))),
                today,
            ),
        )

    def looks(self, truth: SpansTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Posts, leads, guideline, cost."""
        return ("register", "leads", "guideline", "cost")

    def remarks(self, truth: SpansTruth) -> tuple[Remark, ...]:
        """That titles do not count."""
        alone = sum(truth.d.alone.values())
        return (
            Remark(
                "titles",
                f"{alone} people with a lead's title lead nobody",
                (spelled(alone),),
                ("lead nobody", "leads nobody", "lead no one", "lead no-one", "without reports", "have no reports"),
                "says how many people with a lead's title lead nobody",
                ("leads",),
                ("lead somebody", "lead anybody", "lead anyone", "lead others"),
            ),
        )

    def drive(self, truth: SpansTruth, drive: Drive) -> None:
        """The register, then the guideline."""
        organisations.put_register(drive, truth.d, "analyst", "hr_lead")
        organisations.put_guideline(drive, truth.d, "partner", "hr_lead", "client_cfo")
