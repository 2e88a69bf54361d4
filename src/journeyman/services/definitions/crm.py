"""Customer relations: accounts with parents, opportunities in stages, and notes on what was said.

A stage only changes to one of the stages there are; a note added twice is there twice.
"""

from typing import Annotated, Literal

from typing_extensions import TypedDict

from journeyman.services.definition import Refused, ServiceDefinition, tool
from journeyman.services.tables import Row, Session, Table

AccountId = Annotated[str, "Account number"]
Stage = Literal["lead", "offer", "won", "lost"]


class Account(TypedDict):
    """One customer account; `parent` is the account it belongs to, empty where it stands alone."""

    account_id: str
    name: str
    parent: str
    segment: str
    owner: str
    status: str


class AccountLine(TypedDict):
    """One line of an account list."""

    account_id: str
    name: str
    parent: str
    status: str


class Accounts(TypedDict):
    """Several accounts."""

    accounts: list[AccountLine]


class Opportunity(TypedDict):
    """One opportunity."""

    opportunity_id: str
    account_id: str
    amount: int
    stage: str
    close_on: str


class Opportunities(TypedDict):
    """Several opportunities."""

    opportunities: list[Opportunity]


class AccountStatus(TypedDict):
    """An account's status after a change."""

    account_id: str
    status: str


class Note(TypedDict):
    """One note on an account."""

    note_id: str
    author: str
    text: str


class Notes(TypedDict):
    """Notes on one account, oldest first."""

    notes: list[Note]


def _find_account(db: Session, account_id: str) -> Row:
    account = db.one("accounts", account_id=account_id)
    if account is None:
        raise Refused(f"account {account_id} not found")
    return account


def _as_opportunity(row: Row) -> Opportunity:
    return {
        "opportunity_id": row["opportunity_id"],
        "account_id": row["account_id"],
        "amount": row["amount"],
        "stage": row["stage"],
        "close_on": row["close_on"],
    }


@tool("accounts.read")
def get_account(db: Session, account_id: AccountId) -> Account:
    """Look up one account."""
    row = _find_account(db, account_id)
    return {
        "account_id": row["account_id"],
        "name": row["name"],
        "parent": row["parent"],
        "segment": row["segment"],
        "owner": row["owner"],
        "status": row["status"],
    }


@tool("accounts.read")
def find_accounts(db: Session, name: Annotated[str, "Part of the name"] = "") -> Accounts:
    """Find accounts by a part of their name; all of them without one."""
    part = name.casefold()
    return {
        "accounts": [
            {"account_id": r["account_id"], "name": r["name"], "parent": r["parent"], "status": r["status"]}
            for r in db.rows("accounts")
            if part in r["name"].casefold()
        ]
    }


@tool("accounts.write", writes=True)
def set_account_status(
    db: Session, account_id: AccountId, status: Annotated[Literal["active", "blocked", "closed"], "New status"]
) -> AccountStatus:
    """Set the status of an account: active, blocked or closed."""
    _find_account(db, account_id)
    db.update("accounts", {"account_id": account_id}, status=status)
    return {"account_id": account_id, "status": status}


@tool("opportunities.read")
def list_opportunities(db: Session, account_id: AccountId) -> Opportunities:
    """List the opportunities of an account."""
    _find_account(db, account_id)
    return {"opportunities": [_as_opportunity(r) for r in db.rows("opportunities", account_id=account_id)]}


@tool("opportunities.write", writes=True)
def set_stage(
    db: Session, opportunity_id: Annotated[str, "Opportunity number"], stage: Annotated[Stage, "New stage"]
) -> Opportunity:
    """Move an opportunity to a stage: lead, offer, won or lost."""
    changed = db.update("opportunities", {"opportunity_id": opportunity_id}, stage=stage)
    if not changed:
        raise Refused(f"opportunity {opportunity_id} not found")
    return _as_opportunity(changed[0])


@tool("accounts.read")
def list_notes(db: Session, account_id: AccountId) -> Notes:
    """List the notes on an account, oldest first."""
    _find_account(db, account_id)
    rows = db.rows("notes", account_id=account_id)
    return {"notes": [{"note_id": r["note_id"], "author": r["author"], "text": r["text"]} for r in rows]}


@tool("accounts.write", writes=True, idempotent=False, retry="After a timeout check list_notes first.")
def add_note(db: Session, account_id: AccountId, text: Annotated[str, "What was said or decided"]) -> Note:
    """Add a note to an account."""
    _find_account(db, account_id)
    row: Row = {"note_id": db.next_id("notes", "N-"), "account_id": account_id, "text": text}
    added = db.insert("notes", {**row, "author": db.actor, "created_at": db.now})
    return {"note_id": added["note_id"], "author": added["author"], "text": added["text"]}


_READ = frozenset({"accounts.read", "opportunities.read"})

CRM = ServiceDefinition(
    name="crm",
    title="Customer relations",
    tables=(
        Table(
            "accounts",
            {
                "account_id": "text",
                "name": "text",
                "parent": "text",
                "segment": "text",
                "owner": "text",
                "status": "text",
            },
            {"parent": "", "segment": "", "owner": "", "status": "active"},
        ),
        Table(
            "opportunities",
            {"opportunity_id": "text", "account_id": "text", "amount": "integer", "stage": "text", "close_on": "text"},
            {"stage": "lead", "close_on": ""},
        ),
        Table(
            "notes",
            {"note_id": "text", "account_id": "text", "author": "text", "text": "text", "created_at": "text"},
            {"author": "", "created_at": ""},
        ),
    ),
    tool_list=(
        get_account,
        find_accounts,
        set_account_status,
        list_opportunities,
        set_stage,
        list_notes,
        add_note,
    ),
    roles={
        "viewer": _READ,
        "sales": _READ | {"opportunities.write"},
        "account_manager": _READ | {"opportunities.write", "accounts.write"},
    },
)
