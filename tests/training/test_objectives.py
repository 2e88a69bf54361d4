"""Objectives against closed forms (known values: test_vectors.py); the signatures of the usual mistakes are absent."""

import math
import re
from typing import Any

import pytest
import torch

from journeyman.errors import UserError
from journeyman.training.methods import METHODS, make_objective
from journeyman.training.objectives.base import TokenBatch, Totals, ratio
from journeyman.training.objectives.cispo import Cispo
from journeyman.training.objectives.gspo import Gspo
from journeyman.training.objectives.ppo import PpoClip
from journeyman.training.objectives.reinforce import Reinforce
from journeyman.training.objectives.sft import Sft
from journeyman.training.vectors import ROLLOUT, THETA, V1_TOTALS, gradient, token_batch, v1


def test_cispo_names_the_clipped_token() -> None:
    assert Cispo().loss(v1(), V1_TOTALS).clipped.tolist() == [False, False, False, True, False]


def test_three_policies_with_one_step_a_batch_cap_the_rollout_ratio() -> None:
    """The policy before the update is the policy: w = min(pi / pi_rollout, 2)."""
    weights = [-g * 4 / a for g, a in zip(gradient(Cispo(policies=3), v1()), [0.5, 0.5, 0.5, -0.5, -0.5], strict=True)]
    assert weights == pytest.approx([1, 2, 0, 2, 0.5], abs=1e-5)


@pytest.mark.parametrize(
    "signature",
    [
        [-0.038357, -0.076713, 0.0, 0.625, -0.081412],  # no stop-gradient
        [-0.125, 0.0, 0.0, 1.0, 0.0],  # PPO min-clip
        [-0.25, -0.166667, 0.0, 0.416667, 0.041667],  # mean of micro-batch means
        [-0.025, -0.025, 0.0, 0.025, 0.025],  # ceiling read as 0.2
        [-0.125, -0.25, 0.0, 0.625, 0.1],  # a lower bound of 0.8 left on
    ],
)
def test_signatures_of_wrong_cispo_are_absent(signature: list[float]) -> None:
    ours = gradient(Cispo(), v1())
    assert max(abs(a - b) for a, b in zip(ours, signature, strict=True)) > 1e-3


def test_the_signatures_are_what_those_mistakes_give() -> None:
    assert gradient(PpoClip(), v1()) == pytest.approx([-0.125, 0, 0, 1.0, 0], abs=1e-6)
    assert gradient(Cispo(clip_high=0.2), v1()) == pytest.approx([-0.025, -0.025, 0, 0.025, 0.025], abs=1e-6)
    assert gradient(Cispo(clip_low=0.8), v1())[4] == pytest.approx(0.1, abs=1e-6)


def test_on_policy_cispo_is_reinforce() -> None:
    batch = token_batch(THETA, THETA, [0.5, 0.5, 0.5, -0.5, -0.5], [1, 1, 0, 1, 1])
    expected = gradient(Reinforce(), v1())
    assert gradient(Cispo(), batch) == pytest.approx(expected, abs=1e-7)
    assert expected == pytest.approx([-0.125, -0.125, 0, 0.125, 0.125], abs=1e-7)


def test_a_clipped_token_still_gets_gradient() -> None:
    batch = token_batch([math.log(0.5)], [math.log(0.01)], [1.0], [1])
    assert gradient(Cispo(), batch, Totals(1, 1, 1)) == pytest.approx([-5.0])


@pytest.mark.parametrize("objective", [Cispo(), Reinforce(), Reinforce(cap=2.0), PpoClip(), Gspo(), Sft()])
@pytest.mark.parametrize("poison", [float("-inf"), float("nan")])
def test_a_masked_token_changes_nothing(objective: object, poison: float) -> None:
    clean, dirty = v1(), v1()
    dirty.behaviour[2] = poison
    found = gradient(objective, dirty)
    assert found == gradient(objective, clean)
    assert found[2] == 0


def test_an_enormous_ratio_stays_finite() -> None:
    mask = torch.tensor([True])
    assert torch.isfinite(ratio(torch.tensor([0.0]), torch.tensor([-25.0]), mask)).all()
    batch = token_batch([-1.0], [-26.0], [1.0], [1])
    assert gradient(Cispo(), batch, Totals(1, 1, 1)) == pytest.approx([-5.0])


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_a_log_ratio_of_hundreds_leaves_loss_and_gradient_finite(name: str, advantage: float) -> None:
    objective = make_objective({"name": name})
    for behaviour in (-400.0, -0.1):
        batch = token_batch(
            [-1.0, -1.0] if behaviour < -1 else [-400.0, -400.0], [behaviour] * 2, [advantage] * 2, [1, 1]
        )
        assert torch.isfinite(objective.loss(batch, Totals(2, 1, 1)).value)
        assert torch.isfinite(torch.tensor(gradient(objective, batch, Totals(2, 1, 1)))).all()


