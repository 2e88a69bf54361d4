"""law.damages_schedule: what of a loss the contract lets one recover, under its cap and with interest."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import LEFT_OUT, CaseTruth, Field, Remark, Source, Trap
from journeyman.worlds.families import litigation
from journeyman.worlds.families.litigation import Loss
from journeyman.worlds.lexicon import days_between

DERIVATION = Derivation(
    ("heads", "barred_head", "saved", "fees", "year", "percent", "daily", "due", "paid_until"),
    Step(
        "allowed", "filter", ("heads", "barred_head"), lambda h, out: tuple(v for name, v in h.items() if name != out)
    ),
    Step("loss", "sum", ("allowed", "saved"), lambda amounts, saved: sum(amounts) - saved),
    Step("fee", "look_up", ("fees", "year"), lambda fees, year: fees[year]),
    Step("cap", "product", ("fee", "percent"), lambda fee, percent: fee * percent // 100),
    Step("award", "limit", ("loss", "cap"), min),
    Step("late", "difference", ("due", "paid_until"), days_between),
    Step("interest", "accrue", ("daily", "late"), lambda daily, days: daily * days),
    Step("total", "sum", ("award", "interest"), lambda award, interest: award + interest),
)


class DamagesTruth(CaseTruth):
    """One loss to be scheduled."""

    x: Loss


class DamagesSchedule(CaseType[DamagesTruth]):
    """An expert's heads of loss against a contract that bars one, caps the rest and fixes interest."""

    name = "law.damages_schedule"
    domain: Domain = "law"
    practice_area = "litigation"
    own_axes = {
        "binding": ("loss", "cap"),
        "first_head": ("cover purchase", "repair", "storage"),
        "second_head": ("extra staff", "freight", "testing"),
        "barred": ("lost profit", "goodwill", "own management time"),
        "claim": litigation.WRONGS,
        "court": litigation.COURTS,
        "goods": ("pumps", "pallets", "panels", "valves"),
        "currency": CURRENCIES,
    }
    setting = {"goods": "Goods"}
    roles = ("associate", "partner", "counsel", "expert", "clerk", "controller")
    stakeholders = ("partner", "counsel", "controller")
    deliverables = ("schedule", "brief", "statement")
    derivation = DERIVATION
    fields = (
        Field(
            "loss", "Loss that may be claimed", "loss", "The loss that may be claimed is {value}", ("report", "clause")
        ),
        Field("cap", "Cap", "cap", "The cap is {value}, from the fee of {x.year}", ("clause", "fees")),
        Field(
            "award", "Damages after the cap", "award", "Damages after the cap are {value}", ("clause", "report"), 1.0
        ),
        Field("interest", "Interest", "interest", "Interest from default on is {value}", ("clause", "demand")),
        Field("total", "Total claim", "total", "{company} may claim {value} in all", ("clause", "report"), 3.0),
    )
    asks = {
        "train": (
            "Please draw up the damages that {company} may claim from {other_party} for the {x.kind} of {axes[goods]}.",
            "What may we claim from {other_party} over the {axes[goods]}? Please set it out in figures.",
            "We have to file our {x.kind} damages with the {axes[court]} court. Please draw up the schedule.",
            "The {axes[court]} court wants our {axes[goods]} damages. Please work them out.",
        ),
        "validation": (
            "How much does {other_party} owe us for the {axes[goods]}? Please work out the damages.",
            "Our {x.kind} damages before the {axes[court]} court are due. Please prepare the figures.",
        ),
        "heldout": (
            "For the {axes[court]} court the loss over {axes[goods]} has to be put into figures. Would you do that?",
            "{other_party} disputes our {x.kind} damages. Would you put them into figures?",
            "Would you find what the contract on {axes[goods]} lets {company} recover?",
        ),
    }
    meaning = "Amounts are in whole thousands, as of {x.paid_until}. The total is what may be claimed in all."
    rumoured = "saved_ignored"

    def draw(self, common: Common) -> DamagesTruth:
        """The facts of one world."""
        return DamagesTruth(**common.given, x=litigation.simulate_loss(common, binding=common.axes["binding"]))

    def facts(self, truth: DamagesTruth) -> dict[str, Value]:
        """The derivation's facts."""
        return {name: getattr(truth.x, name) for name in DERIVATION.facts}

    def traps(self, truth: DamagesTruth) -> tuple[Trap, ...]:
        """The barred head, what was saved, another year's fee, interest from the breach."""
        x = truth.x
        return (
            Trap(
                "barred_head",
                "exception",
                "allowed",
                tuple(x.heads.values()),
                "loss",
                "The loss is given as {value}, with {x.barred_head} in it",
                ("report", "clause"),
            ),
            Trap(
                "saved_ignored",
                "claim",
                "saved",
                0,
                "loss",
                "The loss is given as {value}, before what was saved",
                ("report", RUMOUR),
            ),
            Trap(
                "other_year",
                "lookalike",
                "year",
                x.last_year,
                "cap",
                "The cap is given as {value}, from the fee of {x.last_year}",
                ("fees",),
            ),
            Trap(
                "from_breach",
                "cutoff",
                "due",
                x.breach,
                "interest",
                "Interest is given as {value}, from the breach on",
                ("demand",),
            ),
        )

    def sources(self, truth: DamagesTruth) -> tuple[Source, ...]:
        """Clause, fees, the expert's report and the demand."""
        x, axes = truth.x, truth.axes
        clause = (
            ("not claimed", x.barred_head),
            ("cap", f"{x.percent} percent of the fee of {x.year}, interest on top"),
            ("interest", f"{x.daily} a day from due, the last day, {x.paid_until}, not counted"),
        )
        report = (*((name, str(value)) for name, value in x.heads.items()), ("saved, to take off,", str(x.saved)))
        fees = tuple((f"fee {year}", str(fee)) for year, fee in x.fees.items())
        demand = (("breach", x.breach), ("due", x.due))
        return (
            Source("clause", "clause.txt", f"{axes['goods']} contract", clause, x.breach),
            Source("fees", "fees.txt", f"{truth.other_party} {truth.currency}", fees, x.breach),
            Source("report", "expert.txt", f"{axes['court']} expert, {x.kind}", report, x.paid_until),
            Source("demand", "demand.txt", f"{x.kind} demand", demand, x.due),
        )

    def looks(self, truth: DamagesTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """The clause, its fees, then the loss and the demand."""
        return ("clause", "fees", "report", "demand")

    def remarks(self, truth: DamagesTruth) -> tuple[Remark, ...]:
        """Which head is left out."""
        head = truth.x.barred_head
        return (
            Remark(
                "barred",
                f"{head} is not claimed",
                ((head,),),
                ("claimed", "claimable", "recoverable", "recovered", "made good", "allowed"),
                "says which head of loss is not claimed",
                ("clause",),
                (*LEFT_OUT, "barred", "not owed"),
                tuple(n for n in truth.x.heads if n != head),
                true=False,
            ),
        )

    def drive(self, truth: DamagesTruth, drive: Drive) -> None:
        """The contract's section, fees, and the evidence."""
        litigation.put_contract(drive, truth.x, "partner", "counsel")
        litigation.put_evidence(drive, truth.x, "expert", "counsel", "clerk")
