"""Transport: a shipment that arrived harmed, the terms it travelled under, the survey and the notice.

Invariant: exactly one document governs a shipment, by its shipping day; scanner and driver never agree on delivery.
"""

from journeyman.records.base import Record
from journeyman.worlds.base import Rows
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import days_between, is_working_day, shift_date, working_day

GOODS = ("tiles", "paper", "pumps", "cheese", "cables", "glass")
HARMS = ("broken", "wet", "crushed", "stolen")
PAPERS = ("agreement", "annex", "letter")
MODES = ("road", "rail", "sea")


class HarmedShipment(Record):
    """One shipment. Money in whole units of the currency, weights in kilos."""

    shipment_id: str
    other_id: str  # of a carrier with a name alike
    earlier_id: str  # claimed long ago
    kilos: int  # all of it, gross
    harmed: int  # of which harmed
    value: int  # what the harmed goods were invoiced at
    salvage: int  # what was got for them
    limits: dict[str, int]  # by document: most the carrier owes a kilo
    periods: dict[str, int]  # by document: days to give notice in
    paper: str  # what was agreed beside the carrier's terms
    terms_day: str
    agreed_day: str  # shipments from this day on fall under the paper
    shipped: str
    delivered: str  # as the scanner has it
    drivers_day: str  # as the driver remembers it
    noticed: str

    @property
    def days(self) -> int:
        """Days from delivery to notice."""
        return days_between(self.delivered, self.noticed)


