"""law.diligence_findings: which contracts of a target still need a consent for the deal, and what follows."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap, decimal, percent
from journeyman.worlds.families import datarooms
from journeyman.worlds.families.datarooms import TRIGGERS, Room

DERIVATION = Derivation(
    ("deal", "clauses", "letter", "ended", "consents", "revenues", "total", "limit"),
    Step("kinds", "choose", ("clauses", "letter"), lambda clauses, letter: {**clauses, **letter}),
    Step("hit", "filter", ("kinds", "deal"), lambda k, deal: tuple(n for n, c in k.items() if c == TRIGGERS[deal])),
    Step("live", "filter", ("hit", "ended"), lambda hit, ended: tuple(n for n in hit if n != ended)),
    Step("open", "filter", ("live", "consents"), lambda live, c: tuple(n for n in live if c.get(n) != "given")),
    Step("count", "count", ("open",), len),
    Step("largest", "rank", ("open", "revenues"), lambda names, revenues: max(names, key=lambda n: revenues[n])),
    Step("revenue", "sum", ("open", "revenues"), lambda names, revenues: sum(revenues[n] for n in names)),
    Step("share", "ratio", ("revenue", "total"), percent),
    Step("advice", "classify", ("share", "limit"), lambda s, limit: "condition" if s >= 100 * limit else "covenant"),
)


class FindingsTruth(CaseTruth):
    """One room to be read."""

    r: Room


class DiligenceFindings(CaseType[FindingsTruth]):
    """Five contracts, a side letter, an ended contract and a consent that may only have been asked for."""

    name = "law.diligence_findings"
    domain: Domain = "law"
    practice_area = "corporate and contracts"
    own_axes = {
        "deal": ("share", "asset"),
        "letter": ("adds", "removes"),
        "consent": ("given", "asked"),
        "advice": ("condition", "covenant"),
        "sector": ("energy", "retail", "software", "health", "freight", "food"),
        "side": ("buyer", "lender", "insurer"),
        "currency": CURRENCIES,
    }
    setting = {"sector": "Sector of the target", "side": "We act for the"}
    roles = ("associate", "partner", "seller", "counsel", "director", "banker")
    stakeholders = ("partner", "counsel", "director", "banker")
    deliverables = ("findings", "report", "table")
    derivation = DERIVATION
    fields = (
        Field(
            "count",
            "Contracts that need consent",
            "count",
            "{value} contracts still need a consent",
            ("clauses", "letter", "status"),
        ),
        Field("largest", "Largest of them", "largest", "The largest of them is that of {value}", ("room", "clauses")),
        Field("revenue", "Revenue at risk", "revenue", "Revenue of {value} needs a consent", ("room", "clauses"), 3.0),
        Field("share", "Share of revenue, percent", "share", "That is {value} percent", ("room",), 2.0, decimal),
        Field("advice", "Consents become", "advice", "The consents become a {value} of the deal", ("terms",), 1.0),
    )
    asks = {
        "train": (
            "Which contracts of {other_party} need a consent for our {axes[sector]} deal? Please put figures to them.",
            "Please read the data room of {other_party} for the {axes[side]} and put figures to the consents that "
            "are missing.",
            "{company} plans a {axes[sector]} deal over {other_party}. Please find which consents are still open.",
            "Please find the consents that the deal over {other_party} still needs, and what revenue hangs on them.",
        ),
        "validation": (
            "Whose consent does the deal over {other_party} still lack? Please put figures to it.",
            "The {axes[side]} asks for the open consents at {other_party}. Please find them.",
        ),
        "heldout": (
            "For the {axes[side]} it counts how much {axes[sector]} revenue hangs on missing consents. Would you "
            "work it out?",
            "A deal over {other_party} is near. Would you read its room for consents that are missing?",
            "Before {company} signs, it has to know the open consents at {other_party}. Would you find them?",
        ),
    }
    meaning = (
        "Count the contracts, name the largest, give the share in percent with two decimals, and the advice as "
        "condition or covenant."
    )
    rumoured = "both_clauses"

    def draw(self, common: Common) -> FindingsTruth:
        """The facts of one world."""
        axes = common.axes
        made = datarooms.simulate(
            common,
            deal=axes["deal"],
            adds=axes["letter"] == "adds",
            given=axes["consent"] == "given",
            condition=axes["advice"] == "condition",
        )
        return FindingsTruth(**common.given, r=made)

    def facts(self, truth: FindingsTruth) -> dict[str, Value]:
        """The derivation's facts."""
        return {name: getattr(truth.r, name) for name in DERIVATION.facts}

    def traps(self, truth: FindingsTruth) -> tuple[Trap, ...]:
        """Clauses as first signed, both kinds of clause, the ended contract, the consent misread."""
        r, right = truth.r, self.right(truth)
        either = tuple(name for name, clause in right["kinds"].items() if clause != "none")
        given = r.consents[r.consent] == "given"
        return (
            Trap(
                "no_letter",
                "supersession",
                "kinds",
                r.clauses,
                "revenue",
                "Revenue is given as {value}, by clauses that a side letter replaced",
                ("clauses",),
            ),
            Trap(
                "both_clauses",
                "lookalike",
                "hit",
                either,
                "revenue",
                "Revenue is given as {value}, with a clause that this kind of deal does not trigger",
                ("clauses", RUMOUR),
            ),
            Trap(
                "ended_counted",
                "cutoff",
                "live",
                right["hit"],
                "revenue",
                "Revenue is given as {value}, with the contract of {r.ended} that has ended",
                ("status",),
            ),
            Trap(
                "consent_misread",
                "authority",
                "open",
                right["live"] if given else tuple(n for n in right["live"] if n != r.consent),
                "revenue",
                f"Revenue is given as {{value}}, {'with' if given else 'without'} the contract of {{r.consent}}",
                ("status",),
            ),
        )

    def sources(self, truth: FindingsTruth) -> tuple[Source, ...]:
        """Room, clauses, letter, status and terms."""
        r, today, axes = truth.r, truth.frozen_time[:10], truth.axes
        (name, clause), given = next(iter(r.letter.items())), r.consents[r.consent]
        revenues = (*((n, str(v)) for n, v in r.revenues.items()), ("all customers", str(r.total)))
        state = ((f"{r.ended} contract", "has ended"), (f"{r.consent} consent", f"{given}"))
        needs = (("share deal", "needs consent under control"), ("asset deal", "under assignment"))
        terms = (*needs, ("deal", f"{r.deal} deal"), (f"condition from {r.limit} percent, else", "covenant"))
        return (
            Source("room", "room.txt", f"{axes['sector']} revenue {truth.currency}", revenues, today),
            Source("clauses", "clauses.txt", "clauses as signed", tuple(r.clauses.items()), r.signed_on),
            Source("letter", "letter.txt", "letter signed by both", ((f"{name} clause now", clause),), r.signed_on),
            Source("status", "status.txt", f"{truth.other_party} status", state, today),
            Source("terms", "terms.txt", f"{axes['side']} terms", terms, today),
        )

    def looks(self, truth: FindingsTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Terms, room, clauses and what came later."""
        return ("terms", "room", "clauses", "letter", "status")

    def remarks(self, truth: FindingsTruth) -> tuple[Remark, ...]:
        """Which kind of clause the deal triggers."""
        kind = TRIGGERS[truth.r.deal]
        return (
            Remark(
                "trigger",
                f"clauses on {kind} matter in this deal",
                ((kind,),),
                (
                    "matter",
                    "matters",
                    "need",
                    "needs",
                    "require",
                    "requires",
                    "trigger",
                    "triggers",
                    "triggered",
                    "relevant",
                ),
                "says clauses of which kind matter in this deal",
                ("terms",),
                rivals=tuple(t for t in TRIGGERS.values() if t != kind),
                alone=True,
            ),
        )

    def drive(self, truth: FindingsTruth, drive: Drive) -> None:
        """The room, then what came later."""
        datarooms.put_room(drive, truth.r, "seller", "associate")
        datarooms.put_later(drive, truth.r, "partner", "associate", "seller")
