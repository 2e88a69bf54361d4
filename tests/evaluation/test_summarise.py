"""Arms and comparisons from sealed, graded episodes."""

import numpy as np
import pytest

from journeyman.errors import UserError
from journeyman.evaluation.cost import PROXY, Priced
from journeyman.evaluation.rows import EpisodeRow, last_tries
from journeyman.evaluation.summarise import compare, summarise
from journeyman.records.report import Arm, Comparison, Rate
from journeyman.statistics.repeated import clustered_se
from tests.evaluation.made_run import SKILL, TYPES, MadeRun

POLICIES = tuple(SKILL)


@pytest.fixture(scope="module")
def arms(rows: list[EpisodeRow]) -> dict[tuple[str, float], Arm]:
    return {(a.policy, a.temperature): a for a in summarise(rows, POLICIES, priced=Priced.of())}


def _comparison(rows: list[EpisodeRow], policy: str, baseline: str, scope: str = "all") -> Comparison:
    wanted = (policy, baseline, 1.0, scope)
    found = [c for c in compare(rows, POLICIES) if (c.policy, c.baseline, c.temperature, c.scope) == wanted]
    (comparison,) = found
    return comparison


def test_there_is_an_arm_for_every_policy_and_temperature_in_the_order_told(rows: list[EpisodeRow]) -> None:
    told = [(a.policy, a.temperature) for a in summarise(rows, POLICIES)]
    assert told == [(p, t) for p in POLICIES for t in (1.0, 0.0)]


def test_a_failed_try_has_no_reward_and_names_its_layer(rows: list[EpisodeRow]) -> None:
    failed = [row for row in rows if row.failure is not None]
    assert len(failed) == 2
    assert all(row.reward is None and row.stop == "" for row in failed)
    assert {row.failure.layer for row in failed if row.failure} == {"sandbox"}


def test_a_restarted_attempt_counts_once_with_its_last_try(arms: dict[tuple[str, float], Arm], run: MadeRun) -> None:
    restarted = arms["sft", 1.0]
    attempts = len(run.tasks) * 3
    assert (restarted.attempted, restarted.graded, restarted.tries) == (attempts, attempts, attempts + 1)
    assert restarted.failures == {"sandbox": {"executor_lost": 1}}


def test_an_attempt_without_a_grade_is_absent_and_its_bounds_are_told(arms: dict[tuple[str, float], Arm]) -> None:
    lost = arms["sft", 0.0]
    assert lost.graded == lost.attempted - 1
    assert lost.bounds is not None
    assert lost.reward is not None
    assert lost.bounds[0] < lost.reward.value < lost.bounds[1]
    assert lost.bounds[1] - lost.bounds[0] == pytest.approx(1 / 3 / lost.reward.n)
    assert lost.rates["attempts without a grade"] == Rate(count=1, of=lost.attempted)
    complete = arms["rl", 1.0]
    assert complete.reward is not None
    assert complete.bounds == pytest.approx((complete.reward.value, complete.reward.value))


def test_the_mean_reward_is_clustered_by_task(rows: list[EpisodeRow], arms: dict[tuple[str, float], Arm]) -> None:
    mine = [r for r in rows if r.spec.policy == "rl" and r.spec.sampling.temperature == 1.0]
    by_task: dict[str, list[float]] = {}
    for row in mine:
        by_task.setdefault(row.spec.task, []).append(row.reward or 0.0)
    reward = arms["rl", 1.0].reward
    assert reward is not None
    assert reward.value == pytest.approx(np.mean([np.mean(v) for v in by_task.values()]))
    assert reward.high is not None
    assert (reward.high - reward.value) / clustered_se(list(by_task.values())) == pytest.approx(2.201, abs=1e-3)


def test_pass_all_leaves_out_tasks_with_too_few_graded_attempts(arms: dict[tuple[str, float], Arm]) -> None:
    complete, lost = arms["sft", 1.0].pass_all, arms["sft", 0.0].pass_all
    assert complete is not None
    assert lost is not None
    assert lost.n == complete.n - 1


