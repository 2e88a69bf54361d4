"""Governance, risk and compliance: limits, exceptions to them, findings and incidents.

A finding is opened as often as it is asked for and closed once; an exception says who granted it and until when.
"""

from typing import Annotated, Literal

from typing_extensions import TypedDict

from journeyman.services.definition import Refused, ServiceDefinition, tool
from journeyman.services.tables import Row, Session, Table

Subject = Annotated[str, "What it is about: a batch, a bank, a system"]


class Limit(TypedDict):
    """A limit in force."""

    subject: str
    amount: int
    set_on: str


class GrantedException(TypedDict):
    """An exception to a rule or limit; it holds to its last day if its grantor may grant it."""

    exception_id: str
    amount: int
    granted_by: str
    last_day: str


class Exceptions(TypedDict):
    """Exceptions for one subject."""

    exceptions: list[GrantedException]


class Finding(TypedDict):
    """One finding or deviation."""

    finding_id: str
    subject: str
    title: str
    status: str


class Findings(TypedDict):
    """Several findings."""

    findings: list[Finding]


class FindingStatus(TypedDict):
    """A finding's status after a change."""

    finding_id: str
    status: str


def _as_finding(row: Row) -> Finding:
    return {
        "finding_id": row["finding_id"],
        "subject": row["subject"],
        "title": row["title"],
        "status": row["status"],
    }


@tool("limits.read")
def get_limit(db: Session, subject: Subject) -> Limit:
    """The limit in force for a subject, exceptions apart."""
    row = db.one("limits", subject=subject)
    if row is None:
        raise Refused(f"no limit is set for {subject}")
    return {"subject": row["subject"], "amount": row["amount"], "set_on": row["set_on"]}


@tool("limits.read")
def list_exceptions(db: Session, subject: Subject) -> Exceptions:
    """List exceptions granted for a subject, lapsed ones too."""
    return {
        "exceptions": [
            {
                "exception_id": r["exception_id"],
                "amount": r["amount"],
                "granted_by": r["granted_by"],
                "last_day": r["last_day"],
            }
            for r in db.rows("exceptions", subject=subject)
        ]
    }


@tool("findings.read")
def list_findings(
    db: Session,
    subject: Annotated[str | None, "Only findings about this"] = None,
    status: Annotated[Literal["open", "closed"] | None, "Only findings in this status"] = None,
) -> Findings:
    """List findings and deviations."""
    where = {key: value for key, value in (("subject", subject), ("status", status)) if value is not None}
    return {"findings": [_as_finding(r) for r in db.rows("findings", **where)]}


@tool("findings.write", writes=True, idempotent=False, retry="After a timeout check list_findings first.")
def open_finding(
    db: Session, subject: Subject, title: Annotated[str, "One line"], amount: Annotated[int, "Size; 0 where none"] = 0
) -> Finding:
    """Open a finding about a subject."""
    if not title:
        raise Refused("a finding needs a title")
    if not 0 <= amount < 10**12:
        raise Refused(f"amount {amount} is out of range")
    row: Row = {"finding_id": db.next_id("findings", "F-"), "subject": subject, "title": title, "amount": amount}
    return _as_finding(db.insert("findings", {**row, "opened_by": db.actor, "opened_on": db.now[:10]}))


@tool("findings.close", writes=True)
def close_finding(db: Session, finding_id: Annotated[str, "Finding number"]) -> FindingStatus:
    """Close a finding."""
    if not db.update("findings", {"finding_id": finding_id}, status="closed", closed_by=db.actor):
        raise Refused(f"finding {finding_id} not found")
    return {"finding_id": finding_id, "status": "closed"}


_READ = frozenset({"limits.read", "findings.read"})

GRC = ServiceDefinition(
    name="grc",
    title="Governance, risk and compliance",
    tables=(
        Table("limits", {"subject": "text", "amount": "integer", "set_on": "text"}, {"set_on": ""}),
        Table(
            "exceptions",
            {
                "exception_id": "text",
                "subject": "text",
                "amount": "integer",
                "granted_by": "text",
                "last_day": "text",
            },
            {"amount": 0},
        ),
        Table(
            "findings",
            {
                "finding_id": "text",
                "subject": "text",
                "title": "text",
                "amount": "integer",
                "status": "text",
                "opened_by": "text",
                "opened_on": "text",
                "closed_by": "text",
            },
            {"amount": 0, "status": "open", "opened_by": "", "opened_on": "", "closed_by": ""},
        ),
    ),
    tool_list=(get_limit, list_exceptions, list_findings, open_finding, close_finding),
    roles={
        "viewer": _READ,
        "analyst": _READ | {"findings.write"},
        "officer": _READ | {"findings.write", "findings.close"},
    },
)
