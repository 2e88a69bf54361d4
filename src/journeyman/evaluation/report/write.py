"""A report on disk: index.html and report.json, each written whole or not at all."""

from pathlib import Path

from journeyman.evaluation.report.html import render_html
from journeyman.records.report import Report
from journeyman.store.atomic import write_atomic


def write_report(report: Report, directory: Path) -> tuple[Path, Path]:
    """Write both forms into `directory`; returns (page, JSON). The page opens offline."""
    directory.mkdir(parents=True, exist_ok=True)
    page, data = directory / "index.html", directory / "report.json"
    write_atomic(page, render_html(report).encode())
    write_atomic(data, report.checked().canonical())
    return page, data
