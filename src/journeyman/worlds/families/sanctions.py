"""A customer whose owners bear the name of a listed party: lists, a register of owners, a holder between, offers.

Invariant: one party of two of the same name is on the list in force; what it holds, also through others, decides.
"""

from journeyman.records.base import Record
from journeyman.worlds.base import Rows
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Row, Tab
from journeyman.worlds.cases.model import decimal
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import companies, working_day

CONTROL = 5000  # hundredths of a percent: from here on a holder's whole stake counts


class Hit(Record):
    """One customer that a screening hit. Shares in hundredths of a percent, amounts in full."""

    account: str
    customer: str
    other_account: str
    other_customer: str
    lists: dict[str, str]  # day of the list -> party on it
    checked_on: str
    owners: dict[str, int]  # party -> share of the customer
    holders: dict[str, int]  # party between -> share of it that the listed party holds
    listed: str
    limit: int
    deals: dict[str, int]  # opportunity -> amount
    stages: dict[str, str]  # opportunity -> stage

    @property
    def old_list(self) -> str:
        """Day of the list before."""
        return min(self.lists)


def simulate(common: Common, *, controls: bool, block: bool) -> Hit:
    """A hit; `controls`, the listed party controls the holder between; `block`, its stake reaches the limit."""
    rng, figures = common.rng, common.figures
    stem, between, free = common.spare[:3]
    numbers = rng.sample(range(2100, 9900), 2)
    listed, namesake = (f"{stem} {n}" for n in numbers)

    def held() -> tuple[tuple[int, int, int, int], tuple[int, ...]]:
        limit = rng.choice((2000, 2500, 3300))
        own, through, other = rng.randint(610, 2900), rng.randint(610, 2900), rng.randint(310, 1900)
        right = own + (through if controls else 0)
        if (right >= limit) != block:
            return (0, 0, 0, 0), (0, 0)
        return (limit, own, through, other), (right, own if controls else own + through, right + other)

    limit, own, through, other = figures.settle(held)

    def offered() -> tuple[tuple[int, int], tuple[int, ...]]:
        offer, lost = (10 * rng.randint(120, 4900) for _ in range(2))
        return (offer, lost), (offer, offer + lost)

    amounts = figures.settle(offered)
    ids = [f"O-{n}" for n in rng.sample(range(101, 990), 2)]
    today = common.today
    account, other_account = (f"A-{figures.draw(1000, 9999)}" for _ in range(2))
    owners = {listed: own, namesake: other, between: through, free: 10_000 - own - other - through}
    names = rng.sample(list(owners), 4)
    name = common.given["other_party"]
    return Hit(
        account=account,
        customer=name,
        other_account=other_account,
        other_customer=f"{name.split()[0]} Services Ltd",
        lists={working_day(today, -rng.randint(70, 200)): namesake, working_day(today, -rng.randint(4, 40)): listed},
        checked_on=today,
        owners={n: owners[n] for n in names},
        holders={between: rng.randint(5050, 8900) if controls else rng.randint(1200, 4950)},
        listed=listed,
        limit=limit,
        deals=dict(zip(ids, amounts, strict=True)),
        stages=dict(zip(ids, ("offer", "lost"), strict=True)),
    )


def crm_rows(h: Hit, segment: str, owner: str) -> dict[str, Rows]:
    """The customer on hold, one of a name alike, and their opportunities."""
    accounts = ((h.account, h.customer, "held"), (h.other_account, h.other_customer, "active"))
    deals = [
        {"opportunity_id": i, "account_id": h.account, "amount": h.deals[i], "stage": h.stages[i]}
        for i in sorted(h.deals)
    ]
    return {
        "crm": {
            "accounts": [
                {"account_id": i, "name": name, "segment": segment, "owner": owner, "status": status}
                for i, name, status in accounts
            ],
            "opportunities": [*deals, {"opportunity_id": "O-990", "account_id": h.other_account, "amount": 4400}],
            "notes": [],
        }
    }


def put_rules(drive: Drive, h: Hit, compliance: str, partner: str) -> None:
    """Screening policy and both lists (sources rules, lists)."""
    dated = working_day(h.old_list, -150)
    drive.paper(
        "rules",
        "compliance/screening_policy.docx",
        "Screening policy",
        by=compliance,
        dated=dated,
        facts=(("In force from", day(dated)), ("Regime", drive.truth.axes["regime"])),
        body=(
            "# 1. Who is listed",
            "The latest list in force on the day of the check decides. Who stands on an earlier list only is not "
            "listed. A party is known by its number: another party of the same name is another party.",
            "# 2. Stake",
            "What the listed party holds itself counts. If it holds 50 percent or more of another owner, all that "
            "the other owner holds counts as well; if it holds less, none of it does.",
            f"A customer in which the stake is {decimal(h.limit)} percent or more is blocked. Otherwise it is set "
            "active again. Until then it is held.",
            "# 3. Offers",
            "The sum of open offers is reported; offers that are won or lost are not open.",
        ),
        signed=((drive.name(partner), "partner", dated),),
        reference="CO/12",
        status="IN FORCE",
    )
    drive.export(
        "lists",
        "compliance/lists.csv",
        ("list_of", "party", "in_force"),
        [(when, party, "yes" if when != h.old_list else "replaced") for when, party in _listed(drive, h)],
        max(h.lists),
    )


def _listed(drive: Drive, h: Hit) -> list[tuple[str, str]]:
    """Both lists in full: the parties of the hit among others that own nothing of the customer."""
    rng = drive.rng
    near = " ".join((*h.owners, h.customer, drive.truth.legal_name))
    others = [name for name in companies(drive.truth.split) if name not in near]
    parties = [f"{name} {rng.randint(2100, 9900)}" for name in rng.sample(others, 16)]
    whole = [(when, party) for when in h.lists for party in (h.lists[when], *rng.sample(parties, 13))]
    return sorted(whole)


def put_owners(drive: Drive, h: Hit, analyst: str, counsel: str, compliance: str) -> None:
    """Register of owners, a holder's own owners, a hit report and a mail (sources owners, holder)."""
    (between, share), made = next(iter(h.holders.items())), working_day(drive.today, -2)
    rows: tuple[Row, ...] = tuple((party, decimal(held)) for party, held in h.owners.items())
    drive.book(
        "owners",
        "customer/register_of_owners.xlsx",
        "Owners",
        Tab("Owners", ("Owner", "Percent"), rows, title=f"Owners of {h.customer}"),
        by=analyst,
        dated=made,
    )
    drive.paper(
        "holder",
        "customer/extract_of_holder.docx",
        f"Extract of the register: {between}",
        dated=made,
        facts=(("Company", between), (f"Held by {h.listed}, percent", decimal(share))),
        body=("The rest is widely held.",),
        paper=drive.other,
    )
    drive.paper(
        "",
        "compliance/hit_report.pdf",
        "Hit report",
        by=analyst,
        dated=made,
        facts=(("Account", h.account), ("Customer", h.customer), ("Reason", "name of an owner")),
        body=("The program compares names, not numbers. A person has to look at every hit.",),
    )
    drive.mail(
        "",
        "mail/hit.eml",
        sender=analyst,
        to=compliance,
        dated=made,
        subject=f"Hit on {h.account}",
        body="Two owners bear the name. The program adds both up.",
        answer="Go by the numbers, as the policy says.",
    )
