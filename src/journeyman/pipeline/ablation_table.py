"""An ablation as lines of text: reward, tokens, turns and invalid calls with intervals, and turns at equal accuracy."""

from collections import defaultdict
from collections.abc import Sequence
from math import floor
from statistics import mean, stdev

from journeyman.evaluation.rows import EpisodeRow, last_tries
from journeyman.records.report import Arm, Interval, Report
from journeyman.statistics.intervals import t_interval

EFFORTS = (("tokens", "sampled_tokens", 0), ("turns", "turns", 2), ("invalid", "invalid_calls", 2))


def spanned(value: Interval | None, digits: int) -> str:
    """`0.52 [0.47, 0.58]`; "none" where nothing was measured."""
    if value is None:
        return "none"
    if value.low is None or value.high is None:
        return f"{value.value:.{digits}f}"
    return f"{value.value:.{digits}f} [{value.low:.{digits}f}, {value.high:.{digits}f}]"


def table_lines(report: Report, rows: Sequence[EpisodeRow], methods: Sequence[str]) -> list[str]:
    """One line an arm, warmest first, then each method against the first one, paired by task."""
    lines = [
        f"{'method':<22}{'held-out reward':>24}{'by seed':>16}"
        + "".join(f"{title:>24}" for title, _, _ in EFFORTS)
        + f"{'graded':>12}"
    ]
    lines += [_arm(arm, rows) for arm in sorted(report.arms, key=lambda arm: -arm.temperature)]
    for comparison in report.comparisons:
        if comparison.scope == "all" and comparison.baseline == methods[0]:
            how = "greedy" if comparison.temperature == 0 else f"T = {comparison.temperature:g}"
            lines.append(
                f"{comparison.policy} - {comparison.baseline}, {how}: "
                f"{spanned(comparison.difference, 3)}, {comparison.verdict}"
            )
    return lines


def _arm(arm: Arm, rows: Sequence[EpisodeRow]) -> str:
    efforts = "".join(f"{spanned(arm.effort.get(name), digits):>24}" for _, name, digits in EFFORTS)
    seeds = _by_seed(arm, rows)
    told = "" if len(seeds) < 2 else f"sd {stdev(seeds):.3f}"
    return f"{arm.label:<22}{spanned(arm.reward, 3):>24}{told:>16}{efforts}{f'{arm.graded}/{arm.attempted}':>12}"


def _by_seed(arm: Arm, rows: Sequence[EpisodeRow]) -> list[float]:
    """Mean reward under each seed."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in last_tries(rows):
        if (
            row.spec.policy == arm.policy
            and row.spec.sampling.temperature == arm.temperature
            and row.reward is not None
        ):
            found[row.spec.group].append(row.reward)
    return [mean(values) for values in found.values()]


def at_equal_accuracy(rows: Sequence[EpisodeRow], method: str, baseline: str, width: float) -> str | None:
    """How many more model calls `method` makes than `baseline` on the same task in the same bin of reward.

    Sampled attempts only; one pair a task and bin that both reach. None where no pair is there.
    """
    found: dict[str, dict[tuple[str, int], list[int]]] = {method: defaultdict(list), baseline: defaultdict(list)}
    for row in last_tries(rows):
        if row.spec.policy in found and row.reward is not None and row.spec.sampling.temperature > 0:
            found[row.spec.policy][row.spec.task, floor(row.reward / width + 1e-9)].append(row.usage.turns)
    pairs = [mean(turns) - mean(found[baseline][key]) for key, turns in found[method].items() if key in found[baseline]]
    if not pairs:
        return None
    e = t_interval(pairs)
    told = spanned(Interval(value=e.value, low=e.low, high=e.high, n=e.n), 2)
    return f"turns at equal accuracy, {method} - {baseline}: {told} over {len(pairs)} pairs of task and reward bin"
