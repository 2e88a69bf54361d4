"""One entry to every readable file: name and bytes in, text and rows out; damaged files become warnings, never errors.

docx, xlsx and pptx are read from their XML directly, so that comments, tracked changes, notes, hidden sheets and
uncalculated formulas are never lost; pdf needs the `office` extra.
"""

import importlib
from collections.abc import Callable
from dataclasses import replace

from journeyman.office.package import DAMAGE, Unreadable
from journeyman.office.rendered import Rendered, kind_of

RENDERING_VERSION = "1"

_READERS: dict[str, str] = {
    "docx": "journeyman.office.docx:read",
    "docm": "journeyman.office.docx:read",
    "xlsx": "journeyman.office.xlsx:read",
    "xlsm": "journeyman.office.xlsx:read",
    "pptx": "journeyman.office.pptx:read",
    "pptm": "journeyman.office.pptx:read",
    "pdf": "journeyman.office.pdf:read",
    "eml": "journeyman.office.mail:read",
    "csv": "journeyman.office.plain:read_csv",
    "tsv": "journeyman.office.plain:read_csv",
    "html": "journeyman.office.plain:read_html",
    "htm": "journeyman.office.plain:read_html",
}
_TEXT = "journeyman.office.plain:read_text"
_cache: dict[str, Callable[[str, bytes], Rendered]] = {}


def render(path: str, data: bytes) -> Rendered:
    """Read `data` as what the name `path` says it is.

    Unknown extensions are read as text. A damaged file gives empty text and a warning saying what was wrong.
    Raises UserError when a pdf is met without the `office` extra.
    """
    kind = kind_of(path)
    try:
        return _reader(_READERS.get(kind, _TEXT))(path, data)
    except DAMAGE as error:
        told = str(error) if isinstance(error, Unreadable) else f"{type(error).__name__}: {error}"
        reason = f"unreadable as {kind or 'text'}: {told}"[:300]
        return Rendered(path=path, kind=kind, text=f"[{reason}]", plain="", original="", warnings=(reason,))


def render_all(files: dict[str, bytes]) -> dict[str, Rendered]:
    """`render` of every file, by path."""
    return {path: render(path, data) for path, data in files.items()}


def clipped(rendered: Rendered, max_chars: int) -> Rendered:
    """`rendered` with `text` cut to `max_chars` and a warning that says so."""
    if len(rendered.text) <= max_chars:
        return rendered
    note = f"text cut at {max_chars} of {len(rendered.text)} characters"
    return replace(rendered, text=f"{rendered.text[:max_chars]}\n[{note}]", warnings=(*rendered.warnings, note))


def _reader(name: str) -> Callable[[str, bytes], Rendered]:
    if name not in _cache:
        module, function = name.split(":")
        _cache[name] = getattr(importlib.import_module(module), function)
    return _cache[name]
