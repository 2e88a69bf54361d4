"""Shaping (V5), advantages (V2), filtering and invalid members: an absent reward moves nobody's baseline."""

import numpy as np
import pytest

from journeyman.records.batch import Group, Member
from journeyman.training.advantages import centred, grpo, min_valid
from journeyman.training.credit import CreditConfig, credit
from journeyman.training.length import LengthConfig
from journeyman.training.shaping import ShapingConfig, shape


def group(
    rewards: list[float | None],
    turns: list[int] | None = None,
    tokens: list[int] | None = None,
    invalid: list[int] | None = None,
) -> Group:
    n = len(rewards)
    members = [
        Member(episode=f"e{i}", valid=False, cause="sandbox: lost")
        if r is None
        else Member(episode=f"e{i}", valid=True, reward=r, turns=t, sampled_tokens=k, invalid_calls=c)
        for i, (r, t, k, c) in enumerate(
            zip(rewards, turns or [1] * n, tokens or [1] * n, invalid or [0] * n, strict=True)
        )
    ]
    return Group(id="g", task="t", members=tuple(members))


V5_TURNS, V5_TOKENS, V5_INVALID = [100, 200, 250, 50], [20_000, 60_000, 150_000, 120_000], [0, 3, 20, 1]


def shaped(g: Group, **keys: object) -> list[float]:
    return [s.reward for s in shape(g.members, ShapingConfig(**keys)) if s is not None]  # type: ignore[arg-type]


def test_v5a_all_terms() -> None:
    g = group([0.8, 0.4, 0.0, 0.6], V5_TURNS, V5_TOKENS, V5_INVALID)
    made = [s for s in shape(g.members, ShapingConfig()) if s is not None]
    assert [s.reward for s in made] == pytest.approx([0.80, 0.04, -0.80, 0.28])
    assert [s.terms["output"] for s in made] == pytest.approx([0, 0.06, 0.1, 0.1])
    assert [s.terms["extreme"] for s in made] == pytest.approx([0, 0, 0.5, 0.2])
    assert [s.terms["invalid"] for s in made] == pytest.approx([0, 0.06, 0.2, 0.02])
    assert [s.terms["fade"] for s in made] == pytest.approx([0, 0.24, 0, 0])
    assert credit(g, CreditConfig()).advantages == pytest.approx((0.72, -0.04, -0.88, 0.20))


def test_v5b_without_positive_reward_only_invalid_calls_count() -> None:
    g = group([0.0] * 4, V5_TURNS, V5_TOKENS, V5_INVALID)
    assert shaped(g) == pytest.approx([0, -0.06, -0.2, -0.02])
    made = credit(g, CreditConfig())
    assert made.advantages == pytest.approx((0.07, 0.01, -0.13, 0.05))
    assert made.kept


def test_v5c_and_v5d_the_extreme_term_is_gated_unless_asked_otherwise() -> None:
    g = group([0.0] * 3, tokens=[20_000, 160_000, 20_000])
    assert shaped(g) == [0, 0, 0]
    assert not credit(g, CreditConfig()).kept
    assert shaped(g, gate_extreme=False) == pytest.approx([0, -0.5, 0])
    assert credit(g, CreditConfig(shaping=ShapingConfig(gate_extreme=False))).kept


@pytest.mark.parametrize(("calls", "penalty"), [(0, 0.0), (1, 0.02), (100, 0.2)])
def test_invalid_calls_cost_each_and_are_capped(calls: int, penalty: float) -> None:
    assert shaped(group([0.5, 0.5], invalid=[calls, 0]))[0] == pytest.approx(0.5 - penalty)


def test_equal_rewards_with_unequal_length_are_kept_and_without_are_dropped() -> None:
    assert credit(group([1.0, 1.0], tokens=[10, 60_000]), CreditConfig()).kept
    assert not credit(group([1.0, 1.0]), CreditConfig()).kept
    assert not credit(group([1.0, 1.0], tokens=[10, 60_000]), CreditConfig(filter_on="raw")).kept


