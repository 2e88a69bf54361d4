"""Paired differences with their intervals, over all tasks and per environment type."""

from html import escape

from journeyman.evaluation.report.charts import colour, forest_axis, forest_bar, forest_scale, ladder
from journeyman.evaluation.report.format import policy_title, sampling_title, signed, type_title
from journeyman.evaluation.report.headline import best_and_before, find_comparison, key, points
from journeyman.records.report import Comparison, Report


def _pairs(report: Report) -> list[tuple[str, str]]:
    """(policy, baseline): each policy against the one before it."""
    return list(zip(report.policies[1:], report.policies[:-1], strict=True))


def _compared(report: Report, policy: str, baseline: str, scope: str) -> list[Comparison]:
    """The comparison at each temperature, warmest first."""
    found = (find_comparison(report, policy, baseline, t, scope) for t in report.temperatures)
    return [comparison for comparison in found if comparison is not None]


def _row(report: Report, label: str, compared: list[Comparison], half: float, *, total: bool) -> str:
    hue = colour(report.policies, compared[0].policy)
    said = "".join(f"<div>{_said(comparison)}</div>" for comparison in compared)
    return (
        f'<div class="row{" sum" if total else ""}"><div>{label}</div>'
        f'{forest_bar(compared, half, hue)}<div class="says">{said}</div></div>'
    )


def _said(comparison: Comparison) -> str:
    d = comparison.difference
    how = sampling_title(comparison.temperature)
    if d.low is None or d.high is None:
        return f"{how} <b>{signed(d.value)}</b> no ranking, n = {d.n}"
    title = f"95 % interval {signed(d.low, 3)} to {signed(d.high, 3)} over {d.n} tasks"
    return f'<span title="{title}">{how} <b>{signed(d.value)}</b> {comparison.verdict}</span>'


def _forest(report: Report, rows: list[tuple[str, list[Comparison], bool]], half: float) -> str:
    body = "".join(_row(report, label, compared, half, total=total) for label, compared, total in rows)
    return (
        f'<div class="card forest">{body}<div class="row scale"><div></div>{forest_scale(half)}<div></div></div></div>'
    )


def differences_section(report: Report) -> str:
    """Each policy against the one before it, and RL against SFT (or the best against its baseline) by type."""
    steps = [
        (f"{policy_title(policy)} against {policy_title(baseline)}", compared, False)
        for policy, baseline in _pairs(report)
        if (compared := _compared(report, policy, baseline, "all"))
    ]
    best = best_and_before(report)
    if not steps or best is None:
        return ""
    policy, baseline = ("rl", "sft") if {"rl", "sft"} <= set(report.policies) else (best[0].policy, best[1].policy)
    kinds = sorted({kind for arm in report.arms for kind in arm.types})
    by_type = [
        ("All types" if scope == "all" else type_title(scope), compared, scope == "all")
        for scope in ["all", *kinds]
        if (compared := _compared(report, policy, baseline, scope))
    ]
    half = forest_axis([c for _, compared, _ in [*steps, *by_type] for c in compared])
    intro = (
        "<p>Differences in mean reward, paired by task, with 95 % intervals. An interval wholly to the right of the "
        "line is better; one that touches it shows no difference.</p>"
    )
    body = intro + _forest(report, steps, half)
    if by_type:
        body += f'<h3 class="group">{policy_title(policy)} against {policy_title(baseline)} by environment type</h3>'
        body += _forest(report, by_type, half)
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
