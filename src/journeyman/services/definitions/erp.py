"""Enterprise resource planning: purchase orders, receipts, supplier invoices and the general ledger.

An invoice is held or approved, never both; a journal posts equal debit and credit, and posting again posts again.
"""

from typing import Annotated, Literal

from typing_extensions import TypedDict

from journeyman.services.definition import Refused, ServiceDefinition, tool
from journeyman.services.tables import Row, Session, Table

InvoiceId = Annotated[str, "Invoice number"]
OrderId = Annotated[str, "Purchase order number"]
AccountId = Annotated[str, "Account"]


class Invoice(TypedDict):
    """One supplier invoice; `total` is what the supplier asks for."""

    invoice_id: str
    vendor: str
    order_id: str
    ordered_on: str
    quantity: int
    total: int
    status: str


class InvoiceLine(TypedDict):
    """One line of an invoice list."""

    invoice_id: str
    vendor: str
    total: int
    dated: str
    status: str


class Invoices(TypedDict):
    """Several invoices."""

    invoices: list[InvoiceLine]


class InvoiceStatus(TypedDict):
    """An invoice's status after a change; `approved` is the amount released for payment."""

    invoice_id: str
    status: str
    approved: int


class Receipt(TypedDict):
    """What came in for an order, in the order's unit."""

    order_id: str
    received: int
    rejected: int
    cause: str


class Account(TypedDict):
    """An account and its balance."""

    account: str
    title: str
    balance: int


class Accounts(TypedDict):
    """Several accounts."""

    accounts: list[Account]


class Journal(TypedDict):
    """One journal entry."""

    journal_id: str
    debit: str
    credit: str
    amount: int
    period: str


class Journals(TypedDict):
    """Several journal entries."""

    journals: list[Journal]


def _find_invoice(db: Session, invoice_id: str) -> Row:
    invoice = db.one("invoices", invoice_id=invoice_id)
    if invoice is None:
        raise Refused(f"invoice {invoice_id} not found")
    return invoice


@tool("invoices.read")
def get_invoice(db: Session, invoice_id: InvoiceId) -> Invoice:
    """Look up one supplier invoice with its order date."""
    row = _find_invoice(db, invoice_id)
    order = db.one("orders", order_id=row["order_id"])
    return {
        "invoice_id": row["invoice_id"],
        "vendor": row["vendor"],
        "order_id": row["order_id"],
        "ordered_on": order["ordered_on"] if order else "",
        "quantity": row["quantity"],
        "total": row["total"],
        "status": row["status"],
    }


@tool("invoices.read")
def list_invoices(
    db: Session,
    vendor: Annotated[str | None, "Only invoices of this vendor"] = None,
    status: Annotated[Literal["open", "held", "approved"] | None, "Only invoices in this status"] = None,
) -> Invoices:
    """List supplier invoices."""
    where = {key: value for key, value in (("vendor", vendor), ("status", status)) if value is not None}
    return {
        "invoices": [
            {
                "invoice_id": r["invoice_id"],
                "vendor": r["vendor"],
                "total": r["total"],
                "dated": r["dated"],
                "status": r["status"],
            }
            for r in db.rows("invoices", **where)
        ]
    }


@tool("orders.read")
def get_receipt(db: Session, order_id: OrderId) -> Receipt:
    """Units received and rejected for a purchase order, over all deliveries."""
    rows = db.rows("receipts", order_id=order_id)
    if not rows:
        raise Refused(f"nothing received for order {order_id}")
    causes = [r["cause"] for r in rows if r["cause"]]
    return {
        "order_id": order_id,
        "received": sum(r["received"] for r in rows),
        "rejected": sum(r["rejected"] for r in rows),
        "cause": causes[0] if causes else "",
    }


@tool("invoices.release", writes=True)
def hold_invoice(db: Session, invoice_id: InvoiceId, reason: Annotated[str, "Why it is not paid"]) -> InvoiceStatus:
    """Put an open invoice on hold."""
    if _find_invoice(db, invoice_id)["status"] == "approved":
        raise Refused(f"invoice {invoice_id} is approved already")
    db.update("invoices", {"invoice_id": invoice_id}, status="held", reason=reason, changed_by=db.actor)
    return {"invoice_id": invoice_id, "status": "held", "approved": 0}


@tool("invoices.release", writes=True)
def approve_invoice(
    db: Session, invoice_id: InvoiceId, amount: Annotated[int, "Amount to pay, whole units of the currency"]
) -> InvoiceStatus:
    """Approve an open invoice for payment of an amount."""
    row = _find_invoice(db, invoice_id)
    if row["status"] == "held":
        raise Refused(f"invoice {invoice_id} is held")
    if row["status"] == "approved" and row["approved"] != amount:
        raise Refused(f"invoice {invoice_id} is approved for {row['approved']} already")
    if not 0 < amount < 10**12:
        raise Refused(f"amount {amount} cannot be paid")
    db.update("invoices", {"invoice_id": invoice_id}, status="approved", approved=amount, changed_by=db.actor)
    return {"invoice_id": invoice_id, "status": "approved", "approved": amount}


