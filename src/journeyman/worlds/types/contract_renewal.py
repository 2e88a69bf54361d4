"""law.contract_renewal: until when a contract runs, by the paper that governs and the day the notice counts."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap
from journeyman.worlds.families import contracts
from journeyman.worlds.families.contracts import Contract, end_of
from journeyman.worlds.lexicon import shift_date

DERIVATION = Derivation(
    ("start", "signed", "terms", "notices", "received", "renewal", "monthly"),
    Step("governing", "choose", ("signed",), lambda signed: [p for p, by in signed.items() if by == "both"][-1]),
    Step("term", "look_up", ("governing", "terms"), lambda g, terms: terms[g]),
    Step("end", "accrue", ("start", "term"), end_of),
    Step("days", "look_up", ("governing", "notices"), lambda g, notices: notices[g]),
    Step("deadline", "difference", ("end", "days"), lambda end, days: shift_date(end, -days)),
    Step("counted", "choose", ("received",), lambda received: received),
    Step("verdict", "compare", ("counted", "deadline"), lambda c, d: "timely" if c <= d else "late"),
    Step("added", "decide", ("verdict", "renewal"), lambda v, months: 0 if v == "timely" else months),
    Step("last", "accrue", ("start", "term", "added"), lambda start, term, more: end_of(start, term + more)),
    Step("cost", "product", ("added", "monthly"), lambda months, fee: months * fee),
)


class RenewalTruth(CaseTruth):
    """One contract about to end or to be renewed."""

    c: Contract


class ContractRenewal(CaseType[RenewalTruth]):
    """A contract, an amendment that may lack a signature, a proposal, and a notice under way for days."""

    name = "law.contract_renewal"
    domain: Domain = "law"
    practice_area = "corporate and contracts"
    own_axes = {
        "governing": ("contract", "amendment"),
        "verdict": ("timely", "late"),
        "goods": contracts.GOODS,
        "carrier": contracts.CARRIERS,
        "site": ("depot", "plant", "office", "clinic", "hotel"),
        "lead": ("sales", "buying", "legal"),
        "currency": CURRENCIES,
    }
    setting = {"site": "Site", "lead": "Asked for by"}
    roles = ("manager", "counsel", "buyer", "secretary", "controller", "partner")
    stakeholders = ("counsel", "buyer", "secretary", "controller", "partner")
    deliverables = ("opinion", "letter", "note")
    derivation = DERIVATION
    fields = (
        Field("paper", "Governing paper", "governing", "The {value} sets term and notice", ("contract", "amendment")),
        Field(
            "end", "End of the term", "end", "The term of the {c.goods} contract ends on {value}", ("contract",), 1.0
        ),
        Field("deadline", "Last day for notice", "deadline", "Notice was due by {value}", ("contract", "amendment")),
        Field(
            "counted",
            "Day the notice counts",
            "counted",
            "The notice counts on {value}, when it was received",
            ("notice",),
        ),
        Field(
            "verdict",
            "Notice, timely or late",
            "verdict",
            "The notice to {other_party} was {value}",
            ("contract", "notice"),
            1.0,
        ),
        Field("last", "Last day of the contract", "last", "The contract ends on {value}", ("contract", "notice")),
        Field("cost", "Fees of the added term", "cost", "The added term costs {value}", ("contract",), 1.0),
    )
    asks = {
        "train": (
            "Did our notice end the {c.goods} contract with {other_party}? Please work out the dates and the cost.",
            "Please find out until when {company} is bound by the {c.goods} contract of the {axes[site]}.",
            "We gave notice to {other_party} by {c.carrier}. Please work out whether it came in time.",
            "Our {axes[lead]} team at {company} asks when the {c.goods} contract ends. Please check our notice.",
        ),
        "validation": (
            "When does the {c.goods} contract with {other_party} end? Please check the notice we gave.",
            "The {axes[site]} wants to know when it is free of {other_party}. Please work it out.",
        ),
        "heldout": (
            "For {axes[lead]} it matters whether {other_party} still has the {c.goods} contract. Would you find out?",
            "{other_party} holds that the {c.goods} contract goes on. Would you check whether it does?",
            "A notice went to {other_party} by {c.carrier}, and its effect is in doubt. Would you clear that up?",
        ),
    }
    meaning = (
        "Give the paper as contract or amendment, days as in 2019-01-31, the notice as timely or late, and the fees "
        "of an added term or 0."
    )
    rumoured = "proposal"

    def draw(self, common: Common) -> RenewalTruth:
        """The facts of one world."""
        axes = common.axes
        made = contracts.simulate(common, governing=axes["governing"], late=axes["verdict"] == "late")
        return RenewalTruth(**{**common.given, "frozen_time": f"{made.today}T09:00:00Z"}, c=made)

    def facts(self, truth: RenewalTruth) -> dict[str, Value]:
        """The derivation's facts."""
        return {name: getattr(truth.c, name) for name in DERIVATION.facts}

    def traps(self, truth: RenewalTruth) -> tuple[Trap, ...]:
        """The paper that does not govern, the proposal, the day of sending."""
        c = truth.c
        other = "contract" if c.governing == "amendment" else "amendment"
        return (
            Trap(
                "other_paper",
                "supersession",
                "governing",
                other,
                "deadline",
                f"The last day for notice is given as {{value}}, by the {other}, which does not govern",
                ("contract", "amendment"),
            ),
            Trap(
                "proposal",
                "authority",
                "governing",
                "proposal",
                "deadline",
                "The last day for notice is given as {value}, by a proposal that nobody signed",
                ("proposal", RUMOUR),
            ),
            Trap(
                "day_of_sending",
                "exception",
                "counted",
                c.sent,
                "counted",
                "The notice is counted on {value}, when it was handed over",
                ("notice",),
            ),
        )

    def sources(self, truth: RenewalTruth) -> tuple[Source, ...]:
        """Contract, amendment, proposal and notice."""
        c, site = truth.c, truth.axes["site"]
        notices = {p: (f"{p} term", f"{c.terms[p]} months") for p in contracts.PAPERS}

        def paper(name: str, title: str, *more: tuple[str, str]) -> Source:
            pairs = (notices[name], ("notice", f"{c.notices[name]} days before the end"), ("signed by", c.signed[name]))
            return Source(name, f"{name}.txt", title, (*pairs, *more), c.dated[name])

        first = (("start", c.start), ("added term", f"{c.renewal} months"), ("monthly fee", str(c.monthly)))
        sent = ((f"{c.carrier} sent", c.sent), ("received, which counts,", c.received))
        return (
            paper("contract", f"{c.goods} contract of the {site}", *first),
            paper("amendment", f"{truth.company} amendment"),
            paper("proposal", f"{truth.axes['lead']} proposal"),
            Source("notice", "notice.txt", f"notice to {truth.other_party}", sent, c.received),
        )

    def looks(self, truth: RenewalTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """The papers in the order of their dates, then the notice."""
        return ("contract", "amendment", "proposal", "notice")

    def aside(self, truth: RenewalTruth) -> frozenset[str]:
        """The proposal, and the amendment where it lacks a signature."""
        return frozenset({"proposal", *({"amendment"} if truth.c.governing == "contract" else ())})

    def remarks(self, truth: RenewalTruth) -> tuple[Remark, ...]:
        """Which rule the notice is judged by."""
        return (
            Remark(
                "receipt",
                "a notice counts on the day it is received",
                (("count", "counts", "counted", "effective", "effect", "decisive", "decides", "matters"),),
                ("receipt", "received", "receives", "arrival", "arrived", "arrives", "reached", "reaches"),
                "says on what day a notice counts, that of sending or that of receipt",
                ("contract",),
            ),
        )

    def drive(self, truth: RenewalTruth, drive: Drive) -> None:
        """Papers with their signatures, and the trail of the notice."""
        contracts.put_contract(drive, truth.c, "manager", "counsel")
        contracts.put_changes(drive, truth.c, "manager", "counsel")
        contracts.put_trail(drive, truth.c, "manager", "secretary", "buyer")
