"""HDPO against V6: strata of equal accuracy, efficiency that sums to zero in each, two losses with one denominator."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from journeyman.errors import UserError
from journeyman.records.batch import Group, Member
from journeyman.store.config_file import parse_config
from journeyman.training.config import LearnerConfig
from journeyman.training.credit import CreditConfig, credit
from journeyman.training.hdpo import Channels, HdpoConfig, channels
from journeyman.training.methods import make_objective
from journeyman.training.objectives.base import Totals
from journeyman.training.objectives.hdpo import Hdpo
from journeyman.training.objectives.ppo import PpoClip
from journeyman.training.shaping import ShapingConfig
from journeyman.training.vectors import gradient, logs, token_batch


def made(accuracy: list[float], steps: list[int], valid: list[bool] | None = None, **keys: object) -> Channels:
    r = np.array(accuracy)
    ok = np.array(valid or [True] * len(r))
    return channels(r, r, np.array(steps, dtype=float), ok, HdpoConfig(**keys))  # type: ignore[arg-type]


def total(c: Channels) -> list[float]:
    return list(c.accuracy + c.efficiency)


def group(accuracy: list[float | None], steps: list[int]) -> Group:
    members = [
        Member(episode=f"e{i}", valid=False, cause="engine: lost")
        if r is None
        else Member(episode=f"e{i}", valid=True, reward=r, turns=n)
        for i, (r, n) in enumerate(zip(accuracy, steps, strict=True))
    ]
    return Group(id="g", task="t", members=tuple(members))


OFF = {"shaping": ShapingConfig.off(), "advantage": "hdpo"}


def test_v6_an_all_correct_group_keeps_its_efficiency_signal() -> None:
    found = credit(group([1.0] * 4, [10, 20, 30, 20]), CreditConfig(**OFF))  # type: ignore[arg-type]
    assert found.kept
    assert found.advantages == pytest.approx((0.075, 0, -0.075, 0))
    assert found.efficiency == pytest.approx(found.advantages)


@pytest.mark.parametrize("scale", [1, 3])
def test_efficiency_sums_to_zero_in_each_stratum_and_has_no_unit(scale: int) -> None:
    rng = np.random.default_rng(0)
    accuracy = rng.choice([0.0, 0.5, 1.0], 16).tolist()
    steps = rng.integers(1, 40, 16)
    found = made(accuracy, (steps * scale).tolist()).efficiency
    for key in set(accuracy):
        assert found[np.array(accuracy) == key].sum() == pytest.approx(0)
    assert found == pytest.approx(made(accuracy, steps.tolist()).efficiency)


def test_a_short_wrong_answer_gains_nothing_over_right_ones() -> None:
    found = total(made([1.0, 1.0, 0.0, 0.0], [30, 30, 1, 30]))
    assert min(found[:2]) > max(found[2:])


def test_a_singleton_and_a_quarantined_member_are_outside_both_channels() -> None:
    found = credit(group([1.0, None, 0.0, 0.0], [10, 3, 8, 24]), CreditConfig(**OFF))  # type: ignore[arg-type]
    assert found.efficiency == pytest.approx((0, 0, 0.075, -0.075))
    assert found.advantages[1] == 0


def test_partial_credit_is_one_stratum_a_member_until_it_is_binned() -> None:
    accuracy, steps = [0.61, 0.64, 0.2, 0.22], [10, 30, 10, 30]
    assert not made(accuracy, steps).efficiency.any()
    assert made(accuracy, steps, accuracy_bin=0.25).efficiency == pytest.approx([0.075, -0.075, 0.075, -0.075])


def test_strata_are_drawn_on_the_reward_before_shaping() -> None:
    g = Group(
        id="g",
        task="t",
        members=tuple(
            Member(episode=f"e{i}", valid=True, reward=1.0, turns=n, invalid_calls=c)
            for i, (n, c) in enumerate(((10, 0), (30, 1)))
        ),
    )
    found = credit(g, CreditConfig(advantage="hdpo"))
    assert found.efficiency == pytest.approx((0.075, -0.075))
    assert found.advantages[0] == pytest.approx(0.01 + 0.075)


def test_the_filter_on_raw_reward_looks_at_both_channels_without_shaping() -> None:
    config = CreditConfig(advantage="hdpo", filter_on="raw")
    members = (
        Member(episode="a", valid=True, reward=1.0, turns=10, invalid_calls=1),
        Member(episode="b", valid=True, reward=1.0, turns=10),
    )
    alike = Group(id="g", task="t", members=members)  # only shaping tells them apart
    assert credit(alike, CreditConfig(advantage="hdpo")).kept
    assert not credit(alike, config).kept
    assert credit(group([1.0, 1.0], [10, 30]), config).kept


TOTALS = Totals(tokens=4, members=2, groups=1)
ACC, EFF = [0.5, 0.5, 0.5, -0.5, -0.5], [0.1, 0.1, 0.1, -0.2, -0.2]


def two_channels(surrogate: str) -> tuple[list[float], list[float]]:
    """Gradient of HDPO on both channels, and the sum of the surrogate's gradients on each."""
    theta, rollout = logs([0.5, 0.5, 0.9, 0.8, 0.1]), logs([0.5, 0.25, 0.9, 0.1, 0.2])
    mask, member = [1, 1, 0, 1, 1], [0, 0, 0, 1, 1]

    def batch(advantage: list[float]):  # type: ignore[no-untyped-def]
        return token_batch(theta, rollout, advantage, mask, member)

    both = replace(batch([a + e for a, e in zip(ACC, EFF, strict=True)]), efficiency=torch.tensor(EFF))
    apart = [gradient(make_objective({"name": surrogate}), batch(x), TOTALS) for x in (ACC, EFF)]
    return gradient(Hdpo(surrogate=surrogate), both, TOTALS), [a + b for a, b in zip(*apart, strict=True)]  # type: ignore[arg-type]


