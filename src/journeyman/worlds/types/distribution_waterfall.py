"""finance.distribution_waterfall: what one partner is paid from a sale, by the hurdle that is in force."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap
from journeyman.worlds.families import partners
from journeyman.worlds.families.partners import Waterfall

DERIVATION = Derivation(
    (
        "proceeds",
        "costs",
        "contributed",
        "recalled",
        "paid_on",
        "amended_on",
        "hurdles",
        "years",
        "carry",
        "investor",
        "shares",
    ),
    Step("distributable", "difference", ("proceeds", "costs"), lambda p, c: p - c),
    Step("capital", "difference", ("contributed", "recalled"), lambda c, r: c - r),
    Step("paper", "choose", ("paid_on", "amended_on"), lambda p, a: "amendment" if p >= a else "agreement"),
    Step("hurdle", "look_up", ("paper", "hurdles"), lambda paper, hurdles: hurdles[paper]),
    Step("preferred", "accrue", ("capital", "hurdle", "years"), lambda c, h, y: c * h * y // 100),
    Step(
        "manager",
        "allocate",
        ("distributable", "capital", "preferred", "carry"),
        lambda d, c, p, carry: partners.tiers(d, c, p, carry)[1],
    ),
    Step("to_partners", "difference", ("distributable", "manager"), lambda d, m: d - m),
    Step("share", "look_up", ("investor", "shares"), lambda name, shares: shares[name]),
    Step("payout", "product", ("to_partners", "share"), lambda total, share: total * share // 100),
)


class WaterfallTruth(CaseTruth):
    """One distribution to be worked out."""

    waterfall: Waterfall
    fund: str
    investor: str
    other_investor: str
    paid_on: str


class DistributionWaterfall(CaseType[WaterfallTruth]):
    """A distribution from an agreement, its amendment, a closing statement and the partners' list."""

    name = "finance.distribution_waterfall"
    domain: Domain = "finance"
    practice_area = "private equity and funds"
    own_axes = {
        "hurdle": ("5", "6", "7", "8"),
        "old_hurdle": ("5", "6", "7", "8"),
        "carry": ("10", "15", "20"),
        "years": ("2", "3", "4"),
        "strategy": ("buyout", "growth", "venture", "credit", "infra", "property"),
        "sold": ("brewery", "clinic", "railcar", "software", "bakery"),
        "currency": CURRENCIES,
    }
    setting = {"sold": "Business sold"}
    forbidden = tuple((("hurdle", h), ("old_hurdle", h)) for h in ("5", "6", "7", "8"))
    roles = ("manager", "accountant", "secretary", "auditor", "depositary", "counsel")
    stakeholders = ("manager", "secretary", "auditor", "depositary", "counsel")
    deliverables = ("schedule", "letter", "report")
    derivation = DERIVATION
    fields = (
        Field("net", "Distributable amount", "distributable", "{value} can be distributed by {fund}", ("sale",), 1.0),
        Field(
            "hurdle",
            "Hurdle in per cent",
            "hurdle",
            "The hurdle is {value} on {paid_on}",
            ("amendment",),
            2.0,
            "{}%".format,
        ),
        Field(
            "preferred", "Preferred return", "preferred", "The preferred return is {value}", ("capital", "amendment")
        ),
        Field("manager", "Amount to the manager", "manager", "The manager of {fund} receives {value}", ("agreement",)),
        Field("share", "Share in per cent", "share", "{investor} shares {value}", ("partners",), 1.0, "{}%".format),
        Field(
            "payout", "Amount to the partner", "payout", "{investor} is paid {value}", ("partners", "agreement"), 2.0
        ),
    )
    asks = {
        "train": (
            "{fund} pays out on {paid_on}. Please work out what {investor} receives.",
            "What does {investor} get from {fund} on {paid_on}? Please show the waterfall.",
            "Please run the {paid_on} waterfall of {fund} and find the part of {investor}.",
            "We owe {investor} its part of what {fund} distributes on {paid_on}. Please calculate it.",
        ),
        "validation": (
            "How much is due to {investor} from {fund}? Please run the waterfall.",
            "{investor} waits for its part of the payment of {fund}. Please work it out.",
        ),
        "heldout": (
            "After a sale, {fund} owes {investor} its part as of {paid_on}. Would you calculate it?",
            "{investor} asks what {fund} will pay it on {paid_on}. Would you work that out?",
            "As of {paid_on}, would you share out what {fund} has and say what goes to {investor}?",
        ),
    }
    meaning = "Amounts are whole thousands, rounded down at each step. Give hurdle and share in per cent, as in 7%."
    rumoured = "old_hurdle"

    def draw(self, common: Common) -> WaterfallTruth:
        """The facts of one world."""
        made = partners.simulate(common)
        return WaterfallTruth(
            **common.given,
            waterfall=made,
            fund=made.fund,
            investor=made.investor,
            other_investor=made.other_investor,
            paid_on=made.paid_on,
        )

    def facts(self, truth: WaterfallTruth) -> dict[str, Value]:
        """The derivation's facts."""
        w = truth.waterfall
        return {
            "proceeds": w.proceeds,
            "costs": w.costs,
            "contributed": w.contributed,
            "recalled": w.recalled,
            "paid_on": w.paid_on,
            "amended_on": w.amended_on,
            "hurdles": {"agreement": w.old_hurdle, "amendment": w.hurdle},
            "years": w.years,
            "carry": w.carry,
            "investor": w.investor,
            "shares": {w.investor: w.share, w.other_investor: w.other_share},
        }

    def traps(self, truth: WaterfallTruth) -> tuple[Trap, ...]:
        """The hurdle before the amendment, recalled capital twice, costs forgotten, the partner of a name alike."""
        w = truth.waterfall
        return (
            Trap(
                "old_hurdle",
                "supersession",
                "paper",
                "agreement",
                "hurdle",
                "The hurdle is given as {value}, which was replaced",
                ("agreement", RUMOUR),
            ),
            Trap(
                "recalled_twice",
                "exception",
                "recalled",
                0,
                "preferred",
                "The preferred return is given as {value}, recalled capital counted twice",
                ("capital",),
            ),
            Trap(
                "costs_forgotten",
                "missing",
                "costs",
                0,
                "net",
                "The distributable amount is given as {value}, costs not taken off",
                ("sale",),
            ),
            Trap(
                "wrong_partner",
                "lookalike",
                "investor",
                w.other_investor,
                "share",
                "The share is given as {value}, that of {other_investor}",
                ("partners",),
            ),
        )

    def sources(self, truth: WaterfallTruth) -> tuple[Source, ...]:
        """Agreement, amendment, sale with capital, partners."""
        w, axes = truth.waterfall, truth.axes
        agreement = (
            ("hurdle", f"{w.old_hurdle}%"),
            ("manager share", f"{w.carry}%"),
            ("preferred", "capital by hurdle by years"),
            ("manager", "catches up in full, then shares"),
        )
        capital = (("contributed", str(w.contributed)), ("called again", str(w.recalled)), ("years", str(w.years)))
        sale = (("proceeds", str(w.proceeds)), ("costs", str(w.costs)))
        shares = ((w.investor, f"{w.share}%"), (w.other_investor, f"{w.other_share}%"))
        return (
            Source("agreement", "agreement.txt", f"{truth.fund} agreement", agreement, w.amended_on),
            Source("amendment", "amendment.txt", f"since {w.amended_on}", (("hurdle", f"{w.hurdle}%"),), w.amended_on),
            Source("capital", "capital.txt", f"{truth.fund} {truth.currency}", capital, w.paid_on),
            Source("sale", "sale.txt", f"sale of the {axes['sold']}", sale, w.paid_on),
            Source("partners", "partners.txt", f"{truth.fund} partners", shares, w.paid_on),
        )

    def looks(self, truth: WaterfallTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Agreement (for the manager's share), the amendment where it is taken to hold, capital, sale, partners."""
        papers = ("agreement", "amendment") if values["paper"] == "amendment" else ("agreement",)
        return (*papers, "capital", "sale", "partners")

    def remarks(self, truth: WaterfallTruth) -> tuple[Remark, ...]:
        """Since when the hurdle holds."""
        return (
            Remark(
                "paper",
                "the hurdle of the amendment holds",
                (("amendment", "amended"),),
                ("hurdle", "preferred return", "hold", "holds", "apply", "applies", "replaced", "replaces"),
                "says by which paper the hurdle holds",
                ("amendment",),
            ),
        )

    def drive(self, truth: WaterfallTruth, drive: Drive) -> None:
        """Agreement, amendment, capital, sale, partners."""
        partners.put_agreements(drive, truth.waterfall, "manager", "counsel")
        partners.put_accounts(drive, truth.waterfall, "accountant")