def test_with_fewer_attempts_than_k_there_is_no_pass_all(rows: list[EpisodeRow]) -> None:
    once = [row for row in rows if row.spec.attempt == 1]
    assert all(arm.pass_all is None for arm in summarise(once, POLICIES))


def test_an_error_criterion_met_is_not_a_pass(rows: list[EpisodeRow]) -> None:
    row = next(r for r in rows if r.passes(1.0))
    spoiled = [d.model_copy(update={"met": True}) for d in row.decided]
    assert not row.model_copy(update={"decided": tuple(spoiled)}).passes(1.0)


def test_types_criteria_and_rates_add_up(arms: dict[tuple[str, float], Arm]) -> None:
    arm = arms["rl", 1.0]
    assert tuple(arm.types) == tuple(sorted(TYPES))
    assert sum(result.graded for result in arm.types.values()) == arm.graded
    assert sum(result.perfect.count for result in arm.types.values()) == arm.perfect.count
    assert sum(arm.stops.values()) == arm.graded
    assert {(c.criterion, c.negative) for c in arm.criteria} == {
        ("file_written", False),
        ("approved_figure", False),
        ("margin", False),
        ("stale_version_used", True),
    }
    calls = arm.rates["invalid calls"]
    assert calls.of == pytest.approx(arm.effort["tool_calls"].value * arm.graded)


def test_the_better_policy_is_ranked_and_an_equal_one_is_not(rows: list[EpisodeRow]) -> None:
    assert _comparison(rows, "rl", "sft").verdict == "better"
    assert _comparison(rows, "merged", "rl").verdict == "no difference shown"
    twin = [row.model_copy(update={"spec": row.spec.model_copy(update={"policy": "merged"})}) for row in rows]
    equal = [r for r in rows if r.spec.policy == "rl"] + [r for r in twin if rows[twin.index(r)].spec.policy == "rl"]
    (same,) = [c for c in compare(equal, ("rl", "merged")) if c.temperature == 1.0 and c.scope == "all"]
    assert (same.difference.value, same.verdict) == (0.0, "no difference shown")


def test_a_worse_policy_is_ranked_worse(rows: list[EpisodeRow]) -> None:
    (found,) = [c for c in compare(rows, ("rl", "base")) if c.temperature == 1.0 and c.scope == "all"]
    assert found.verdict == "worse"
    assert found.p_value is not None
    assert found.p_value < 0.001


def test_one_task_gives_no_ranking(rows: list[EpisodeRow]) -> None:
    one = [row for row in rows if row.spec.task == rows[0].spec.task]
    comparison = _comparison(one, "rl", "sft")
    assert comparison.verdict == "no ranking"
    assert comparison.difference.low is None
    assert comparison.p_value is None


def test_policies_without_a_common_graded_task_are_not_compared(rows: list[EpisodeRow]) -> None:
    tasks = sorted({row.spec.task for row in rows})
    apart = [r for r in rows if (r.spec.policy, r.spec.task) in {("rl", tasks[0]), ("sft", tasks[1])}]
    assert compare(apart, POLICIES) == ()


def test_cost_is_usage_times_rates(rows: list[EpisodeRow]) -> None:
    row = rows[0]
    expected = (row.usage.prompt_tokens + row.usage.sampled_tokens) * 0.22 / 1e6
    assert Priced.of(PROXY).episode_usd(row) == pytest.approx(expected)


def test_a_missing_rate_is_an_error_not_zero() -> None:
    with pytest.raises(UserError, match="no price for model 'gpt-0'"):
        Priced.of("gpt-0")


def test_last_tries_keeps_the_highest_try_whatever_the_order(rows: list[EpisodeRow]) -> None:
    assert {r.spec.key for r in last_tries(rows)} == {r.spec.key for r in last_tries(list(reversed(rows)))}
