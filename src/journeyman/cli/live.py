"""The figures of the newest step as a few lines that stay below the bars; what was not measured is not shown."""

from collections.abc import Mapping

ROWS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("reward", ("reward", "shaped", "advantage_abs", "groups_kept")),
    ("by type", ("reward/",)),
    (
        "policy",
        ("loss", "entropy", "ratio_mean", "ratio_max", "clip_fraction", "k3", "ess", "gradient_norm", "lr"),
    ),
    ("critic", ("value_loss", "explained_variance", "critic_pretraining")),
    ("staleness", ("staleness_mean", "staleness_max")),
    ("attempts", ("turns", "turns_max", "sampled_tokens", "sampled_tokens_max", "invalid_calls", "tool_errors")),
    ("calls", ("tool_calls", "parallelism", "calls/")),
    ("ended", ("stop/",)),
    ("look", ("inspect_",)),
    ("used", ("used/",)),
)
"""Label -> names, or prefixes that end in `/` or `_`."""


def rows(values: Mapping[str, float]) -> list[tuple[str, str]]:
    """Label and text of every line that has something to say."""
    found = []
    for label, names in ROWS:
        parts = [
            f"{name.removeprefix(wanted) if wanted.endswith(('/', '_')) else name} {_number(values[name])}"
            for wanted in names
            for name in ([wanted] if wanted in values else _under(wanted, values))
        ]
        if parts:
            found.append((label, "  ".join(parts)))
    return found


def _under(prefix: str, values: Mapping[str, float]) -> list[str]:
    return [name for name in values if name.startswith(prefix)] if prefix.endswith(("/", "_")) else []


def _number(value: float) -> str:
    if value and abs(value) < 0.001:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3f}"
