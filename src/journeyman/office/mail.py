"""A mail message as text: who, whom, when, what, the body a reader sees, and each attachment read in turn."""

from email import message_from_bytes, policy
from email.message import EmailMessage

from journeyman.office.plain import decode, html_text
from journeyman.office.rendered import Rendered, Table

_HEADERS = ("From", "To", "Cc", "Date", "Subject", "Message-ID", "In-Reply-To")
_SHOWN = _HEADERS[:5]
MAX_DEPTH = 2


def read(path: str, data: bytes, depth: int = 0) -> Rendered:
    """Read an eml. `plain` is headers and body; attachments are appended to `text` only."""
    message = message_from_bytes(data, policy=policy.default)
    if not isinstance(message, EmailMessage) or not message.keys():
        raise ValueError("no mail headers")
    body = _body(message)
    shown = "\n".join(f"{name}: {_flat(message[name])}" for name in _SHOWN if message[name])
    every = "\n".join(f"{name}: {_flat(message[name])}" for name in _HEADERS if message[name])
    plain = f"{shown}\n\n{body}".strip()
    text = [f"{every}\n\n{body}".strip()]
    tables: list[Table] = []
    warnings: list[str] = []
    for part in message.iter_attachments():
        attached = _attachment(part, depth)
        text.append(attached.text)
        tables += attached.tables
        warnings += [f"{attached.path}: {warning}" for warning in attached.warnings]
    return Rendered(path, "eml", "\n\n".join(text), plain, plain, tuple(tables), warnings=tuple(warnings))


def _attachment(part: EmailMessage, depth: int) -> Rendered:
    from journeyman.office.render import render

    name = part.get_filename() or ("message.eml" if part.get_content_type() == "message/rfc822" else "attachment")
    if part.get_content_type() == "message/rfc822":
        content = part.get_content().as_bytes()
    else:
        content = part.get_payload(decode=True) or b""
    head = f"## Attachment: {name} ({len(content)} bytes)"
    if depth >= MAX_DEPTH:
        return Rendered(name, "", head, "", "", warnings=("nested too deep, not read",))
    inner = read(name, content, depth + 1) if name.endswith(".eml") else render(name, content)
    return Rendered(name, inner.kind, f"{head}\n{inner.text}", "", "", inner.tables, inner.cells, inner.warnings)


def _body(message: EmailMessage) -> str:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset() or ""
    try:
        text = data.decode(charset) if charset else decode(data)[0]
    except (LookupError, UnicodeDecodeError):
        text = decode(data)[0]
    text = text.replace("\r\n", "\n")
    return (html_text(text) if part.get_content_subtype() == "html" else text).strip()


def _flat(value: object) -> str:
    return " ".join(str(value).split())
