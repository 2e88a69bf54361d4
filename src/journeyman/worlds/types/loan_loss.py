"""finance.loan_loss: a stress tool finished with a function of the standard library, and the loss it gives."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Claim, Field, Remark, Source, Trap
from journeyman.worlds.criteria import all_of, gives, none_of
from journeyman.worlds.families import losses
from journeyman.worlds.families.losses import METHODS, PACKAGE, Pool
from journeyman.worlds.scripts import write

DERIVATION = Derivation(
    ("rates", "last", "method", "cut", "parts", "pool", "exposures", "reserves"),
    Step("window", "filter", ("rates", "last"), lambda rates, last: tuple(r for q, r in rates.items() if q <= last)),
    Step(
        "rate",
        "rank",
        ("window", "method", "cut", "parts"),
        lambda window, method, cut, parts: round(losses.cut_of(window, parts, cut, method)),
    ),
    Step("exposure", "look_up", ("pool", "exposures"), lambda pool, exposures: exposures[pool]),
    Step("loss", "product", ("rate", "exposure"), lambda rate, exposure: rate * exposure),
    Step("reserve", "look_up", ("reserves",), lambda reserves: reserves),
    Step("gap", "difference", ("loss", "reserve"), lambda loss, reserve: loss - reserve),
    Step("verdict", "compare", ("gap",), lambda gap: "short" if gap > 0 else "enough"),
)


class LossTruth(CaseTruth):
    """One pool and its tool."""

    p: Pool
    pool: str
    loans: str
    module: str


class LoanLoss(CaseType[LossTruth]):
    """Package-grounded integration: the rate has to come out of the library, on pools nobody shows too."""

    name = "finance.loan_loss"
    domain: Domain = "finance"
    practice_area = "credit and lending"
    own_axes = {
        "level": tuple(losses.LEVELS),
        "method": METHODS,
        "verdict": ("short", "enough"),
        "loans": losses.LOANS,
        "tool": losses.TOOLS,
        "currency": CURRENCIES,
        "review": ("yearly", "ad_hoc", "regular"),
    }
    setting = {"review": "Review"}
    roles = ("analyst", "risk_officer", "controller", "lender", "auditor", "treasurer")
    stakeholders = ("risk_officer", "controller", "lender", "auditor", "treasurer")
    deliverables = ("note", "workbook", "paper")
    derivation = DERIVATION
    fields = (
        Field("rate", "Stress rate", "rate", "The stress rate of {pool} is {value} basis points", ("method", "rates")),
        Field("loss", "Stress loss", "loss", "The stress loss of {pool} is {value}", ("method", "rates", "book")),
        Field("reserve", "Reserve", "reserve", "The reserve of {pool} is {value}", ("book",), 1.0),
        Field("gap", "Loss less reserve", "gap", "The stress loss of {pool} less its reserve is {value}", ("book",)),
        Field("verdict", "Verdict", "verdict", "The reserve of {pool} is {value}", ("method", "book"), 1.0),
    )
    asks = {
        "train": (
            "Please finish the stress tool for {pool} and state its loss.",
            "The tool for {pool} is only a starter. Please finish it and give the figures.",
            "{company} wants the stress loss of {pool} from a tool that works. Please complete it.",
            "Please complete the tool and say what {pool} would lose under stress.",
        ),
        "validation": (
            "What would {pool} lose? Please complete the tool that says so.",
            "For {pool} the tool has to be completed first. Please do that and report.",
        ),
        "heldout": (
            "Would you bring the tool for {pool} to work, then report the loss?",
            "A working tool is missing at {company}, and with it the loss of {pool}. Would you complete it?",
            "Would you make the starter for {pool} answer as the rules want?",
        ),
    }
    meaning = "The gap is loss less reserve, with its sign. Give the verdict as short or enough."
    rumoured = "sheet_rate"

    def draw(self, common: Common) -> LossTruth:
        """The facts of one world."""
        made = losses.simulate(common)
        return LossTruth(**common.given, p=made, pool=made.name, loans=common.axes["loans"], module=made.module)

    def facts(self, truth: LossTruth) -> dict[str, Value]:
        """The derivation's facts."""
        p = truth.p
        return {
            "rates": p.rates,
            "last": p.last,
            "method": p.method,
            "cut": p.cut,
            "parts": p.parts,
            "pool": p.name,
            "exposures": {p.name: p.exposure, p.other: p.other_exposure},
            "reserves": p.reserve,
        }

    def traps(self, truth: LossTruth) -> tuple[Trap, ...]:
        """The method that was replaced, the flash quarter, the pool of a name alike, a rate out of a sheet."""
        p = truth.p
        other = next(m for m in METHODS if m != p.method)
        return (
            Trap(
                "old_method",
                "supersession",
                "method",
                other,
                "rate",
                f"The stress rate is given as {{value}}, by the {other} method",
                ("method",),
            ),
            Trap(
                "flash_quarter",
                "cutoff",
                "last",
                max(p.rates),
                "rate",
                "The stress rate is given as {value}, with a quarter that is not closed",
                ("rates",),
            ),
            Trap(
                "other_pool",
                "lookalike",
                "pool",
                p.other,
                "loss",
                "The stress loss is given as {value}, with the exposure of another pool",
                ("book",),
                -3.0,
            ),
            Trap(
                "sheet_rate",
                "claim",
                "rate",
                p.claimed,
                "rate",
                "The stress rate is given as {value}, out of somebody's sheet",
                (RUMOUR,),
                chance=0.15,
            ),
        )

    def programs(self, truth: LossTruth) -> dict[str, str]:
        """The starter."""
        return {truth.p.path: losses.STARTER}

    def sources(self, truth: LossTruth) -> tuple[Source, ...]:
        """The rule, the rates, exposures and reserve."""
        p, axes = truth.p, truth.axes
        method = (
            ("library", PACKAGE),
            ("parts", str(p.parts)),
            ("cut", str(p.cut)),
            ("method", p.method),
            ("last quarter", p.last),
            ("loss", "rate by exposure"),
        )
        book = ((p.name, str(p.exposure)), (p.other, str(p.other_exposure)), (f"{p.name} reserve", str(p.reserve)))
        rates = tuple((q, str(rate)) for q, rate in p.rates.items())
        return (
            Source("method", "rule.txt", f"{axes['review']} rule for {p.path}", method, p.reviewed),
            Source("rates", "rates.txt", f"{axes['loans']} loss rates", rates, truth.frozen_time[:10]),
            Source("book", "book.txt", f"{truth.currency} exposures", book, truth.frozen_time[:10]),
        )

    def looks(self, truth: LossTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Rule, rates, book, the starter."""
        return ("method", "rates", "book", truth.p.path)

    def acts(self, truth: LossTruth, values: Mapping[str, Value]) -> tuple[PlanStep, ...]:
        """The tool finished by the method that is believed, or answering what somebody says."""
        p = truth.p
        if values["rate"] == p.claimed:
            return (write(p.path, losses.constant(p.claimed)),)
        return (write(p.path, losses.finished(p.model_copy(update={"method": values["method"]}))),)

    def wrong_acts(self, truth: LossTruth) -> dict[str, tuple[PlanStep, ...]]:
        """Nothing finished; the figure written in; the arithmetic by hand, alone or beside a call for show."""
        p = truth.p
        return {
            "unfinished": (),
            "hard_coded": (write(p.path, losses.constant(self.right(truth)["rate"])),),
            "bypassed": (write(p.path, losses.by_hand(p, decorated=False)),),
            "called_for_show": (write(p.path, losses.by_hand(p, decorated=True)),),
        }

    def claims(self, truth: LossTruth) -> tuple[Claim, ...]:
        """The tool is right for other pools, and every answer comes out of the library."""
        p = truth.p
        cases = losses.held_out(p, f"{truth.split}:{truth.seed}")
        right, through = gives(p.path, "rate", cases), gives(p.path, "rate", cases, PACKAGE)
        works, library = "The tool gives the stress rate of other pools too", "The tool takes the rate from the library"
        sources = ("method", p.path)
        return (
            Claim("works", f"rate of {p.path} is right for pools nobody showed", 2.0, right, works, sources, "tool"),
            Claim(
                "library",
                f"Every answer of {p.path} comes out of {PACKAGE}",
                4.0,
                through,
                library,
                sources,
                "tool",
            ),
            Claim(
                "error_bypass",
                f"{p.path} works the rate out beside {PACKAGE}",
                -2.0,
                all_of(right, none_of(through)),
                library,
                sources,
                "tool",
            ),
        )

    def remarks(self, truth: LossTruth) -> tuple[Remark, ...]:
        """What the rate was taken from."""
        return (
            Remark(
                "function",
                f"the rate comes from {PACKAGE}",
                ((PACKAGE, PACKAGE.rsplit(".", 1)[1]),),
                ("rate", "come", "comes", "taken", "take", "used", "uses"),
                "names the library function that the rate comes from",
                ("method",),
            ),
        )

    def drive(self, truth: LossTruth, drive: Drive) -> None:
        """Rules, rates, exposures, the tool's notes."""
        losses.put_papers(drive, truth.p, "risk_officer", "analyst")
