"""Traces of the run: the learner's curves, and one episode with every sampled token coloured by its surprise."""

from html import escape

from journeyman.evaluation.report.charts import curve_plot
from journeyman.evaluation.report.format import compact, number, type_title
from journeyman.records.report import Curve, Report, ShownEpisode, ShownToken, ShownVerdict

PANELS = (
    ("reward", "Reward of the sampled episodes"),
    ("behaviour", "Behaviour"),
    ("optimiser", "Optimiser"),
)
LONG_CONTEXT = 1200  # characters; a longer context is folded


def training_section(report: Report) -> str:
    """Small charts of everything the learner recorded."""
    if not report.curves:
        return ""
    steps = len({step for curve in report.curves for step in curve.steps})
    body = f"<p>{steps} optimiser steps. Faint: each step as recorded; strong: its moving mean.</p>"
    for panel, title in PANELS:
        curves = [curve for curve in report.curves if curve.panel == panel]
        if curves:
            body += f'<h3 class="group">{title}</h3><div class="curves">{"".join(map(_curve, curves))}</div>'
    return body


def _curve(curve: Curve) -> str:
    last = curve.values[-max(1, len(curve.values) // 10) :]
    now = f'<span class="now" title="mean of the last {len(last)} steps">{compact(sum(last) / len(last))}</span>'
    return (
        f'<div class="card curve"><div class="head"><h3>{escape(curve.title)}</h3>{now}</div>{curve_plot(curve)}</div>'
    )


def episode_section(report: Report) -> str:
    """The shown episode: its verdicts, then its turns."""
    shown = report.sample
    if shown is None:
        return ""
    turns = "".join(
        f'<div class="turn"><p class="who">{_who(number_)}</p>{_context(turn.context)}</div>'
        f'<div class="turn"><p class="who">the policy sampled {len(turn.tokens)} tokens</p>'
        f'<pre class="sampled">{"".join(map(_token, turn.tokens))}</pre></div>'
        for number_, turn in enumerate(shown.turns)
    )
    return (
        f"<p>{type_title(shown.environment_type)}, reward {number(shown.reward)}. Shaded text was sampled by the "
        "policy, token for token as the model produced it; the stronger the shade, the less likely the token was."
        '<br>likely <span class="ramp"></span> surprising</p>'
        f'{_verdicts(shown)}<div class="episode">{turns}</div>'
        f'<p class="note" style="margin-top:14px">{escape(shown.episode)}</p>'
    )


def _who(turn: int) -> str:
    return "what the policy is given" if turn == 0 else "what came back"


def _context(text: str) -> str:
    body = f'<pre class="context">{escape(text)}</pre>'
    if len(text) <= LONG_CONTEXT:
        return body
    return f"<details><summary>{len(text):,} characters</summary>{body}</details>"


def _token(token: ShownToken) -> str:
    if token.logprob is None:
        return f"<span>{escape(token.text)}</span>"
    strength = min(0.75, -token.logprob / 3.0)
    alpha = f' style="--a:{strength:.2f}"' if strength >= 0.01 else ""
    return f'<span title="log-prob {token.logprob:.2f}"{alpha}>{escape(token.text)}</span>'


def _verdicts(shown: ShownEpisode) -> str:
    return f'<ul class="verdicts">{"".join(map(_verdict, shown.verdicts))}</ul>'


def _verdict(verdict: ShownVerdict) -> str:
    good = verdict.met == (verdict.weight > 0)
    mark, tone = ("\N{CHECK MARK}", "up") if good else ("\N{MULTIPLICATION X}", "down")
    weight = f"{verdict.weight:+g}".replace("-", "\N{MINUS SIGN}")
    said = "met" if verdict.met else "not met"
    return (
        f'<li><span class="mark {tone}">{mark}</span><span>{escape(verdict.proposition)} '
        f'<span class="tag">{said}</span><br><span class="why">{escape(verdict.evidence)}</span></span>'
        f'<span class="w">{weight}</span></li>'
    )
