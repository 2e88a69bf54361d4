"""Charts as inline SVG that stretch with the page without stretching their text: x in per cent, y in pixels."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from journeyman.evaluation.report.format import compact, number, policy_title, sampling_title, signed, span
from journeyman.records.report import Comparison, Curve, Interval

Points = Mapping[tuple[str, float], Interval]  # (policy, temperature) -> mean


def colour(policies: Sequence[str], policy: str) -> str:
    """The policy's colour, the same everywhere on the page."""
    return f"var(--p{policies.index(policy) % 6})"


def ladder(policies: Sequence[str], temperatures: Sequence[float], points: Points, height: int) -> str:
    """Policies left to right, reward upwards from 0 to 1: filled dots at the warmest temperature, open ones below."""
    shown = [p for p in policies if any((p, t) in points for t in temperatures)]
    top, bottom = 20, height - 30
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = bottom - tick * (bottom - top)
        parts.append(f'<line class="gridline" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        if tick in (0.0, 0.5, 1.0):
            parts.append(f'<text x="0" y="{y - 4:.1f}">{tick:g}</text>')
    layers: dict[str, list[str]] = {
        "joints": [],
        "marks": [],
        "values": [],
    }  # values last, so that nothing crosses them
    for order, temperature in enumerate(temperatures):
        shift = f'<g transform="translate({(order - (len(temperatures) - 1) / 2) * 20:.0f} 0)">'
        joints = _joints(shown, temperature, points, top, bottom, greedy=order > 0)
        marks, values = _marks(shown, policies, temperature, points, (top, bottom), order)
        for name, drawn in (("joints", joints), ("marks", marks), ("values", values)):
            layers[name].append(shift + "".join(drawn) + "</g>")
    parts += [group for drawn in layers.values() for group in drawn]
    for position, policy in enumerate(shown):
        parts.append(f'<text class="name" x="{_x(position, shown)}" y="{height - 8}" text-anchor="middle">')
        parts.append(f"{policy_title(policy)}</text>")
    summary = "; ".join(f"{p}, {sampling_title(t)}: {number(i.value)}" for (p, t), i in points.items())
    return f'<svg height="{height}" role="img" aria-label="{escape(summary)}">{"".join(parts)}</svg>'


def _x(position: int, shown: Sequence[str]) -> str:
    return f"{6 + (position + 0.5) * 94 / len(shown):.2f}%"


def _joints(
    shown: Sequence[str], temperature: float, points: Points, top: int, bottom: int, *, greedy: bool
) -> list[str]:
    """Lines between neighbouring policies."""
    lines = []
    for left, right in zip(range(len(shown)), range(1, len(shown)), strict=False):
        first, second = points.get((shown[left], temperature)), points.get((shown[right], temperature))
        if first is not None and second is not None:
            y1, y2 = (bottom - i.value * (bottom - top) for i in (first, second))
            lines.append(
                f'<line class="joined{" greedy" if greedy else ""}" x1="{_x(left, shown)}" x2="{_x(right, shown)}" '
                f'y1="{y1:.1f}" y2="{y2:.1f}"/>'
            )
    return lines


def _marks(
    shown: Sequence[str],
    policies: Sequence[str],
    temperature: float,
    points: Points,
    frame: tuple[int, int],
    order: int,
) -> tuple[list[str], list[str]]:
    """(intervals and dots, values) of every policy at one temperature."""
    top, bottom = frame
    marks, values = [], []
    for position, policy in enumerate(shown):
        interval = points.get((policy, temperature))
        if interval is None:
            continue
        x, hue = _x(position, shown), colour(policies, policy)
        y = bottom - interval.value * (bottom - top)
        title = (
            f"{policy}, {sampling_title(temperature)}: {number(interval.value, 3)}, 95 % interval {span(interval, 3)}"
        )
        if interval.low is not None and interval.high is not None:
            ends = [bottom - min(max(v, 0.0), 1.0) * (bottom - top) for v in (interval.low, interval.high)]
            marks.append(
                f'<line class="whisker" stroke="{hue}" x1="{x}" x2="{x}" y1="{ends[0]:.1f}" y2="{ends[1]:.1f}"/>'
            )
        marks.append(_dot(x, y, hue, filled=order == 0, title=title))
        anchor, shift = ("end", -11) if order == 0 else ("start", 11)
        kind = "value second" if order else "value"
        values.append(
            f'<text class="{kind}" x="{x}" y="{y + 4:.1f}" dx="{shift}" text-anchor="{anchor}">'
            f"{number(interval.value)}</text>"
        )
    return marks, values


def _dot(x: str, y: float, hue: str, *, filled: bool, title: str = "") -> str:
    fill = hue if filled else "var(--card)"
    inside = f"<title>{escape(title)}</title>" if title else ""
    return f'<circle cx="{x}" cy="{y:.1f}" r="5.5" fill="{fill}" stroke="{hue}" stroke-width="2">{inside}</circle>'


def forest_axis(comparisons: Sequence[Comparison]) -> float:
    """Half-width of a shared, symmetric axis, rounded up to a fifth."""
    ends = [
        abs(v) for c in comparisons for v in (c.difference.low, c.difference.high, c.difference.value) if v is not None
    ]
    return max(0.2, 2 * math.ceil(max(ends, default=0.0) * 5) / 10)


def _along(value: float, half: float) -> str:
    """Where a difference lies on an axis from -half to +half."""
    return f"{50 + 48 * min(max(value / half, -1.0), 1.0):.2f}%"


def forest_bar(comparisons: Sequence[Comparison], half: float, hue: str) -> str:
    """Paired differences on one axis, one line each: the first filled, the others open."""
    height = 10 + 18 * len(comparisons)
    parts = [f'<line class="zero" x1="50%" x2="50%" y1="-7" y2="{height + 7}"/>']
    for order, comparison in enumerate(comparisons):
        d, y = comparison.difference, 14 + 18 * order
        parts.append(f'<line class="gridline" x1="2%" x2="98%" y1="{y}" y2="{y}"/>')
        if d.low is not None and d.high is not None:
            ends = f'x1="{_along(d.low, half)}" x2="{_along(d.high, half)}"'
            parts.append(f'<line class="whisker" stroke="{hue}" {ends} y1="{y}" y2="{y}"/>')
        parts.append(_dot(_along(d.value, half), y, hue, filled=order == 0))
    return f'<svg height="{height}" aria-hidden="true">{"".join(parts)}</svg>'


def forest_scale(half: float) -> str:
    """The axis under a forest."""
    ticks = "".join(
        f'<text x="{_along(v, half)}" y="12" text-anchor="middle">{signed(v, 1) if v else "0"}</text>'
        for v in (-half, -half / 2, 0.0, half / 2, half)
    )
    return f'<svg height="16" aria-hidden="true">{ticks}</svg>'


def _smoothed(values: Sequence[float], half: int) -> list[float]:
    """Centred moving mean over up to 2 * half + 1 points."""
    windows = [values[max(0, i - half) : i + half + 1] for i in range(len(values))]
    return [sum(window) / len(window) for window in windows]


def curve_plot(curve: Curve) -> str:
    """One curve: the recorded points faint, their moving mean strong, extremes labelled."""
    low, high = min(curve.values), max(curve.values)
    if low >= 0 and low < 0.5 * high:
        low = 0.0
    if high == low:
        low, high = low - 0.5, high + 0.5
    first, last = curve.steps[0], max(curve.steps[-1], curve.steps[0] + 1)

    def path(values: Sequence[float]) -> str:
        return " ".join(
            f"{100 * (s - first) / (last - first):.2f},{96 - 92 * (v - low) / (high - low):.2f}"
            for s, v in zip(curve.steps, values, strict=True)
        )

    trend = path(_smoothed(curve.values, max(1, len(curve.values) // 16)))
    keep = 'vector-effect="non-scaling-stroke"'
    return (
        '<div class="plot"><svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">'
        f'<line class="gridline" x1="0" x2="100" y1="96" y2="96" {keep}/>'
        f'<line class="gridline" x1="0" x2="100" y1="4" y2="4" {keep}/>'
        f'<polygon class="area" points="0,96 {trend} 100,96"/>'
        f'<polyline class="raw" points="{path(curve.values)}" {keep}/>'
        f'<polyline class="trend" points="{trend}" {keep}/></svg>'
        f'<span class="y top">{compact(high)}</span><span class="y bottom">{compact(low)}</span></div>'
        f'<div class="axis"><span>step {curve.steps[0]}</span><span>{curve.steps[-1]}</span></div>'
    )
