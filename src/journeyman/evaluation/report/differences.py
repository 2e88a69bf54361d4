"""Paired differences with their intervals, over all tasks and per environment type."""

from html import escape

from journeyman.evaluation.report.charts import colour, forest_axis, forest_bar, ladder
from journeyman.evaluation.report.format import policy_title, sampling_title, signed, type_title
from journeyman.evaluation.report.headline import best_and_before, key, points
from journeyman.records.report import Comparison, Report


def _steps(report: Report) -> list[tuple[str, str]]:
    """(policy, baseline): each policy against the one before it."""
    return list(zip(report.policies[1:], report.policies[:-1], strict=True))


def _row(report: Report, label: str, comparison: Comparison, half: float, *, total: bool) -> str:
    d = comparison.difference
    hue = colour(report.policies, comparison.policy)
    said = comparison.verdict if d.low is not None else f"no ranking, n = {d.n}"
    title = "" if d.low is None or d.high is None else f"95 % interval {signed(d.low)} to {signed(d.high)}, {d.n} tasks"
    return (
        f'<div class="row{" sum" if total else ""}" title="{title}"><div>{label}</div>'
        f'{forest_bar(comparison, half, hue)}<div class="says"><b>{signed(d.value)}</b> {said}</div></div>'
    )


def differences_section(report: Report) -> str:
    """Each policy against the one before it, and the best against SFT by environment type."""
    steps = [c for c in report.comparisons if c.scope == "all" and (c.policy, c.baseline) in _steps(report)]
    pair = best_and_before(report)
    by_type = [
        c
        for c in report.comparisons
        if pair is not None
        and (c.policy, c.baseline) == (pair[0].policy, pair[1].policy)
        and c.temperature == pair[0].temperature
    ]
    if not steps:
        return ""
    half = forest_axis([*steps, *by_type])
    rows = "".join(
        _row(
            report,
            f"{policy_title(c.policy)} against {policy_title(c.baseline)}"
            f'<span class="tag">{sampling_title(c.temperature)}</span>',
            c,
            half,
            total=False,
        )
        for c in steps
    )
    body = (
        "<p>Differences in mean reward, paired by task, with 95 % intervals. An interval wholly to the right of the "
        "line is better; one that touches it shows no difference.</p>"
        f'<div class="card forest">{rows}</div>'
    )
    if by_type and pair is not None:
        inner = "".join(
            _row(report, "All types" if c.scope == "all" else type_title(c.scope), c, half, total=c.scope == "all")
            for c in by_type
        )
        body += (
            f'<h3 class="group">{policy_title(pair[0].policy)} against {policy_title(pair[1].policy)} by environment '
            f"type, {sampling_title(pair[0].temperature)}</h3>"
            f'<div class="card forest">{inner}</div>'
        )
    return body


def types_section(report: Report) -> str:
    """The main chart once per environment type."""
    kinds = sorted({kind for arm in report.arms for kind in arm.types})
    if not kinds:
        return ""
    cards = []
    for kind in kinds:
        results = [arm.types[kind] for arm in report.arms if kind in arm.types]
        tasks, graded = max(r.tasks for r in results), sum(r.graded for r in results)
        chart = ladder(report.policies, report.temperatures, points(report, kind), 220)
        label = escape(f"{tasks} tasks, {graded} graded attempts")
        cards.append(
            f'<div class="card"><div class="head"><h3>{type_title(kind)}</h3><span class="note">{label}</span></div>'
            f"{chart}</div>"
        )
    return (
        f'<p>Mean reward of each policy, on the same scale.</p>{key(report)}<div class="small">{"".join(cards)}</div>'
    )