def pick(batch: TokenBatch, index: list[int]) -> TokenBatch:
    i = torch.tensor(index)
    return TokenBatch(
        batch.logp.detach()[i].requires_grad_(),
        *(
            getattr(batch, n)[i]
            for n in ("behaviour", "advantage", "mask", "member", "group", "member_tokens", "group_tokens")
        ),
    )


@pytest.mark.parametrize(
    "objective",
    [Cispo(), Reinforce(cap=2.0), *(PpoClip(aggregation=a) for a in ("token", "prompt", "sample", "constant"))],
)
@pytest.mark.parametrize("split", [[[0], [1, 2, 3, 4]], [[4, 2], [3, 1], [0]], [[4, 3, 2, 1, 0]]])
def test_order_and_micro_batch_split_change_nothing(objective: object, split: list[list[int]]) -> None:
    whole = gradient(objective, v1())
    found = [0.0] * 5
    for part in split:
        for place, value in zip(part, gradient(objective, pick(v1(), part)), strict=True):
            found[place] = value
    assert found == pytest.approx(whole, abs=1e-8)


def test_gspo_does_not_change_when_tokens_are_reordered() -> None:
    order = [4, 1, 0, 3, 2]
    shuffled = gradient(Gspo(), pick(v1(), order))
    whole = gradient(Gspo(), v1())
    assert shuffled == pytest.approx([whole[i] for i in order], abs=1e-8)


@pytest.mark.parametrize(
    ("name", "per_token"), [("grpo", [1 / 6, 1 / 6, 0, 1 / 6, 0]), ("dr_grpo", [1 / 8, 1 / 8, 0, 1 / 8, 0])]
)
def test_grpo_is_a_mean_over_members_and_dr_grpo_a_constant(name: str, per_token: list[float]) -> None:
    """Members of 3 trained tokens and of 1, on-policy: advantage 1 each, dL/dlogp = -1 / what divides the token."""
    batch = token_batch(THETA, THETA, [1.0] * 5, [1, 1, 0, 1, 1], [0, 0, 0, 0, 1])
    settings = {"name": name} | ({"max_tokens": 4} if name == "dr_grpo" else {})
    found = gradient(make_objective(settings), batch, V1_TOTALS)
    assert found[:4] == pytest.approx([-x for x in per_token[:4]])
    assert found[4] == pytest.approx(-1 / 2 if name == "grpo" else -1 / 8)


def test_rloo_is_reinforce_on_another_advantage() -> None:
    assert gradient(make_objective({"name": "rloo", "cap": 2.0}), v1()) == gradient(Reinforce(cap=2.0), v1())


def test_no_trained_token_is_a_zero_with_a_graph() -> None:
    batch = token_batch(THETA, ROLLOUT, [1.0] * 5, [0] * 5)
    assert gradient(Cispo(), batch, Totals(0, 0, 0)) == [0.0] * 5


def test_unknown_objectives_and_settings_are_named() -> None:
    with pytest.raises(UserError, match="'cipso' is unknown"):
        make_objective({"name": "cipso"})
    with pytest.raises(UserError, match="clip_hihg"):
        make_objective({"name": "cispo", "clip_hihg": 4})
    assert make_objective({"name": "journeyman.training.objectives.cispo:Cispo", "clip_high": 4.0}).name == "cispo"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"name": "cispo", "clip_high": -1}, "clip_high = -1"),
        ({"name": "cispo", "clip_low": 2, "clip_high": 0.5}, "clip_low = 2.0 must be below clip_high = 0.5"),
        ({"name": "reinforce", "cap": -1}, "cap = -1"),
        ({"name": "grpo", "clip_low": -5, "clip_high": -5}, "clip_low = -5"),
        ({"name": "dr_grpo", "max_tokens": 0}, "max_tokens = 0"),
        ({"name": "dis", "epsilon_low": -3}, "reject tokens of the current policy"),
        ({"name": "dis", "mode": "bounds", "epsilon_low": 1.5}, "reject tokens of the current policy"),
        ({"name": "gspo", "whole_members": False}, "unknown key 'whole_members'"),
        ({"name": "sao", "critic": {"gamma": -1}}, "critic.gamma = -1"),
        ({"name": "hdpo", "settings": {"clip_high": 2.0}}, "settings of dis: unknown key 'clip_high'"),
        ({"name": "sft"}, "objective 'sft' is unknown"),
    ],
)
def test_a_setting_that_turns_the_gradient_or_empties_the_step_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        make_objective(settings)


@pytest.mark.parametrize(
    "name", ["json:loads", "json:__name__", "builtins:dict", ":Cispo", ".cispo:Cispo", "no such:One", "json:Nothing"]
)
def test_what_makes_no_objective_is_named(name: str) -> None:
    with pytest.raises(UserError, match=re.escape(repr(name))):
        make_objective({"name": name})
