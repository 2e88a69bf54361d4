"""The report as one self-contained page: inline style and SVG, no script, no external resource, light and dark."""

from html import escape
from pathlib import Path

from journeyman.evaluation.report.differences import differences_section, types_section
from journeyman.evaluation.report.headline import finding, hero, lede
from journeyman.evaluation.report.tables import coverage_section, criteria_section, effort_section, facts_section
from journeyman.evaluation.report.traces import episode_section, training_section
from journeyman.records.report import Report

SECTIONS = (
    ("differences", "What changed", differences_section),
    ("types", "By environment type", types_section),
    ("criteria", "By criterion", criteria_section),
    ("training", "Training", training_section),
    ("effort", "Effort and cost", effort_section),
    ("coverage", "Coverage and failures", coverage_section),
    ("episode", "One episode, token by token", episode_section),
    ("run", "The run", facts_section),
)


def render_html(report: Report) -> str:
    """The whole page. Sections without content are left out."""
    style = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    made = [(anchor, title, body) for anchor, title, section in SECTIONS if (body := section(report))]
    links = "".join(f'<a href="#{anchor}">{title}</a>' for anchor, title, _ in made)
    bodies = "".join(f'<section id="{anchor}"><h2>{title}</h2>{body}</section>' for anchor, title, body in made)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.name)} · journeyman report</title>\n<style>\n{style}</style></head>\n<body><main>"
        f'<div class="over">journeyman report · <b>{escape(report.name)}</b></div>'
        f'<h1>{finding(report)}</h1><p class="lede">{lede(report)}</p>'
        f"<nav>{links}</nav>{hero(report)}\n{bodies}\n"
        "<footer>Means are over graded attempts, first within a task, then over tasks; intervals are 95 % t intervals "
        "clustered by task. report.json holds the same figures.</footer></main></body></html>\n"
    )
