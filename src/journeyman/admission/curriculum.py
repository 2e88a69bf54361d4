"""Which admitted tasks to train on now: stability, floors and caps first, then difficulty as policies at hand show it.

Invariant: pure; attempts that our side broke, and those that went round the task, count for nothing (V-05, V-06, H-09).
"""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from pydantic import Field

from journeyman.errors import UserError
from journeyman.records.admission import GateResult
from journeyman.records.base import Record
from journeyman.statistics.repeated import pass_at_k

GATE = "curriculum"


class Trial(Record):
    """One attempt. `reward` None: quarantined, no reward. `bypass`: an audit found that it went round the task."""

    reward: float | None
    sampled_tokens: int = 0
    bypass: bool = False


class Tried(Record):
    """A task and what policies made of it. `strong` and `weak` empty: no such comparison."""

    task: str
    cell: str  # what floors and caps are counted over: the environment type
    base: tuple[Trial, ...]
    strong: tuple[Trial, ...] = ()
    weak: tuple[Trial, ...] = ()


class Rules(Record):
    """What is kept. Shares and rates are between 0 and 1."""

    min_valid: int = Field(default=2, ge=1)  # stability: valid attempts of the base policy
    success: float = 0.999  # reported reward from which an attempt counts as passed
    k: int = Field(default=4, ge=1)  # pass@k over so many attempts, or as many as are valid
    lowest_partial: float = 0.0  # the best attempt has to earn more than this
    highest_pass: float = 0.9  # share of attempts that pass, above which there is nothing left to learn
    margin: float = 0.05  # mean reward of strong less weak
    floor: int = Field(default=1, ge=0)  # tasks of each cell that difficulty does not take away
    token_share: float = Field(default=0.5, gt=0, lt=1)  # of all sampled tokens, at most this for one cell
    extreme_share: float = Field(default=0.9, gt=0, le=1)  # more never-passed (or more passed) tasks are refused


class Concentration(Record):
    """How often tasks were gone round, and how much of that is one task's (H-09)."""

    attempts: int
    bypasses: int
    by_task: dict[str, int]


def valid(trials: Sequence[Trial]) -> list[Trial]:
    """Attempts that say something about the policy."""
    return [t for t in trials if t.reward is not None and not t.bypass]


def rewards(trials: Sequence[Trial]) -> list[float]:
    """Rewards of the valid attempts."""
    return [t.reward for t in valid(trials) if t.reward is not None]


def choose(tried: Sequence[Tried], rules: Rules) -> dict[str, GateResult]:
    """Task -> the curriculum gate's result. Raises UserError for a mixture that is nearly all too hard or too easy."""
    figures = {one.task: _figures(one, rules) for one in tried}
    unstable = {one.task: why for one in tried if (why := _unstable(one, rules))}
    steady = [one for one in tried if one.task not in unstable]
    dropped = dict(unstable)
    by_cell: dict[str, list[Tried]] = defaultdict(list)
    for one in steady:
        by_cell[one.cell].append(one)
    for members in by_cell.values():
        hard = {one.task: why for one in members if (why := _unfit(one, rules))}
        spared = _best(members, hard, rules)
        dropped |= {task: why for task, why in hard.items() if task not in spared}
    dropped |= _over_cap([one for one in steady if one.task not in dropped], rules)
    kept = [one for one in steady if one.task not in dropped]
    _check_mixture(kept, rules)
    return {
        task: GateResult(gate=GATE, passed=task not in dropped, reason=dropped.get(task, ""), figures=shown)
        for task, shown in figures.items()
    }


def _figures(one: Tried, rules: Rules) -> dict[str, float]:
    got = rewards(one.base)
    shown: dict[str, float] = {"valid": len(got), "lost": sum(t.reward is None for t in one.base)}
    if got:
        passed, k = sum(r >= rules.success for r in got), min(rules.k, len(got))
        shown |= {"mean": round(fmean(got), 6), "best": max(got), f"pass@{k}": round(pass_at_k(len(got), passed, k), 6)}
    strong, weak = rewards(one.strong), rewards(one.weak)
    if strong and weak:
        shown["margin"] = round(fmean(strong) - fmean(weak), 6)
    return shown


