"""Ticketing: exceptions and requests with comments; a resolved ticket keeps its first resolution."""

from typing import Annotated, Literal

from typing_extensions import TypedDict

from journeyman.services.definition import Refused, ServiceDefinition, tool
from journeyman.services.tables import Row, Session, Table

TicketId = Annotated[str, "Ticket number"]


class Ticket(TypedDict):
    """One ticket; `order_id` links it to the warehouse, empty where it is about no order."""

    ticket_id: str
    subject: str
    order_id: str
    status: str
    priority: str
    resolution: str


class TicketLine(TypedDict):
    """One line of a ticket list."""

    ticket_id: str
    subject: str
    status: str


class Tickets(TypedDict):
    """Several tickets."""

    tickets: list[TicketLine]


class Comment(TypedDict):
    """One comment."""

    comment_id: str
    author: str
    text: str


class Comments(TypedDict):
    """Comments of one ticket, oldest first."""

    comments: list[Comment]


class TicketStatus(TypedDict):
    """A ticket's status after a change."""

    ticket_id: str
    status: str


class CommentAdded(TypedDict):
    """The comment that was added."""

    ticket_id: str
    comment_id: str


class Assigned(TypedDict):
    """Who works on a ticket now."""

    ticket_id: str
    assignee: str


def _find_ticket(db: Session, ticket_id: str) -> Row:
    ticket = db.one("tickets", ticket_id=ticket_id)
    if ticket is None:
        raise Refused(f"ticket {ticket_id} not found")
    return ticket


@tool("tickets.read")
def get_ticket(db: Session, ticket_id: TicketId) -> Ticket:
    """Look up one ticket."""
    row = _find_ticket(db, ticket_id)
    return {
        "ticket_id": row["ticket_id"],
        "subject": row["subject"],
        "order_id": row["order_id"],
        "status": row["status"],
        "priority": row["priority"],
        "resolution": row["resolution"],
    }


@tool("tickets.read")
def list_tickets(
    db: Session,
    status: Annotated[Literal["open", "escalated", "resolved"] | None, "Only tickets in this status"] = None,
    order_id: Annotated[str | None, "Only tickets about this order"] = None,
) -> Tickets:
    """List tickets."""
    where = {key: value for key, value in (("status", status), ("order_id", order_id)) if value is not None}
    return {
        "tickets": [
            {"ticket_id": row["ticket_id"], "subject": row["subject"], "status": row["status"]}
            for row in db.rows("tickets", **where)
        ]
    }


@tool("tickets.read")
def list_comments(db: Session, ticket_id: TicketId) -> Comments:
    """List the comments of a ticket, oldest first."""
    _find_ticket(db, ticket_id)
    rows = db.rows("comments", ticket_id=ticket_id)
    return {
        "comments": [{"comment_id": r["comment_id"], "author": r["author"], "text": r["text"]} for r in rows],
    }


@tool("tickets.write", writes=True, idempotent=False, retry="After a timeout check list_comments first.")
def comment_ticket(db: Session, ticket_id: TicketId, text: Annotated[str, "Comment"]) -> CommentAdded:
    """Add a comment to a ticket."""
    _find_ticket(db, ticket_id)
    row: Row = {"comment_id": db.next_id("comments", "C-"), "ticket_id": ticket_id, "text": text}
    added = db.insert("comments", {**row, "author": db.actor, "created_at": db.now})
    return {"ticket_id": ticket_id, "comment_id": added["comment_id"]}


@tool("tickets.write", writes=True)
def assign_ticket(db: Session, ticket_id: TicketId, assignee: Annotated[str, "Person or team"]) -> Assigned:
    """Assign a ticket to a person or team."""
    _find_ticket(db, ticket_id)
    db.update("tickets", {"ticket_id": ticket_id}, assignee=assignee)
    return {"ticket_id": ticket_id, "assignee": assignee}


@tool("tickets.write", writes=True)
def escalate_ticket(db: Session, ticket_id: TicketId) -> TicketStatus:
    """Escalate an open ticket to the supervisor."""
    if _find_ticket(db, ticket_id)["status"] == "resolved":
        raise Refused(f"ticket {ticket_id} is resolved")
    db.update("tickets", {"ticket_id": ticket_id}, status="escalated")
    return {"ticket_id": ticket_id, "status": "escalated"}


@tool("tickets.resolve", writes=True)
def resolve_ticket(db: Session, ticket_id: TicketId, resolution: Annotated[str, "What was done"]) -> TicketStatus:
    """Resolve a ticket, saying what was done."""
    ticket = _find_ticket(db, ticket_id)
    if ticket["status"] == "resolved" and ticket["resolution"] != resolution:
        raise Refused(f"ticket {ticket_id} is resolved already")
    changes = {"status": "resolved", "resolution": resolution, "resolved_by": db.actor, "resolved_at": db.now}
    db.update("tickets", {"ticket_id": ticket_id}, **changes)
    return {"ticket_id": ticket_id, "status": "resolved"}


_READ = frozenset({"tickets.read"})

TICKETING = ServiceDefinition(
    name="ticketing",
    title="Ticketing",
    tables=(
        Table(
            "tickets",
            {
                "ticket_id": "text",
                "subject": "text",
                "order_id": "text",
                "status": "text",
                "priority": "text",
                "assignee": "text",
                "resolution": "text",
                "resolved_by": "text",
                "resolved_at": "text",
            },
            {
                "order_id": "",
                "status": "open",
                "priority": "normal",
                "assignee": "",
                "resolution": "",
                "resolved_by": "",
                "resolved_at": "",
            },
        ),
        Table(
            "comments",
            {"comment_id": "text", "ticket_id": "text", "author": "text", "text": "text", "created_at": "text"},
            {"author": "", "created_at": ""},
        ),
    ),
    tool_list=(
        get_ticket,
        list_tickets,
        list_comments,
        comment_ticket,
        assign_ticket,
        escalate_ticket,
        resolve_ticket,
    ),
    roles={
        "viewer": _READ,
        "agent": _READ | {"tickets.write"},
        "clerk": _READ | {"tickets.write", "tickets.resolve"},
        "supervisor": _READ | {"tickets.write", "tickets.resolve"},
    },
)
