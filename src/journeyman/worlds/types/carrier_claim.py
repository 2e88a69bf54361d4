"""operations.carrier_claim: what a carrier owes for harmed goods by the terms that govern, if told in time."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep, ServiceGrant, Size
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, SITES, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Claim, Field, Remark, Source, Systems, Trap, spelled
from journeyman.worlds.criteria import check, none_of
from journeyman.worlds.families import transport
from journeyman.worlds.families.transport import HarmedShipment
from journeyman.worlds.lexicon import days_between, working_day
from journeyman.worlds.scripts import call

DERIVATION = Derivation(
    ("shipped", "agreed", "paper", "limits", "periods", "kilos", "value", "salvage", "delivered", "noticed"),
    Step("governing", "choose", ("shipped", "agreed", "paper"), lambda s, a, p: p if s >= a else "terms"),
    Step("limit", "look_up", ("governing", "limits"), lambda g, limits: limits[g]),
    Step("ceiling", "product", ("kilos", "limit"), lambda k, r: k * r),
    Step("loss", "difference", ("value", "salvage"), lambda v, s: v - s),
    Step("claim", "limit", ("ceiling", "loss"), min),
    Step("days", "accrue", ("delivered", "noticed"), days_between),
    Step("period", "look_up", ("governing", "periods"), lambda g, periods: periods[g]),
    Step("decision", "decide", ("days", "period"), lambda d, p: "claim" if d <= p else "drop"),
)


RULES = (  # of the compact world; the standard one has the rules of the desk
    ("loss", "value less salvage"),
    ("claim", "the lower of loss and ceiling, kilos by limit"),
    ("days", "from delivery in the tms"),
)


class ClaimTruth(CaseTruth):
    """One shipment that arrived harmed."""

    harmed: HarmedShipment
    carrier: str
    other_carrier: str
    shipment: str
    goods: str
    harm: str
    site: str
    mode: str


class CarrierClaim(CaseType[ClaimTruth]):
    """A claim under the document of the shipping day, with a live TMS to file it in or close it."""

    name = "operations.carrier_claim"
    domain: Domain = "operations"
    practice_area = "logistics"
    own_axes = {
        "governing": ("terms", "paper"),
        "notice": ("timely", "late"),
        "binding": ("limit", "loss"),
        "harm": transport.HARMS,
        "paper": transport.PAPERS,
        "goods": transport.GOODS,
        "mode": transport.MODES,
        "site": SITES,
        "currency": CURRENCIES,
    }
    setting = {"mode": "Carried by", "site": "Received at the"}
    roles = ("clerk", "supervisor", "planner", "surveyor", "safety_lead", "treasurer")
    stakeholders = ("supervisor", "planner", "safety_lead", "treasurer")
    deliverables = ("letter", "report", "record")
    derivation = DERIVATION
    fields = (
        Field(
            "document",
            "Governing document",
            "governing",
            "The {value} governs the shipment {shipment}",
            ("paper",),
            1.0,
            group="authority",
        ),
        Field("ceiling", "Ceiling", "ceiling", "The carrier owes at most {value} for {shipment}", ("survey", "terms")),
        Field("loss", "Loss", "loss", "The loss of {shipment} is {value}, salvage taken off", ("survey",)),
        Field("claim", "Claim", "claim", "The claimable amount of {shipment} is {value}", ("survey",)),
        Field(
            "days",
            "Days to notice",
            "days",
            "Notice for {shipment} came {value} days after delivery",
            ("survey", "tms.shipments.{shipment}"),
        ),
        Field("decision", "Decision", "decision", "The decision on {shipment} is {value}", ("paper", "terms"), 1.0),
    )
    asks = {
        "train": (
            "Part of the {goods} of {shipment} was {harm}. Please work out what we can claim and act on it.",
            "What can we claim from {carrier} for {shipment}, if anything? Please see it through.",
            "Some of the {goods} that {carrier} brought under {shipment} was {harm}. Please claim or drop it.",
            "The {site} reports {goods} {harm} in {shipment}. Please work the case.",
        ),
        "validation": (
            "What does {carrier} owe us for {shipment}? Please settle the case.",
            "The {site} waits on the case of {shipment}. Please bring it to an end.",
        ),
        "heldout": (
            "At the {site} part of {shipment} was found {harm}. Would you settle the case with {carrier}?",
            "Part of the {goods} that came by {mode} was {harm}. Would you work out what {shipment} is worth to us?",
            "Would you see {shipment} through with {carrier}, whether it pays or not?",
        ),
    }
    meaning = (
        "Give the document as terms or {harmed.paper}, and the decision as claim or drop. Then file the claim or "
        "close the case in the tms."
    )
    rumoured = "drivers_day"

    def draw(self, common: Common) -> ClaimTruth:
        """The facts of one world."""
        made = transport.simulate(common)
        carrier = common.given["other_party"]
        return ClaimTruth(
            **common.given,
            harmed=made,
            carrier=carrier,
            other_carrier=f"{carrier.split()[0]} Express Ltd",
            shipment=made.shipment_id,
            goods=common.axes["goods"],
            harm=common.axes["harm"],
            site=common.axes["site"],
            mode=common.axes["mode"],
        )

    def facts(self, truth: ClaimTruth) -> dict[str, Value]:
        """The derivation's facts."""
        s = truth.harmed
        return {
            "shipped": s.shipped,
            "agreed": s.agreed_day,
            "paper": s.paper,
            "limits": s.limits,
            "periods": s.periods,
            "kilos": s.harmed,
            "value": s.value,
            "salvage": s.salvage,
            "delivered": s.delivered,
            "noticed": s.noticed,
        }

    def traps(self, truth: ClaimTruth) -> tuple[Trap, ...]:
        """The document that does not govern, the whole shipment's weight, salvage kept, the driver's day."""
        s = truth.harmed
        governing = self.right(truth)["governing"]
        other = next(d for d in s.limits if d != governing)
        return (
            Trap(
                "other_document",
                "supersession",
                "governing",
                other,
                "ceiling",
                "The ceiling of {shipment} is given as {value}, by a document that does not govern it",
                ("terms", "paper"),
                chance=0.15,
            ),
            Trap(
                "whole_weight",
                "lookalike",
                "kilos",
                s.kilos,
                "ceiling",
                "The ceiling of {shipment} is given as {value}, sound goods included",
                (f"tms.shipments.{s.shipment_id}",),
            ),
            Trap(
                "salvage_kept",
                "exception",
                "salvage",
                0,
                "loss",
                "The loss of {shipment} is given as {value}, salvage not taken off",
                ("survey",),
                -3.0,
            ),
            Trap(
                "drivers_day",
                "authority",
                "delivered",
                s.drivers_day,
                "days",
                "The days to notice of {shipment} are given as {value}, by the driver's memory",
                (RUMOUR,),
            ),
        )

    def sources(self, truth: ClaimTruth) -> tuple[Source, ...]:
        """Survey, terms and the paper agreed."""
        s = truth.harmed

        def clauses(document: str) -> tuple[tuple[str, str], ...]:
            return (("limit a kilo", str(s.limits[document])), ("days for notice", str(s.periods[document])))

        survey = (
            (f"kilos {truth.harm}", str(s.harmed)),
            ("value", str(s.value)),
            ("salvage", str(s.salvage)),
            ("notice", s.noticed),
        )
        since = (f"for {truth.mode} shipped from", s.agreed_day)
        return (
            Source("survey", "survey.txt", f"{truth.goods} at the {truth.site}, {truth.currency}", survey, s.noticed),
            Source("terms", "terms.txt", f"{truth.carrier} terms", (*clauses("terms"), *RULES), s.terms_day),
            Source("paper", f"{s.paper}.txt", f"{truth.company} {s.paper}", (since, *clauses(s.paper)), s.agreed_day),
        )

    def looks(self, truth: ClaimTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """The shipment, its survey, and both documents."""
        return (call(("tms__get_shipment", {"shipment_id": truth.shipment})), "survey", "terms", "paper")

    def aside(self, truth: ClaimTruth) -> frozenset[str]:
        """The document that does not govern."""
        return frozenset({"paper" if self.right(truth)["governing"] == "terms" else "terms"})

    def systems(self, truth: ClaimTruth, size: Size) -> Systems:
        """The TMS; more of it in the standard world."""
        tools = ("get_shipment", "file_claim", "close_case")
        more = ("list_shipments", "list_events", "list_claims") if size == "standard" else ()
        grant = ServiceGrant(service="tms", actor="claims_clerk", tools=(*tools, *more))
        return Systems((grant,), transport.tms_rows(truth.harmed, truth.carrier, truth.other_carrier))

    @staticmethod
    def _act(shipment: str, decision: str, amount: int) -> PlanStep:
        if decision == "claim":
            return call(("tms__file_claim", {"shipment_id": shipment, "amount": str(amount)}))
        return call(("tms__close_case", {"shipment_id": shipment, "reason": "notice too late"}))

    def acts(self, truth: ClaimTruth, values: Mapping[str, Value]) -> tuple[PlanStep, ...]:
        """File the claim, or close the case."""
        return (self._act(truth.shipment, values["decision"], values["claim"]),)

    def wrong_acts(self, truth: ClaimTruth) -> dict[str, tuple[PlanStep, ...]]:
        """Nothing done, another shipment's case worked, the opposite done, a claim filed twice."""
        values = self.right(truth)
        done = self._act(truth.shipment, values["decision"], values["claim"])
        opposite = "drop" if values["decision"] == "claim" else "claim"
        twice = {"claimed_twice": (done, done)} if values["decision"] == "claim" else {}
        return {
            "omitted_update": (),
            "wrong_record": (self._act(truth.harmed.other_id, values["decision"], values["claim"]),),
            "opposite": (self._act(truth.shipment, opposite, values["claim"]),),
            **twice,
        }

    def claims(self, truth: ClaimTruth) -> tuple[Claim, ...]:
        """The case ends as decided, once; the other carrier's case is left alone."""
        values, shipment, other = self.right(truth), truth.shipment, truth.harmed.other_id
        filed = check(
            "service_rows",
            service="tms",
            table="claims",
            where={"shipment_id": shipment},
            expect={"amount": values["claim"]},
            max=1,
        )
        shipments = {"service": "tms", "table": "shipments"}
        closed = check("service_rows", **shipments, where={"shipment_id": shipment, "status": "closed"})
        claimed = check("service_rows", service="tms", table="claims", where={"shipment_id": shipment})
        untouched = check("service_rows", **shipments, where={"shipment_id": other}, expect={"status": "open"})
        due = values["decision"] == "claim"
        asks, record = "The case of {shipment} is filed or closed in the tms", f"tms.shipments.{shipment}"
        ends = f"A claim of {values['claim']} is filed for {shipment}" if due else f"The case of {shipment} is closed"
        return (
            Claim("settled", ends, 2.0, filed if due else closed, asks, (record,)),
            Claim(
                "error_opposite",
                f"The case of {{shipment}} is {'closed' if due else 'claimed'}, which its days do not bear",
                -2.0,
                closed if due else claimed,
                asks,
                (record,),
            ),
            Claim(
                "error_other_case",
                "The case of another shipment, with {other_carrier}, was changed",
                -2.0,
                none_of(untouched),
                asks,
                (f"tms.shipments.{other}",),
            ),
        )

    def remarks(self, truth: ClaimTruth) -> tuple[Remark, ...]:
        """How much was harmed, and how."""
        s, harm = truth.harmed, truth.harm
        return (
            Remark(
                "harmed",
                f"{s.harmed} kilos were {harm}",
                (spelled(s.harmed),),
                (harm, "damaged", "harmed", "affected", "spoilt"),
                "says how many kilos were {harm}",
                ("survey",),
                ("sound", "intact", "undamaged"),
            ),
        )

    def drive(self, truth: ClaimTruth, drive: Drive) -> None:
        """Terms, agreement, consignment, survey, notice, the driver's sheet and the rules of the desk."""
        s = truth.harmed
        transport.put_terms(drive, s, truth.carrier, "clerk")
        transport.put_trail(drive, s, truth.carrier, truth.harm, truth.goods, "clerk", "surveyor")
        drive.paper(
            "rules",
            "policies/claims_desk.docx",
            "Rules of the claims desk",
            by="supervisor",
            dated=working_day(s.terms_day, 30),
            reference="POL/TR/5",
            rules=(
                "The document in force on the day the goods were handed over governs the claim.",
                "The ceiling is the limit a kilo times the gross kilos lost or harmed; sound goods do not count.",
                "The loss is the invoice value of the harmed goods less salvage. Claim the lower of ceiling and loss.",
                "Days to notice run from the delivery the system recorded. A claim noticed too late is dropped: its "
                "case is closed, and the claimable amount is still stated.",
                f"Name the governing document in one word: terms, or {s.paper}.",
            ),
        )
