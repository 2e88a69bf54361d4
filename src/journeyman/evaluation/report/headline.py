"""The top of the page: one sentence that claims no more than its interval, the main chart, four figures."""

from html import escape

from journeyman.evaluation.report.charts import colour, ladder
from journeyman.evaluation.report.format import number, percent, policy_title, sampling_title, sentence
from journeyman.records.report import Arm, Comparison, Interval, Report


def find_comparison(report: Report, policy: str, baseline: str, temperature: float, scope: str) -> Comparison | None:
    """The paired comparison; None where it was not made."""
    wanted = (policy, baseline, temperature, scope)
    return next((c for c in report.comparisons if (c.policy, c.baseline, c.temperature, c.scope) == wanted), None)


def rewarded(report: Report, temperature: float) -> list[tuple[Arm, Interval]]:
    """Arms at a temperature that have a reward, in the order the policies are told."""
    arms = (report.arm(policy, temperature) for policy in report.policies)
    return [(arm, arm.reward) for arm in arms if arm is not None and arm.reward is not None]


def best_and_before(report: Report) -> tuple[Arm, Arm] | None:
    """The best arm at the warmest temperature, and the one to hold it against: SFT if told, else the first."""
    arms = rewarded(report, report.temperatures[0]) if report.temperatures else []
    if not arms:
        return None
    best = max(arms, key=lambda pair: pair[1].value)[0]
    before = next((arm for arm, _ in arms if arm.policy == "sft"), arms[0][0])
    return best, before


def finding(report: Report) -> str:
    """The main result in one sentence."""
    pair = best_and_before(report)
    if pair is None:
        return "Nothing was graded."
    best, arms = pair[0], rewarded(report, pair[0].temperature)
    first, first_reward = arms[0]
    if best is first or best.reward is None:
        if len(arms) > 1:
            return f"No policy earned more than {policy_title(first.policy)}: {number(first_reward.value)}."
        return f"{sentence(policy_title(first.policy))} earns {number(first_reward.value)} on held-out tasks."
    compared = find_comparison(report, best.policy, first.policy, best.temperature, "all")
    span = f"from {number(first_reward.value)} to {number(best.reward.value)}"
    if compared is not None and compared.verdict == "better":
        return f"Held-out reward rose {span}."
    return f"Held-out reward went {span}, which this run cannot tell from chance."


def lede(report: Report) -> str:
    """What was measured, in two sentences."""
    types = {name for arm in report.arms for name in arm.types}
    tasks = max((sum(t.tasks for t in arm.types.values()) for arm in report.arms), default=0)
    names = [policy_title(p) for p in report.policies]
    told = " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)
    how = " and ".join("greedily" if t == 0 else f"at temperature {t:g}" for t in report.temperatures)
    graded, attempted = (sum(getattr(arm, name) for arm in report.arms) for name in ("graded", "attempted"))
    kinds = f"{len(types)} environment type{'s' * (len(types) != 1)}"
    return (
        f"{sentence(told)} on {tasks} held-out tasks of {kinds}, sampled {how}. {graded:,} of {attempted:,} attempts "
        f"were graded; reward is <i>{escape(report.reward_name)}</i>, from 0 to 1."
    )


def points(report: Report, kind: str | None) -> dict[tuple[str, float], Interval]:
    """Mean rewards by (policy, temperature), over all tasks (None) or one environment type."""
    found = {}
    for arm in report.arms:
        result = arm.types.get(kind) if kind is not None else None
        reward = arm.reward if kind is None else (result.reward if result is not None else None)
        if reward is not None:
            found[arm.policy, arm.temperature] = reward
    return found


def key(report: Report) -> str:
    """What filled and open dots mean."""
    dots = (
        f'<span><i class="dot{" open" if order else ""}"></i>{sampling_title(t)}</span>'
        for order, t in enumerate(report.temperatures)
    )
    return f'<div class="key">{"".join(dots)}</div>'


def hero(report: Report) -> str:
    """Reward of every policy with intervals, and four figures of the best one."""
    chart = ladder(report.policies, report.temperatures, points(report, None), 340)
    main = f'<div class="card"><div class="head"><h3>Mean held-out reward</h3>{key(report)}</div>{chart}</div>'
    pair = best_and_before(report)
    return f'<div class="hero">{main}{_tiles(report, *pair) if pair else ""}</div>'


def _tiles(report: Report, best: Arm, before: Arm) -> str:
    """Perfect episodes, pass^k, invalid calls and tokens of `best`, each with what `before` had."""

    def tile(label: str, now: float | None, was: float | None, digits: int | None, *, more_is_better: bool) -> str:
        if now is None or was is None:
            return ""
        gain = (now - was) * (1 if more_is_better else -1)
        tone = "flat" if best is before or abs(gain) < 1e-9 else ("up" if gain > 0 else "down")
        shown, held = (percent(v) if digits is None else number(v, digits) for v in (now, was))
        compared = "" if best is before else f'<span class="was">{policy_title(before.policy)} {held}</span>'
        figure = f'<div class="figure"><span class="{tone}">{shown}</span>{compared}</div>'
        return f'<div class="tile"><div class="label">{label}</div>{figure}</div>'

    every = f"Tasks perfect in all {best.k} attempts"
    hue = colour(report.policies, best.policy)
    return (
        '<div class="card tiles">'
        f'<div class="tile who"><span class="key"><span><i class="dot" style="--c:{hue}"></i>'
        f"{policy_title(best.policy)}, {sampling_title(best.temperature)}</span></span></div>"
        + tile("Perfect episodes", _share(best), _share(before), None, more_is_better=True)
        + tile(every, _value(best.pass_all), _value(before.pass_all), None, more_is_better=True)
        + tile("Invalid calls per episode", *_effort(best, before, "invalid_calls"), 2, more_is_better=False)
        + tile("Sampled tokens per episode", *_effort(best, before, "sampled_tokens"), 0, more_is_better=False)
        + "</div>"
    )


def _share(arm: Arm) -> float | None:
    return arm.perfect.count / arm.perfect.of if arm.perfect.of else None


def _value(interval: Interval | None) -> float | None:
    return None if interval is None else interval.value


def _effort(best: Arm, before: Arm, name: str) -> tuple[float | None, float | None]:
    return _value(best.effort.get(name)), _value(before.effort.get(name))