def _unstable(one: Tried, rules: Rules) -> str:
    count = len(rewards(one.base))
    return f"{count} valid attempts, {rules.min_valid} are needed" if count < rules.min_valid else ""


def _unfit(one: Tried, rules: Rules) -> str:
    """Why difficulty says no; "" where it says yes. Length and depth are no reason (V-05)."""
    got = rewards(one.base)
    passed = sum(r >= rules.success for r in got) / len(got)
    if max(got) <= rules.lowest_partial:
        return f"the best of {len(got)} attempts earns {max(got):.3f}: nothing to learn from yet"
    if passed > rules.highest_pass:
        return f"{passed:.0%} of {len(got)} attempts pass: nothing left to learn"
    strong, weak = rewards(one.strong), rewards(one.weak)
    if (one.strong or one.weak) and not (strong and weak):
        return "no valid attempt of the strong or of the weak policy"
    if strong and fmean(strong) - fmean(weak) < rules.margin:
        return f"the strong policy leads by {fmean(strong) - fmean(weak):.3f}, {rules.margin:g} is needed"
    return ""


def _best(members: Sequence[Tried], hard: dict[str, str], rules: Rules) -> set[str]:
    """Tasks that a cell's floor keeps although difficulty would not: those nearest to being learnable."""
    missing = rules.floor - (len(members) - len(hard))
    rated = sorted(
        (one for one in members if one.task in hard), key=lambda o: (abs(0.5 - fmean(rewards(o.base))), o.task)
    )
    return {one.task for one in rated[: max(0, missing)]}


def _over_cap(kept: Sequence[Tried], rules: Rules) -> dict[str, str]:
    """Tasks beyond their cell's share of sampled tokens; a lone cell has no cap, and a floor is never cut into."""
    tokens = {one.task: sum(t.sampled_tokens for t in valid(one.base)) for one in kept}
    cells = {one.cell: {o.task for o in kept if o.cell == one.cell} for one in kept}
    dropped: dict[str, str] = {}
    for cell, tasks in sorted(cells.items() if len(cells) > 1 else ()):
        why = f"{cell} has {_share(tokens, tasks):.0%} of all sampled tokens, {rules.token_share:.0%} is the cap"
        while len(tasks) > rules.floor and _share(tokens, tasks) > rules.token_share:
            surplus = _surplus(tokens, tasks, rules.token_share)
            enough = [t for t in tasks if tokens[t] >= surplus]
            gone = min(enough or tasks, key=lambda t: (tokens[t] if enough else -tokens[t], t))
            dropped[gone] = why
            tasks.remove(gone)
            del tokens[gone]
    return dropped


def _share(tokens: dict[str, int], tasks: set[str]) -> float:
    return sum(tokens[t] for t in tasks) / max(1, sum(tokens.values()))


def _surplus(tokens: dict[str, int], tasks: set[str], cap: float) -> float:
    """Tokens that have to leave a cell so that it holds `cap` of what is left."""
    used, total = sum(tokens[t] for t in tasks), sum(tokens.values())
    return (used - cap * total) / (1 - cap)


def _check_mixture(kept: Sequence[Tried], rules: Rules) -> None:
    if len(kept) < 2:
        return
    passes = [fmean(r >= rules.success for r in rewards(one.base)) for one in kept]
    for what, share in (("hard", fmean(p == 0 for p in passes)), ("easy", fmean(p == 1 for p in passes))):
        if share > rules.extreme_share:
            partial = fmean(0 < fmean(rewards(one.base)) < rules.success for one in kept)
            if what == "easy" or partial <= 1 - rules.extreme_share:
                raise UserError(
                    f"{share:.0%} of the {len(kept)} tasks left are all {what}: mix in others, or change extreme_share"
                )


def concentration(tried: Sequence[Tried]) -> Concentration:
    """Bypasses over all policies' attempts, by task, most first."""
    every = {one.task: (*one.base, *one.strong, *one.weak) for one in tried}
    found = {task: sum(t.bypass for t in trials) for task, trials in every.items()}
    ordered = sorted((n, task) for task, n in found.items() if n)
    return Concentration(
        attempts=sum(map(len, every.values())),
        bypasses=sum(found.values()),
        by_task={task: n for n, task in reversed(ordered)},
    )
