"""operations.batch_release: whether a batch ships, by revision, customer limit, valid readings and deviations."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep, ServiceGrant, Size
from journeyman.worlds.cases.authored import RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import COUNTS, LEFT_OUT, CaseTruth, Claim, Field, Remark, Source, Systems, Trap
from journeyman.worlds.criteria import any_of, check, none_of
from journeyman.worlds.families import manufacturing
from journeyman.worlds.families.manufacturing import Batch
from journeyman.worlds.lexicon import shift_date, working_day
from journeyman.worlds.scripts import call


def _decide(over: int, allowed: int, deviation: str) -> str:
    if deviation == "open":
        return "block"
    return "rework" if over > allowed else "release"


DERIVATION = Derivation(
    ("made", "newer_from", "revisions", "limits", "customer", "readings", "void", "size", "step", "deviation"),
    Step("revision", "choose", ("made", "newer_from", "revisions"), lambda m, f, r: r[1] if m >= f else r[0]),
    Step("spec", "look_up", ("revision", "limits"), lambda r, limits: limits[r]),
    Step("bound", "limit", ("spec", "customer"), min),
    Step("counted", "filter", ("readings", "void"), lambda r, v: tuple(x for p, x in r.items() if p != v)),
    Step("worst", "rank", ("counted",), max),
    Step("over", "count", ("counted", "bound"), lambda c, b: sum(x > b for x in c)),
    Step("allowed", "classify", ("size", "step"), lambda size, step: int(size > step)),
    Step("decision", "decide", ("over", "allowed", "deviation"), _decide),
)
STATUS = {"release": "released", "rework": "reworked", "block": "blocked"}


class BatchTruth(CaseTruth):
    """One batch that waits."""

    made: Batch
    batch: str
    product: str
    measure: str
    customer: str
    site: str


class BatchRelease(CaseType[BatchTruth]):
    """Release, rework or block, with a live MES and a live GRC."""

    name = "operations.batch_release"
    domain: Domain = "operations"
    practice_area = "manufacturing and quality"
    own_axes = {
        "revision": ("older", "newer"),
        "bound": ("spec", "customer"),
        "decision": ("release", "rework", "block"),
        "lot": ("small", "large"),
        "product": manufacturing.PRODUCTS,
        "measure": manufacturing.MEASURES,
        "deviation": manufacturing.DEVIATIONS,
        "site": ("north", "south", "river", "harbour"),
    }
    setting = {"site": "Plant"}
    roles = ("customer_contact", "operator", "planner", "plant_manager", "laboratory", "quality_lead")
    stakeholders = ("quality_lead", "plant_manager", "planner", "operator", "customer_contact")
    deliverables = ("report", "paper", "record")
    derivation = DERIVATION
    fields = (
        Field(
            "revision",
            "Revision",
            "revision",
            "Batch {batch} was made under revision {value}",
            ("spec",),
            1.0,
            group="authority",
        ),
        Field("spec", "Spec limit", "spec", "The specification's limit is {value}", ("spec",)),
        Field("bound", "Bound", "bound", "The limit that binds {batch} is {value}", ("spec", "agreement")),
        Field("worst", "Worst reading", "worst", "The worst {measure} that counts is {value}", ("mes.readings.R-1",)),
        Field("over", "Over, in pieces", "over", "Pieces over the limit: {value}", ("spec", "agreement"), 1.0),
        Field("decision", "Decision", "decision", "The decision on {batch} is {value}", ("agreement",)),
    )
    asks = {
        "train": (
            "Please decide batch {batch}: should it be released, reworked or blocked?",
            "May {product} batch {batch} ship to {customer}? Please decide it.",
            "Please check the {measure} of batch {batch} from {site} and decide it.",
            "Batch {batch} waits at {site}. Please check its {measure} and decide.",
        ),
        "validation": (
            "Batch {batch} is still to be decided. Please check its {measure}.",
            "The {site} plant asks what becomes of {batch}. Please decide.",
        ),
        "heldout": (
            "For {customer} the {site} plant made {batch}. Would you decide what becomes of it?",
            "Would you see what the {measure} of {batch} allows, and decide it?",
            "Batch {batch}, a {product} batch, has no decision yet. Would you make it?",
        ),
    }
    meaning = (
        "Give the revision by its letter, over as pieces above the bound, and the decision as release, rework or "
        "block, also in the mes."
    )
    rumoured = "looser_limit"

    def draw(self, common: Common) -> BatchTruth:
        """The facts of one world."""
        made = manufacturing.simulate_batch(common)
        return BatchTruth(
            **common.given,
            made=made,
            batch=made.batch_id,
            product=common.axes["product"],
            measure=common.axes["measure"],
            customer=common.given["other_party"],
            site=common.axes["site"],
        )

    def facts(self, truth: BatchTruth) -> dict[str, Value]:
        """The derivation's facts."""
        b = truth.made
        return {
            "made": b.made,
            "newer_from": b.newer_from,
            "revisions": b.revisions,
            "limits": b.limits,
            "customer": b.customer_limit,
            "readings": b.readings,
            "void": b.void,
            "size": b.size,
            "step": b.step,
            "deviation": b.deviation_status,
        }

    def traps(self, truth: BatchTruth) -> tuple[Trap, ...]:
        """The other revision, the looser limit, the void reading, and the deviation that is (not) this batch's."""
        b, right = truth.made, self.right(truth)
        other = next(r for r in b.revisions if r != right["revision"])
        seen = ("closed", "D-1") if b.deviation_status == "open" else ("open", "D-2")
        return (
            Trap(
                "other_revision",
                "supersession",
                "revision",
                other,
                "spec",
                "The specification's limit is given as {value}, that of a revision {batch} was not made under",
                ("spec",),
            ),
            Trap(
                "looser_limit",
                "claim",
                "bound",
                max(right["spec"], b.customer_limit),
                "bound",
                "The binding limit is given as {value}, the looser of two",
                ("spec", "agreement", RUMOUR),
                -3.0,
            ),
            Trap(
                "void_counted",
                "exception",
                "void",
                "",
                "worst",
                "The worst {measure} is given as {value}, a reading that was withdrawn",
                (f"mes.readings.R-{b.void}",),
                -3.0,
            ),
            Trap(
                "other_deviation",
                "lookalike",
                "deviation",
                seen[0],
                "decision",
                "The decision on {batch} is {value}, by a deviation read wrongly",
                (f"grc.findings.{seen[1]}",),
            ),
        )

    def sources(self, truth: BatchTruth) -> tuple[Source, ...]:
        """Specification and the customer's agreement, with the sampling plan."""
        b = truth.made
        older, newer = b.revisions
        spec = (
            (f"limit {older}", str(b.limits[older])),
            (f"limit {newer}", str(b.limits[newer])),
            (f"{newer} for batches from", b.newer_from),
        )
        agreed = (
            ("limit", str(b.customer_limit)),
            (f"size above {b.step}", "one over passes"),
            ("open deviation", "block"),
            ("two limits", "the stricter binds"),
            ("void readings", "no readings"),
        )
        return (
            Source("spec", "spec.txt", f"{truth.site} {truth.product} {truth.measure}", spec, b.newer_from),
            Source("agreement", "agreement.txt", f"{truth.customer}", agreed, shift_date(b.made, -300)),
        )

    def looks(self, truth: BatchTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """The batch, its readings, its deviations, specification and agreement."""
        return (
            call(("mes__get_batch", {"batch_id": truth.batch})),
            call(("mes__list_readings", {"batch_id": truth.batch})),
            call(("grc__list_findings", {"subject": truth.batch})),
            "spec",
            "agreement",
        )

    def systems(self, truth: BatchTruth, size: Size) -> Systems:
        """MES and GRC; more of the MES in the standard world."""
        tools = ("get_batch", "list_readings", "decide_batch")
        more = ("list_batches",) if size == "standard" else ()
        grants = (
            ServiceGrant(service="mes", actor="quality", tools=(*tools, *more)),
            ServiceGrant(service="grc", actor="viewer", tools=("list_findings",)),
        )
        return Systems(grants, manufacturing.batch_rows(truth.made, truth.product))

    def acts(self, truth: BatchTruth, values: Mapping[str, Value]) -> tuple[PlanStep, ...]:
        """Decide the batch."""
        return (call(("mes__decide_batch", {"batch_id": truth.batch, "decision": values["decision"]})),)

    def wrong_acts(self, truth: BatchTruth) -> dict[str, tuple[PlanStep, ...]]:
        """Nothing decided, another batch decided, shipped or held against the figures."""
        decision = self.right(truth)["decision"]
        wrong = "block" if decision == "release" else "release"
        return {
            "omitted_update": (),
            "wrong_record": (call(("mes__decide_batch", {"batch_id": truth.made.other_id, "decision": decision})),),
            "opposite": (call(("mes__decide_batch", {"batch_id": truth.batch, "decision": wrong})),),
        }

    def claims(self, truth: BatchTruth) -> tuple[Claim, ...]:
        """The batch ends as decided; another batch is left waiting."""
        b, decision = truth.made, self.right(truth)["decision"]
        batches = {"service": "mes", "table": "batches"}

        def ends(status: str) -> dict[str, str]:
            return {"batch_id": b.batch_id, "status": status}

        done = check("service_rows", **batches, where=ends(STATUS[decision]))
        wrong = any_of(*(check("service_rows", **batches, where=ends(s)) for d, s in STATUS.items() if d != decision))
        waits = check("service_rows", **batches, where={"batch_id": b.other_id}, expect={"status": "waiting"})
        asks, record = "Batch {batch} is decided in the mes", f"mes.batches.{b.batch_id}"
        return (
            Claim("settled", f"Batch {{batch}} is {STATUS[decision]} in the mes", 2.0, done, asks, (record,)),
            Claim(
                "error_wrong_status",
                f"Batch {{batch}} is decided, and not {STATUS[decision]}",
                -2.0,
                wrong,
                asks,
                (record,),
            ),
            Claim(
                "error_other_batch",
                "Batch {other}, which nobody asked about, was decided".replace("{other}", b.other_id),
                -2.0,
                none_of(waits),
                asks,
                (f"mes.batches.{b.other_id}",),
            ),
        )

    def remarks(self, truth: BatchTruth) -> tuple[Remark, ...]:
        """Which piece does not count."""
        piece = f"piece {truth.made.void}"
        return (
            Remark(
                "void_piece",
                f"the reading of {piece} does not count",
                ((piece, f"piece no. {truth.made.void}", f"piece number {truth.made.void}"),),
                (*COUNTS, "valid"),
                "says which piece's reading does not count",
                ("void",),
                (*LEFT_OUT, "void", "invalid", "voided", "discarded"),
                true=False,
            ),
        )

    def drive(self, truth: BatchTruth, drive: Drive) -> None:
        """Specification, agreement, laboratory, deviations, and the rules of release."""
        b = truth.made
        lead, lab = "quality_lead", "laboratory"
        manufacturing.put_batch(drive, b, truth.product, truth.measure, truth.customer, lead, lab)
        drive.paper(
            "rules",
            "policies/batch_release.docx",
            "Release of batches",
            by="quality_lead",
            dated=working_day(b.made, -260),
            reference="POL/QA/7",
            rules=(
                "The revision in force on the day a batch was made sets the limit of the specification.",
                "Where a customer agreed a limit, the stricter of the two binds. Nobody may promise the looser one.",
                "A void reading does not count, for the worst reading as for the pieces over the limit.",
                f"In batches of more than {b.step} pieces one piece over the limit may pass; in others none.",
                "A batch with an open deviation is blocked, whatever its readings. Otherwise it is reworked if too "
                "many pieces are over, and released if not.",
            ),
        )
