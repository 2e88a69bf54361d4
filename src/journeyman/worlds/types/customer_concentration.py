"""consulting.customer_concentration: the largest customer once accounts are grouped, and its share of real revenue."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import COUNTS, LEFT_OUT, CaseTruth, Field, Remark, Source, Trap, decimal, percent
from journeyman.worlds.families import customers
from journeyman.worlds.families.customers import Accounts


def _owners(owners: Mapping[str, str], move: Mapping[str, str], moved_on: str, cutoff: str) -> dict[str, str]:
    """Account -> group on the cut-off."""
    return {**owners, **move} if moved_on <= cutoff else dict(owners)


def _groups(revenue: Mapping[str, int], owned: Mapping[str, str]) -> dict[str, int]:
    """Group -> what its accounts bought."""
    return {group: sum(v for n, v in revenue.items() if owned[n] == group) for group in owned.values()}


DERIVATION = Derivation(
    ("revenue", "owners", "move", "moved_on", "cutoff", "total", "internal", "limit"),
    Step("owned", "match", ("owners", "move", "moved_on", "cutoff"), _owners),
    Step("groups", "sum", ("revenue", "owned"), _groups),
    Step("largest", "rank", ("groups",), lambda groups: max(groups, key=lambda g: groups[g])),
    Step("accounts", "count", ("owned", "largest"), lambda owned, g: sum(owner == g for owner in owned.values())),
    Step("bought", "limit", ("groups", "largest"), lambda groups, largest: groups[largest]),
    Step("base", "difference", ("total", "internal"), lambda total, internal: total - internal),
    Step("share", "ratio", ("bought", "base"), percent),
    Step("verdict", "classify", ("share", "limit"), lambda share, limit: "risk" if share >= 100 * limit else "none"),
)


class ConcentrationTruth(CaseTruth):
    """One customer base."""

    a: Accounts


class CustomerConcentration(CaseType[ConcentrationTruth]):
    """Accounts of groups, one that changes hands about the cut-off, and revenue that is no revenue."""

    name = "consulting.customer_concentration"
    domain: Domain = "consulting"
    practice_area = "commercial due diligence"
    own_axes = {
        "moved": ("before", "after"),
        "verdict": ("risk", "none"),
        "sector": ("software", "retail", "health", "freight", "food", "energy"),
        "region": ("nordic", "iberia", "benelux", "alpine"),
        "client": ("fund", "bank", "buyer"),
        "stage": ("teaser", "phase one", "phase two"),
        "currency": CURRENCIES,
    }
    setting = {"sector": "Sector", "region": "Region", "client": "Client is a", "stage": "Stage"}
    roles = ("lead", "partner", "analyst", "expert", "fund_lead", "controller")
    stakeholders = ("partner", "analyst", "expert", "fund_lead", "controller")
    deliverables = ("table", "note", "brief")
    derivation = DERIVATION
    fields = (
        Field("customer", "Largest customer", "largest", "The largest customer is {value}", ("owners", "revenue")),
        Field("accounts", "Accounts it has", "accounts", "{largest} has {value} accounts", ("owners", "moves"), 1.0),
        Field(
            "revenue", "Revenue with it", "bought", "{largest} bought for {value} thousand", ("revenue", "moves"), 2.0
        ),
        Field("base", "Revenue of the target", "base", "Revenue that counts is {value} thousand", ("revenue", "rules")),
        Field("share", "Share, percent", "share", "{largest} has {value} percent", ("revenue",), 2.0, decimal),
        Field("verdict", "Verdict", "verdict", "For the report it is: {value}", ("rules",), 1.0),
    )
    asks = {
        "train": (
            "Who is the largest customer of {other_party}, and how large is it? Please work it out.",
            "Please measure how far {other_party} depends on one {axes[sector]} customer.",
            "We need the customer concentration of {other_party} for the {axes[client]}. Please work it out.",
            "The {axes[client]} asks in {axes[stage]} for the largest customer of {other_party}. Please find it.",
        ),
        "validation": (
            "Does {other_party} hang on one customer in {axes[region]}? Please check.",
            "The largest customer of {other_party} is needed for {axes[stage]}. Please measure it.",
        ),
        "heldout": (
            "For the {axes[client]} it matters if {other_party} has one big {axes[sector]} customer. Would you find "
            "out?",
            "Would you see for {axes[stage]} on whom {other_party} depends in {axes[region]}?",
            "In {axes[stage]} somebody asks how far {other_party} hangs on one customer. Would you measure that?",
        ),
    }
    meaning = (
        "Name the largest customer and count its accounts. Give its share in percent with two decimals and the "
        "verdict as risk or none."
    )
    rumoured = "by_account"

    def draw(self, common: Common) -> ConcentrationTruth:
        """The facts of one world."""
        axes = common.axes
        made = customers.simulate_accounts(common, moved=axes["moved"], over=axes["verdict"] == "risk")
        return ConcentrationTruth(**common.given, a=made)

    def facts(self, truth: ConcentrationTruth) -> dict[str, Value]:
        """The derivation's facts."""
        return {name: getattr(truth.a, name) for name in DERIVATION.facts}

    def traps(self, truth: ConcentrationTruth) -> tuple[Trap, ...]:
        """Accounts instead of groups, the change of hands on the wrong side, revenue within the target."""
        a = truth.a
        counted = a.moved_on <= a.cutoff
        wrong = a.owners if counted else {**a.owners, **a.move}
        said = (
            "without an account that it had by the cut-off"
            if counted
            else "with an account that came after the cut-off"
        )
        return (
            Trap(
                "by_account",
                "lookalike",
                "owned",
                {n: n for n in a.owners},
                "customer",
                "The largest customer is given as {value}, the largest account",
                ("revenue", RUMOUR),
            ),
            Trap(
                "change_of_hands",
                "cutoff",
                "owned",
                wrong,
                "revenue",
                f"Revenue with it is given as {{value}}, {said}",
                ("moves",),
            ),
            Trap(
                "internal_kept",
                "exception",
                "internal",
                0,
                "base",
                "Revenue is given as {value}, with sales within the target",
                ("revenue",),
                -2.5,
            ),
        )

    def sources(self, truth: ConcentrationTruth) -> tuple[Source, ...]:
        """Revenue, owners, moves and rules."""
        a, axes, today = truth.a, truth.axes, truth.frozen_time[:10]
        revenue = (
            *((n, str(v)) for n, v in a.revenue.items()),
            ("all", str(a.total)),
            ("sold within", str(a.internal)),
        )
        owners = tuple((n, f"is owned by {owner}") for n, owner in a.owners.items() if n != owner)
        (account, group), rules = (
            next(iter(a.move.items())),
            (
                ("cutoff", a.cutoff),
                ("risk from", f"{a.limit} percent"),
                ("group", "one customer"),
                ("base", "all less sold within"),
            ),
        )
        return (
            Source("revenue", "revenue.txt", f"{axes['sector']} {axes['region']} {truth.currency}", revenue, today),
            Source("owners", "owners.txt", f"{truth.other_party} accounts", owners, a.cutoff),
            Source("moves", "moves.txt", "change of hands", ((f"{account} to {group}", a.moved_on),), today),
            Source("rules", "rules.txt", f"{axes['client']} rules, {axes['stage']}", rules, today),
        )

    def looks(self, truth: ConcentrationTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Rules, owners and moves, then revenue."""
        return ("rules", "owners", "moves", "revenue")

    def aside(self, truth: ConcentrationTruth) -> frozenset[str]:
        """The change of hands where it came after the cut-off."""
        return frozenset({"moves"} if truth.a.moved_on > truth.a.cutoff else ())

    def remarks(self, truth: ConcentrationTruth) -> tuple[Remark, ...]:
        """On which side of the cut-off the change of hands is."""
        account, group = next(iter(truth.a.move.items()))
        counts = truth.a.moved_on <= truth.a.cutoff
        return (
            Remark(
                "move",
                f"{account} {'counts' if counts else 'does not count'} with {group}, which bought it",
                ((account,),),
                (*COUNTS, "belongs", "belonged"),
                f"says whether {account} counts with the group that bought it",
                ("moves", "rules"),
                LEFT_OUT,
                true=counts,
            ),
        )

    def drive(self, truth: ConcentrationTruth, drive: Drive) -> None:
        """Revenue, then who owns whom."""
        customers.put_revenue(drive, truth.a, "analyst", "lead")
        customers.put_owners(drive, truth.a, "partner", "analyst", "expert")
