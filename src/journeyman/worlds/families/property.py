"""Property: a building with its leases and running costs, and its work orders with quotes and contractors.

Invariant: one area holds for a lease in a year, by the day of its survey; some quote is cheaper and may not be taken.
"""

from journeyman.records.base import Record
from journeyman.worlds.base import Rows
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import shift_date, working_day

BUILDINGS = ("office", "store", "depot", "arcade", "clinic")
CITIES = ("Leeds", "Lyon", "Porto", "Ghent")
HEADS = ("cleaning", "heating", "guard", "lift", "garden")
CAPITAL = ("roof", "window", "boiler", "facade")
FAULTS = ("lift", "heating", "lock", "roof", "drain")
CAUSES = ("wear", "storm", "misuse", "fire")


class ServiceYear(Record):
    """One lease in one year of service charge. Money in whole units, areas in square metres, both whole."""

    lease_id: str
    other_id: str  # of a tenant with a name alike
    unit: str
    year: str
    costs: dict[str, int]  # head -> amount, the capital one among them
    capital: str  # the head the lease keeps with the owner
    total_area: int
    areas: dict[str, int]  # "lease" and "survey"
    surveyed: str
    months: int  # the tenant was there
    paid: int  # in advance
    last_paid: int  # of the year before


def simulate_year(common: Common) -> ServiceYear:
    """A year; axes: whether the new survey holds for it, whether it is a full year, who owes whom."""
    rng, figures, axes = common.rng, common.figures, common.axes
    year = str(int(common.today[:4]) - 1)
    months = 12 if axes["part"] == "full" else rng.choice((3, 4, 6, 8, 9))
    names = rng.sample(HEADS, 3)

    def shared() -> tuple[tuple[int, int, int, int], tuple[int, ...]]:
        rate, total = 12 * rng.randint(1, 4), 10 * rng.randint(90, 400)
        area = rng.randint(60, total // 3)
        share = rate * area
        return (rate, total, area, share * months // 12), (rate * total, share * months // 12, area)

    rate, total, area, due = figures.settle(shared)
    pool = rate * total

    def other_ways() -> tuple[tuple[int, int], tuple[int, ...]]:
        capital, other_area = rate // 12 * 12 * rng.randint(20, 160), rng.randint(60, total // 3)
        return (capital, other_area), (pool + capital, other_area)

    capital, other_area = figures.settle(other_ways)
    low, high = (due // 3, due - 20) if axes["balance"] == "owed" else (due + 20, due * 2 + 60)
    paid, last = figures.settle(lambda: _paid(due, rng.randint(low, high), rng.randint(low, high)))
    first, second = rng.randint(pool // 5, pool // 3), rng.randint(pool // 5, pool // 3)
    costs = dict(zip(names, (first, second, pool - first - second), strict=True)) | {axes["capital"]: capital}
    new = axes["area"] == "survey"
    surveyed = f"{year}-01-01" if new else f"{int(year) + 1}-01-01"
    return ServiceYear(
        lease_id=f"LS-{rng.randint(100, 499)}",
        other_id=f"LS-{rng.randint(500, 999)}",
        unit=f"U-{rng.randint(11, 89)}",
        year=year,
        costs=costs,
        capital=axes["capital"],
        total_area=total,
        areas={"survey": area if new else other_area, "lease": other_area if new else area},
        surveyed=surveyed,
        months=months,
        paid=paid,
        last_paid=last,
    )


def _paid(due: int, paid: int, last: int) -> tuple[tuple[int, int], tuple[int, ...]]:
    return (paid, last), (due - paid, due - last)


def lease_rows(y: ServiceYear, tenant: str, other_tenant: str) -> dict[str, Rows]:
    """What the property system holds: the lease, what was charged before, and a lease of a name alike."""
    before = str(int(y.year) - 1)
    return {
        "property": {
            "leases": [
                {
                    "lease_id": y.lease_id,
                    "tenant": tenant,
                    "unit": y.unit,
                    "first_day": first_day(y),
                    "last_day": last_day(y),
                },
                {
                    "lease_id": y.other_id,
                    "tenant": other_tenant,
                    "unit": "U-7",
                    "first_day": f"{before}-01-01",
                    "last_day": f"{int(y.year) + 2}-12-31",
                },
            ],
            "charges": [
                {"charge_id": "CH-1", "lease_id": y.lease_id, "amount": 2 * y.last_paid + 3, "year": before},
                {"charge_id": "CH-2", "lease_id": y.other_id, "amount": y.last_paid // 4 + 3, "year": before},
            ],
        }
    }


def first_day(y: ServiceYear) -> str:
    """First day of the lease."""
    return f"{int(y.year) - 3}-05-01"


def last_day(y: ServiceYear) -> str:
    """Last day of the lease, always a month's: in the year where the tenant left in it, years later where he stays."""
    if y.months == 12:
        return f"{int(y.year) + 2}-04-30"
    return shift_date(f"{y.year}-{y.months + 1:02d}-01", -1)


def put_year(drive: Drive, y: ServiceYear, tenant: str, manager: str, accountant: str) -> None:
    """Lease, survey, ledger of costs, payments on account, the rules, last year's statement."""
    signed = working_day(first_day(y), -40)
    drive.paper(
        "lease",
        f"leases/{y.lease_id}.docx",
        f"Lease {y.lease_id}: {y.unit}",
        by=manager,
        dated=signed,
        facts=(
            ("Landlord", drive.truth.legal_name),
            ("Tenant", tenant),
            ("Term from", day(first_day(y))),
            ("Term until", day(last_day(y))),
        ),
        body=(
            "# 5. Premises",
            f"Unit {y.unit} is taken to have {y.areas['lease']} square metres of {y.total_area} in the building. "
            "Where a survey is agreed, its area holds for service years that begin on or after its date.",
            "# 9. Service charge",
            f"The tenant bears the running costs of the building by area. {y.capital.capitalize()} works are capital: "
            "the landlord bears them. For part of a year the share is that of the months of the term.",
            "Payments on account are set off. What is over is credited.",
        ),
        signed=((drive.name(manager), "for the landlord", signed), ("R. Halden", f"for {tenant}", signed)),
        status="SIGNED",
    )
    agreed = min(y.surveyed, drive.today)
    drive.paper(
        "survey",
        f"leases/{y.lease_id}_survey.pdf",
        f"Survey of {y.unit}",
        by=manager,
        dated=agreed,
        facts=(("Unit", y.unit), ("Area", f"{y.areas['survey']} square metres"), ("Agreed from", day(y.surveyed))),
        body=(f"Landlord and tenant agree to this area for service years beginning on or after {day(y.surveyed)}.",),
        signed=((drive.name(manager), "landlord", agreed), ("R. Halden", tenant, agreed)),
    )
    _put_settlement(drive, y, tenant, manager, accountant)


def _put_settlement(drive: Drive, y: ServiceYear, tenant: str, manager: str, accountant: str) -> None:
    """Costs, payments on account, the rules, the year before."""
    currency = drive.truth.currency
    rows = tuple((head.capitalize(), amount) for head, amount in y.costs.items())
    tab = Tab("Costs", ("Head", f"Amount {currency}"), rows, (1,), title=f"Costs of the building {y.year}", chart=True)
    closed = f"{int(y.year) + 1}-01-20"
    drive.book("costs", f"costs/building_costs_{y.year}.xlsx", "Costs", tab, by=accountant, dated=closed)
    paid = (
        (y.lease_id, y.year, y.paid),
        (y.lease_id, str(int(y.year) - 1), y.last_paid),
        (y.other_id, y.year, y.paid + 77),
    )
    drive.export("payments", "costs/payments_on_account.csv", ("lease", "year", "paid"), paid, closed)
    drive.paper(
        "rules",
        "policies/service_charge.docx",
        "How service charge is settled",
        by=accountant,
        dated=working_day(f"{y.year}-01-01", -100),
        reference="POL/PM/3",
        rules=(
            "Recoverable are the costs of the year less what the lease keeps with the landlord.",
            "The tenant's share is recoverable costs by area: his square metres over those of the building.",
            "Of a part year the months of the term count, each a twelfth.",
            "The balance is the share of his months less what he paid on account for that year. Below zero it is a "
            "credit. It is posted once, to the year it is for.",
            "Say which area was used, in one word: lease or survey.",
        ),
    )
    drive.paper(
        "last",
        f"statements/{y.lease_id}_{int(y.year) - 1}.pdf",
        f"Service charge {int(y.year) - 1}: {y.unit}",
        by=accountant,
        dated=f"{y.year}-02-10",
        facts=(("Lease", y.lease_id), (f"Paid, {currency}", money(y.last_paid))),
        body=("Settled and closed.",),
    )
    drive.mail(
        "",
        "mail/tenant_asks.eml",
        sender=accountant,
        to=manager,
        dated=drive.ago(6),
        subject=f"{tenant}: service charge {y.year}",
        body=f"{tenant} asks for the statement of {y.unit}. I have the costs and the payments in the folder.",
    )


class Repair(Record):
    """One work order. Money in whole units of the currency."""

    order_id: str
    other_id: str  # of a unit alike
    unit: str
    building: str
    fault: str
    cause: str
    bearers: dict[str, str]  # fault -> who bears it by the lease
    excused: str  # cause that makes the tenant bear it, whatever the fault
    quotes: dict[str, int]  # contractor -> price
    insured: dict[str, str]  # contractor -> last insured day
    needed_on: str  # day the work is done
    budget: int
    committed: int
    limit: int  # up to which the manager orders by himself


def simulate_repair(common: Common) -> Repair:
    """A repair; axis `route`: within the manager's duty, over his limit, over the budget, or the tenant's own."""
    rng, figures, axes = common.rng, common.figures, common.axes
    route = axes["route"]
    price = figures.draw(320, 1900)
    cheap = figures.draw(price * 6 // 10, price - 25)
    limit = figures.draw(price // 2, price - 15) if route == "limit" else figures.draw(price + 20, price * 2 + 200)

    def funded() -> tuple[tuple[int, int], tuple[int, ...]]:
        left = rng.randint(price // 3, price - 10) if route == "budget" else rng.randint(price + 40, price * 4)
        committed = rng.randint(900, 9000)
        return (left + committed, committed), (left, left + committed)

    budget, committed = figures.settle(funded)
    fault = axes["fault"]
    others = [f for f in FAULTS if f != fault]
    by_owner = route != "tenant" or axes["cause"] == "misuse"
    bearers = {fault: "owner" if by_owner else "tenant"} | {
        f: rng.choice(("owner", "tenant")) for f in rng.sample(others, 1)
    }
    needed = working_day(common.today, rng.randint(3, 12))
    first, second = common.spare[:2]
    quoted = [(f"{first} Works", cheap), (f"{second} Service", price)]
    insured = {
        quoted[0][0]: shift_date(needed, -rng.randint(1, 2)),
        quoted[1][0]: shift_date(needed, rng.randint(20, 200)),
    }
    rng.shuffle(quoted)
    return Repair(
        order_id=f"WO-{rng.randint(1000, 4999)}",
        other_id=f"WO-{rng.randint(5000, 9999)}",
        unit=f"U-{rng.randint(11, 89)}",
        building=axes["building"],
        fault=fault,
        cause=axes["cause"],
        bearers=bearers,
        excused="misuse",
        quotes=dict(quoted),
        insured=insured,
        needed_on=needed,
        budget=budget,
        committed=committed,
        limit=limit,
    )


def repair_rows(r: Repair) -> dict[str, Rows]:
    """What the property system holds: the order, one of a unit alike, the budget, contractors and their insurance."""
    return {
        "property": {
            "orders": [
                {"order_id": r.order_id, "unit": r.unit, "fault": r.fault, "cause": r.cause},
                {"order_id": r.other_id, "unit": f"{r.unit}A", "fault": r.fault, "cause": "wear"},
            ],
            "budgets": [{"building": r.building, "budget": r.budget, "committed": r.committed}],
            "contractors": [
                {"contractor": name, "trade": r.fault, "insured_until": until} for name, until in r.insured.items()
            ],
        }
    }


def put_repair(drive: Drive, r: Repair, tenant: str, manager: str, engineer: str) -> None:
    """Lease, quotes, engineer's report, budget sheet, the manager's mandate (sources lease, quotes, mandate)."""
    currency, today = drive.truth.currency, drive.today
    drive.paper(
        "lease",
        f"leases/lease_{r.unit}.docx",
        f"Lease: {r.unit}",
        by=manager,
        dated=working_day(today, -700),
        facts=(("Landlord", drive.truth.legal_name), ("Tenant", tenant), ("Unit", r.unit)),
        body=(
            "# 11. Repairs",
            f"Who bears what is in the table. What comes from {r.excused} the tenant bears, whatever it is.",
        ),
        grid=(("Repair of", "Borne by"), tuple(r.bearers.items())),
        signed=((drive.name(manager), "for the landlord", working_day(today, -700)),),
        status="SIGNED",
    )
    tab = Tab(
        "Quotes",
        ("Contractor", f"Price {currency}"),
        tuple(r.quotes.items()),
        title=f"Quotes for {r.order_id}, {r.building}, {r.fault}",
        note=f"Work to be done on {r.needed_on}.",
    )
    drive.book("quotes", f"orders/{r.order_id}_quotes.xlsx", "Quotes", tab, by=engineer, dated=working_day(today, -2))
    drive.paper(
        "report",
        f"orders/{r.order_id}_report.pdf",
        f"Engineer's report {r.order_id}",
        by=engineer,
        dated=working_day(today, -3),
        facts=(
            ("Building", r.building),
            ("Unit", r.unit),
            ("Fault", r.fault),
            ("Cause", r.cause),
            ("Work on", day(r.needed_on)),
        ),
        body=("The fault is real and the scope of the quotes is the same.",),
        signed=((drive.name(engineer), "engineer", working_day(today, -3)),),
    )
    _put_mandate(drive, r, manager, engineer)


def _put_mandate(drive: Drive, r: Repair, manager: str, engineer: str) -> None:
    """The manager's mandate, orders placed, a hopeful mail."""
    currency, today = drive.truth.currency, drive.today
    drive.paper(
        "mandate",
        "policies/manager_mandate.docx",
        "Mandate of the property manager",
        by=manager,
        dated=working_day(today, -500),
        reference="POL/PM/1",
        rules=(
            f"The manager orders repairs up to {currency} {r.limit}, never more than is left of the building's budget. "
            "Anything above goes to the owner for decision.",
            "What the tenant bears is referred to the tenant, whatever it costs.",
            "No contractor works on a day after its insurance has ended. The system has the insurance, no letter has.",
            "Take the lowest quote of those who may work that day. Left of the budget is budget less committed.",
        ),
        signed=((drive.name(manager), "manager", working_day(today, -500)),),
    )
    rows = tuple((f"WO-{n}", drive.rng.randint(90, 900)) for n in (411, 438, 467, 502))
    spent = Tab("Placed", ("Order", f"Placed {currency}"), rows, (1,), title=f"Orders placed, {r.building}")
    drive.book("placed", "orders/orders_placed.xlsx", "Orders placed", spent, by=manager, dated=working_day(today, -9))
    cheap = min(r.quotes, key=lambda name: r.quotes[name])
    drive.mail(
        "letter",
        "mail/insurance_is_fine.eml",
        sender=engineer,
        to=manager,
        dated=drive.ago(2),
        subject=f"{cheap} and insurance",
        body=f"{cheap} says on the phone that insurance will surely be renewed. They have sent nothing yet.",
    )