@tool("ledger.read")
def get_account(db: Session, account: AccountId) -> Account:
    """Balance of one account."""
    row = db.one("accounts", account=account)
    if row is None:
        raise Refused(f"account {account} not found")
    return {"account": row["account"], "title": row["title"], "balance": row["balance"]}


@tool("ledger.read")
def list_accounts(db: Session) -> Accounts:
    """List all accounts with their balances."""
    return {
        "accounts": [
            {"account": r["account"], "title": r["title"], "balance": r["balance"]} for r in db.rows("accounts")
        ]
    }


@tool("ledger.read")
def list_journals(db: Session, period: Annotated[str | None, "Only this period"] = None) -> Journals:
    """List journal entries."""
    rows = db.rows("journals") if period is None else db.rows("journals", period=period)
    return {"journals": [_as_journal(r) for r in rows]}


def _as_journal(row: Row) -> Journal:
    return {
        "journal_id": row["journal_id"],
        "debit": row["debit"],
        "credit": row["credit"],
        "amount": row["amount"],
        "period": row["period"],
    }


@tool("ledger.post", writes=True, idempotent=False, retry="After a timeout check list_journals first.")
def post_journal(
    db: Session,
    debit: Annotated[str, "Account to debit"],
    credit: Annotated[str, "Account to credit"],
    amount: Annotated[int, "Whole units of the currency"],
    period: Annotated[str, "Period it belongs to"],
) -> Journal:
    """Post a journal entry to an open period."""
    for account in (debit, credit):
        if db.one("accounts", account=account) is None:
            raise Refused(f"account {account} not found")
    if debit == credit:
        raise Refused("debit and credit are the same account")
    if not 0 < amount < 10**12:
        raise Refused(f"amount {amount} cannot be posted")
    closed = db.one("periods", period=period)
    if closed is None or closed["status"] != "open":
        raise Refused(f"period {period} is not open")
    db.update("accounts", {"account": debit}, balance=(db.one("accounts", account=debit) or {})["balance"] + amount)
    db.update("accounts", {"account": credit}, balance=(db.one("accounts", account=credit) or {})["balance"] - amount)
    row: Row = {"journal_id": db.next_id("journals", "J-"), "debit": debit, "credit": credit, "amount": amount}
    return _as_journal(db.insert("journals", {**row, "period": period, "posted_by": db.actor, "posted_at": db.now}))


_READ = frozenset({"invoices.read", "orders.read", "ledger.read"})

ERP = ServiceDefinition(
    name="erp",
    title="Enterprise resource planning and general ledger",
    tables=(
        Table(
            "invoices",
            {
                "invoice_id": "text",
                "vendor": "text",
                "order_id": "text",
                "quantity": "integer",
                "total": "integer",
                "dated": "text",
                "status": "text",
                "approved": "integer",
                "reason": "text",
                "changed_by": "text",
            },
            {
                "order_id": "",
                "quantity": 0,
                "dated": "",
                "status": "open",
                "approved": 0,
                "reason": "",
                "changed_by": "",
            },
        ),
        Table(
            "orders",
            {"order_id": "text", "vendor": "text", "item": "text", "quantity": "integer", "ordered_on": "text"},
            {"item": "", "quantity": 0},
        ),
        Table(
            "receipts",
            {
                "receipt_id": "text",
                "order_id": "text",
                "received": "integer",
                "rejected": "integer",
                "cause": "text",
                "received_on": "text",
            },
            {"rejected": 0, "cause": "", "received_on": ""},
        ),
        Table("accounts", {"account": "text", "title": "text", "balance": "integer"}, {"title": "", "balance": 0}),
        Table("periods", {"period": "text", "status": "text"}, {"status": "open"}),
        Table(
            "journals",
            {
                "journal_id": "text",
                "debit": "text",
                "credit": "text",
                "amount": "integer",
                "period": "text",
                "posted_by": "text",
                "posted_at": "text",
            },
            {"posted_by": "", "posted_at": ""},
        ),
    ),
    tool_list=(
        get_invoice,
        list_invoices,
        get_receipt,
        hold_invoice,
        approve_invoice,
        get_account,
        list_accounts,
        list_journals,
        post_journal,
    ),
    roles={
        "viewer": _READ,
        "clerk": _READ | {"invoices.release"},
        "accountant": _READ | {"invoices.release", "ledger.post"},
    },
)