def test_the_surrogates_bounds_are_settings() -> None:
    narrow = make_objective({"name": "hdpo", "surrogate": "dis", "settings": {"epsilon_high": 0.5}})
    wide = make_objective({"name": "hdpo", "surrogate": "dis"})
    given = (logs([0.5, 0.8]), logs([0.25, 0.4]), [1.0, 1.0], [1, 1])  # ratio 2: inside (0.2, 4), above 1.5
    assert not any(gradient(narrow, token_batch(*given), TOTALS))
    assert any(gradient(wide, token_batch(*given), TOTALS))


@pytest.mark.parametrize("surrogate", ["dis", "cispo", "reinforce", "ppo"])
def test_the_loss_is_the_sum_of_two_losses_with_one_denominator(surrogate: str) -> None:
    found, apart = two_channels(surrogate)
    assert found == pytest.approx(apart, abs=1e-7)


def test_under_ppo_the_combined_advantage_would_be_another_loss() -> None:
    batch = token_batch([np.log(1.5)], [0.0], [0.1], [1])
    split = replace(batch, efficiency=torch.tensor([-0.4]))  # accuracy +0.5 is clipped away, efficiency -0.4 is not
    one = Totals(1, 1, 1)
    assert gradient(PpoClip(), batch, one) == [0.0]
    batch.logp.grad = None
    assert gradient(Hdpo(surrogate="ppo"), split, one) == pytest.approx([0.6])


PLACES = {"initial": "i", "weights": "w", "state": "s", "ledger": "l"}


@pytest.mark.parametrize(
    ("method", "advantage"),
    [
        ("cispo", "centred"),
        ("grpo", "grpo"),
        ("dr_grpo", "centred"),
        ("rloo", "rloo"),
        ("gspo", "grpo"),
        ("reinforce", "centred"),
        ("hdpo", "hdpo"),
        ("sao", "critic"),
    ],
)
def test_a_method_brings_its_credit(method: str, advantage: str) -> None:
    config = parse_config({**PLACES, "objective": {"name": method}}, LearnerConfig)
    assert config.credit.advantage == advantage
    assert parse_config(config.model_dump(mode="json"), LearnerConfig) == config


def test_credit_that_is_given_stays_unless_it_cannot_go_with_the_method() -> None:
    kept = parse_config({**PLACES, "objective": {"name": "cispo"}, "credit": {"advantage": "grpo"}}, LearnerConfig)
    assert kept.credit.advantage == "grpo"
    for objective, advantage in (("sao", "centred"), ("cispo", "critic")):
        with pytest.raises(UserError, match="does not go with"):
            parse_config(
                {**PLACES, "objective": {"name": objective}, "credit": {"advantage": advantage}}, LearnerConfig
            )
