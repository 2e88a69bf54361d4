"""Writes mail messages and threads with quoted history. Equal messages give equal bytes."""

import datetime
import email.policy
import email.utils
import hashlib
from email.message import EmailMessage
from typing import NamedTuple


class Person(NamedTuple):
    """A correspondent."""

    name: str
    address: str


class Message(NamedTuple):
    """One message. `sent` is ISO date and time in UTC, "2026-03-04T09:12"."""

    sender: Person
    to: tuple[Person, ...]
    sent: str
    subject: str
    body: str
    cc: tuple[Person, ...] = ()
    attachments: tuple[tuple[str, bytes], ...] = ()


_TYPES = {
    "docx": ("application", "vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "xlsx": ("application", "vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "pdf": ("application", "pdf"),
    "csv": ("text", "csv"),
}


def address(name: str, organisation: str) -> Person:
    """`first.last@organisation.example` for a person."""
    stem = "".join(c for c in organisation.split()[0].lower() if c.isalnum())
    return Person(name, f"{'.'.join(name.lower().split())}@{stem}.example")


def eml_bytes(*thread: Message) -> bytes:
    """The last message of `thread`, with the earlier ones quoted below it, newest first."""
    message = thread[-1]
    made = EmailMessage(policy=email.policy.SMTP)
    moment = datetime.datetime.fromisoformat(message.sent).replace(tzinfo=datetime.UTC)
    made["From"] = email.utils.formataddr(message.sender)
    made["To"] = ", ".join(email.utils.formataddr(p) for p in message.to)
    if message.cc:
        made["Cc"] = ", ".join(email.utils.formataddr(p) for p in message.cc)
    made["Date"] = email.utils.format_datetime(moment)
    made["Subject"] = message.subject
    made["Message-ID"] = _message_id(message)
    if len(thread) > 1:
        made["In-Reply-To"] = _message_id(thread[-2])
    made.set_content(_with_history(thread), cte="quoted-printable")
    for name, data in message.attachments:
        kind, subtype = _TYPES.get(name.rsplit(".", 1)[-1], ("application", "octet-stream"))
        made.add_attachment(data, maintype=kind, subtype=subtype, filename=name)
    if made.is_multipart():
        made.set_boundary(f"=_{hashlib.sha256(repr(message[:5]).encode()).hexdigest()[:24]}")
    return made.as_bytes()


def _message_id(message: Message) -> str:
    digest = hashlib.sha256(repr(message[:5]).encode()).hexdigest()[:20]
    return f"<{digest}@{message.sender.address.split('@')[1]}>"


def _with_history(thread: tuple[Message, ...]) -> str:
    text = thread[-1].body.strip()
    for earlier in reversed(thread[:-1]):
        moment = datetime.datetime.fromisoformat(earlier.sent)
        head = f"On {moment.strftime('%a, %d %b %Y at %H:%M')}, {earlier.sender.name} <{earlier.sender.address}> wrote:"
        quoted = "\n".join(f"> {line}".rstrip() for line in earlier.body.strip().splitlines())
        text += f"\n\n{head}\n{quoted}"
    return text + "\n"
