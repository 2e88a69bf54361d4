"""finance.debt_capacity: how much new debt fits under a loan and a bond, and does the request."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap, decimal
from journeyman.worlds.families import capital
from journeyman.worlds.families.capital import Capital

DERIVATION = Derivation(
    ("reported", "add_back", "cap", "loan_limit", "bond_limit", "senior", "notes", "leases", "leases_count", "request"),
    Step("allowed", "limit", ("add_back", "cap"), min),
    Step("earnings", "sum", ("reported", "allowed"), lambda r, a: r + a),
    Step("multiple", "limit", ("loan_limit", "bond_limit"), min),
    Step("ceiling", "product", ("earnings", "multiple"), lambda e, m: e * m // 100),
    Step("lease_debt", "classify", ("leases", "leases_count"), lambda amount, counts: amount if counts else 0),
    Step("debt", "sum", ("senior", "notes", "lease_debt"), lambda s, n, x: s + n + x),
    Step("room", "difference", ("ceiling", "debt"), lambda c, d: c - d),
    Step("verdict", "compare", ("room", "request"), lambda room, asked: "fits" if asked <= room else "exceeds"),
)


class CapacityTruth(CaseTruth):
    """One request for new debt."""

    capital: Capital
    quarter: str
    amount: int
    purpose: str


class DebtCapacity(CaseType[CapacityTruth]):
    """Headroom from two agreements, an earnings bridge and a debt schedule."""

    name = "finance.debt_capacity"
    domain: Domain = "finance"
    practice_area = "credit and lending"
    own_axes = {
        "strict": ("loan", "bond"),
        "leases": ("count", "excluded"),
        "verdict": ("fits", "exceeds"),
        "quarter": capital.QUARTERS,
        "add_back": ("synergy", "restructuring", "start-up"),
        "purpose": ("acquisition", "refinancing", "dividend", "plant"),
        "facility": ("term", "revolving", "bridge"),
        "sector": ("energy", "retail", "software", "health", "freight", "food"),
        "currency": CURRENCIES,
    }
    setting = {"purpose": "New debt is for", "sector": "Sector"}
    roles = ("officer", "controller", "counsel", "analyst", "treasurer", "auditor")
    stakeholders = ("officer", "controller", "analyst", "treasurer", "auditor")
    deliverables = ("paper", "schedule", "brief")
    derivation = DERIVATION
    fields = (
        Field(
            "earnings",
            "Earnings for the test",
            "earnings",
            "Earnings for the test of {company} are {value}, the add-back capped",
            ("figures", "loan"),
        ),
        Field(
            "multiple",
            "Binding limit, times earnings",
            "multiple",
            "The binding limit of {company} is {value} times earnings",
            ("loan", "bond"),
            2.0,
            decimal,
        ),
        Field("debt", "Debt for the test", "debt", "Debt of {company} for the test is {value}", ("debt", "loan")),
        Field(
            "ceiling",
            "Highest debt allowed",
            "ceiling",
            "The highest debt allowed to {company} is {value}",
            ("loan", "bond", "figures"),
            1.0,
        ),
        Field("room", "Room for new debt", "room", "The room for new debt is {value}", ("debt", "figures"), 2.0),
        Field("verdict", "Verdict on the request", "verdict", "The request of {amount} {value}", ("loan",), 1.0),
    )
    asks = {
        "train": (
            "{company} would like to borrow {amount} for its {purpose}. Please work out its debt capacity and say "
            "whether that fits.",
            "Can {company} take on {amount} of new debt for a {purpose}? Please test it against its agreements.",
            "Please work out the debt capacity of {company}. We want to know if {amount} more for a {purpose} fits.",
            "We are asked for {amount} for the {purpose} of {company}. Please test whether its agreements allow that.",
        ),
        "validation": (
            "Would {amount} of new debt for a {purpose} keep {company} within its agreements? Please calculate it.",
            "The {purpose} of {company} needs {amount} of debt. Please test if that is allowed.",
        ),
        "heldout": (
            "At {company} a {purpose} is to be paid with {amount} of debt. Would you test whether it may?",
            "Would you say whether {amount} for the {purpose} keeps {company} within its limits?",
            "Before {company} borrows {amount}, somebody has to test its limits. Would you do that?",
        ),
    }
    meaning = (
        "Amounts are in millions, rounded down. Give the multiple with two decimals and the verdict as fits or exceeds."
    )
    rumoured = "last_quarter"

    def draw(self, common: Common) -> CapacityTruth:
        """The facts of one world."""
        axes = common.axes
        made = capital.simulate(
            common, strict=axes["strict"], leases_count=axes["leases"] == "count", fits=axes["verdict"] == "fits"
        )
        return CapacityTruth(
            **common.given, capital=made, quarter=made.quarter, amount=made.request, purpose=axes["purpose"]
        )

    def facts(self, truth: CapacityTruth) -> dict[str, Value]:
        """The derivation's facts."""
        c = truth.capital
        return {
            "reported": c.earnings,
            "add_back": c.add_back,
            "cap": c.cap,
            "loan_limit": c.multiples["loan"],
            "bond_limit": c.multiples["bond"],
            "senior": c.senior,
            "notes": c.notes,
            "leases": c.leases,
            "leases_count": c.leases_count,
            "request": c.request,
        }

    def traps(self, truth: CapacityTruth) -> tuple[Trap, ...]:
        """Add-backs without cap, the looser limit, leases on the wrong side, the quarter before."""
        c = truth.capital
        loose = max(c.multiples.values())
        said = "with leases" if not c.leases_count else "without leases"
        return (
            Trap(
                "no_cap",
                "exception",
                "allowed",
                c.add_back,
                "earnings",
                "Earnings are given as {value}, the add-back not capped",
                ("figures", "loan"),
            ),
            Trap(
                "looser_limit",
                "authority",
                "multiple",
                loose,
                "multiple",
                "The limit is given as {value}, the looser of the two",
                ("loan", "bond"),
            ),
            Trap(
                "wrong_leases",
                "exception",
                "lease_debt",
                0 if c.leases_count else c.leases,
                "debt",
                f"Debt is given as {{value}}, {said}",
                ("debt", "loan"),
            ),
            Trap(
                "last_quarter",
                "cutoff",
                "reported",
                c.last_earnings,
                "earnings",
                "Earnings are given as {value}, from the quarter before",
                ("figures", RUMOUR),
            ),
        )

    def sources(self, truth: CapacityTruth) -> tuple[Source, ...]:
        """Loan, bond, figures and debt."""
        c, today = truth.capital, truth.frozen_time[:10]
        counts = "count as debt" if c.leases_count else "no debt"
        loan = (
            ("limit", decimal(c.multiples["loan"])),
            (f"{c.add_back_kind} cap", str(c.cap)),
            ("leases", counts),
            ("two limits", "the lower binds"),
        )
        figures = (
            (f"earnings {c.quarter}", str(c.earnings)),
            (f"earnings {c.last_quarter}", str(c.last_earnings)),
            (f"{c.add_back_kind} add-back", str(c.add_back)),
        )
        debt = (("senior", str(c.senior)), ("notes", str(c.notes)), ("leases", str(c.leases)))
        sector = truth.axes["sector"]
        return (
            Source("loan", "loan.txt", f"{truth.company} {truth.axes['facility']} loan", loan, c.loan_date),
            Source(
                "bond",
                "bond.txt",
                f"{truth.company} bond",
                (("limit", decimal(c.multiples["bond"])),),
                c.bond_date,
            ),
            Source("figures", "figures.txt", f"{truth.company} {sector} {truth.currency}", figures, today),
            Source("debt", "debt.txt", f"{truth.company} {truth.purpose}, debt {c.quarter}", debt, today),
        )

    def looks(self, truth: CapacityTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Both agreements, then the figures."""
        return ("loan", "bond", "figures", "debt")

    def remarks(self, truth: CapacityTruth) -> tuple[Remark, ...]:
        """Which document binds."""
        strict = min(truth.capital.multiples, key=lambda d: truth.capital.multiples[d])
        names = {"loan": ("loan agreement", "loan"), "bond": ("indenture", "bond")}
        other = next(paper for paper in names if paper != strict)
        return (
            Remark(
                "binding",
                f"the limit of the {names[strict][0]} binds",
                (names[strict],),
                ("bind", "binds", "binding", "lower", "lowest", "stricter", "tighter"),
                "says which limit binds, that of the loan agreement or that of the indenture",
                ("loan", "bond"),
                rivals=names[other],
                alone=True,
            ),
        )

    def drive(self, truth: CapacityTruth, drive: Drive) -> None:
        """Agreements, bridge, debt schedule and what does not bind."""
        capital.put_documents(drive, truth.capital, "officer", "counsel")
        capital.put_figures(drive, truth.capital, "controller", "officer")
