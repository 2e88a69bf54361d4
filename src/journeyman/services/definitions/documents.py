"""A document store: documents in folders with versions and a status. A final document is never changed again."""

from typing import Annotated, Literal

from typing_extensions import TypedDict

from journeyman.services.definition import Refused, ServiceDefinition, tool
from journeyman.services.tables import Row, Session, Table

DocumentId = Annotated[str, "Document number"]


class Entry(TypedDict):
    """One line of a folder."""

    document_id: str
    name: str
    version: int
    status: str
    changed_on: str


class Entries(TypedDict):
    """Documents of a folder."""

    documents: list[Entry]


class Document(TypedDict):
    """One document with its text."""

    document_id: str
    folder: str
    name: str
    version: int
    status: str
    owner: str
    text: str


class DocumentStatus(TypedDict):
    """A document's version and status after a change."""

    document_id: str
    version: int
    status: str


def _find(db: Session, document_id: str) -> Row:
    row = db.one("documents", document_id=document_id)
    if row is None:
        raise Refused(f"document {document_id} not found")
    return row


def _changeable(db: Session, document_id: str) -> Row:
    row = _find(db, document_id)
    if row["status"] == "final":
        raise Refused(f"document {document_id} is final")
    return row


@tool("documents.read")
def list_documents(db: Session, folder: Annotated[str | None, "Only this folder"] = None) -> Entries:
    """List documents."""
    rows = db.rows("documents") if folder is None else db.rows("documents", folder=folder)
    return {
        "documents": [
            {
                "document_id": r["document_id"],
                "name": r["name"],
                "version": r["version"],
                "status": r["status"],
                "changed_on": r["changed_on"],
            }
            for r in rows
        ]
    }


@tool("documents.read")
def get_document(db: Session, document_id: DocumentId) -> Document:
    """Read one document."""
    row = _find(db, document_id)
    return {
        "document_id": row["document_id"],
        "folder": row["folder"],
        "name": row["name"],
        "version": row["version"],
        "status": row["status"],
        "owner": row["owner"],
        "text": row["text"],
    }


@tool("documents.write", writes=True)
def save_document(db: Session, document_id: DocumentId, text: Annotated[str, "The whole new text"]) -> DocumentStatus:
    """Save a new text as the next version of a draft; the same text again makes no version."""
    row = _changeable(db, document_id)
    version = row["version"] + (row["text"] != text)
    day = db.now[:10] if version != row["version"] else row["changed_on"]
    db.update("documents", {"document_id": document_id}, text=text, version=version, changed_on=day)
    return {"document_id": document_id, "version": version, "status": row["status"]}


@tool("documents.release", writes=True)
def set_document_status(
    db: Session, document_id: DocumentId, status: Annotated[Literal["review", "final"], "New status"]
) -> DocumentStatus:
    """Send a document to review, or make it final."""
    row = _find(db, document_id)
    if row["status"] == "final" and status != "final":
        raise Refused(f"document {document_id} is final")
    db.update("documents", {"document_id": document_id}, status=status)
    return {"document_id": document_id, "version": row["version"], "status": status}


_READ = frozenset({"documents.read"})

DOCUMENTS = ServiceDefinition(
    name="documents",
    title="Document store",
    tables=(
        Table(
            "documents",
            {
                "document_id": "text",
                "folder": "text",
                "name": "text",
                "version": "integer",
                "status": "text",
                "owner": "text",
                "changed_on": "text",
                "text": "text",
            },
            {"folder": "", "version": 1, "status": "draft", "owner": "", "changed_on": "", "text": ""},
        ),
    ),
    tool_list=(list_documents, get_document, save_document, set_document_status),
    roles={
        "reader": _READ,
        "author": _READ | {"documents.write"},
        "approver": _READ | {"documents.write", "documents.release"},
    },
)
