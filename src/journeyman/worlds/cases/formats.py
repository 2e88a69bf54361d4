"""The standard deliverable of a case in its format: Word, workbook or markdown, with the same table in each."""

from typing import Any

from journeyman.records.task import PlanStep
from journeyman.worlds.documents.scripts import heading, paragraph, rows, write_docx, write_xlsx
from journeyman.worlds.scripts import write

ENDINGS = {  # deliverable -> file ending; docx where it is not listed
    "schedule": "xlsx",
    "workbook": "xlsx",
    "reconciliation": "xlsx",
    "statement": "xlsx",
    "worksheet": "xlsx",
    "note": "md",
    "log": "md",
}


def standard_path(truth: Any) -> str:
    """Path of the standard deliverable."""
    return f"result/{truth.deliverable}_{truth.company.lower()}.{ENDINGS.get(truth.deliverable, 'docx')}"


def deliver(path: str, title: str, pairs: list[tuple[str, str]], words: list[str]) -> PlanStep:
    """The turn that writes a two-column table and paragraphs below it to `path`."""
    ending = path.rsplit(".", 1)[1]
    if ending == "xlsx":
        table: list[list[Any]] = [["Item", "Value"], *([k, _number(v)] for k, v in pairs)]
        return write_xlsx(path, {"Summary": table, "Basis": [["Basis", ""], *([w, ""] for w in words)]})
    if ending == "md":
        lines = [f"# {title}", "", "| Item | Value |", "|---|---|", *(f"| {k} | {v} |" for k, v in pairs), ""]
        return write(path, "\n".join([*lines, "## Basis", "", *(f"{w}\n" for w in words)]))
    return write_docx(path, title, rows(*pairs), heading("Basis"), *(paragraph(w) for w in words))


def _number(text: str) -> str | float | int:
    """A cell value: numbers as numbers."""
    bare = text.lstrip("-")
    if bare.isdigit():
        return int(text)
    return float(text) if bare.replace(".", "", 1).isdigit() else text
