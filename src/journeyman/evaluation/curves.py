"""The learner's updates as curves over steps; every quantity is what was recorded, nothing is smoothed here."""

import math
from collections.abc import Callable, Sequence
from typing import Literal

from journeyman.records.episode import Usage
from journeyman.records.report import Curve
from journeyman.records.sample import MemberUpdate, Update

Panel = Literal["reward", "behaviour", "optimiser"]
UsageOf = Callable[[str], Usage | None]  # episode id -> its usage; None where the episode cannot be read

_TITLES: dict[str, tuple[str, Panel]] = {
    "entropy": ("Entropy, nats per token", "optimiser"),
    "kl": ("KL to the sampling policy", "optimiser"),
    "ratio_mean": ("Mean importance ratio", "optimiser"),
    "ratio_std": ("Spread of the importance ratio", "optimiser"),
    "ratio_max": ("Largest importance ratio", "optimiser"),
    "clip_fraction": ("Tokens with a clipped ratio", "optimiser"),
    "ess": ("Effective sample size", "optimiser"),
    "grad_norm": ("Gradient norm", "optimiser"),
    "loss": ("Loss", "optimiser"),
    "lr": ("Learning rate", "optimiser"),
}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _members(update: Update) -> list[MemberUpdate]:
    return [member for group in update.groups.values() for member in group]


def training_curves(updates: Sequence[Update], usage_of: UsageOf = lambda episode: None) -> tuple[Curve, ...]:
    """Reward, behaviour (from the episodes' usage) and optimiser metrics; a step without a value has no point."""
    points: dict[tuple[str, str, Panel], list[tuple[int, float]]] = {}

    def put(name: str, title: str, panel: Panel, step: int, value: float) -> None:
        if math.isfinite(value):
            points.setdefault((name, title, panel), []).append((step, value))

    for update in sorted(updates, key=lambda u: u.step):
        members = _members(update)
        usages = [usage for member in members if (usage := usage_of(member.episode)) is not None]
        put("raw", "Mean reward", "reward", update.step, _mean([m.raw for m in members]))
        put("shaped", "Mean shaped reward", "reward", update.step, _mean([m.shaped for m in members]))
        full = [float(m.raw >= 1.0 - 1e-9) for m in members]
        put("perfect", "Share of perfect episodes", "reward", update.step, _mean(full))
        for name, title, key in (
            ("sampled_tokens", "Sampled tokens per episode", "sampled_tokens"),
            ("turns", "Turns per episode", "turns"),
            ("invalid_calls", "Invalid calls per episode", "invalid_calls"),
        ):
            put(name, title, "behaviour", update.step, _mean([float(getattr(u, key)) for u in usages]))
        stale = [float(update.version_before - m.versions[0]) for m in members if m.versions[0] >= 0]
        put("staleness", "Mean staleness, versions", "optimiser", update.step, _mean(stale))
        for key, value in update.metrics.items():
            title, panel = _TITLES.get(key, (key.replace("_", " ").capitalize(), "optimiser"))
            put(key, title, panel, update.step, value)
    return tuple(
        Curve(name=name, title=title, panel=panel, steps=tuple(s for s, _ in at), values=tuple(v for _, v in at))
        for (name, title, panel), at in points.items()
    )