def test_v5g_the_linear_length_penalty_takes_a_share_of_the_mean_reward() -> None:
    sizes = zip([100, 50, 100], [400, 200, 400], [10, 5, 10], strict=True)
    members = [
        Member(episode=f"e{i}", valid=True, reward=r, sampled_tokens=o, prompt_tokens=u, turns=n)
        for i, (r, (o, u, n)) in enumerate(zip([1.0, 1.0, 0.0], sizes, strict=True))
    ]
    lost = Member(episode="e3", valid=False, cause="sandbox: lost")
    made = credit(Group(id="g", task="t", members=(*members, lost)), CreditConfig(length=LengthConfig()))
    assert [s.reward for s in made.shaped if s] == pytest.approx([0.7, 0.85, -0.3])
    assert [s.terms["length"] for s in made.shaped if s] == pytest.approx([0.3, 0.15, 0.3])
    assert made.advantages == pytest.approx((0.283333, 0.433333, -0.716667, 0.0), abs=1e-6)
    failed = group([-0.5, -0.5], tokens=[10, 20])
    assert credit(failed, CreditConfig(length=LengthConfig())).dropped  # nobody is paid for being long


def test_shaping_off_is_the_reward() -> None:
    g = group([0.8, -0.4], V5_TURNS[:2], V5_TOKENS[:2], V5_INVALID[:2])
    assert [s.reward for s in shape(g.members, ShapingConfig.off()) if s] == pytest.approx([0.8, -0.4])


def values(*r: float) -> np.ndarray:
    return np.array(r, dtype=float)


def test_v2_a_tiny_spread_is_not_blown_up() -> None:
    r, ok = values(0.70, 0.70, 0.71, 0.70), np.ones(4, dtype=bool)
    assert centred(r, ok)[2] == pytest.approx(0.0075)
    assert grpo(r, ok)[2] == pytest.approx(1.4997, abs=1e-4)


def test_v2_a_quarantined_member_is_absent() -> None:
    made = credit(group([1.0, 0.0, None, 0.2]), CreditConfig())
    assert made.advantages == pytest.approx((0.6, -0.4, 0, -0.2))
    assert [m.episode for m, _, _ in made.valid] == ["e0", "e1", "e3"]


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), float("-inf")])
def test_a_reward_that_is_no_finite_number_is_absent(reward: float) -> None:
    made = credit(group([1.0, 0.0, reward, 0.2]), CreditConfig())
    assert made.kept
    assert made.advantages == pytest.approx((0.6, -0.4, 0, -0.2))
    assert made.group.members[2].cause == f"grader: reward {reward}"
    read = Member.parse(f'{{"episode": "e", "valid": true, "reward": "{reward}"}}')
    assert (read.valid, read.reward) == (False, None)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_rewards_too_far_apart_to_be_compared_are_not_said_to_be_alike() -> None:
    assert "too far apart" in credit(group([1.7e308, 1.7e308, -1.7e308]), CreditConfig()).dropped


@pytest.mark.parametrize("rewards", [[0.7], [0.3, 0.3, 0.3], [None, 0.9], [0.1, 0.1, 0.1]])
def test_v2_groups_without_a_signal_are_dropped(rewards: list[float | None]) -> None:
    assert credit(group(rewards), CreditConfig()).dropped


def test_a_baseline_needs_half_of_the_group() -> None:
    assert [min_valid(n) for n in (1, 2, 3, 4, 5, 8)] == [2, 2, 2, 2, 3, 4]
    assert credit(group([1.0, 0.0, 1.0, None, None, None, None, None]), CreditConfig()).dropped
    assert credit(group([1.0, 0.0, 1.0, 0.0, None, None, None, None]), CreditConfig()).kept
    assert credit(group([1.0] + [None] * 7), CreditConfig()).dropped


def test_one_loser_among_equal_winners_keeps_the_whole_group() -> None:
    made = credit(group([0.0] + [0.95] * 7), CreditConfig())
    assert made.kept
    assert all(a > 0 for a in made.advantages[1:])
