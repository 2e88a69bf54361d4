"""Policies side by side by environment type, as a Markdown table; what one lost against its ancestors is marked.

A regression is marked whether or not the interval shows it: a merge balances its parents, and a mean over types hides
what it cost (Occamy, section 5.3).
"""

from collections.abc import Iterator, Mapping, Sequence

from journeyman.evaluation.rows import EpisodeRow
from journeyman.evaluation.summarise import compare, mean
from journeyman.records.report import Comparison

SHOWN, SEEN = "▼", "▽"
Ancestors = Mapping[str, Sequence[str]]


def told(
    rows: Sequence[EpisodeRow], policies: Sequence[str], ancestors: Ancestors, groups: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """A table a temperature, warmest first; `groups`: label -> environment types told together below the types."""
    for temperature in sorted({row.spec.sampling.temperature for row in rows}, reverse=True):
        sampled = [row for row in rows if row.spec.sampling.temperature == temperature]
        how = "greedy" if temperature == 0 else f"sampled at T = {temperature:g}"
        yield f"Held-out reward by environment type, {how}: mean over tasks with its 95 % interval."
        yield ""
        yield f"| | tasks | {' | '.join(policies)} |"
        yield f"|---|---|{'---|' * len(policies)}"
        balance: dict[tuple[str, str], list[str]] = {}
        for kind in sorted({row.environment_type for row in sampled}):
            mine = [row for row in sampled if row.environment_type == kind]
            found = _against(mine, policies, ancestors)
            yield _line(kind, mine, policies, found)
            for comparison in found:
                balance.setdefault((comparison.policy, comparison.baseline), []).append(comparison.verdict)
        for label, kinds in {**groups, "all": sorted({row.environment_type for row in sampled})}.items():
            mine = [row for row in sampled if row.environment_type in kinds]
            yield _line(f"**{label}**", mine, policies, _against(mine, policies, ancestors))
        yield ""
        yield from (_balance(*pair, verdicts) for pair, verdicts in balance.items())
        yield ""
    yield f"{SHOWN}: worse than the policy named, which it comes from, and the interval of the difference excludes 0;"
    yield f"{SEEN}: lower than it by more than 0.005, and the interval does not exclude 0."


def _against(rows: Sequence[EpisodeRow], policies: Sequence[str], ancestors: Ancestors) -> list[Comparison]:
    """Every policy against each of its ancestors, over all of these rows, paired by task."""
    return [
        comparison
        for comparison in compare(rows, policies)
        if comparison.scope == "all" and comparison.baseline in ancestors.get(comparison.policy, ())
    ]


def _line(label: str, rows: Sequence[EpisodeRow], policies: Sequence[str], against: Sequence[Comparison]) -> str:
    cells = []
    for policy in policies:
        reward = mean((r for r in rows if r.spec.policy == policy), lambda row: row.reward)
        value = "none" if reward is None else f"{reward.value:.2f}"
        if reward is not None and reward.low is not None and reward.high is not None:
            value += f" [{reward.low:.2f}, {reward.high:.2f}]"
        marks = [mark for c in against if c.policy == policy and (mark := _mark(c))]
        cells.append(" ".join([value, *marks]))
    return f"| {label} | {len({row.spec.task for row in rows})} | {' | '.join(cells)} |"


def _mark(comparison: Comparison) -> str:
    """What a policy lost against an ancestor; "" where its mean is not lower."""
    if comparison.verdict == "worse":
        return f"{SHOWN}{comparison.baseline}"
    return f"{SEEN}{comparison.baseline}" if comparison.difference.value < -0.005 else ""


def _balance(policy: str, baseline: str, verdicts: Sequence[str]) -> str:
    better, worse = verdicts.count("better"), verdicts.count("worse")
    return (
        f"- {policy} against {baseline}: better on {better}, worse on {worse}, no difference shown on "
        f"{len(verdicts) - better - worse} of {len(verdicts)} types"
    )
