"""The learner's updates as curves over steps; every quantity is what was recorded, nothing is smoothed here."""

from collections.abc import Sequence
from typing import Literal

from journeyman.records.report import Curve
from journeyman.records.sample import Update

Panel = Literal["reward", "behaviour", "optimiser"]

SHOWN: dict[str, tuple[str, Panel]] = {
    "reward": ("Mean reward", "reward"),
    "shaped": ("Mean shaped reward", "reward"),
    "advantage_abs": ("Mean size of the advantage", "reward"),
    "sampled_tokens": ("Sampled tokens per episode", "behaviour"),
    "turns": ("Turns per episode", "behaviour"),
    "tool_calls": ("Tool calls per episode", "behaviour"),
    "parallelism": ("Calls per turn that calls", "behaviour"),
    "invalid_calls": ("Invalid calls per episode", "behaviour"),
    "tool_errors": ("Share of calls answered with an error", "behaviour"),
    "entropy": ("Entropy, nats per token", "optimiser"),
    "ratio_mean": ("Mean importance ratio", "optimiser"),
    "ratio_max": ("Largest importance ratio", "optimiser"),
    "clip_fraction": ("Share of tokens clipped", "optimiser"),
    "k3": ("KL to the sampling policy, k3", "optimiser"),
    "ess": ("Effective sample size, share", "optimiser"),
    "staleness_mean": ("Mean staleness, versions", "optimiser"),
    "staleness_max": ("Largest staleness, versions", "optimiser"),
    "explained_variance": ("Variance the critic explains", "optimiser"),
    "gradient_norm": ("Gradient norm", "optimiser"),
    "loss": ("Loss", "optimiser"),
    "groups_kept": ("Groups with a signal", "optimiser"),
    "seconds": ("Learner seconds per step", "optimiser"),
}
"""What the page shows of `Update.metrics`, in this order. Their means are over all valid members, kept or not."""
FAMILIES: dict[str, tuple[str, Panel]] = {
    "reward/": ("Mean reward, {}", "reward"),
    "calls/": ("Calls of {} per episode", "behaviour"),
}
"""The same for names below a prefix: environment types and tools."""


def training_curves(updates: Sequence[Update]) -> tuple[Curve, ...]:
    """One curve per known metric that was recorded; a step that lacks it has no point."""
    ordered = sorted(updates, key=lambda update: update.step)
    curves = []
    recorded = sorted({name for update in ordered for name in update.metrics})
    shown = SHOWN | {
        name: (title.format(name.removeprefix(prefix)), panel)
        for prefix, (title, panel) in FAMILIES.items()
        for name in recorded
        if name.startswith(prefix)
    }
    for name, (title, panel) in shown.items():
        points = [(u.step, u.metrics[name]) for u in ordered if name in u.metrics]
        if points:
            steps, values = zip(*points, strict=True)
            curves.append(Curve(name=name, title=title, panel=panel, steps=steps, values=values))
    return tuple(curves)
