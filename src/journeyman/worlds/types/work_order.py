"""operations.work_order: who bears a repair, who may do it that day, and whether the manager may order it."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep, ServiceGrant, Size
from journeyman.worlds.base import Pair
from journeyman.worlds.cases.authored import RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import CaseTruth, Claim, Field, Remark, Source, Systems, Trap
from journeyman.worlds.criteria import any_of, check, none_of
from journeyman.worlds.families import property as premises
from journeyman.worlds.families.property import Repair
from journeyman.worlds.lexicon import shift_date
from journeyman.worlds.scripts import call


def _route(bearer: str, price: int, left: int, limit: int) -> str:
    if bearer == "tenant":
        return "tenant"
    return "owner" if price > min(left, limit) else "order"


DERIVATION = Derivation(
    ("fault", "cause", "bearers", "excused", "quotes", "insured", "needed_on", "budget", "committed", "limit"),
    Step("by_lease", "look_up", ("fault", "bearers"), lambda fault, bearers: bearers[fault]),
    Step("bearer", "classify", ("by_lease", "cause", "excused"), lambda b, c, x: "tenant" if c == x else b),
    Step("able", "filter", ("quotes", "insured", "needed_on"), lambda q, i, on: tuple(n for n in q if i[n] >= on)),
    Step("contractor", "rank", ("able", "quotes"), lambda able, quotes: min(able, key=lambda n: quotes[n])),
    Step("price", "look_up", ("contractor", "quotes"), lambda name, quotes: quotes[name]),
    Step("left", "difference", ("budget", "committed"), lambda b, c: b - c),
    Step("route", "decide", ("bearer", "price", "left", "limit"), _route),
)


class OrderTruth(CaseTruth):
    """One work order that waits."""

    repair: Repair
    order: str
    unit: str
    fault: str
    building: str
    city: str
    season: str
    urgency: str
    tenant: str


class WorkOrder(CaseType[OrderTruth]):
    """A repair within duty, insurance, mandate and budget, with a live property system."""

    name = "operations.work_order"
    domain: Domain = "operations"
    practice_area = "property and facilities"
    own_axes = {
        "route": ("order", "limit", "budget", "tenant"),
        "cause": premises.CAUSES,
        "fault": premises.FAULTS,
        "building": premises.BUILDINGS,
        "city": premises.CITIES,
        "currency": ("EUR", "GBP", "CHF"),
        "season": ("winter", "spring", "summer", "autumn"),
        "urgency": ("low", "high"),
    }
    setting = {"city": "City", "urgency": "Urgency"}
    forbidden: tuple[Pair, ...] = tuple(
        (("route", route), ("cause", "misuse")) for route in ("order", "limit", "budget")
    )
    roles = ("engineer", "property_manager", "accountant", "owner", "tenant_contact", "auditor")
    stakeholders = ("property_manager", "accountant", "owner", "tenant_contact", "auditor")
    deliverables = ("record", "letter", "report")
    derivation = DERIVATION
    fields = (
        Field("bearer", "Bearer", "bearer", "The repair of {order} is borne by the {value}", ("lease",), 2.0),
        Field("price", "Price", "price", "The price of {order} is {value}", ("quotes",)),
        Field("left", "Left of the budget", "left", "Left of the budget of the {building} is {value}", ("quotes",)),
        Field("route", "Route", "route", "{order} goes the way: {value}", ("lease", "quotes"), 1.0),
    )
    asks = {
        "train": (
            "Please deal with work order {order}: place it, or refer it to whoever has to decide.",
            "The {fault} of {unit} is out. Please place {order} or refer it.",
            "Work order {order} waits in {city} this {season}. Please place it or refer it.",
            "Please deal with {order}, a {fault} case of {urgency} urgency.",
        ),
        "validation": (
            "Who carries out {order}, and who bears it? Please settle that.",
            "The {building} waits on {order}. Please see to it.",
        ),
        "heldout": (
            "In {city} the {fault} of {unit} failed this {season}. Would you take care of {order}?",
            "{tenant} reported the {fault}. Would you send {order} where it belongs?",
            "Work order {order} is of {urgency} urgency. Would you see it on its way?",
        ),
    }
    meaning = (
        "Give the bearer as owner or tenant, what is left of the budget before this order, and the route as order, "
        "tenant or owner."
    )
    rumoured = "lapsed_insurance"

    def draw(self, common: Common) -> OrderTruth:
        """The facts of one world."""
        made = premises.simulate_repair(common)
        return OrderTruth(
            **common.given,
            repair=made,
            order=made.order_id,
            unit=made.unit,
            fault=made.fault,
            building=made.building,
            city=common.axes["city"],
            season=common.axes["season"],
            urgency=common.axes["urgency"],
            tenant=common.given["other_party"],
        )

    def facts(self, truth: OrderTruth) -> dict[str, Value]:
        """The derivation's facts."""
        r = truth.repair
        return {
            "fault": r.fault,
            "cause": r.cause,
            "bearers": r.bearers,
            "excused": r.excused,
            "quotes": r.quotes,
            "insured": r.insured,
            "needed_on": r.needed_on,
            "budget": r.budget,
            "committed": r.committed,
            "limit": r.limit,
        }

    def traps(self, truth: OrderTruth) -> tuple[Trap, ...]:
        """The cheapest though not insured, the whole budget, the other bearer."""
        r, right = truth.repair, self.right(truth)
        other = "tenant" if right["bearer"] == "owner" else "owner"
        return (
            Trap(
                "lapsed_insurance",
                "cutoff",
                "able",
                tuple(r.quotes),
                "price",
                "The price is given as {value}, of a contractor whose insurance has ended by then",
                ("quotes", RUMOUR),
            ),
            Trap(
                "whole_budget",
                "exception",
                "committed",
                0,
                "left",
                "Left of the budget is given as {value}, what is committed not taken off",
                (f"property.budgets.{r.building}",),
                -3.0,
            ),
            Trap(
                "other_bearer",
                "lookalike",
                "bearer",
                other,
                "bearer",
                "The repair is said to be borne by the {value}, against lease and cause",
                ("lease",),
            ),
        )

    def sources(self, truth: OrderTruth) -> tuple[Source, ...]:
        """Lease and quotes, the manager's limit among them."""
        r = truth.repair
        today = truth.frozen_time[:10]
        bears = tuple((fault, f"{who} bears") for fault, who in r.bearers.items())
        quotes = tuple((name, str(price)) for name, price in r.quotes.items())
        rest = (
            ("work day", r.needed_on),
            ("manager limit", str(r.limit)),
            ("taken", "lowest insured on that day"),
            ("left", "budget less committed"),
            ("over limit or left", "owner"),
        )
        return (
            Source(
                "lease",
                "lease.txt",
                f"{truth.tenant} lease",
                (*bears, (r.excused, "tenant bears")),
                shift_date(today, -700),
            ),
            Source(
                "quotes",
                "quotes.txt",
                f"{truth.building} {truth.city} {truth.currency}, {truth.urgency} urgency",
                (*quotes, *rest),
                shift_date(today, -2),
            ),
        )

    def looks(self, truth: OrderTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """The order, the budget, the contractors' insurance, lease and quotes."""
        return (
            call(("property__get_work_order", {"order_id": truth.order})),
            call(("property__get_budget", {"building": truth.building})),
            call(("property__list_contractors", {})),
            "lease",
            "quotes",
        )

    def systems(self, truth: OrderTruth, size: Size) -> Systems:
        """The property system, for a manager."""
        tools = ("get_work_order", "get_budget", "list_contractors", "place_order", "refer_order")
        more = ("list_work_orders",) if size == "standard" else ()
        grant = ServiceGrant(service="property", actor="manager", tools=(*tools, *more))
        return Systems((grant,), premises.repair_rows(truth.repair))

    @staticmethod
    def _act(order: str, values: Mapping[str, Value]) -> PlanStep:
        if values["route"] == "order":
            placed = {"order_id": order, "contractor": values["contractor"], "amount": str(values["price"])}
            return call(("property__place_order", placed))
        return call(("property__refer_order", {"order_id": order, "to": values["route"]}))

    def acts(self, truth: OrderTruth, values: Mapping[str, Value]) -> tuple[PlanStep, ...]:
        """Place the order, or refer it."""
        return (self._act(truth.order, values),)

    def wrong_acts(self, truth: OrderTruth) -> dict[str, tuple[PlanStep, ...]]:
        """Nothing done, the order of a unit alike, placed where it had to be referred, or the other way."""
        values = self.right(truth)
        route = "owner" if values["route"] == "order" else "order"
        return {
            "omitted_update": (),
            "wrong_record": (self._act(truth.repair.other_id, values),),
            "opposite": (self._act(truth.order, {**values, "route": route}),),
        }

    def claims(self, truth: OrderTruth) -> tuple[Claim, ...]:
        """The order ends as it has to; that of a unit alike stays open."""
        r, values = truth.repair, self.right(truth)
        orders = {"service": "property", "table": "orders"}
        placed = {"status": "placed", "contractor": values["contractor"], "amount": values["price"]}
        ends = placed if values["route"] == "order" else {"status": "referred", "referred_to": values["route"]}
        done = check("service_rows", **orders, where={"order_id": r.order_id}, expect=ends)
        moved = any_of(
            *(
                check("service_rows", **orders, where={"order_id": r.order_id, "status": s})
                for s in ("placed", "referred")
            )
        )
        wrong = check("all_of", checks=[moved.model_dump(mode="json"), none_of(done).model_dump(mode="json")])
        other = check("service_rows", **orders, where={"order_id": r.other_id}, expect={"status": "open"})
        asks, record = "{order} is placed or referred in the property system", f"property.orders.{r.order_id}"
        way = (
            f"placed with {values['contractor']}"
            if values["route"] == "order"
            else f"referred to the {values['route']}"
        )
        return (
            Claim("settled", f"{{order}} is {way}", 2.0, done, asks, (record,)),
            Claim("error_wrong_way", f"{{order}} was moved and is not {way}", -2.0, wrong, asks, (record,)),
            Claim(
                "error_other_order",
                f"Order {r.other_id}, of a unit alike, was moved",
                -2.0,
                none_of(other),
                asks,
                (f"property.orders.{r.other_id}",),
            ),
        )

    def remarks(self, truth: OrderTruth) -> tuple[Remark, ...]:
        """Whose insurance has ended."""
        r = truth.repair
        lapsed = min(r.quotes, key=lambda name: r.quotes[name])
        return (
            Remark(
                "uninsured",
                f"{lapsed} is not insured on that day",
                ((lapsed, lapsed.split()[0]),),
                ("insured", "covered"),
                "names the contractor who may not work that day, and says why",
                ("quotes",),
                ("uninsured", "lapsed", "ended", "expired", "ends before"),
                tuple(n for n in r.quotes if n != lapsed),
                true=False,
            ),
        )

    def drive(self, truth: OrderTruth, drive: Drive) -> None:
        """Lease, quotes, report, mandate, orders placed, and a hopeful mail."""
        premises.put_repair(drive, truth.repair, truth.tenant, "property_manager", "engineer")
