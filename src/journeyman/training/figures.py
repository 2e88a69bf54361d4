"""What a step's groups show before anything is trained on them, from credit alone. Torch-free, so that it is rechecked.

A figure that cannot be computed (no member, no call) is absent, not a guess.
"""

import math
from collections.abc import Sequence

import numpy as np

from journeyman.training.credit import GroupCredit


def staleness(current: int, oldest: int) -> int:
    """Versions between the policy now and the oldest token of a sample."""
    return current - oldest


def group_figures(credits: Sequence[GroupCredit], oldest: dict[str, int], version: int) -> dict[str, float]:
    """Figures over the valid members of all groups of a batch, kept or not; `oldest`: episode -> oldest version."""
    members = [entry for c in credits for entry in c.valid]
    total = sum(len(c.group.members) for c in credits)
    figures: dict[str, float] = {
        "groups": float(len(credits)),
        "groups_kept": float(sum(c.kept for c in credits)),
        "members": float(total),
        "members_valid": float(len(members)),
    }
    if not members:
        return figures
    columns = {
        "reward": [float(m.reward or 0.0) for m, _, _ in members],
        "shaped": [s.reward for _, s, _ in members],
        "advantage_abs": [abs(a) for _, _, a in members],
        "turns": [float(m.turns) for m, _, _ in members],
        "sampled_tokens": [float(m.sampled_tokens) for m, _, _ in members],
        "invalid_calls": [float(m.invalid_calls) for m, _, _ in members],
        "tool_calls": [float(m.tool_calls) for m, _, _ in members],
    }
    if calling := sum(m.calling_turns for m, _, _ in members):
        figures["parallelism"] = sum(m.tool_calls for m, _, _ in members) / calling  # calls a calling turn
    for name, values in columns.items():
        figures[name] = float(np.mean(values))
    for term in ("fade", "output", "extreme", "invalid"):
        figures[f"shaping_{term}"] = float(np.mean([s.terms[term] for _, s, _ in members]))
    lags = [staleness(version, oldest[m.episode]) for m, _, _ in members if m.episode in oldest]
    if lags:
        figures |= {"staleness_mean": float(np.mean(lags)), "staleness_max": float(max(lags))}
        figures |= {f"lag_{lag}": float(lags.count(lag)) for lag in sorted(set(lags))}  # members by lag
    return figures


def finite(figures: dict[str, float]) -> dict[str, float]:
    """Only what is a number: records hold no NaN."""
    return {name: value for name, value in figures.items() if math.isfinite(value)}
