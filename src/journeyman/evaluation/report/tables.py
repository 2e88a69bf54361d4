"""The tables of the page: criteria, effort and cost, coverage and failures, facts of the run."""

from collections.abc import Sequence
from html import escape

from journeyman.evaluation.report.charts import colour
from journeyman.evaluation.report.format import (
    LAYERS,
    NONE,
    percent,
    plus_minus,
    policy_title,
    rate,
    sampling_title,
    type_title,
)
from journeyman.records.report import Arm, CriterionResult, Interval, Pricing, Report

STOPS = {
    "finished": ("finished", "var(--calm)"),
    "max_turns": ("turn cap", "var(--p5)"),
    "context_full": ("context full", "var(--p2)"),
    "token_budget": ("token budget", "var(--p4)"),
    "time_budget": ("time budget", "var(--p1)"),
    "refused": ("refused", "var(--bad)"),
}


def _table(head: Sequence[str], rows: Sequence[str], kind: str = "pinned") -> str:
    cells = "".join(f"<th>{cell}</th>" for cell in head)
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{cells}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _arm_name(report: Report, arm: Arm) -> str:
    hue = colour(report.policies, arm.policy)
    shape = "" if report.temperatures[:1] == (arm.temperature,) else " open"
    return (
        f'<span class="key"><span><i class="dot{shape}" style="--c:{hue}"></i>'
        f"{policy_title(arm.policy)}, {sampling_title(arm.temperature)}</span></span>"
    )


def criteria_section(report: Report) -> str:
    """How often each criterion was MET, by policy at the warmest temperature."""
    warmest = report.temperatures[0] if report.temperatures else 0.0
    arms = [arm for policy in report.policies if (arm := report.arm(policy, warmest)) is not None and arm.criteria]
    if not arms:
        return ""
    met = {(c.environment_type, c.criterion, arm.policy): c for arm in arms for c in arm.criteria}
    order: dict[str, dict[str, CriterionResult]] = {}
    for arm in arms:
        for result in arm.criteria:
            order.setdefault(result.environment_type, {}).setdefault(result.criterion, result)
    rows = []
    for kind, results in sorted(order.items()):
        rows.append(f'<tr class="split"><td colspan="{len(arms) + 1}">{type_title(kind)}</td></tr>')
        for name, result in sorted(results.items(), key=lambda item: item[1].negative):
            label = _criterion(result)
            cells = [
                _meter(met[kind, name, arm.policy].met, colour(report.policies, arm.policy))
                if (kind, name, arm.policy) in met
                else NONE
                for arm in arms
            ]
            rows.append(_row([label, *cells]))
    intro = (
        f"<p>Share of attempts in which a criterion was met, {sampling_title(warmest)}. For criteria that name an "
        "error, lower is better. The proposition is that of one of the tasks.</p>"
    )
    return intro + _table(["Criterion", *(policy_title(arm.policy) for arm in arms)], rows, "pinned wide")


def _criterion(result: CriterionResult) -> str:
    tag = '<span class="tag error">error</span>' if result.negative else ""
    name = escape(result.criterion.removeprefix("error_").replace("_", " "))
    return f'{name}{tag}<div class="note">{escape(result.example)}</div>'


def _meter(met: Interval, hue: str) -> str:
    width = f"--w:{100 * met.value:.0f}%;--c:{hue}"
    return f'<span class="meter"><i style="{width}"></i><b>{percent(met.value)}</b></span>'


def effort_section(report: Report) -> str:
    """What an episode took, and what that costs."""
    columns = (
        ("sampled_tokens", "Sampled<br>tokens", 0, 1.0),
        ("prompt_tokens", "Prompt<br>tokens", 0, 1.0),
        ("turns", "Turns", 1, 1.0),
        ("tool_calls", "Tool<br>calls", 1, 1.0),
        ("invalid_calls", "Invalid<br>calls", 2, 1.0),
        ("total_seconds", "Wall<br>seconds", 1, 1.0),
        ("engine_seconds", "of them waiting<br>for the model", 1, 1.0),
        ("cpu_seconds", "CPU outside the<br>model, ms", 0, 1000.0),
        ("cost_usd", "USD per 1,000<br>episodes", 2, 1000.0),
    )
    used = [c for c in columns if any(c[0] in arm.effort for arm in report.arms)]
    if not used:
        return ""
    rows = [
        _row([_arm_name(report, arm), *(plus_minus(_scaled(arm.effort.get(n), f), d) for n, _, d, f in used)])
        for arm in report.arms
    ]
    note = "" if report.pricing is None else _pricing_note(report.pricing)
    intro = "<p>Means per graded episode. Prompt tokens are counted at every call, as a provider bills them.</p>"
    return intro + _table(["Policy", *(title for _, title, _, _ in used)], rows) + note


