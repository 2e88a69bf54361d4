"""operations.service_charge: what a tenant still owes for a year, by area, months and what the lease keeps out."""

from collections.abc import Mapping

from journeyman.records.task import Domain, PlanStep, ServiceGrant, Size
from journeyman.worlds.cases.authored import RUMOUR, Common
from journeyman.worlds.cases.derivation import Derivation, Step, Value
from journeyman.worlds.cases.drive import Drive
from journeyman.worlds.cases.kind import CaseType
from journeyman.worlds.cases.model import LEFT_OUT, CaseTruth, Claim, Field, Remark, Source, Systems, Trap
from journeyman.worlds.criteria import check
from journeyman.worlds.families import property as premises
from journeyman.worlds.families.property import ServiceYear
from journeyman.worlds.scripts import call


def _months(last_day: str, year: str) -> int:
    """Months in a year of a term that ends with a month."""
    return 12 if last_day[:4] > year else int(last_day[5:7])


DERIVATION = Derivation(
    ("year", "surveyed", "areas", "costs", "capital", "total_area", "last_day", "payments"),
    Step("holds", "choose", ("year", "surveyed"), lambda y, s: "survey" if f"{y}-01-01" >= s else "lease"),
    Step("area", "look_up", ("holds", "areas"), lambda h, areas: areas[h]),
    Step("running", "filter", ("costs", "capital"), lambda costs, c: tuple(v for k, v in costs.items() if k != c)),
    Step("pool", "sum", ("running",), sum),
    Step("share", "allocate", ("pool", "area", "total_area"), lambda pool, area, total: pool * area // total),
    Step("months", "count", ("last_day", "year"), _months),
    Step("due", "accrue", ("share", "months"), lambda share, months: share * months // 12),
    Step("paid", "look_up", ("payments", "year"), lambda payments, year: payments[year]),
    Step("balance", "difference", ("due", "paid"), lambda due, paid: due - paid),
)


class ServiceTruth(CaseTruth):
    """One lease to be settled."""

    service: ServiceYear
    tenant: str
    other_tenant: str
    lease: str
    unit: str
    service_year: str
    building: str
    city: str
    capital: str


class ServiceCharge(CaseType[ServiceTruth]):
    """Costs by area and months, with a live property system to post the balance in."""

    name = "operations.service_charge"
    domain: Domain = "operations"
    practice_area = "property and facilities"
    own_axes = {
        "area": ("lease", "survey"),
        "part": ("full", "part"),
        "balance": ("owed", "credit"),
        "capital": premises.CAPITAL,
        "building": premises.BUILDINGS,
        "city": premises.CITIES,
        "currency": ("EUR", "GBP", "CHF"),
        "advance": ("monthly", "quarterly", "yearly"),
    }
    setting = {"building": "Building", "city": "City", "advance": "Advance payments"}
    roles = ("tenant_contact", "engineer", "accountant", "property_manager", "owner", "auditor")
    stakeholders = ("property_manager", "accountant", "owner", "auditor", "tenant_contact")
    deliverables = ("statement", "schedule", "letter")
    derivation = DERIVATION
    fields = (
        Field(
            "holds",
            "Document that holds",
            "holds",
            "The area of {unit} is that of the {value}",
            ("lease", "survey"),
            1.0,
            group="authority",
        ),
        Field("area", "Area", "area", "The area of {unit} in {service_year} is {value}", ("lease", "survey")),
        Field("pool", "Pool of costs", "pool", "Recoverable costs of {service_year} are {value}", ("costs",)),
        Field("due", "Due for the term", "due", "The share of {tenant} for its months is {value}", ("costs", "lease")),
        Field("balance", "Balance", "balance", "The balance of {lease} for {service_year} is {value}", ("costs",), 2.0),
    )
    asks = {
        "train": (
            "Please settle the {service_year} service charge of {lease} and post the balance.",
            "What does {tenant} owe for {unit} in {service_year}? Please settle it and post the balance.",
            "The {building} in {city} closes {service_year}. Please settle {lease} and post what is open.",
            "Please work out what {lease} still owes or is owed for {service_year}, and post it.",
        ),
        "validation": (
            "{lease} waits for its {service_year} statement. Please settle and post it.",
            "For the {building}, please settle {lease} for {service_year}.",
        ),
        "heldout": (
            "{tenant} in {city} asks for the {service_year} statement of {lease}. Would you prepare and post it?",
            "In the {building} unit {unit} is to be settled for {service_year}. Would you do it under {lease}?",
            "Would you bring {lease} to its {service_year} balance and post it?",
        ),
    }
    meaning = (
        "Say whether lease or survey holds for the area. The pool is what all tenants share, and a credit is a "
        "negative balance. Post it once, in property."
    )
    rumoured = "last_years_payment"

    def draw(self, common: Common) -> ServiceTruth:
        """The facts of one world."""
        made = premises.simulate_year(common)
        tenant = common.given["other_party"]
        return ServiceTruth(
            **common.given,
            service=made,
            tenant=tenant,
            other_tenant=f"{tenant.split()[0]} Retail Ltd",
            lease=made.lease_id,
            unit=made.unit,
            service_year=made.year,
            building=common.axes["building"],
            city=common.axes["city"],
            capital=made.capital,
        )

    def facts(self, truth: ServiceTruth) -> dict[str, Value]:
        """The derivation's facts."""
        y = truth.service
        return {
            "year": y.year,
            "surveyed": y.surveyed,
            "areas": y.areas,
            "costs": y.costs,
            "capital": y.capital,
            "total_area": y.total_area,
            "last_day": premises.last_day(y),
            "payments": {y.year: y.paid, str(int(y.year) - 1): y.last_paid},
        }

    def traps(self, truth: ServiceTruth) -> tuple[Trap, ...]:
        """The area that does not hold, capital works passed on, last year's payments."""
        y = truth.service
        other = "lease" if truth.axes["area"] == "survey" else "survey"
        return (
            Trap(
                "other_area",
                "supersession",
                "holds",
                other,
                "area",
                "The area of {unit} is given as {value}, which does not hold for {service_year}",
                ("lease", "survey"),
            ),
            Trap(
                "capital_included",
                "exception",
                "capital",
                "",
                "pool",
                "Recoverable costs are given as {value}, works the landlord bears among them",
                ("costs", "lease"),
            ),
            Trap(
                "last_years_payment",
                "cutoff",
                "paid",
                y.last_paid,
                "balance",
                "The balance is given as {value}, by what was paid the year before",
                ("costs", RUMOUR),
                -3.0,
            ),
        )

    def sources(self, truth: ServiceTruth) -> tuple[Source, ...]:
        """Lease, survey, and the costs with what was paid."""
        y = truth.service
        lease = (
            ("square metres", str(y.areas["lease"])),
            ("whole building", str(y.total_area)),
            (y.capital, "landlord bears"),
            ("share", "all other costs by area, by months of the term"),
            ("balance", "share less paid"),
        )
        survey = (("square metres", str(y.areas["survey"])), ("for years from", y.surveyed))
        paid = ((f"paid {y.year}", str(y.paid)), (f"paid {int(y.year) - 1}", str(y.last_paid)))
        costs = (*((head, str(amount)) for head, amount in y.costs.items()), *paid)
        title = f"{truth.building} {truth.city} {truth.currency}, {truth.axes['advance']} advance"
        return (
            Source("lease", "lease.txt", f"{truth.lease} of {truth.tenant}", lease, premises.first_day(y)),
            Source("survey", "survey.txt", f"survey of {y.unit}", survey, min(y.surveyed, truth.frozen_time[:10])),
            Source("costs", "costs.txt", title, costs, f"{int(y.year) + 1}-01-20"),
        )

    def looks(self, truth: ServiceTruth, values: Mapping[str, Value]) -> tuple[str | PlanStep, ...]:
        """The lease in the system and on paper, the survey, the costs."""
        return (call(("property__get_lease", {"lease_id": truth.lease})), "lease", "survey", "costs")

    def aside(self, truth: ServiceTruth) -> frozenset[str]:
        """The survey where it does not hold yet."""
        return frozenset({"survey"} if self.right(truth)["holds"] == "lease" else ())

    def systems(self, truth: ServiceTruth, size: Size) -> Systems:
        """The property system, for an accountant."""
        tools = ("get_lease", "list_charges", "post_charge")
        more = ("list_leases",) if size == "standard" else ()
        grant = ServiceGrant(service="property", actor="accountant", tools=(*tools, *more))
        return Systems((grant,), premises.lease_rows(truth.service, truth.tenant, truth.other_tenant))

    def _post(self, truth: ServiceTruth, lease: str, amount: int, year: str) -> PlanStep:
        return call(("property__post_charge", {"lease_id": lease, "amount": str(amount), "year": year}))

    def acts(self, truth: ServiceTruth, values: Mapping[str, Value]) -> tuple[PlanStep, ...]:
        """Post the balance to its year."""
        return (self._post(truth, truth.lease, values["balance"], truth.service_year),)

    def wrong_acts(self, truth: ServiceTruth) -> dict[str, tuple[PlanStep, ...]]:
        """Not posted, posted twice, to the lease of a name alike, with the sign turned, the whole share posted."""
        values, year = self.right(truth), truth.service_year
        right = self._post(truth, truth.lease, values["balance"], year)
        return {
            "omitted_update": (),
            "posted_twice": (right, right),
            "wrong_record": (self._post(truth, truth.service.other_id, values["balance"], year),),
            "sign_turned": (self._post(truth, truth.lease, -values["balance"], year),),
            "payments_ignored": (self._post(truth, truth.lease, values["due"], year),),
        }

    def claims(self, truth: ServiceTruth) -> tuple[Claim, ...]:
        """The balance is posted once; the lease of a name alike is left alone."""
        y, values = truth.service, self.right(truth)
        charges = {"service": "property", "table": "charges"}
        mine = {"lease_id": y.lease_id, "amount": values["balance"]}
        once = check("service_rows", **charges, where=mine, expect={"year": y.year}, max=1)
        twice = check("service_rows", **charges, where={"lease_id": y.lease_id}, min=3)  # one is of the year before
        foreign = check("service_rows", **charges, where={"lease_id": y.other_id}, min=2)
        asks, record = "The balance of {lease} for {service_year} is posted once", f"property.leases.{y.lease_id}"
        return (
            Claim("posted", f"{values['balance']} is posted to {{lease}} for {y.year}", 2.0, once, asks, (record,)),
            Claim(
                "error_posted_twice", f"More than one amount is posted to {y.lease_id}", -2.0, twice, asks, (record,)
            ),
            Claim(
                "error_other_lease",
                "An amount was posted to the lease of {other_tenant}",
                -2.0,
                foreign,
                asks,
                (f"property.leases.{y.other_id}",),
            ),
        )

    def remarks(self, truth: ServiceTruth) -> tuple[Remark, ...]:
        """What the landlord bears."""
        capital = truth.service.capital
        return (
            Remark(
                "capital",
                f"{capital} works are not recoverable",
                ((capital,),),
                ("recoverable", "recovered", "charged", "borne by the tenant", "tenant bears"),
                "says which cost is not recoverable",
                ("lease",),
                (*LEFT_OUT, "capital", "landlord bears", "borne by the landlord"),
                true=False,
            ),
        )

    def drive(self, truth: ServiceTruth, drive: Drive) -> None:
        """Lease, survey, costs, payments, rules, last year's statement."""
        premises.put_year(drive, truth.service, truth.tenant, "property_manager", "accountant")
