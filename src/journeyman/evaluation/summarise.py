"""Rows to arms and paired comparisons; statistics take graded attempts only and say how many are missing."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Literal

from journeyman.evaluation.cost import Priced
from journeyman.evaluation.rows import Decided, EpisodeRow, last_tries
from journeyman.records.report import Arm, Comparison, CriterionResult, Interval, Rate, TypeResult
from journeyman.statistics.intervals import Estimate
from journeyman.statistics.repeated import mean_over_tasks, paired_difference, paired_p_value, pass_all_k

Measure = Callable[[EpisodeRow], float | None]  # None: the row has no such value and is left out

_EFFORT: dict[str, Measure] = {
    "sampled_tokens": lambda row: row.usage.sampled_tokens,
    "prompt_tokens": lambda row: row.usage.prompt_tokens,
    "cached_tokens": lambda row: row.usage.cached_tokens,
    "turns": lambda row: row.usage.turns,
    "tool_calls": lambda row: row.usage.tool_calls,
    "invalid_calls": lambda row: row.usage.invalid_calls,
    "total_seconds": lambda row: row.timing.get("total"),
    "engine_seconds": lambda row: row.timing.get("engine"),
    "cpu_seconds": lambda row: row.timing.get("cpu"),
}


def summarise(
    rows: Sequence[EpisodeRow],
    policies: Sequence[str],
    *,
    k: int = 3,
    pass_reward: float = 1.0,
    priced: Priced | None = None,
) -> tuple[Arm, ...]:
    """One arm per policy (in the order given) and temperature (warmest first); rows of other policies are left out."""
    found = sorted({row.spec.sampling.temperature for row in rows if row.spec.policy in policies}, reverse=True)
    arms = []
    for policy in policies:
        for temperature in found:
            mine = [r for r in rows if r.spec.policy == policy and r.spec.sampling.temperature == temperature]
            if mine:
                arms.append(_arm(policy, temperature, mine, k, pass_reward, priced))
    return tuple(arms)


def _arm(
    policy: str, temperature: float, tries: Sequence[EpisodeRow], k: int, pass_reward: float, priced: Priced | None
) -> Arm:
    attempts = sorted(last_tries(tries), key=lambda row: row.spec.key)  # whatever order the rows came in
    graded = [row for row in attempts if row.reward is not None]
    effort = dict(_EFFORT)
    if priced is not None:
        effort["cost_usd"] = priced.episode_usd
    types = sorted({row.environment_type for row in attempts})
    return Arm(
        policy=policy,
        temperature=temperature,
        attempted=len(attempts),
        graded=len(graded),
        tries=len(tries),
        reward=mean(graded, lambda row: row.reward),
        signed=mean(graded, lambda row: row.signed),
        bounds=_bounds(attempts),
        k=k,
        pass_one=mean(graded, lambda row: float(row.passes(pass_reward))),
        pass_all=_pass_all(graded, k, pass_reward),
        perfect=_perfect(graded, pass_reward),
        effort={name: found for name, value in effort.items() if (found := mean(graded, value)) is not None},
        types={t: _type(t, attempts, pass_reward) for t in types},
        criteria=_criteria(graded),
        stops=dict(Counter(row.stop for row in attempts if row.stop)),
        failures=_failures(tries),
        rates=_rates(tries, attempts, graded),
    )


def _by_task(rows: Iterable[EpisodeRow], value: Measure) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        measured = value(row)
        if measured is not None:
            scores[row.spec.task].append(float(measured))
    return scores


def _interval(estimate: Estimate) -> Interval:
    return Interval(value=estimate.value, low=estimate.low, high=estimate.high, n=estimate.n)


def mean(rows: Iterable[EpisodeRow], value: Measure) -> Interval | None:
    """Mean over tasks of the mean over trials, clustered by task; None where no row has the value."""
    scores = _by_task(rows, value)
    return _interval(mean_over_tasks(list(scores.values()))) if scores else None


def _bounds(attempts: Sequence[EpisodeRow]) -> tuple[float, float] | None:
    """Mean reward with every ungraded attempt counted as 0, and as 1."""
    low = mean(attempts, lambda row: 0.0 if row.reward is None else row.reward)
    high = mean(attempts, lambda row: 1.0 if row.reward is None else row.reward)
    return (low.value, high.value) if low is not None and high is not None else None


def _pass_all(graded: Sequence[EpisodeRow], k: int, pass_reward: float) -> Interval | None:
    """pass^k over the tasks with at least k graded attempts; the others would have to be run again, not scored."""
    passed = _by_task(graded, lambda row: float(row.passes(pass_reward)))
    values = [[pass_all_k(len(trials), int(sum(trials)), k)] for trials in passed.values() if len(trials) >= k]
    return _interval(mean_over_tasks(values)) if values else None


def _perfect(graded: Sequence[EpisodeRow], pass_reward: float) -> Rate:
    return Rate(count=sum(row.passes(pass_reward) for row in graded), of=len(graded))


def _type(name: str, attempts: Sequence[EpisodeRow], pass_reward: float) -> TypeResult:
    mine = [row for row in attempts if row.environment_type == name]
    graded = [row for row in mine if row.reward is not None]
    return TypeResult(
        tasks=len({row.spec.task for row in mine}),
        graded=len(graded),
        reward=mean(graded, lambda row: row.reward),
        perfect=_perfect(graded, pass_reward),
        sampled_tokens=mean(graded, _EFFORT["sampled_tokens"]),
    )


def _criteria(graded: Sequence[EpisodeRow]) -> tuple[CriterionResult, ...]:
    """MET rates per environment type and criterion id, in the rubric's order."""
    scores: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    first: dict[tuple[str, str], Decided] = {}
    for row in graded:
        for d in row.decided:
            scores[row.environment_type, d.criterion][row.spec.task].append(float(d.met))
            first.setdefault((row.environment_type, d.criterion), d)
    return tuple(
        CriterionResult(
            environment_type=kind,
            criterion=criterion,
            example=first[kind, criterion].proposition,
            group=first[kind, criterion].group,
            negative=first[kind, criterion].weight < 0,
            met=_interval(mean_over_tasks(list(by_task.values()))),
            verdicts=sum(len(trials) for trials in by_task.values()),
        )
        for (kind, criterion), by_task in sorted(scores.items(), key=lambda item: item[0][0])
    )


