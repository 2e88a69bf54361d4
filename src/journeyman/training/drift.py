"""Behaviour that drifts while reward does not: a sign to look, never a reason to act by itself. Torch-free.

A quantity drifts where the mean of the last `window` steps differs from that of the `window` before by more than
`deviations` standard errors and `share` of its size; reward has moved by the same test. Occamy, section 7.3.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from journeyman.records.base import Record

BEHAVIOUR = ("turns", "sampled_tokens", "invalid_calls", "tool_calls", "parallelism")


class DriftConfig(Record):
    """How much is a drift."""

    window: int = 8  # steps
    deviations: float = 4.0
    share: float = 0.15


def moved(before: Sequence[float], after: Sequence[float], config: DriftConfig) -> float:
    """Relative change of the mean; 0.0 where it is within noise or small."""
    a, b = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    change = float(b.mean() - a.mean())
    error = float(np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)))
    size = max(abs(float(a.mean())), abs(float(b.mean())), 1e-9)
    if abs(change) <= config.deviations * error or abs(change) <= config.share * size:
        return 0.0
    return change / size


def inspect(history: Sequence[Mapping[str, float]], config: DriftConfig | None = None) -> dict[str, float]:
    """`inspect_NAME`: relative change of each drifting quantity over the newest steps, while reward stood still.

    `history`: the steps' figures, oldest first. Empty where reward moved, nothing drifted, or it is too early to say.
    """
    config = config or DriftConfig()
    recent = history[-2 * config.window :]
    if len(recent) < 2 * config.window or any("reward" not in step for step in recent):
        return {}

    def halves(name: str) -> tuple[list[float], list[float]]:
        values = [step[name] for step in recent]
        return values[: config.window], values[config.window :]

    if moved(*halves("reward"), config):
        return {}
    known = [name for name in BEHAVIOUR if all(name in step for step in recent)]
    found = {f"inspect_{name}": moved(*halves(name), config) for name in known}
    return {name: change for name, change in found.items() if change}
