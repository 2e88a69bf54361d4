"""operations.downtime_analysis: lost minutes and pieces of a shift by true cause, the miscoded stop put right."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep, ServiceGrant, Size
from journeyman.worlds.cases.authored import RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Claim, Field, Remark, Source, Systems, Trap
from journeyman.worlds.criteria import check
from journeyman.worlds.families import manufacturing
from journeyman.worlds.families.manufacturing import PLANNED, Shift
from journeyman.worlds.scripts import call


def _coded(stops: dict[str, tuple[str, int]], sheet: dict[str, str]) -> tuple[tuple[str, int], ...]:
    return tuple((sheet.get(stop, cause), minutes) for stop, (cause, minutes) in stops.items())


def _top(unplanned: tuple[tuple[str, int], ...]) -> str:
    return max(dict(unplanned), key=lambda cause: sum(m for c, m in unplanned if c == cause))


DERIVATION = Derivation(
    ("stops", "sheet", "planned", "minutes", "rate", "scrapped"),
    Step("coded", "match", ("stops", "sheet"), _coded),
    Step("unplanned", "filter", ("coded", "planned"), lambda coded, p: tuple(x for x in coded if x[0] not in p)),
    Step("top", "rank", ("unplanned",), _top),
    Step("lost", "sum", ("unplanned",), lambda rows: sum(m for _, m in rows)),
    Step("stopped", "sum", ("coded",), lambda rows: sum(m for _, m in rows)),
    Step("run", "difference", ("minutes", "stopped"), lambda minutes, stopped: minutes - stopped),
    Step("missed", "product", ("lost", "rate"), lambda lost, rate: lost * rate),
    Step("loss", "sum", ("missed", "scrapped"), lambda missed, scrapped: missed + scrapped),
)


class DowntimeTruth(CaseTruth):
    """One shift to be analysed."""

    held: Shift
    shift: str
    product: str
    line: str
    sheet: str
    crew: str


class DowntimeAnalysis(CaseType[DowntimeTruth]):
    """Terminal codes against the signed sheet, with a live MES to recode the stop in."""

    name = "operations.downtime_analysis"
    domain: Domain = "operations"
    practice_area = "manufacturing and quality"
    own_axes = {
        "coded": ("planned", "unplanned"),
        "cause": manufacturing.CAUSES,
        "planned": PLANNED,
        "product": manufacturing.PRODUCTS,
        "line": manufacturing.LINES,
        "shift": manufacturing.SHIFTS,
        "sheet": ("sheet", "book", "card"),
        "crew": ("red", "blue", "green", "grey"),
    }
    setting = {"product": "Product", "line": "Line", "crew": "Crew"}
    roles = ("operator", "planner", "maintenance_lead", "plant_manager", "quality_lead", "controller")
    stakeholders = ("maintenance_lead", "planner", "plant_manager", "quality_lead", "controller")
    deliverables = ("report", "workbook", "summary")
    derivation = DERIVATION
    fields = (
        Field("top", "Top cause", "top", "Most minutes of {shift} were lost to {value}", ("sheet",)),
        Field("lost", "Lost minutes", "lost", "Lost minutes of {shift}: {value}", ("sheet", "rules")),
        Field("run", "Run minutes", "run", "Run minutes of {shift}: {value}", ("mes.shifts.{shift}",)),
        Field("missed", "Missed pieces", "missed", "Pieces missed by stops of {shift}: {value}", ("rules",)),
        Field("loss", "Loss in pieces", "loss", "Missed and scrapped pieces of {shift}: {value}", ("rules",), 2.0),
    )
    asks = {
        "train": (
            "Please analyse the stops of shift {shift} and say what they cost.",
            "Where did the {crew} crew lose its minutes in {shift}? Please work it out.",
            "Line {line} made too few {product}s in {shift}. Please count the losses.",
            "Please count the losses of {shift}, and put its stops right in the mes.",
        ),
        "validation": (
            "What did {shift} lose, and to what? Please analyse its stops.",
            "The {crew} crew asks for the losses of {shift}. Please work them out.",
        ),
        "heldout": (
            "For line {line} we need to know what {shift} cost. Would you analyse its stops?",
            "The {crew} crew of {shift} made fewer {product}s than planned. Would you find the causes?",
            "Would you say what was lost in {shift}, and to what?",
        ),
    }
    meaning = (
        "Name the top cause as the mes does, the rest in minutes or pieces. If a stop is coded wrongly, recode it "
        "in the mes."
    )
    rumoured = "model_minutes"

    def draw(self, common: Common) -> DowntimeTruth:
        """The facts of one world."""
        held = manufacturing.simulate_shift(common)
        return DowntimeTruth(
            **common.given,
            held=held,
            shift=held.shift_id,
            product=common.axes["product"],
            line=common.axes["line"],
            sheet=common.axes["sheet"],
            crew=common.axes["crew"],
        )

    def facts(self, truth: DowntimeTruth) -> dict[str, Value]:
        """The derivation's facts."""
        s = truth.held
        return {
            "stops": s.stops,
            "sheet": {s.miscoded: s.true_cause},
            "planned": PLANNED,
            "minutes": s.minutes,
            "rate": s.rate,
            "scrapped": s.scrapped,
        }

    def traps(self, truth: DowntimeTruth) -> tuple[Trap, ...]:
        """The terminal believed, planned stops counted, scrap forgotten, a model shift taken for this one."""
        s = truth.held
        return (
            Trap(
                "terminal_code",
                "conflict",
                "sheet",
                {},
                "top",
                "The top cause is given as {value}, as the terminal coded it",
                (f"mes.stops.{s.miscoded}",),
                -3.0,
            ),
            Trap(
                "planned_counted",
                "exception",
                "planned",
                (),
                "lost",
                "Lost minutes are given as {value}, planned stops among them",
                ("rules",),
            ),
            Trap(
                "scrap_forgotten",
                "missing",
                "scrapped",
                0,
                "loss",
                "The loss in pieces is given as {value}, scrap left out",
                (f"mes.shifts.{s.shift_id}",),
                -3.0,
            ),
            Trap(
                "model_minutes",
                "claim",
                "minutes",
                s.nominal,
                "run",
                "Run minutes are given as {value}, from the minutes of a model shift",
                (RUMOUR,),
                -3.0,
            ),
        )

    def sources(self, truth: DowntimeTruth) -> tuple[Source, ...]:
        """The signed sheet, and how losses are counted."""
        s = truth.held
        sheet = ((s.miscoded, s.true_cause), ("other stops", "as coded"))
        rules = (
            (f"{truth.product}s a minute", str(s.rate)),
            *((name, "planned, not lost") for name in PLANNED),
            ("run", "shift less all stops"),
            ("loss", "lost minutes by rate, and scrap"),
            (f"the signed {truth.axes['sheet']}", "before the code"),
        )
        return (
            Source("sheet", f"{truth.axes['sheet']}.txt", f"{truth.axes['crew']} crew, signed", sheet, s.held_on),
            Source("rules", "rules.txt", f"{truth.company} line {truth.line}", rules, s.held_on),
        )

    def looks(self, truth: DowntimeTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """The shift, its stops, the sheet and the rules."""
        return (
            call(("mes__get_shift", {"shift_id": truth.shift})),
            call(("mes__list_stops", {"shift_id": truth.shift})),
            "sheet",
            "rules",
        )

    def systems(self, truth: DowntimeTruth, size: Size) -> Systems:
        """The MES, for a planner."""
        grant = ServiceGrant(service="mes", actor="planner", tools=("get_shift", "list_stops", "recode_stop"))
        return Systems((grant,), manufacturing.shift_rows(truth.held))

    def acts(self, truth: DowntimeTruth, values: Mapping[str, Value]) -> tuple[PlanStep, ...]:
        """Recode the stop that the sheet corrects."""
        return (self._recode(truth.held.miscoded, truth.held.true_cause),)

    @staticmethod
    def _recode(stop: str, cause: str) -> PlanStep:
        return call(("mes__recode_stop", {"stop_id": stop, "cause": cause}))

    def wrong_acts(self, truth: DowntimeTruth) -> dict[str, tuple[PlanStep, ...]]:
        """Not recoded, another stop recoded, recoded to something else, another one recoded too."""
        s = truth.held
        other = next(stop for stop in s.stops if stop != s.miscoded)
        cause = next(c for c in manufacturing.CAUSES if c not in {s.true_cause, s.stops[s.miscoded][0]})
        return {
            "omitted_update": (),
            "wrong_record": (self._recode(other, s.true_cause),),
            "wrong_cause": (self._recode(s.miscoded, cause),),
            "unsigned_note": (self._recode(s.miscoded, s.true_cause), self._recode(other, s.true_cause)),
        }

    def claims(self, truth: DowntimeTruth) -> tuple[Claim, ...]:
        """The stop is recoded; all others stay as they were coded."""
        s = truth.held
        stops = {"service": "mes", "table": "stops"}
        done = check("service_rows", **stops, where={"stop_id": s.miscoded}, expect={"cause": s.true_cause})
        recoded = check("service_rows", **stops, where={"coded_by": "planner"})
        touched = check(
            "any_of",
            checks=[
                check("service_rows", **stops, where={"stop_id": stop, "coded_by": "planner"}).model_dump(mode="json")
                for stop in (*s.stops, "S-90")
                if stop != s.miscoded
            ],
        )
        wrong = check(
            "all_of",
            checks=[
                recoded.model_dump(mode="json"),
                check("not_", check=done.model_dump(mode="json")).model_dump(mode="json"),
            ],
        )
        asks, record = "The stop that the signed sheet corrects is recoded in the mes", f"mes.stops.{s.miscoded}"
        return (
            Claim("recoded", f"Stop {s.miscoded} is coded {s.true_cause}", 2.0, done, asks, (record, "sheet")),
            Claim("error_other_stop", "A stop that was coded right was recoded", -2.0, touched, asks, (record,)),
            Claim(
                "error_not_as_signed",
                f"Stops were recoded, but {s.miscoded} is not coded {s.true_cause}",
                -2.0,
                wrong,
                asks,
                (record, "sheet"),
            ),
        )

    def remarks(self, truth: DowntimeTruth) -> tuple[Remark, ...]:
        """Which stop was wrong."""
        s = truth.held
        return (
            Remark(
                "stop",
                f"the code of {s.miscoded} was wrong",
                ((s.miscoded,),),
                (
                    "wrong",
                    "wrongly",
                    "incorrect",
                    "incorrectly",
                    "miscoded",
                    "recoded",
                    "corrected",
                    "changed",
                    "error",
                ),
                "names the stop whose code was wrong",
                ("sheet",),
                ("right", "rightly", "correct", "correctly"),
                tuple(stop for stop in s.stops if stop != s.miscoded),
            ),
        )

    def drive(self, truth: DowntimeTruth, drive: Drive) -> None:
        """Sheet, note, rules, line card, terminal's export and the weeks before."""
        manufacturing.put_shift(drive, truth.held, "maintenance_lead", "planner", "operator")
