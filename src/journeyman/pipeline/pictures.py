"""Documents as pictures of their first pages: PDFs always, others where LibreOffice can print them; else there is text.

Invariant: a picture is an extra. A missing or slow tool, or a document it cannot print, gives no picture and no error.
"""

import base64
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from journeyman.office.rendered import kind_of

PRINTABLE = frozenset({"docx", "xlsx", "pptx", "pdf"})
SECONDS = 180.0  # for all documents of one page together
WIDTH = 620  # pixels of a picture


def prints() -> bool:
    """Whether documents other than PDFs can be printed here (LibreOffice)."""
    return shutil.which("soffice") is not None


def pictures(files: Mapping[str, bytes]) -> dict[str, str]:
    """Path -> data URI of a PNG of the first page, for every document that could be printed."""
    kinds = PRINTABLE if prints() else {"pdf"}
    wanted = {path: data for path, data in files.items() if kind_of(path) in kinds}
    if not wanted:
        return {}
    with tempfile.TemporaryDirectory(prefix="jm-pictures-") as name:
        root = Path(name)
        placed = {path: root / f"{i}.{kind_of(path)}" for i, path in enumerate(wanted)}
        for path, place in placed.items():
            place.write_bytes(wanted[path])
        _print(root, [p for p in placed.values() if p.suffix != ".pdf"])
        pages = [place.with_suffix(".pdf") for place in placed.values()]
        _run(
            [sys.executable, "-m", "journeyman.office.pdf_picture", str(WIDTH), *(str(p) for p in pages if p.exists())]
        )
        made = {path: _uri(place.with_suffix(".png")) for path, place in placed.items()}
    return {path: uri for path, uri in made.items() if uri}


def _print(root: Path, documents: list[Path]) -> None:
    profile = f"-env:UserInstallation=file://{root / 'profile'}"
    command = ["soffice", profile, "--headless", "--convert-to", "pdf", "--outdir", str(root), *map(str, documents)]
    if documents:
        _run(command)


def _uri(picture: Path) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture.read_bytes()).decode()}" if picture.exists() else ""


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return
