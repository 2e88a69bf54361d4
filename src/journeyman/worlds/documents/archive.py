"""Zip containers with no trace of when they were made: fixed order, fixed times, fixed attributes."""

import io
import re
import zipfile

_EPOCH = (1980, 1, 1, 0, 0, 0)
_STAMP = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*(</dcterms:)")


def zip_parts(parts: dict[str, bytes]) -> bytes:
    """A deflated zip of `parts` in their given order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=5) as archive:
        for name, data in parts.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 0
            entry.external_attr = 0
            archive.writestr(entry, data)
    return buffer.getvalue()


def settle(data: bytes, date: str) -> bytes:
    """The same OOXML package with `date` as its created and modified day, embedded workbooks included."""
    stamp = rb"\g<1>" + f"{date}T08:00:00Z".encode() + rb"\g<2>"
    parts: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            content = archive.read(entry)
            if entry.filename == "docProps/core.xml":
                content = _STAMP.sub(stamp, content)
            elif entry.filename.endswith(".xlsx"):
                content = settle(content, date)
            parts[entry.filename] = content
    return zip_parts(parts)
