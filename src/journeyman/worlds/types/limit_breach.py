"""finance.limit_breach: whether a bank owes more than it may, by the rating that holds and exceptions that count."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep, ServiceGrant, Size
from journeyman.worlds.cases.authored import CURRENCIES, RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Claim, Field, Remark, Source, Systems, Trap
from journeyman.worlds.criteria import check, none_of
from journeyman.worlds.families import risk
from journeyman.worlds.families.risk import Exposure, market_value, owed
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.scripts import call

Granted = tuple[tuple[int, str, str], ...]


def _counting(granted: Granted, body: str, today: str) -> tuple[int, ...]:
    return tuple(amount for amount, by, last in granted if by == body and today <= last)


DERIVATION = Derivation(
    (
        "today",
        "rated_on",
        "ratings",
        "limits",
        "gain",
        "loss",
        "netting",
        "deposits",
        "foreign",
        "rate",
        "granted",
        "body",
    ),
    Step("rating", "choose", ("today", "rated_on", "ratings"), lambda d, on, r: r[1] if d >= on else r[0]),
    Step("limit", "look_up", ("rating", "limits"), lambda rating, limits: limits[rating]),
    Step("market", "limit", ("gain", "loss", "netting"), market_value),
    Step("exposure", "convert", ("deposits", "foreign", "rate", "market"), owed),
    Step("counting", "filter", ("granted", "body", "today"), _counting),
    Step("room", "sum", ("limit", "counting"), lambda limit, counting: limit + sum(counting)),
    Step("excess", "difference", ("exposure", "room"), lambda exposure, room: exposure - room),
    Step("verdict", "compare", ("excess",), lambda excess: "breach" if excess > 0 else "within"),
)


class LimitTruth(CaseTruth):
    """One bank on one day."""

    exposed: Exposure
    alert: str
    bank: str
    other_bank: str
    foreign: str
    instruments: str
    desk: str


class LimitBreach(CaseType[LimitTruth]):
    """Positions against a limit, with a live GRC that has the exceptions and takes the outcome."""

    name = "finance.limit_breach"
    domain: Domain = "finance"
    practice_area = "treasury and risk"
    own_axes = {
        "rating": ("older", "newer"),
        "netting": ("signed", "draft"),
        "waiver": ("granted", "none"),
        "idle": ("officer", "lapsed"),
        "outcome": ("breach", "within"),
        "body": ("board", "committee", "council"),
        "foreign": risk.FOREIGN,
        "instruments": risk.INSTRUMENTS,
        "currency": CURRENCIES,
        "desk": ("cash", "rates", "credit", "funding"),
    }
    setting = {"desk": "Desk"}
    roles = ("treasurer", "risk_officer", "controller", "board_member", "auditor", "dealer")
    stakeholders = ("risk_officer", "controller", "board_member", "auditor")
    deliverables = ("report", "paper", "record")
    derivation = DERIVATION
    fields = (
        Field("rating", "Rating", "rating", "{bank} is rated {value} on the day", ("rating",), 1.0, group="authority"),
        Field("limit", "Limit", "limit", "The limit of {bank} is {value}", ("policy",)),
        Field("exposure", "Exposure", "exposure", "The exposure to {bank} is {value}", ("positions",)),
        Field("room", "Room", "room", "With exceptions that count the room is {value}", ("policy",)),
        Field("excess", "Excess", "excess", "Exposure less room is {value}", ("positions", "policy"), 1.0),
        Field("verdict", "Verdict", "verdict", "The verdict on {bank} is {value}", ("policy",), 1.0),
    )
    asks = {
        "train": (
            "Please work alert {alert} on {bank}: is it over its limit?",
            "Is {bank} over its limit? Please settle {alert}.",
            "The {desk} desk has alert {alert} on {bank}. Please settle it.",
            "Please settle {alert} with what {bank} owes us in {instruments} and deposits.",
        ),
        "validation": (
            "Alert {alert} on {bank} is open. Please work it.",
            "The {desk} desk waits for {alert} to be settled. Please do that.",
        ),
        "heldout": (
            "Alert {alert} on {bank} is for the {desk} desk. Would you bring it to an end?",
            "{bank} raised alert {alert}. Would you weigh its {instruments} and settle it?",
            "Would you see {alert} on {bank} to its end?",
        ),
    }
    meaning = (
        "Give the excess with its sign and the verdict as breach or within. For a breach, open a finding of it on "
        "{bank} in the grc; otherwise close the alert."
    )
    rumoured = "idle_exception"

    def draw(self, common: Common) -> LimitTruth:
        """The facts of one world."""
        made = risk.simulate(common)
        stem = common.given["other_party"].split()[0]
        return LimitTruth(
            **common.given,
            exposed=made,
            alert=made.alert_id,
            bank=f"{stem} Bank",
            other_bank=f"{stem} Capital",
            foreign=common.axes["foreign"],
            instruments=common.axes["instruments"],
            desk=common.axes["desk"],
        )

    def facts(self, truth: LimitTruth) -> dict[str, Value]:
        """The derivation's facts."""
        x = truth.exposed
        return {
            "today": truth.frozen_time[:10],
            "rated_on": x.rated_on,
            "ratings": x.ratings,
            "limits": x.limits,
            "gain": x.gain,
            "loss": x.loss,
            "netting": x.netting,
            "deposits": x.deposits,
            "foreign": x.foreign,
            "rate": x.rate,
            "granted": x.exceptions,
            "body": x.body,
        }

    def traps(self, truth: LimitTruth) -> tuple[Trap, ...]:
        """The other rating, netting misread, no conversion, an exception that does not hold."""
        x, right = truth.exposed, self.right(truth)
        other = next(r for r in x.ratings if r != right["rating"])
        return (
            Trap(
                "other_rating",
                "supersession",
                "rating",
                other,
                "limit",
                "The limit of {bank} is given as {value}, by a rating not in force",
                ("rating", "policy"),
            ),
            Trap(
                "netting_misread",
                "exception",
                "netting",
                "draft" if x.netting == "signed" else "signed",
                "exposure",
                "The exposure is given as {value}, the master agreement misread",
                ("positions",),
            ),
            Trap(
                "not_converted",
                "unit",
                "rate",
                100,
                "exposure",
                "The exposure is given as {value}, {foreign} taken one for one",
                ("positions",),
                chance=0.1,
            ),
            Trap(
                "idle_exception",
                "authority",
                "counting",
                tuple(amount for amount, *_ in x.exceptions),
                "room",
                "The room is given as {value}, an exception that does not hold among it",
                ("grc.exceptions.X-1", RUMOUR),
            ),
        )

    def sources(self, truth: LimitTruth) -> tuple[Source, ...]:
        """Policy, rating and positions."""
        x, today = truth.exposed, truth.frozen_time[:10]
        older, newer = x.ratings
        policy = (
            *((f"limit {r}", str(v)) for r, v in x.limits.items()),
            ("exceptions", f"{x.body} only, not lapsed"),
            ("room", "limit and exceptions"),
            ("excess", "exposure less room"),
        )
        positions = (
            ("deposits", str(x.deposits)),
            (f"{x.foreign} {truth.foreign}", f"at 0.{x.rate:02d}"),
            (f"{truth.instruments} gain", str(x.gain)),
            (f"{truth.instruments} loss", f"{x.loss}, {'set off' if x.netting == 'signed' else 'no set off'}"),
        )
        return (
            Source("policy", "policy.txt", f"{truth.company} policy", policy, shift_date(today, -260)),
            Source(
                "rating",
                "rating.txt",
                f"{truth.bank} rating",
                (("rating", older), (f"from {x.rated_on}", newer)),
                min(x.rated_on, shift_date(today, -2)),
            ),
            Source(
                "positions", "positions.txt", f"{truth.axes['desk']} desk {truth.currency} {today}", positions, today
            ),
        )

    def looks(self, truth: LimitTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """Exceptions on file, policy, rating and positions."""
        return (call(("grc__list_exceptions", {"subject": truth.bank})), "policy", "rating", "positions")

    def systems(self, truth: LimitTruth, size: Size) -> Systems:
        """GRC, for an officer."""
        tools = ("list_exceptions", "open_finding", "close_finding")
        more = ("list_findings",) if size == "standard" else ()
        grant = ServiceGrant(service="grc", actor="officer", tools=(*tools, *more))
        return Systems((grant,), risk.grc_rows(truth.exposed, truth.bank, truth.other_bank))

    @staticmethod
    def _act(bank: str, alert: str, verdict: str, excess: int) -> PlanStep:
        if verdict == "breach":
            opened = {"subject": bank, "title": "limit breach", "amount": str(abs(excess))}
            return call(("grc__open_finding", opened))
        return call(("grc__close_finding", {"finding_id": alert}))

    def acts(self, truth: LimitTruth, values: Mapping[str, Value]) -> tuple[PlanStep, ...]:
        """Open a finding with the excess, or close the alert."""
        return (self._act(truth.bank, truth.alert, values["verdict"], values["excess"]),)

    def wrong_acts(self, truth: LimitTruth) -> dict[str, tuple[PlanStep, ...]]:
        """Nothing done, the bank of a name alike, the opposite, a finding opened twice."""
        x, values = truth.exposed, self.right(truth)
        verdict, excess = values["verdict"], values["excess"]
        done = self._act(truth.bank, truth.alert, verdict, excess)
        opposite = "within" if verdict == "breach" else "breach"
        return {
            "omitted_update": (),
            "wrong_record": (self._act(truth.other_bank, x.other_alert_id, verdict, excess),),
            "opposite": (self._act(truth.bank, truth.alert, opposite, excess),),
            **({"opened_twice": (done, done)} if verdict == "breach" else {}),
        }

    def claims(self, truth: LimitTruth) -> tuple[Claim, ...]:
        """The outcome stands in GRC once; the bank of a name alike is left alone."""
        x, values = truth.exposed, self.right(truth)
        findings = {"service": "grc", "table": "findings"}
        breach = values["verdict"] == "breach"
        mine = {"subject": truth.bank, "amount": values["excess"]}
        opened = check("service_rows", **findings, where=mine, max=1)
        closed = check("service_rows", **findings, where={"finding_id": x.alert_id, "status": "closed"})
        raised = check("service_rows", **findings, where={"subject": truth.bank}, min=2)
        alone = check("service_rows", **findings, where={"subject": truth.other_bank}, expect={"status": "open"}, max=1)
        asks, record = (
            "The outcome of {alert} is in the grc: a finding, or the alert closed",
            f"grc.findings.{x.alert_id}",
        )
        ends = f"A finding of {values['excess']} is open on {{bank}}" if breach else "Alert {alert} is closed"
        return (
            Claim("settled", ends, 2.0, opened if breach else closed, asks, (record,)),
            Claim(
                "error_opposite",
                "Alert {alert} is closed despite a breach"
                if breach
                else "A finding is opened on {bank} without a breach",
                -2.0,
                closed if breach else raised,
                asks,
                (record,),
            ),
            Claim(
                "error_other_bank",
                "Something was opened or closed on {other_bank}",
                -2.0,
                none_of(alone),
                asks,
                (f"grc.findings.{x.other_alert_id}",),
            ),
        )

    def remarks(self, truth: LimitTruth) -> tuple[Remark, ...]:
        """Whether contracts were set off."""
        ways = {"net": ("net", "netted", "set off", "offset"), "gross": ("gross",)}
        basis, other = ("net", "gross") if truth.exposed.netting == "signed" else ("gross", "net")
        return (
            Remark(
                "netting",
                f"the {truth.instruments} count {basis}",
                ((truth.instruments, "contracts"),),
                ways[basis],
                "says how the {instruments} count, net or gross",
                ("positions",),
                ways[other],
            ),
        )

    def drive(self, truth: LimitTruth, drive: Drive) -> None:
        """Policy, rating letter, positions, master agreement, alerts."""
        names = (truth.bank, truth.other_bank, truth.instruments, "risk_officer", "dealer")
        risk.put_papers(drive, truth.exposed, *names)