def _failures(tries: Sequence[EpisodeRow]) -> dict[str, dict[str, int]]:
    counted: dict[str, dict[str, int]] = {}
    for row in tries:
        if row.failure is not None:
            layer = counted.setdefault(row.failure.layer, {})
            layer[row.failure.cause] = layer.get(row.failure.cause, 0) + 1
    return counted


def _rates(
    tries: Sequence[EpisodeRow], attempts: Sequence[EpisodeRow], graded: Sequence[EpisodeRow]
) -> dict[str, Rate]:
    """Reliability: what the policy did, and what we did, each with its denominator (Q-04)."""
    calls = sum(row.usage.tool_calls for row in graded)
    layers = [row.failure.layer for row in tries if row.failure is not None]
    return {
        "invalid calls": Rate(count=sum(row.usage.invalid_calls for row in graded), of=calls),
        "tool calls that answered with an error": Rate(count=sum(row.tool_errors for row in graded), of=calls),
        "attempts out of time": Rate(count=sum(row.stop == "time_budget" for row in attempts), of=len(attempts)),
        "tries lost to sandbox or service": Rate(count=sum(x in ("sandbox", "service") for x in layers), of=len(tries)),
        "tries lost to any layer": Rate(count=len(layers), of=len(tries)),
        "attempts without a grade": Rate(count=len(attempts) - len(graded), of=len(attempts)),
    }


def compare(rows: Sequence[EpisodeRow], policies: Sequence[str]) -> tuple[Comparison, ...]:
    """Every later policy against every earlier one, at each temperature, over all tasks and per environment type."""
    graded = [row for row in last_tries(rows) if row.reward is not None and row.spec.policy in policies]
    scopes = ["all", *sorted({row.environment_type for row in graded})]
    return tuple(
        comparison
        for temperature in sorted({row.spec.sampling.temperature for row in graded}, reverse=True)
        for scope in scopes
        for baseline, policy in combinations(policies, 2)
        if (comparison := _compare(graded, policy, baseline, temperature, scope)) is not None
    )


def _compare(
    graded: Sequence[EpisodeRow], policy: str, baseline: str, temperature: float, scope: str
) -> Comparison | None:
    """None where the two have no graded task in common."""
    kept = [
        row for row in graded if row.spec.sampling.temperature == temperature and scope in ("all", row.environment_type)
    ]
    first, second = (
        _by_task((row for row in kept if row.spec.policy == name), lambda row: row.reward)
        for name in (policy, baseline)
    )
    tasks = sorted(set(first) & set(second))
    if not tasks:
        return None
    estimate = paired_difference([first[t] for t in tasks], [second[t] for t in tasks])
    return Comparison(
        policy=policy,
        baseline=baseline,
        temperature=temperature,
        scope=scope,
        difference=_interval(estimate),
        p_value=paired_p_value(estimate),
        verdict=_verdict(estimate),
    )


def _verdict(estimate: Estimate) -> Literal["better", "worse", "no difference shown", "no ranking"]:
    """An interval wholly on one side of zero is a ranking; one task is none (Z-15)."""
    if estimate.low is None or estimate.high is None:
        return "no ranking"
    if estimate.low > 0:
        return "better"
    return "worse" if estimate.high < 0 else "no difference shown"
