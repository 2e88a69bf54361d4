"""A report on disk: index.html and report.json, each written whole or not at all; the JSON names the page's bytes."""

from pathlib import Path

from journeyman.evaluation.report.html import render_html
from journeyman.records.base import sha256_hex
from journeyman.records.report import Report
from journeyman.store.atomic import write_atomic

PAGE = "index.html"  # the fact that names its bytes, in the JSON alone


def write_report(report: Report, directory: Path) -> tuple[Path, Path]:
    """Write both forms into `directory`; returns (page, JSON). The page opens offline."""
    directory.mkdir(parents=True, exist_ok=True)
    page, data = directory / PAGE, directory / "report.json"
    drawn = render_html(report).encode()
    write_atomic(page, drawn)
    facts = {**report.facts, PAGE: sha256_hex(drawn)}
    write_atomic(data, report.model_copy(update={"facts": facts}).checked().canonical())
    return page, data