def simulate(common: Common) -> HarmedShipment:
    """A shipment; the axes say which document governs, whether notice came in time, and whether the limit binds."""
    rng, figures, axes = common.rng, common.figures, common.axes
    paper, governed = axes["paper"], axes["governing"]

    def weights() -> tuple[tuple[int, int, int, int], tuple[int, ...]]:
        kilos, rate, other = rng.randint(900, 4200), rng.randint(6, 19), rng.randint(6, 19)
        harmed = rng.randint(90, kilos // 2)
        return (kilos, harmed, rate, other), (harmed * rate, harmed * other, kilos * rate)

    kilos, harmed, rate, other_rate = figures.settle(weights)
    ceiling = harmed * rate
    low, high = (ceiling + 200, 3 * ceiling) if axes["binding"] == "limit" else (ceiling // 3, ceiling - 60)
    value, loss = figures.settle(lambda: _value(figures.draw(low, high), rng.randint(120, 900)))
    period = rng.choice((5, 6, 7))
    other_period = rng.choice([p for p in (4, 5, 6, 7, 8) if p != period])
    early, late = rng.randint(2, period), rng.randint(period + 1, 9)
    age, driver_age = (early, late) if axes["notice"] == "timely" else (late, early)
    offered = [shift_date(common.today, -n) for n in rng.sample(range(8, 21), 13)]
    noticed = next(d for d in offered if all(is_working_day(shift_date(d, -n)) for n in (0, age, driver_age)))
    delivered = shift_date(noticed, -age)
    shipped = working_day(delivered, -rng.randint(9, 16))
    agreed = working_day(shipped, rng.randint(3, 8) if governed == "terms" else -rng.randint(3, 40))
    governing, lapsed = ("terms", paper) if governed == "terms" else (paper, "terms")
    return HarmedShipment(
        shipment_id=f"SH-{rng.randint(1000, 4999)}",
        other_id=f"SH-{rng.randint(5000, 9999)}",
        earlier_id=f"SH-{rng.randint(100, 599)}",
        kilos=kilos,
        harmed=harmed,
        value=value,
        salvage=value - loss,
        limits={governing: rate, lapsed: other_rate},
        periods={governing: period, lapsed: other_period},
        paper=paper,
        terms_day=working_day(shipped, -rng.randint(400, 900)),
        agreed_day=agreed,
        shipped=shipped,
        delivered=delivered,
        drivers_day=shift_date(noticed, -driver_age),
        noticed=noticed,
    )


def _value(loss: int, salvage: int) -> tuple[tuple[int, int], tuple[int, ...]]:
    return (loss + salvage, loss), (loss + salvage,)


def tms_rows(s: HarmedShipment, carrier: str, other_carrier: str) -> dict[str, Rows]:
    """What the TMS holds: the shipment and its scans, and one of a carrier with a name alike."""
    return {
        "tms": {
            "shipments": [
                {
                    "shipment_id": s.shipment_id,
                    "carrier": carrier,
                    "kilos": s.kilos,
                    "shipped_on": s.shipped,
                    "delivered_on": s.delivered,
                },
                {
                    "shipment_id": s.other_id,
                    "carrier": other_carrier,
                    "kilos": s.kilos // 2,
                    "shipped_on": working_day(s.shipped, 1),
                    "delivered_on": working_day(s.delivered, 1),
                },
                {
                    "shipment_id": s.earlier_id,
                    "carrier": carrier,
                    "kilos": s.kilos // 3,
                    "shipped_on": s.terms_day,
                    "status": "claimed",
                },
            ],
            "events": [
                {"event_id": "E-1", "shipment_id": s.shipment_id, "day": s.shipped, "event": "loaded"},
                {"event_id": "E-2", "shipment_id": s.shipment_id, "day": s.delivered, "event": "scanned in"},
            ],
            "claims": [{"claim_id": "CL-1", "shipment_id": s.earlier_id, "amount": s.salvage + 17}],
        }
    }


def put_terms(drive: Drive, s: HarmedShipment, carrier: str, clerk: str) -> None:
    """The carrier's terms and the paper agreed beside them (sources terms, paper)."""
    currency = drive.truth.currency
    drive.paper(
        "terms",
        "carrier/general_terms.pdf",
        f"{carrier}: general terms of carriage",
        dated=s.terms_day,
        paper=drive.other,
        body=(
            "# 8. Liability",
            f"For goods lost or harmed the carrier pays no more than {currency} {s.limits['terms']} for each kilo of "
            "gross weight that is lost or harmed, and never more than the loss.",
            "# 9. Notice",
            f"Notice is given in writing within {s.periods['terms']} days of delivery. A later notice is void.",
            "# 10. Other papers",
            "What is agreed in writing goes before these terms.",
        ),
    )
    drive.paper(
        "paper",
        f"carrier/carriage_{s.paper}.docx",
        f"Carriage {s.paper} with {carrier}",
        by=clerk,
        dated=s.agreed_day,
        facts=(("Shipper", drive.truth.legal_name), ("Carrier", carrier), ("In force from", day(s.agreed_day))),
        body=(
            f"For shipments handed over on or after {day(s.agreed_day)} clauses 8 and 9 of the general terms are "
            "replaced. Earlier shipments stay under the general terms, whenever they arrive.",
            f"Liability: up to {currency} {s.limits[s.paper]} a kilo lost or harmed, and never more than the loss.",
            f"Notice: in writing, within {s.periods[s.paper]} days of delivery. The day of delivery is the day the "
            "shipper's scanner records, not the day on the driver's sheet.",
        ),
        signed=(
            (drive.name(clerk), f"for {drive.truth.legal_name}", s.agreed_day),
            ("M. Orban", carrier, s.agreed_day),
        ),
        status="SIGNED",
    )


def put_trail(drive: Drive, s: HarmedShipment, carrier: str, harm: str, goods: str, clerk: str, lead: str) -> None:
    """Consignment note, survey, notice, driver's sheet and the claims log (sources survey, notice, driver)."""
    currency = drive.truth.currency
    drive.paper(
        "note",
        f"shipments/{s.shipment_id}_consignment.pdf",
        f"Consignment note {s.shipment_id}",
        by=clerk,
        dated=s.shipped,
        facts=(("Carrier", carrier), ("Handed over", day(s.shipped)), ("Goods", goods)),
        grid=(("Marks", "Gross kilos"), ((f"{goods}, pallets", money(s.kilos)),)),
    )
    drive.paper(
        "survey",
        f"claims/{s.shipment_id}_survey.docx",
        f"Survey of shipment {s.shipment_id}",
        by=lead,
        dated=s.noticed,
        facts=(("Goods", f"{goods}, {harm}"), ("Notice sent to the carrier", day(s.noticed))),
        grid=(
            ("Item", "Figure"),
            (
                ("Gross kilos harmed", money(s.harmed)),
                (f"Invoice value of harmed goods, {currency}", money(s.value)),
                (f"Salvage received, {currency}", money(s.salvage)),
            ),
        ),
        body=("The rest of the shipment is sound and was put to stock.",),
        signed=((drive.name(lead), "surveyor", s.noticed),),
    )
    drive.paper(
        "driver",
        f"shipments/{s.shipment_id}_driver.pdf",
        f"Driver's sheet {s.shipment_id}",
        dated=max(s.drivers_day, s.delivered),
        paper=drive.other,
        facts=(("Delivered, as I remember", day(s.drivers_day)), ("Gate", "north")),
        body=("Filled in at the end of the tour.",),
    )
    drive.mail(
        "notice",
        "mail/notice_of_claim.eml",
        sender=clerk,
        to=lead,
        dated=s.noticed,
        subject=f"Notice for {s.shipment_id}",
        body=f"The written notice to {carrier} went out today. The survey is in the claims folder.",
        answer="Thank you. Which document applies is for whoever works the case.",
    )
    rows = tuple((f"SH-{n}", drive.rng.randint(200, 3000), drive.rng.randint(0, 190)) for n in (611, 634, 702, 745))
    tab = Tab("Claims", ("Shipment", f"Claimed {currency}", f"Paid {currency}"), rows, (1, 2), title="Claims this year")
    drive.book("log", "claims/claims_log.xlsx", "Claims log", tab, by=clerk, dated=working_day(drive.today, -4))
