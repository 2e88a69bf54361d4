"""operations.replenishment: an order tool with two to four faults mended, and the order it should have given."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep
from journeyman.worlds.cases.authored import RUMOUR, SITES, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Claim, Field, Remark, Source, Trap, TrapKind
from journeyman.worlds.criteria import any_of, gives, none_of
from journeyman.worlds.families import replenishment
from journeyman.worlds.families.replenishment import FUNCTIONS, Replenishment, worked
from journeyman.worlds.scripts import write

DERIVATION = Derivation(
    ("week", "weeks", "safety", "stock", "due", "lot", "room"),
    Step("need", "accrue", ("week", "weeks", "safety"), lambda *given: worked("need", *given)),
    Step("net", "difference", ("need", "stock", "due"), lambda *given: worked("net", *given)),
    Step("lots", "convert", ("net", "lot"), lambda *given: worked("lots", *given)),
    Step("fit", "limit", ("lots", "room", "lot"), lambda *given: worked("fit", *given)),
    Step("left", "difference", ("room", "fit"), lambda room, order: room - order),
)
_STEPS = {"need": "need", "net": "net", "lots": "lots", "fit": "order"}  # function and step -> key of its field
_KINDS: dict[str, TrapKind] = {"need": "missing", "net": "exception", "lots": "unit", "fit": "exception"}


class ReplenishmentTruth(CaseTruth):
    """One article at one site, and the tool that orders it."""

    r: Replenishment
    goods: str
    site: str
    unit: str
    module: str


class Restocking(CaseType[ReplenishmentTruth]):
    """Code repair: the request tells the symptom, each fault is graded by inputs nobody shows."""

    name = "operations.replenishment"
    domain: Domain = "operations"
    practice_area = "logistics"
    own_axes = {
        "faults": ("two", "three", "four"),
        "tool": replenishment.TOOLS,
        "goods": replenishment.GOODS,
        "unit": replenishment.UNITS,
        "site": SITES,
        "round": ("daily", "weekly", "monthly"),
    }
    setting = {"round": "Orders are made"}
    roles = ("planner", "storekeeper", "supervisor", "buyer", "controller", "auditor")
    stakeholders = ("supervisor", "buyer", "controller", "auditor")
    deliverables = ("note", "schedule", "log", "report")
    derivation = DERIVATION
    fields = (
        Field("need", "Needed", "need", "The {site} needs {value} {unit} of {goods}", ("rules", "data")),
        Field("net", "Lacking", "net", "The {site} lacks {value} {unit} of {goods}", ("rules", "data")),
        Field("lots", "Lacking in whole lots", "lots", "In whole lots {value} {unit} are lacking", ("rules", "data")),
        Field("order", "Order", "fit", "The order of {goods} is {value} {unit}", ("rules", "data")),
        Field("left", "Room left", "left", "The order leaves room for {value} {unit}", ("data",), 1.0),
    )
    asks = {
        "train": (
            "The order of {goods} comes out wrong. Please mend the tool and give the right figures.",
            "Our order tool fails for {goods}. Please repair what is wrong in it.",
            "{company} can not trust its order tool. Please mend it and order {goods} by the rules.",
            "Please mend the order tool of the {site} and order {goods} by the rules.",
        ),
        "validation": (
            "Orders of {goods} are off since spring. Please set the order tool right.",
            "The {site} waits until its order tool agrees with the rules. Please see to it.",
        ),
        "heldout": (
            "The order tool breaks the rules for {goods}. Would you correct it?",
            "For the {site}, would you bring the order tool back to the rules?",
            "The order tool of {company} is broken. Would you fix all of it?",
        ),
    }
    meaning = "Left is the room that the order leaves. Names in tools have to stay."
    rumoured = "last_order"

    def draw(self, common: Common) -> ReplenishmentTruth:
        """The facts of one world."""
        made, axes = replenishment.simulate(common), common.axes
        return ReplenishmentTruth(
            **common.given, r=made, goods=axes["goods"], site=axes["site"], unit=axes["unit"], module=made.module
        )

    def facts(self, truth: ReplenishmentTruth) -> dict[str, Value]:
        """The derivation's facts."""
        r = truth.r
        return {name: getattr(r, name) for name in DERIVATION.facts}

    def _wrong(self, truth: ReplenishmentTruth) -> dict[str, int]:
        """Function at fault -> the figure it gives for this site."""
        inputs = {s.name: s.inputs for s in DERIVATION.steps}
        right = self.right(truth)
        return {
            name: worked(name, *(right[i] for i in inputs[name]), line=line) for name, line in truth.r.faults.items()
        }

    def traps(self, truth: ReplenishmentTruth) -> tuple[Trap, ...]:
        """Each fault left in the tool, and last month's order."""
        faults = tuple(
            Trap(
                f"left_{name}",
                _KINDS[name],
                name,
                value,
                _STEPS[name],
                f"The value of {_STEPS[name]} is given as {{value}}, which breaks the rules",
                (truth.r.path, "rules"),
                chance=0.15,
            )
            for name, value in self._wrong(truth).items()
        )
        habit = "The order is given as {value}, the one of last month"
        return (*faults, Trap("last_order", "claim", "fit", truth.r.last_order, "order", habit, (RUMOUR,), -4.0))

    def programs(self, truth: ReplenishmentTruth) -> dict[str, str]:
        """The module with its faults, and the caller."""
        r = truth.r
        return {r.path: replenishment.tool(r, tuple(r.faults)), replenishment.CALLER: replenishment.caller(r)}

    def sources(self, truth: ReplenishmentTruth) -> tuple[Source, ...]:
        """The rules, and what the site has."""
        r, axes, today = truth.r, truth.axes, truth.frozen_time[:10]
        rules = (
            ("need", "weekly x weeks plus safety"),
            ("net", "need less stock and due"),
            ("lots", "net in lots, rounded up"),
            ("fit", "whole lots within room"),
        )
        data = (
            ("weekly", str(r.week)),
            ("weeks", str(r.weeks)),
            ("safety", str(r.safety)),
            ("stock", str(r.stock)),
            ("due", str(r.due)),
            ("lot", str(r.lot)),
            ("room", str(r.room)),
        )
        return (
            Source("rules", "rules.txt", f"{axes['round']} rules for {r.path}", rules, today),
            Source("data", "site.txt", f"{truth.site} {truth.goods} in {truth.unit}", data, today),
        )

    def looks(self, truth: ReplenishmentTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """The rules, the site, the tool."""
        return ("rules", "data", truth.r.path)

    def acts(self, truth: ReplenishmentTruth, values: Mapping[str, Value]) -> tuple[PlanStep, ...]:
        """The tool written anew, with the faults whose figures are believed left in it."""
        left = tuple(name for name, value in self._wrong(truth).items() if values[name] == value)
        if len(left) == len(truth.r.faults):
            return ()
        return (write(truth.r.path, replenishment.tool(truth.r, left)),)

    def wrong_acts(self, truth: ReplenishmentTruth) -> dict[str, tuple[PlanStep, ...]]:
        """Nothing mended; this site's figures written into the tool; all mended but what other sites import."""
        r, right = truth.r, self.right(truth)
        constants = {name: right[name] for name in r.faults}
        renamed = replenishment.tool(r, ()).replace("def fit(", "def within(")
        return {
            "unrepaired": (),
            "hard_coded": (write(r.path, replenishment.tool(r, (), constants)),),
            "renamed": (write(r.path, renamed),),
        }

    def claims(self, truth: ReplenishmentTruth) -> tuple[Claim, ...]:
        """Each function at fault is right for other inputs, so is the caller; the sound functions stay so."""
        r = truth.r
        seed = f"{truth.split}:{truth.seed}"
        tests = {name: gives(r.path, name, replenishment.held_out(seed, name)) for name in FUNCTIONS}
        mended, kept = "The order tool gives what the rules say, for other sites too", "Names in the tool stay"
        repaired = tuple(
            Claim(
                f"repaired_{name}",
                f"{name} of {r.path} gives what the rules say for other inputs",
                2.0,
                tests[name],
                mended,
                ("rules", r.path),
                "repair",
            )
            for name in r.faults
        )
        whole = gives(replenishment.CALLER, "order", replenishment.held_out_orders(seed))
        orders = f"order of {replenishment.CALLER} gives the right order for other sites"
        sound = [none_of(test) for name, test in tests.items() if name not in r.faults]
        broken = "A function of {r.path} that was right is so no longer"
        errors = (
            (Claim("error_regression", broken, -2.0, any_of(*sound), mended, (r.path,), "repair"),) if sound else ()
        )
        caller = (replenishment.CALLER, "rules")
        return (*repaired, Claim("whole", orders, 1.0, whole, kept, caller, "repair"), *errors)

    def remarks(self, truth: ReplenishmentTruth) -> tuple[Remark, ...]:
        """Which file was mended."""
        path = truth.r.path
        return (
            Remark(
                "mended",
                f"the file {path} was mended",
                ((path, path.rsplit("/", 1)[1]),),
                ("mended", "mend", "repaired", "fixed", "corrected", "changed", "rewritten"),
                "names the program file that you mended",
                (path,),
                ("unchanged",),
            ),
        )

    def drive(self, truth: ReplenishmentTruth, drive: Drive) -> None:
        """Rules, article sheet, stock, the tool's notes."""
        replenishment.put_papers(drive, truth.r, "planner", "storekeeper")
