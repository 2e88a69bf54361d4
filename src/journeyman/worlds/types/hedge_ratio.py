"""finance.hedge_ratio: cover of a currency exposure against the policy's floor, and what is missing."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Field, Remark, Source, Trap
from journeyman.worlds.families import hedging
from journeyman.worlds.families.hedging import Exposure

DERIVATION = Derivation(
    ("status", "sales_by_version", "costs", "forwards", "options", "option_share", "floors", "horizon"),
    Step("version", "choose", ("status",), lambda status: next(v for v, s in status.items() if s == "approved")),
    Step("sales", "look_up", ("version", "sales_by_version"), lambda v, sales: sales[v]),
    Step("exposure", "difference", ("sales", "costs"), lambda s, c: s - c),
    Step("counted", "convert", ("options", "option_share"), lambda o, share: o * share // 100),
    Step("cover", "sum", ("forwards", "counted"), lambda f, c: f + c),
    Step("floor", "look_up", ("floors", "horizon"), lambda floors, horizon: floors[horizon]),
    Step("needed", "product", ("exposure", "floor"), lambda e, f: e * f // 100),
    Step("missing", "limit", ("needed", "cover"), lambda n, c: max(0, n - c)),
    Step("verdict", "compare", ("cover", "needed"), lambda c, n: "below" if c < n else "within"),
)


class HedgeTruth(CaseTruth):
    """One exposure to be tested."""

    exposure: Exposure
    foreign: str
    horizon: str
    approved: str


class HedgeRatio(CaseType[HedgeTruth]):
    """A cover test from forecast versions, a deal list and a policy."""

    name = "finance.hedge_ratio"
    domain: Domain = "finance"
    practice_area = "treasury and risk"
    own_axes = {
        "foreign": hedging.CURRENCIES,
        "other_currency": hedging.CURRENCIES,
        "horizon": hedging.HORIZONS,
        "verdict": ("below", "within"),
        "business": ("export", "import", "licences", "freight"),
        "bank_desk": ("house", "first", "second"),
        "review": ("weekly", "monthly", "quarterly"),
    }
    setting = {"business": "Business", "review": "Reviewed"}
    forbidden = tuple((("foreign", c), ("other_currency", c)) for c in hedging.CURRENCIES)
    roles = ("treasurer", "controller", "risk_officer", "board_member", "auditor", "dealer")
    stakeholders = ("treasurer", "controller", "risk_officer", "board_member", "auditor")
    deliverables = ("paper", "schedule", "note")
    derivation = DERIVATION
    fields = (
        Field(
            "version",
            "Forecast version",
            "version",
            "{value} is the approved forecast of {horizon}",
            ("minutes", "forecast"),
        ),
        Field("exposure", "Exposure", "exposure", "The {foreign} exposure of {horizon} is {value}", ("forecast",)),
        Field("cover", "Cover", "cover", "The cover of the {foreign} exposure is {value}", ("deals", "policy")),
        Field(
            "floor",
            "Floor in per cent",
            "floor",
            "The floor of {horizon} is {value} per cent",
            ("policy",),
            1.0,
            "{}%".format,
        ),
        Field("missing", "Missing cover", "missing", "The missing cover is {value}", ("deals", "forecast", "policy")),
        Field("verdict", "Verdict", "verdict", "The cover of {horizon} is {value} the policy", ("policy",), 1.0),
    )
    asks = {
        "train": (
            "Please test whether {company} covers enough of its {foreign} in {horizon}. The policy sets the floor.",
            "Is the {foreign} exposure of {horizon} covered as the policy wants? Please work it out for {company}.",
            "Please work out how much {foreign} cover {company} lacks in {horizon}, if any.",
            "{company} needs its {horizon} cover in {foreign} tested against the policy. Please do that.",
        ),
        "validation": (
            "How well is {foreign} covered at {company} in {horizon}? Please test it against the policy.",
            "The {foreign} cover of {company} for {horizon} is due for its test. Please run it.",
        ),
        "heldout": (
            "For {horizon}, would you say whether {company} covers enough of its {foreign}?",
            "Does {company} keep to its policy with its {foreign} in {horizon}? Would you check?",
            "The {foreign} cover of {horizon} has to be held against the policy. Would you do that for {company}?",
        ),
    }
    meaning = (
        "Give the floor in per cent, as in 55%, the missing cover as 0 if none is missing, and the verdict as below "
        "or within."
    )
    rumoured = "draft_version"

    def draw(self, common: Common) -> HedgeTruth:
        """The facts of one world."""
        made = hedging.simulate(common, state="below" if common.axes["verdict"] == "below" else "within")
        return HedgeTruth(
            **common.given, exposure=made, foreign=made.foreign, horizon=made.horizon, approved=made.approved
        )

    def facts(self, truth: HedgeTruth) -> dict[str, Value]:
        """The derivation's facts."""
        e = truth.exposure
        return {
            "status": {e.approved: "approved", e.draft: "draft"},
            "sales_by_version": e.sales,
            "costs": e.costs,
            "forwards": e.forwards,
            "options": e.options,
            "option_share": 50,
            "floors": e.floors,
            "horizon": e.horizon,
        }

    def traps(self, truth: HedgeTruth) -> tuple[Trap, ...]:
        """The draft version, options in full, the floor of another quarter."""
        e = truth.exposure
        return (
            Trap(
                "draft_version",
                "authority",
                "version",
                e.draft,
                "exposure",
                "The exposure is given as {value}, that of a draft",
                ("forecast", RUMOUR),
            ),
            Trap(
                "options_in_full",
                "exception",
                "option_share",
                100,
                "cover",
                "The cover is given as {value}, options in full",
                ("deals", "policy"),
            ),
            Trap(
                "other_floor",
                "cutoff",
                "floor",
                e.floors[e.next_horizon],
                "floor",
                "The floor is given as {value}, that of another quarter",
                ("policy",),
            ),
        )

    def sources(self, truth: HedgeTruth) -> tuple[Source, ...]:
        """Policy, approval, forecast and deals."""
        e, axes, today = truth.exposure, truth.axes, truth.frozen_time[:10]
        policy = (*((f"{q} floor", f"{f}%") for q, f in e.floors.items()), ("options count", "half"))
        forecast = (*((f"{v} sales", str(s)) for v, s in e.sales.items()), ("costs", str(e.costs)))
        deals = (
            (f"{e.foreign} forwards", str(e.forwards)),
            (f"{e.foreign} options", str(e.options)),
            (f"{e.other_currency} forwards", str(e.other_forwards)),
        )
        return (
            Source("policy", "policy.txt", f"{truth.company} {axes['business']} policy", policy, e.approved_on),
            Source("minutes", "minutes.txt", f"{axes['review']} round", (("approved", e.approved),), e.approved_on),
            Source("forecast", "forecast.txt", f"{e.foreign} {e.horizon} forecast", forecast, e.approved_on),
            Source("deals", "deals.txt", f"deals of the {axes['bank_desk']} bank", deals, today),
        )

    def looks(self, truth: HedgeTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Policy, approval, forecast, deals."""
        return ("policy", "minutes", "forecast", "deals")

    def remarks(self, truth: HedgeTruth) -> tuple[Remark, ...]:
        """What the draft is worth."""
        e = truth.exposure
        return (
            Remark(
                "draft",
                f"{e.draft} is a draft and was not approved",
                ((e.draft,),),
                ("approved", "adopted"),
                "says which version is only a draft",
                ("forecast", "minutes"),
                ("draft", "unapproved"),
                (e.approved,),
                true=False,
            ),
        )

    def drive(self, truth: HedgeTruth, drive: Drive) -> None:
        """Policy, forecast, deals, approval."""
        hedging.put_papers(drive, truth.exposure, "treasurer", "controller")
