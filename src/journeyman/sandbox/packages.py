"""The office libraries for a box: the running interpreter's own copies, bound read-only, and nothing else it has.

Invariant: only the named distributions and what they require are shown, never the whole site-packages.
"""

import functools
import importlib.metadata
import re
from pathlib import Path

from journeyman.errors import UserError

OFFICE = ("paper-docx", "paper-xlsx", "paper-pptx", "pdfplumber", "fpdf2")
PLACE = "/opt/packages"
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@functools.cache
def office_packages() -> dict[str, Path]:
    """Path in the box -> path on the host of every top-level package and its metadata. Raises UserError."""
    found: dict[str, Path] = {}
    done: set[str] = set()
    waiting = list(OFFICE)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in done:
            continue
        done.add(name)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            if name in OFFICE:
                text = f"the task asks for office libraries and {name} is not installed"
                raise UserError(f"{text}; type: pip install 'journeyman[office]'") from None
            continue  # required on other platforms or versions only
        for file in distribution.files or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not top.endswith(".pth"):
                found[f"{PLACE}/{top}"] = Path(str(distribution.locate_file(top)))
        for requirement in distribution.requires or ():
            match = _NAME.match(requirement)
            if match and "extra ==" not in requirement:
                waiting.append(match[0])
    return found
