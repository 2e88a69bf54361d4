"""law.breach_notice: until when a data breach had to be notified, how many persons it concerns, who is told."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import COUNTS, LEFT_OUT, CaseTruth, Field, Remark, Source, Trap
from journeyman.worlds.families import privacy
from journeyman.worlds.families.privacy import Breach, hours_later

DERIVATION = Derivation(
    ("starts", "events", "plus", "hours", "records", "locked", "twice", "threshold", "sent"),
    Step("logged", "choose", ("starts", "events"), lambda starts, events: events[starts]),
    Step("aware", "convert", ("logged", "plus"), hours_later),
    Step("due", "accrue", ("aware", "hours"), hours_later),
    Step("verdict", "compare", ("sent", "due"), lambda sent, due: "timely" if sent <= due else "late"),
    Step("readable", "difference", ("records", "locked"), lambda records, locked: records - locked),
    Step("persons", "difference", ("readable", "twice"), lambda readable, twice: readable - twice),
    Step("duty", "classify", ("persons", "threshold"), lambda n, least: "inform" if n >= least else "none"),
)


class BreachTruth(CaseTruth):
    """One breach to be reviewed."""

    b: Breach


class BreachNotice(CaseType[BreachTruth]):
    """A log in UTC, a procedure that says what starts the clock, and a count of records that is not one of persons."""

    name = "law.breach_notice"
    domain: Domain = "law"
    practice_area = "regulatory and data"
    own_axes = {
        "starts": privacy.STARTS,
        "verdict": ("timely", "late"),
        "duty": ("inform", "none"),
        "data": privacy.DATA,
        "cause": privacy.CAUSES,
        "carrier": ("laptop", "backup", "mailbox", "server"),
        "country": tuple(privacy.UTC_PLUS),
    }
    setting = {"country": "Country", "carrier": "Data were on a"}
    roles = ("analyst", "officer", "counsel", "registrar", "partner", "manager")
    stakeholders = ("counsel", "registrar", "partner", "manager")
    deliverables = ("review", "report", "schedule")
    derivation = DERIVATION
    fields = (
        Field(
            "aware", "Clock started (local time)", "aware", "The clock started at {value} local time", ("rules", "log")
        ),
        Field(
            "due",
            "Notification due (local time)",
            "due",
            "The notification was due at {value} local time",
            ("rules", "log"),
        ),
        Field(
            "verdict",
            "Notification, timely or late",
            "verdict",
            "Sent at {b.sent}, the notification was {value}",
            ("report",),
            1.0,
        ),
        Field(
            "persons", "Persons concerned", "persons", "The breach concerns {value} persons", ("count", "rules"), 3.0
        ),
        Field(
            "duty", "Duty to the persons", "duty", "The duty towards the persons is: {value}", ("rules", "count"), 1.0
        ),
    )
    asks = {
        "train": (
            "Was the {axes[cause]} of our {axes[data]} data in {axes[country]} notified in time? Please check it.",
            "Please review the notice {company} gave of the {axes[data]} breach on a {axes[carrier]}.",
            "Please check when the {axes[data]} breach in {axes[country]} had to be notified, and how many persons "
            "it concerns.",
            "A {axes[carrier]} with {axes[data]} data is gone. Please say who had to be told, and by when.",
        ),
        "validation": (
            "Who had to hear of the {axes[data]} breach, and by when? Please work it out.",
            "The {axes[carrier]} breach in {axes[country]} is under review. Please check our notice.",
        ),
        "heldout": (
            "In {axes[country]} the authority asks if {company} told it of the {axes[cause]} soon enough. Would you "
            "check?",
            "The {axes[cause]} of a {axes[carrier]} was notified. Would you review whether that was in time?",
            "Would you find out how many persons the {axes[data]} breach concerns and when it was due?",
        ),
    }
    meaning = (
        "Give times as in 2019-01-31 08:20, in local time, the notification as timely or late, and the duty to "
        "persons as inform or none."
    )
    rumoured = "second_records"

    def draw(self, common: Common) -> BreachTruth:
        """The facts of one world."""
        axes = common.axes
        made = privacy.simulate(
            common, starts=axes["starts"], late=axes["verdict"] == "late", inform=axes["duty"] == "inform"
        )
        return BreachTruth(**common.given, b=made)

    def facts(self, truth: BreachTruth) -> dict[str, Value]:
        """The derivation's facts."""
        return {name: getattr(truth.b, name) for name in DERIVATION.facts}

    def traps(self, truth: BreachTruth) -> tuple[Trap, ...]:
        """The other event, UTC taken for local time, a client's clock, encrypted and second records counted."""
        b = truth.b
        other = next(e for e in privacy.STARTS if e != b.starts)
        return (
            Trap(
                "other_event",
                "conflict",
                "logged",
                b.events[other],
                "aware",
                f"The clock is said to start at {{value}}, when {privacy.MEANING[other]}",
                ("log",),
            ),
            Trap(
                "utc_as_local",
                "unit",
                "plus",
                0,
                "aware",
                "The clock is said to start at {value}, a time in UTC",
                ("log",),
            ),
            Trap(
                "client_hours",
                "lookalike",
                "hours",
                b.client_hours,
                "due",
                "The notification is said to be due at {value}, by a client's contract",
                ("rules",),
            ),
            Trap(
                "locked_counted",
                "exception",
                "readable",
                b.records,
                "persons",
                "The persons are given as {value}, with encrypted records in it",
                ("count",),
            ),
            Trap(
                "second_records",
                "claim",
                "twice",
                0,
                "persons",
                "The persons are given as {value}, some counted twice",
                ("count", RUMOUR),
            ),
        )

    def sources(self, truth: BreachTruth) -> tuple[Source, ...]:
        """Rules, log, count and report."""
        b, axes = truth.b, truth.axes
        rules = (
            ("clock starts when", privacy.MEANING[b.starts]),
            ("authority within", f"{b.hours} hours"),
            ("client within", f"{b.client_hours} hours"),
            ("inform persons from", str(b.threshold)),
        )
        log = ((privacy.MEANING[name], stamp) for name, stamp in b.events.items())
        count = (
            ("records", str(b.records)),
            ("encrypted, not counted,", str(b.locked)),
            ("same person twice", str(b.twice)),
        )
        sent = (("sent", b.sent), ("local time is UTC plus", str(b.plus)))
        return (
            Source("rules", "rules.txt", f"{axes['country']} {axes['data']} data rules", rules, b.events["found"][:10]),
            Source("log", "utc.txt", f"{axes['carrier']} log in UTC", tuple(log), b.sent[:10]),
            Source("count", "count.txt", f"{axes['cause']} of {axes['data']} records", count, b.sent[:10]),
            Source("report", "sent.txt", f"{truth.company} notice in local time", sent, b.sent[:10]),
        )

    def looks(self, truth: BreachTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """The rules, the log, the count and what was sent."""
        return ("rules", "log", "count", "report")

    def remarks(self, truth: BreachTruth) -> tuple[Remark, ...]:
        """Why encrypted records are left out."""
        return (
            Remark(
                "encrypted",
                "encrypted records are not counted",
                (("encrypted",),),
                (*COUNTS, "concerned"),
                "says which records are not counted because nobody can read them",
                ("rules",),
                (*LEFT_OUT, "deducted", "taken off", "subtracted"),
                true=False,
            ),
        )

    def drive(self, truth: BreachTruth, drive: Drive) -> None:
        """Rules, then the incident."""
        privacy.put_rules(drive, truth.b, "officer", "counsel")
        privacy.put_incident(drive, truth.b, "analyst", "officer", "registrar")
