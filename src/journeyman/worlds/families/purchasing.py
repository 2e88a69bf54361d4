"""Purchasing: a supply contract whose price was changed, an order, deliveries and the supplier's invoice.

Invariant: exactly one price document governs an order, by its date; the invoice never equals what is payable.
"""

from typing import Any

from journeyman.records.base import Record
from journeyman.worlds.base import Rows
from journeyman.worlds.cases.authored import Common
from journeyman.worlds.cases.drive import Drive, Tab, money
from journeyman.worlds.documents.folder import day
from journeyman.worlds.lexicon import shift_date, working_day

GOODS = ("paper", "tiles", "pumps", "cables", "cheese", "glass")
UNITS = ("crates", "rolls", "drums", "sets")
CAUSES = ("damaged", "short", "late", "wrong")
CHANGES = ("amendment", "letter", "schedule")


class Purchase(Record):
    """One order of goods from contract to invoice. Money in whole units of the currency, quantities in `unit`."""

    goods: str
    unit: str
    change: str  # what kind of paper changed the price
    contract_price: int
    changed_price: int
    contract_date: str
    change_date: str  # orders from this day on fall under the change
    order_id: str
    order_date: str
    receipt_id: str
    received: int
    rejected: int
    cause: str
    received_on: str
    invoice_id: str
    invoice_date: str
    invoiced: int  # quantity the supplier bills
    billed_price: int  # what the supplier bills a unit at
    freight: int
    total: int  # what the supplier asks for
    tolerance: int
    other_invoice_id: str  # of another supplier with a name alike
    other_order_id: str
    other_total: int

    @property
    def governing(self) -> str:
        """The document that holds for the order."""
        return self.change if self.order_date >= self.change_date else "contract"

    @property
    def prices(self) -> dict[str, int]:
        """Price by document."""
        return {"contract": self.contract_price, self.change: self.changed_price}


