"""A mailbox: folders of messages, sending and moving. What was sent stays sent, and sending again sends again."""

from typing import Annotated

from typing_extensions import TypedDict

from journeyman.services.definition import Refused, ServiceDefinition, tool
from journeyman.services.tables import Row, Session, Table

MessageId = Annotated[str, "Message number"]
_FOLDERS = ("inbox", "sent", "archive")


class Line(TypedDict):
    """One line of a folder."""

    message_id: str
    sender: str
    subject: str
    sent_at: str


class Folder(TypedDict):
    """Messages of a folder, oldest first."""

    messages: list[Line]


class Message(TypedDict):
    """One message."""

    message_id: str
    sender: str
    recipient: str
    subject: str
    body: str
    sent_at: str


class Sent(TypedDict):
    """A message that has left."""

    message_id: str
    recipient: str


class Moved(TypedDict):
    """Where a message now lies."""

    message_id: str
    folder: str


@tool("mail.read")
def list_messages(db: Session, folder: Annotated[str, "inbox, sent or archive"] = "inbox") -> Folder:
    """List the messages of a folder, oldest first."""
    if folder not in _FOLDERS:
        raise Refused(f"no folder {folder}; there are {', '.join(_FOLDERS)}")
    return {
        "messages": [
            {"message_id": r["message_id"], "sender": r["sender"], "subject": r["subject"], "sent_at": r["sent_at"]}
            for r in db.rows("messages", folder=folder)
        ]
    }


@tool("mail.read")
def read_message(db: Session, message_id: MessageId) -> Message:
    """Read one message."""
    row = db.one("messages", message_id=message_id)
    if row is None:
        raise Refused(f"message {message_id} not found")
    return {
        "message_id": row["message_id"],
        "sender": row["sender"],
        "recipient": row["recipient"],
        "subject": row["subject"],
        "body": row["body"],
        "sent_at": row["sent_at"],
    }


@tool("mail.send", writes=True, idempotent=False, retry="After a timeout check list_messages of sent first.")
def send_message(
    db: Session,
    recipient: Annotated[str, "Mail address"],
    subject: Annotated[str, "Subject"],
    body: Annotated[str, "Text"],
) -> Sent:
    """Send a message."""
    name, at, host = recipient.partition("@")
    if not (name and at and "." in host):
        raise Refused(f"{recipient!r} is no mail address")
    row: Row = {"message_id": db.next_id("messages", "M-"), "folder": "sent", "sender": db.actor}
    made = db.insert("messages", {**row, "recipient": recipient, "subject": subject, "body": body, "sent_at": db.now})
    return {"message_id": made["message_id"], "recipient": recipient}


@tool("mail.file", writes=True)
def move_message(db: Session, message_id: MessageId, folder: Annotated[str, "inbox or archive"]) -> Moved:
    """Move a received message to another folder."""
    row = db.one("messages", message_id=message_id)
    if row is None:
        raise Refused(f"message {message_id} not found")
    if folder not in ("inbox", "archive") or row["folder"] == "sent":
        raise Refused("a received message goes to inbox or archive")
    db.update("messages", {"message_id": message_id}, folder=folder)
    return {"message_id": message_id, "folder": folder}


MAILBOX = ServiceDefinition(
    name="mailbox",
    title="Mailbox",
    tables=(
        Table(
            "messages",
            {
                "message_id": "text",
                "folder": "text",
                "sender": "text",
                "recipient": "text",
                "subject": "text",
                "body": "text",
                "sent_at": "text",
            },
            {"folder": "inbox", "recipient": "", "body": "", "sent_at": ""},
        ),
    ),
    tool_list=(list_messages, read_message, send_message, move_message),
    roles={
        "reader": frozenset({"mail.read"}),
        "owner": frozenset({"mail.read", "mail.send", "mail.file"}),
        "delegate": frozenset({"mail.read", "mail.file"}),
    },
)
