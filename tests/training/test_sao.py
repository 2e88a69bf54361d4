"""SAO: its estimates against V7, its mask on ratios, its critic; and the schedule of the two learners in one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.records.batch import Group, Member
from journeyman.records.sample import Update
from journeyman.store.atomic import read_lines
from journeyman.training.batch import RlBatch
from journeyman.training.config import (
    CriticConfig,
    ForwardConfig,
    LearnerConfig,
    LoraConfig,
    ModelConfig,
    OptimiserConfig,
)
from journeyman.training.credit import CreditConfig, credit
from journeyman.training.critic import Critic, value_loss
from journeyman.training.gae import BLOCK, discounted, estimate, explained_variance
from journeyman.training.learner import Learner
from journeyman.training.objectives.base import Totals
from journeyman.training.objectives.dis import Dis
from journeyman.training.policy import load_critic
from journeyman.training.prefix import TrainRow
from journeyman.training.vectors import gradient, token_batch

from .conftest import VOCABULARY, random_row, write_rl
from .test_learner import same, weights

SEGMENTS = [np.array([0.4, 0.5, 99.0, 0.6]), np.array([0.7, 0.8])]
MASKS = [np.array([1, 1, 0, 1], bool), np.array([1, 1], bool)]
OPTIMISED = [v[m] for v, m in zip(SEGMENTS, MASKS, strict=True)]


def close(found: Any, *expected: list[float]) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a == pytest.approx(b, abs=1e-6)


def test_v7_signatures_of_wrong_estimators_are_absent() -> None:
    ours = estimate(OPTIMISED, 1.0, lam=0.9).advantages[0]
    uncorrected = estimate(OPTIMISED[:1], 1.0, lam=0.9).advantages[0]
    assert uncorrected == pytest.approx([0.514, 0.46, 0.4], abs=1e-6)
    through = estimate([SEGMENTS[0]], 1.0, lam=0.9).advantages[0] * 0.81
    assert through == pytest.approx([7.563456, 8.31384, -79.4124, 0.324], abs=1e-5)
    assert np.abs(ours - uncorrected).max() > 0.05


def test_v7c_without_values_segments_are_one_sequence() -> None:
    made = estimate([np.zeros(3), np.zeros(2)], 1.0)
    close(made.advantages, [0.564168, 0.650963, 0.751111], [0.866667, 1.0])
    assert made.advantages[0] == pytest.approx([made.lam**k for k in (4, 3, 2)])


def test_v7g_dis_masks_both_sides_whatever_the_sign() -> None:
    rho = [1, 0.19, 0.21, 3.99, 4.01, 5]
    logp = [float(np.log(0.1 * r)) for r in rho]
    batch = token_batch(logp, [float(np.log(0.1))] * 6, [1, 1, 1, -1, -1, 1], [1] * 6)
    totals = Totals(6, 6, 1)
    loss = Dis().loss(batch, totals)
    assert loss.value.item() == pytest.approx(-0.092021, abs=1e-6)
    assert loss.clipped.tolist() == [False, True, False, False, True, True]
    assert gradient(Dis(), batch, totals) == pytest.approx([-0.166667, 0, -0.035, 0.665, 0, 0], abs=1e-6)
    literal = Dis(mode="bounds")
    assert [literal.accepted(torch.tensor([r])).item() for r in rho] == [True, False, False, False, False, False]
    assert [literal.accepted(torch.tensor([r])).item() for r in (0.79, 1.0, 3.01)] == [False, True, False]
    assert [Dis().accepted(torch.tensor([r])).item() for r in (0.19, 1.0, 4.01)] == [False, True, False]


def test_v7h_explained_variance_and_value_losses() -> None:
    targets, values = np.array([1.0, 1, 0, 0]), np.array([0.8, 0.6, 0.3, 0.1])
    assert explained_variance(targets, values) == pytest.approx(0.71)
    t, v, old = torch.from_numpy(targets), torch.from_numpy(values), torch.full((4,), 0.5, dtype=torch.float64)
    assert value_loss(v, t, old, None).item() / 4 == pytest.approx(0.0375)
    assert 2 * value_loss(v, t, old, 0.2).item() / 4 == pytest.approx(0.1075)
    assert explained_variance(targets[:1], values[:1]) is None
    assert explained_variance(np.ones(4), values) is None


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 3 * BLOCK), st.integers(0, 100))
def test_the_reverse_scan_is_the_recurrence(n: int, percent: int) -> None:
    decay = percent / 100
    delta = np.random.default_rng(n).normal(size=n)
    expected, carry = np.zeros(n), 0.0
    for i in reversed(range(n)):
        carry = delta[i] + decay * carry
        expected[i] = carry
    np.testing.assert_allclose(discounted(delta, decay), expected, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(any))
def test_splitting_without_values_changes_nothing(lengths: list[int]) -> None:
    split = estimate([np.zeros(n) for n in lengths], 1.0)
    whole = estimate([np.zeros(sum(lengths))], 1.0)
    np.testing.assert_allclose(np.concatenate(split.advantages), whole.advantages[0], atol=1e-12)


def test_without_reward_and_values_there_is_nothing_to_learn() -> None:
    assert not estimate([np.zeros(4)], 0.0).advantages[0].any()


def test_one_valid_attempt_is_enough_for_a_critic_and_none_is_not() -> None:
    def of(*valid: bool) -> Group:
        members = [
            Member(episode=f"e{i}", valid=v, reward=0.5 if v else None, cause="" if v else "x: y")
            for i, v in enumerate(valid)
        ]
        return Group(id="g", task="t", members=tuple(members))

    config = CreditConfig(advantage="critic")
    assert credit(of(True), config).kept
    assert credit(of(False), config).dropped == "no valid member"


def sao(policy: Path, root: Path, pretrain: int = 1, critic: dict[str, Any] | None = None, **rest: Any) -> Learner:
    settings = {"pretrain_steps": pretrain, "optimiser": {"lr": 1e-2}} | (critic or {})
    values: dict[str, Any] = {
        "initial": policy,
        "weights": root / "weights",
        "state": root / "state",
        "ledger": root / "ledger.jsonl",
        "objective": {"name": "sao", "critic": settings},
        "optimiser": OptimiserConfig(lr=1e-3),
    }
    return Learner(LearnerConfig(**(values | rest)))


def one_each(directory: Path, number: int, segments: int = 1) -> Path:
    """Four tasks, one rollout each, alternately good and bad."""
    rng = np.random.default_rng(number)
    prefix = rng.integers(0, VOCABULARY, 20).tolist()
    groups = {f"g{number}-{g}": [(float(g % 2), [random_row(rng, prefix) for _ in range(segments)])] for g in range(4)}
    return write_rl(directory / f"sao{number}", groups)


def test_while_the_critic_pretrains_the_policy_stays_bit_for_bit(policy: Path, tmp_path: Path) -> None:
    learner = sao(policy, tmp_path, pretrain=2)
    before = {n: p.detach().clone() for n, p in learner.model.named_parameters()}
    replies = [learner.step(i, one_each(tmp_path, i)) for i in range(3)]
    assert [r["stepped"] for r in replies] == [False, False, True]
    assert [r["version"] for r in replies] == [0, 0, 1]
    assert [r["metrics"]["critic_pretraining"] for r in replies] == [1, 1, 0]
    assert not same(tmp_path / "weights/v1", policy)
    assert any(not torch.equal(before[n], p) for n, p in learner.model.named_parameters())
    assert replies[1]["metrics"]["value_loss"] != replies[0]["metrics"]["value_loss"]
    assert "gradient_norm" not in replies[0]["metrics"]


def test_a_fresh_critic_says_zero_and_learns_who_is_good(policy: Path, tmp_path: Path) -> None:
    learner = sao(policy, tmp_path, pretrain=100)
    batch = one_each(tmp_path, 0)
    figures = [learner.critic.advise(_batch(learner, batch)) for _ in range(15)]  # type: ignore[union-attr]
    assert figures[0]["value_mean"] == 0.0
    assert figures[0]["value_loss"] == pytest.approx(0.25, abs=0.1)
    assert figures[-1]["value_loss"] < 0.2 * figures[0]["value_loss"]
    assert figures[-1]["explained_variance"] > 0.5


def _batch(learner: Learner, directory: Path) -> RlBatch:
    from journeyman.store.dataset import Dataset
    from journeyman.training.batch import assemble

    data = Dataset.open(directory)
    return assemble(data, [credit(g, learner.config.credit) for g in data.groups])


def test_resuming_after_every_step_gives_the_same_policy_and_critic(policy: Path, tmp_path: Path) -> None:
    batches = [one_each(tmp_path, i, segments=2) for i in range(3)]
    straight = sao(policy, tmp_path / "a")
    for i, batch in enumerate(batches):
        straight.step(i, batch)
        resumed = sao(policy, tmp_path / "b")
        resumed.step(i, batch)
    assert same(tmp_path / "a/weights/v2", tmp_path / "b/weights/v2")
    assert straight.critic is not None
    assert resumed.critic is not None
    assert resumed.critic.batches == 3
    ours, theirs = straight.critic.state()["parameters"], resumed.critic.state()["parameters"]
    assert all(torch.equal(ours[n], theirs[n]) for n in ours)


def test_the_ledger_tells_a_members_mean_advantage(policy: Path, tmp_path: Path) -> None:
    sao(policy, tmp_path, pretrain=0).step(0, one_each(tmp_path, 0))
    (update,) = [Update.parse(line) for line in read_lines(tmp_path / "ledger.jsonl")]
    advantages = [m.advantage for g in update.groups.values() for m in g]
    assert advantages[0] == advantages[2] == 0.0  # reward 0, values 0
    assert advantages[1] > 0
    assert update.objective == "sao"


@pytest.mark.parametrize("kind", ["lean", "packed", "rows"])
def test_values_do_not_depend_on_the_forward_nor_on_what_follows(policy: Path, kind: Any) -> None:
    critic = Critic(load_critic(policy, ModelConfig()), CriticConfig(), ForwardConfig(kind=kind, micro_tokens=50))
    with torch.no_grad():
        critic.model.lm_head.weight.normal_()
    rng = np.random.default_rng(0)
    rows = [TrainRow(rng.integers(0, VOCABULARY, 20), np.array([5, 9, 17])) for _ in range(3)]
    rows.append(TrainRow(np.concatenate([rows[0].ids[:12], rng.integers(0, VOCABULARY, 4)]), np.array([5, 9])))
    found = critic.values(RlBatch(rows=rows))
    hidden = critic.model.model(torch.from_numpy(rows[1].ids)[None]).last_hidden_state[0]
    expected = (hidden @ critic.model.lm_head.weight[0])[rows[1].targets - 1]
    np.testing.assert_allclose(found[1], expected.detach().numpy(), atol=1e-5)
    np.testing.assert_allclose(found[3], found[0][:2], atol=1e-5)


def test_a_segment_beyond_the_limit_is_context_only_and_counted(policy: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    long, short = random_row(rng, [1] * 60), random_row(rng, [1] * 10)
    alone = write_rl(tmp_path / "alone", {"g": [(1.0, [short])]})
    both = write_rl(tmp_path / "both", {"g": [(1.0, [long, short])]})
    limit = {"max_segment_tokens": 50}
    a = sao(policy, tmp_path / "a", pretrain=0, critic=limit).step(0, alone)
    b = sao(policy, tmp_path / "b", pretrain=0, critic=limit).step(0, both)
    assert (a["metrics"]["segments_too_long"], b["metrics"]["segments_too_long"]) == (0, 1)
    assert a["tokens"] == b["tokens"]
    assert same(tmp_path / "a/weights/v1", tmp_path / "b/weights/v1")


def test_frozen_attention_and_lora_train_what_they_say(policy: Path, tmp_path: Path) -> None:
    frozen = Critic(load_critic(policy, ModelConfig(), freeze_attention=True), CriticConfig(), ForwardConfig())
    names = {n for n, p in frozen.model.named_parameters() if p.requires_grad}
    assert "lm_head.weight" in names
    assert not any("self_attn" in n for n in names)
    lora = Critic(load_critic(policy, ModelConfig(lora=LoraConfig(rank=2))), CriticConfig(), ForwardConfig())
    names = {n for n, p in lora.model.named_parameters() if p.requires_grad}
    assert all("lora_" in n or n.endswith("lm_head.weight") for n in names)
    assert any(n.endswith("lm_head.weight") for n in names)


def test_the_base_weights_of_the_critic_are_the_policys(policy: Path) -> None:
    critic = Critic(load_critic(policy, ModelConfig()), CriticConfig(), ForwardConfig())
    held = dict(critic.model.named_parameters())
    assert all(torch.equal(held[n], w) for n, w in weights(policy).items())
    assert held["lm_head.weight"].shape == (1, 32)