def _scaled(interval: Interval | None, factor: float) -> Interval | None:
    if interval is None:
        return None
    low, high = (None if v is None else v * factor for v in (interval.low, interval.high))
    return Interval(value=interval.value * factor, low=low, high=high, n=interval.n)


def _pricing_note(pricing: Pricing) -> str:
    cached = "the input rate" if pricing.cache_read_usd is None else f"{pricing.cache_read_usd:g} USD"
    return (
        f'<p class="note">Cost is measured usage times rates of {escape(pricing.as_of)}, priced as '
        f"{escape(pricing.priced_as)} ({escape(pricing.provider)}): {pricing.input_usd:g} USD per million input "
        f"tokens, {cached} for cached ones, {pricing.output_usd:g} USD for output. {escape(pricing.note)}</p>"
    )


def coverage_section(report: Report) -> str:
    """Who was graded, what the missing could change, why runs stopped, what failed on our side."""
    if not report.arms:
        return ""
    rows = [
        _row(
            [
                _arm_name(report, arm),
                f"{arm.graded:,} of {arm.attempted:,}",
                f"{arm.tries - arm.attempted:,}",
                plus_minus(arm.reward, 3),
                NONE if arm.bounds is None else f"{arm.bounds[0]:.3f} to {arm.bounds[1]:.3f}",
                plus_minus(arm.pass_one, 2),
                NONE if arm.pass_all is None else f"{arm.pass_all.value:.2f}",
                f"{arm.perfect.count:,}",
                _stops(arm),
            ]
        )
        for arm in report.arms
    ]
    k = report.arms[0].k
    head = (
        "Policy",
        "Graded",
        "Restarted<br>tries",
        "Mean reward",
        "if all missing<br>were 0, or 1",
        "pass@1",
        f"pass^{k}",
        "Perfect",
        "Why runs stopped",
    )
    seen = {stop for arm in report.arms for stop in arm.stops}
    legend = "".join(
        f'<span><i class="dot" style="--c:{hue}"></i>{label}</span>'
        for stop, (label, hue) in STOPS.items()
        if stop in seen
    )
    intro = (
        "<p>A failure of ours leaves an attempt without a reward, never with a zero; the bounds say what the missing "
        f"attempts could change. An attempt passes at a reward of {report.pass_reward:g} without any error.</p>"
    )
    return (
        intro + _table(head, rows) + f'<div class="key" style="margin-top:14px">{legend}</div>' + _reliability(report)
    )


def _stops(arm: Arm) -> str:
    total = sum(arm.stops.values())
    if not total:
        return NONE
    parts = [
        f'<i style="flex:{count};--c:{STOPS.get(stop, (stop, "var(--p0)"))[1]}" title="{escape(stop)}: {count}"></i>'
        for stop, count in sorted(
            arm.stops.items(), key=lambda item: list(STOPS).index(item[0]) if item[0] in STOPS else 9
        )
    ]
    return f'<div class="stack">{"".join(parts)}</div>'


def _reliability(report: Report) -> str:
    """Rates with their denominators over all arms, and failures by layer."""
    names = list(dict.fromkeys(name for arm in report.arms for name in arm.rates))
    rates = []
    for name in names:
        found = [arm.rates[name] for arm in report.arms if name in arm.rates]
        total = found[0].model_copy(update={"count": sum(r.count for r in found), "of": sum(r.of for r in found)})
        rates.append(_row([name.capitalize(), rate(total)]))
    layers = []
    for layer in LAYERS:
        causes: dict[str, int] = {}
        for arm in report.arms:
            for cause, count in arm.failures.get(layer, {}).items():
                causes[cause] = causes.get(cause, 0) + count
        said = ", ".join(f"{escape(cause)} ({count})" for cause, count in sorted(causes.items())) or "none"
        layers.append(_row([layer.capitalize(), f"{sum(causes.values())}", f'<span class="note">{said}</span>']))
    return (
        '<div class="small"><div class="card"><h3>Reliability, all policies</h3>'
        + _table(("", "Count"), rates, "")
        + '</div><div class="card"><h3>Failures of ours, by layer</h3>'
        + _table(("", "Tries", "Cause"), layers, "")
        + "</div></div>"
    )


def facts_section(report: Report) -> str:
    """What was run."""
    if not report.facts:
        return ""
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in report.facts.items()
    )
    return f'<dl class="facts">{items}</dl>'
