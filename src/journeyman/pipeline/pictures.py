"""Office documents as pictures of their first pages, where the machine has the tools; elsewhere there is text instead.

Invariant: a picture is an extra. A missing or slow tool, or a document it cannot print, gives no picture and no error.
"""

import base64
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from journeyman.office.rendered import kind_of

PRINTABLE = frozenset({"docx", "xlsx", "pptx", "pdf"})
SECONDS = 180.0  # for all documents of one page together
WIDTH = 620  # pixels of a picture


def tools() -> bool:
    """Whether documents can be printed here (LibreOffice and poppler)."""
    return all(shutil.which(name) for name in ("soffice", "pdftoppm"))


def pictures(files: Mapping[str, bytes]) -> dict[str, str]:
    """Path -> data URI of a PNG of the first page, for every document that could be printed."""
    wanted = {path: data for path, data in files.items() if kind_of(path) in PRINTABLE}
    if not wanted or not tools():
        return {}
    with tempfile.TemporaryDirectory(prefix="jm-pictures-") as name:
        root = Path(name)
        placed = {path: root / f"{i}.{kind_of(path)}" for i, path in enumerate(wanted)}
        for path, place in placed.items():
            place.write_bytes(wanted[path])
        _print(root, [p for p in placed.values() if p.suffix != ".pdf"])
        made = {path: _first_page(place.with_suffix(".pdf")) for path, place in placed.items()}
    return {path: uri for path, uri in made.items() if uri}


def _print(root: Path, documents: list[Path]) -> None:
    profile = f"-env:UserInstallation=file://{root / 'profile'}"
    command = ["soffice", profile, "--headless", "--convert-to", "pdf", "--outdir", str(root), *map(str, documents)]
    if documents:
        _run(command)


def _first_page(pdf: Path) -> str:
    if not pdf.exists():
        return ""
    target = pdf.with_suffix("")
    _run(["pdftoppm", "-png", "-singlefile", "-scale-to-x", str(WIDTH), "-scale-to-y", "-1", str(pdf), str(target)])
    picture = target.with_suffix(".png")
    return f"data:image/png;base64,{base64.b64encode(picture.read_bytes()).decode()}" if picture.exists() else ""


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return