def simulate(common: Common, *, changed: bool, over: bool) -> Purchase:
    """A purchase: `changed`, the order falls under the changed price; `over`, the invoice exceeds the tolerance."""
    rng, figures, axes, today = common.rng, common.figures, common.axes, common.today
    change_date = working_day(today, -rng.randint(70, 110))
    order_date = working_day(change_date, rng.randint(4, 20) if changed else -rng.randint(4, 20))

    def bought() -> tuple[tuple[int, int, int], tuple[int, ...]]:
        accepted, rejected, price = rng.randint(24, 90), rng.randint(2, 9), rng.randint(21, 190)
        return (accepted, rejected, price), (accepted, accepted + rejected, price, price * accepted)

    accepted, rejected, price = figures.settle(bought)
    other = figures.draw(21, 190)
    billed_price = max(price, other) if over else price

    def billed() -> tuple[tuple[int, int], tuple[int, ...]]:
        extra = rejected + rng.randint(1, 12 if over else 4)  # more than was received, so that no error hides another
        invoiced, freight = accepted + extra, rng.randint(11, 95)
        return (invoiced, freight), (invoiced, invoiced * billed_price + freight - accepted * price)

    invoiced, freight = figures.settle(billed)
    total = invoiced * billed_price + freight
    excess = total - accepted * price
    tolerance = 10 * rng.randint(3, max(3, (excess - 20) // 10)) if over else excess + rng.randint(1, 90)
    return Purchase(
        goods=axes["goods"],
        unit=axes["unit"],
        change=axes["change"],
        contract_price=other if changed else price,
        changed_price=price if changed else other,
        contract_date=working_day(today, -rng.randint(300, 600)),
        change_date=change_date,
        order_id=f"PO-{rng.randint(1000, 9999)}",
        order_date=order_date,
        receipt_id=f"GR-{rng.randint(1000, 9999)}",
        received=accepted + rejected,
        rejected=rejected,
        cause=axes["cause"],
        received_on=working_day(order_date, rng.randint(10, 25)),
        invoice_id=f"INV-{rng.randint(2000, 5999)}",
        invoice_date=working_day(order_date, rng.randint(26, 40)),
        invoiced=invoiced,
        billed_price=billed_price,
        freight=freight,
        total=total,
        tolerance=tolerance,
        other_invoice_id=f"INV-{rng.randint(6000, 9999)}",
        other_order_id=f"PO-{rng.randint(100, 999)}",
        other_total=rng.randint(900, 9000),
    )


def erp_rows(p: Purchase, vendor: str, other_vendor: str) -> dict[str, Rows]:
    """What the ERP holds: the order, its receipt and its invoice, and those of a supplier with a name alike."""
    return {
        "erp": {
            "orders": [
                {
                    "order_id": p.order_id,
                    "vendor": vendor,
                    "item": p.goods,
                    "quantity": p.received,
                    "ordered_on": p.order_date,
                },
                {"order_id": p.other_order_id, "vendor": other_vendor, "item": p.goods, "ordered_on": p.contract_date},
            ],
            "receipts": [
                {
                    "receipt_id": p.receipt_id,
                    "order_id": p.order_id,
                    "received": p.received,
                    "rejected": p.rejected,
                    "cause": p.cause,
                    "received_on": p.received_on,
                },
            ],
            "invoices": [
                {
                    "invoice_id": p.invoice_id,
                    "vendor": vendor,
                    "order_id": p.order_id,
                    "quantity": p.invoiced,
                    "total": p.total,
                    "dated": p.invoice_date,
                },
                {
                    "invoice_id": p.other_invoice_id,
                    "vendor": other_vendor,
                    "order_id": p.other_order_id,
                    "quantity": p.received,
                    "total": p.other_total,
                    "dated": p.invoice_date,
                },
            ],
        }
    }


def put_contract(drive: Drive, p: Purchase, vendor: str, buyer: str) -> None:
    """The supply contract, the paper that changed its price, and last year's price list (sources contract, change)."""
    currency = drive.truth.currency
    unit = p.unit.rstrip("s")
    parties = (("Buyer", drive.truth.legal_name), ("Supplier", vendor))
    hands = (
        (drive.name(buyer), f"for {drive.truth.legal_name}", p.contract_date),
        (drive.counterpart, f"for {vendor}", p.contract_date),
    )
    drive.paper(
        "contract",
        "supplier/supply_contract.docx",
        f"Supply contract: {p.goods}",
        by=buyer,
        dated=p.contract_date,
        facts=(("Dated", day(p.contract_date)), *parties),
        body=(
            "# 1. Goods and price",
            f"The Supplier delivers {p.goods} in {p.unit}. The price is {currency} {p.contract_price} per {unit}.",
            "# 2. Changes of price",
            "A change of price is made in writing, signed by both parties, and holds for orders from its date on.",
            "# 3. Delivery and rejection",
            "The Buyer may reject units within five days. Rejected units are not payable, whatever is invoiced.",
            "# 4. Payment",
            "Payment is due 30 days after a correct invoice. A delivery note is not an invoice.",
        ),
        grid=(("Item", "Unit", f"Price {currency}"), ((p.goods, unit, str(p.contract_price)),)),
        signed=hands,
        reference=f"SC/{p.contract_date[:4]}",
        status="SIGNED",
    )
    drive.paper(
        "change",
        f"supplier/price_{p.change}.docx",
        f"Price {p.change}: {p.goods}",
        by=buyer,
        dated=p.change_date,
        facts=(*parties, ("In force from", day(p.change_date))),
        body=(
            f"For orders placed on or after {day(p.change_date)} the price is {currency} {p.changed_price} per {unit}. "
            "Earlier orders keep the price they were placed at.",
        ),
        signed=tuple((n, c, p.change_date) for n, c, _ in hands),
        status="SIGNED",
    )
    drive.paper(
        "",
        "supplier/offer_unsigned.pdf",
        f"Offer: {p.goods}",
        dated=working_day(p.change_date, 12),
        facts=(("From", vendor),),
        paper=drive.other,
        status="OFFER",
        body=(f"We could offer {currency} {p.changed_price + 13} per {unit} from next year. Not binding unsigned.",),
    )


def put_trail(drive: Drive, p: Purchase, vendor: str, other_vendor: str, buyer: str, clerk: str) -> None:
    """Order, receipt, invoice and open items (sources order, receipt, invoice, items)."""
    currency, unit = drive.truth.currency, p.unit
    drive.paper(
        "order",
        f"orders/{p.order_id}.pdf",
        f"Purchase order {p.order_id}",
        by=buyer,
        dated=p.order_date,
        facts=(("Supplier", vendor), ("Ordered on", day(p.order_date)), ("Goods", f"{p.goods}, {p.received} {unit}")),
        body=("The price is that of the document in force on the day of this order.",),
    )
    drive.paper(
        "receipt",
        f"receipts/{p.receipt_id}.docx",
        f"Goods receipt {p.receipt_id}",
        by=clerk,
        dated=p.received_on,
        facts=(("Order", p.order_id), ("Received on", day(p.received_on))),
        grid=(("Unit", "Received", "Rejected", "Cause"), ((unit, str(p.received), str(p.rejected), p.cause),)),
        signed=((drive.name(clerk), "goods in", p.received_on),),
    )
    drive.paper(
        "invoice",
        f"invoices/{p.invoice_id}.pdf",
        f"Invoice {p.invoice_id}",
        dated=p.invoice_date,
        facts=(("To", drive.truth.legal_name), ("Order", p.order_id), ("Due", day(shift_date(p.invoice_date, 30)))),
        grid=(
            ("Position", "Quantity", "Price", f"Amount {currency}"),
            (
                (f"{p.goods}, {unit}", str(p.invoiced), str(p.billed_price), money(p.invoiced * p.billed_price)),
                ("Freight", "", "", money(p.freight)),
                ("Total", "", "", money(p.total)),
            ),
        ),
        paper=drive.other,
    )
    _put_payables(drive, p, vendor, other_vendor, buyer, clerk)


def _put_payables(drive: Drive, p: Purchase, vendor: str, other_vendor: str, buyer: str, clerk: str) -> None:
    currency = drive.truth.currency
    items: tuple[tuple[Any, ...], ...] = (
        (p.invoice_id, vendor, p.total),
        (p.other_invoice_id, other_vendor, p.other_total),
        *(
            (f"INV-{drive.rng.randint(100, 999)}", f"{s} Ltd", drive.rng.randint(90, 4000))
            for s in ("Alder", "Birch", "Cedar")
        ),
    )
    drive.book(
        "items",
        "payables/open_items.xlsx",
        "Open items",
        Tab("Open", ("Invoice", "Supplier", f"Total {currency}"), items, (2,), title="Open supplier invoices"),
        by=clerk,
        dated=working_day(drive.today, -1),
    )
    drive.mail(
        "chaser",
        "mail/payment_reminder.eml",
        sender=buyer,
        to=clerk,
        dated=drive.ago(2),
        subject=f"{vendor} asks about {p.invoice_id}",
        body=f"{vendor} called again and wants the full {currency} {money(p.total)} this week. What do I tell them?",
    )
