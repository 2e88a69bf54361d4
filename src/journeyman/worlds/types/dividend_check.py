"""finance.dividend_check: is a proposed dividend covered and allowed, and what is payable."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap, decimal
from journeyman.worlds.families import dividends
from journeyman.worlds.families.dividends import Dividend

DERIVATION = Derivation(
    ("issued", "treasury", "new", "issued_on", "record_day", "paper", "per_share", "reserves", "basket", "interim"),
    Step("outside", "difference", ("issued", "treasury"), lambda i, t: i - t),
    Step("entitled_new", "filter", ("new", "issued_on", "record_day"), lambda n, i, r: n if i <= r else 0),
    Step("shares", "sum", ("outside", "entitled_new"), lambda o, n: o + n),
    Step("amount", "look_up", ("paper", "per_share"), lambda paper, amounts: amounts[paper]),
    Step("cost", "product", ("shares", "amount"), lambda s, a: s * a // 100),
    Step("room", "difference", ("basket", "interim"), lambda b, i: b - i),
    Step("cap", "limit", ("reserves", "room"), min),
    Step("payable", "limit", ("cost", "cap"), min),
    Step("verdict", "compare", ("cost", "cap"), lambda cost, cap: "reduced" if cost > cap else "allowed"),
)


class DividendTruth(CaseTruth):
    """One dividend to be tested."""

    dividend: Dividend
    year: str
    record_day: str
    lender: str


class DividendCheck(CaseType[DividendTruth]):
    """A dividend test from resolutions, a share register, accounts and a loan."""

    name = "finance.dividend_check"
    domain: Domain = "finance"
    practice_area = "equity research"
    own_axes = {
        "issue": ("late", "timely"),
        "binds": ("covenant", "reserves"),
        "verdict": ("allowed", "reduced"),
        "kind": ("final", "special", "jubilee"),
        "sector": ("banks", "energy", "retail", "software", "health", "freight"),
        "listing": ("main", "growth", "foreign", "unlisted"),
        "currency": CURRENCIES,
        "holder": ("founders", "funds", "public"),
    }
    setting = {"kind": "Kind of dividend", "sector": "Sector", "listing": "Listing", "holder": "Held by"}
    roles = ("analyst", "senior_analyst", "editor", "compliance", "trader", "client")
    stakeholders = ("senior_analyst", "editor", "compliance", "trader", "client")
    deliverables = ("note", "paper", "worksheet")
    derivation = DERIVATION
    fields = (
        Field(
            "shares",
            "Entitled shares",
            "shares",
            "{value} shares of {company} are entitled",
            ("register", "resolution"),
        ),
        Field(
            "cost",
            "Cost of the dividend",
            "cost",
            "The dividend of {company} costs {value}",
            ("resolution", "register"),
        ),
        Field("room", "Room under the loan", "room", "The loan of {lender} leaves {value}", ("loan", "accounts")),
        Field("cap", "Highest amount allowed", "cap", "At most {value} may be paid", ("accounts", "loan"), 1.0),
        Field("payable", "Payable amount", "payable", "{value} is payable for {year}", ("accounts", "resolution"), 2.0),
        Field("verdict", "Verdict", "verdict", "The dividend of {year} is {value}", ("resolution", "loan"), 1.0),
    )
    asks = {
        "train": (
            "{company} proposes a dividend for {year}. Please test whether it is covered and allowed, and what can "
            "be paid.",
            "Is the {year} dividend of {company} covered and allowed? Please work out what is payable.",
            "Please find out what {company} may pay its shareholders for {year}. Show the cost and what limits it.",
            "We want to test the dividend that {company} plans for {year}. Please say what may be paid.",
        ),
        "validation": (
            "How much of its {year} dividend may {company} pay? Please test cost and limits.",
            "The {year} dividend of {company} is up for its test. Please work it out.",
        ),
        "heldout": (
            "Before {company} pays for {year}, somebody has to look at law and loan. Would you do that?",
            "For {year}, would you say what shareholders of {company} can be paid, and what limits it?",
            "Does the dividend of {company} for {year} stand, or is it cut? Would you test it?",
        ),
    }
    meaning = "Shares and amounts are in thousands, rounded down. Give the verdict as allowed or reduced."
    rumoured = "draft_amount"

    def draw(self, common: Common) -> DividendTruth:
        """The facts of one world."""
        axes = common.axes
        made = dividends.simulate(
            common,
            late=axes["issue"] == "late",
            covenant_binds=axes["binds"] == "covenant",
            allowed=axes["verdict"] == "allowed",
        )
        given = common.given
        return DividendTruth(
            **given, dividend=made, year=made.year, record_day=made.record_day, lender=given["other_party"]
        )

    def facts(self, truth: DividendTruth) -> dict[str, Value]:
        """The derivation's facts."""
        d = truth.dividend
        return {
            "issued": d.issued,
            "treasury": d.treasury,
            "new": d.new_shares,
            "issued_on": d.issued_on,
            "record_day": d.record_day,
            "paper": "resolution",
            "per_share": d.per_share,
            "reserves": d.reserves,
            "basket": d.basket,
            "interim": d.interim,
        }

    def traps(self, truth: DividendTruth) -> tuple[Trap, ...]:
        """Own shares paid, the record day ignored, the draft's amount, the interim forgotten."""
        d = truth.dividend
        late = d.issued_on > d.record_day
        return (
            Trap(
                "own_shares",
                "exception",
                "treasury",
                0,
                "shares",
                "Entitled shares are given as {value}, the company's own among them",
                ("register",),
            ),
            Trap(
                "record_day_ignored",
                "cutoff",
                "entitled_new",
                d.new_shares if late else 0,
                "shares",
                "Entitled shares are given as {value}, the new issue on the wrong side of the record day",
                ("register", "resolution"),
            ),
            Trap(
                "draft_amount",
                "authority",
                "paper",
                "draft",
                "cost",
                "The cost is given as {value}, by the draft",
                ("draft", RUMOUR),
            ),
            Trap(
                "interim_forgotten",
                "missing",
                "interim",
                0,
                "room",
                "The room is given as {value}, without the interim payment",
                ("accounts", "loan"),
            ),
        )

    def sources(self, truth: DividendTruth) -> tuple[Source, ...]:
        """Resolution, draft, register, limits."""
        d, axes = truth.dividend, truth.axes
        register = (
            ("issued", str(d.issued)),
            ("own shares", str(d.treasury)),
            (f"new {d.issued_on}", str(d.new_shares)),
        )
        limits = (("reserves", str(d.reserves)), ("interim paid", str(d.interim)))
        resolution = (("record day", d.record_day), ("per share", decimal(d.per_share["resolution"])))
        name = f"{truth.company} {axes['kind']} dividend"
        loan = (("loan limit", str(d.basket)), ("no right", "own shares, shares after the record day"))
        return (
            Source("resolution", "resolution.txt", f"{name} {truth.currency}", resolution, d.record_day),
            Source("draft", "draft.txt", name, (("per share", decimal(d.per_share["draft"])),), d.record_day),
            Source("register", "register.txt", f"{axes['listing']} {axes['holder']} register", register, d.record_day),
            Source("accounts", "accounts.txt", f"{truth.company} {axes['sector']} {d.year}", limits, d.record_day),
            Source("loan", "loan.txt", f"loan of {truth.lender}", loan, d.record_day),
        )

    def looks(self, truth: DividendTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """The paper taken to count, the register, the accounts and the loan."""
        return (str(values["paper"]), "register", "accounts", "loan")

    def remarks(self, truth: DividendTruth) -> tuple[Remark, ...]:
        """Which limit binds."""
        d = truth.dividend
        limits = (("loan", "loan agreement"), ("reserves", "reserve"))
        binding, other = limits if d.basket - d.interim < d.reserves else limits[::-1]
        return (
            Remark(
                "binding",
                f"the limit of the {binding[0]} binds, because it is the lower one",
                (binding,),
                ("bind", "binds", "binding", "lower", "lowest", "stricter", "tighter"),
                "says which limit binds, that of the loan or that of the reserves",
                ("loan", "accounts"),
                rivals=other,
                alone=True,
            ),
        )

    def drive(self, truth: DividendTruth, drive: Drive) -> None:
        """Resolution, draft, register, loan, accounts and rules."""
        dividends.put_papers(drive, truth.dividend, "analyst", "editor")
        dividends.put_accounts(drive, truth.dividend, "editor", "compliance")
