"""R3 on tiny Hugging Face mixtures of experts: V3, and what a replay must and must not change."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import (
    Glm4MoeConfig,
    Glm4MoeForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

from journeyman.errors import UserError
from journeyman.store.dataset import RowTokens
from journeyman.training.config import ForwardConfig
from journeyman.training.forward import make_forward
from journeyman.training.learner import Learner
from journeyman.training.prefix import TrainRow
from journeyman.training.routing_replay import RoutingReplay, fault, routers_of, uncovered

from .conftest import VOCABULARY, learner_config, random_row, tiny_llama, write_rl

SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_experts_per_tok": 2,
    "initializer_range": 0.2,
}


def qwen(**changes: Any) -> nn.Module:
    torch.manual_seed(0)
    moe = {
        "num_experts": 4,
        "moe_intermediate_size": 16,
        "decoder_sparse_step": 1,
        "head_dim": 8,
        "norm_topk_prob": True,
    }
    return Qwen3MoeForCausalLM(Qwen3MoeConfig(**(SHAPE | moe | {"norm_topk_prob": True} | changes))).float()


def mixtral() -> nn.Module:
    torch.manual_seed(0)
    return MixtralForCausalLM(MixtralConfig(**SHAPE, num_local_experts=4)).float()


def glm() -> nn.Module:
    torch.manual_seed(0)
    moe = {"n_routed_experts": 4, "moe_intermediate_size": 16, "first_k_dense_replace": 0, "n_shared_experts": 1}
    model = Glm4MoeForCausalLM(Glm4MoeConfig(**SHAPE, **moe, head_dim=8, n_group=1, topk_group=1)).float()
    for router in routers_of(model):
        nn.init.normal_(router.weight, std=0.3)
        router.e_score_correction_bias.normal_(std=0.1)  # type: ignore[operator, union-attr]
    return model


def rows(count: int = 3, seed: int = 0) -> list[TrainRow]:
    rng = np.random.default_rng(seed)
    return [TrainRow(rng.integers(0, VOCABULARY, n), np.arange(4, n, 2)) for n in rng.integers(12, 30, count)]


def record(model: nn.Module, given: list[TrainRow]) -> list[TrainRow]:
    """The rows with the experts that the model chose, as an engine returns them: all positions but the last."""
    replay = RoutingReplay(routers_of(model), watch=True)
    replay.open()
    found = []
    with torch.no_grad():
        for row in given:
            replay.begin(None)
            model(input_ids=torch.from_numpy(row.ids)[None])
            found.append(TrainRow(row.ids, row.targets, torch.stack(replay.chosen, 1)[:-1].numpy()))
    replay.close()
    return found


def score(model: nn.Module, given: list[TrainRow], kind: str = "packed") -> torch.Tensor:
    """Log-probs row by row; gradients of their sum are left on the parameters."""
    model.zero_grad()
    session = make_forward(model, ForwardConfig(kind=kind)).open(given)  # type: ignore[arg-type]
    found = [session.score([i]) for i in range(len(given))] if kind == "rows" else [session.score(range(len(given)))]
    logp = torch.cat([s.logp for s in found])
    logp.sum().backward()
    session.finish()
    return logp.detach()


def perturbed(model: nn.Module) -> None:
    with torch.no_grad():
        for router in routers_of(model):
            router.weight.add_(torch.randn_like(router.weight) * 0.2)  # type: ignore[operator, arg-type, union-attr]


@pytest.mark.parametrize("make", [qwen, mixtral, glm])
def test_replaying_the_natural_choice_changes_nothing(make: Any) -> None:
    model, given = make(), rows()
    plain = score(model, given, "rows")
    assert torch.equal(score(model, record(model, given), "rows"), plain)
    torch.testing.assert_close(score(model, record(model, given)), plain, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("make", [qwen, mixtral, glm])
def test_a_moved_router_keeps_the_samplers_experts_and_comes_closer(make: Any) -> None:
    model, given = make(), rows(6)
    recorded = record(model, given)
    before = score(model, given)
    perturbed(model)
    again = record(model, given)
    flipped = np.mean([(a.routes != b.routes).any(-1).mean() for a, b in zip(recorded, again, strict=True)])  # type: ignore[union-attr]
    assert flipped > 0.1
    without, with_replay = score(model, given), score(model, recorded)
    assert (with_replay - before).abs().mean() < 0.8 * (without - before).abs().mean()
    for router in routers_of(model):
        grad = router.weight.grad
        assert isinstance(grad, torch.Tensor)
        assert grad.abs().max() > 0


def test_the_order_of_experts_within_a_row_changes_nothing() -> None:
    model, given = qwen(), rows()
    recorded = record(model, given)
    flipped = [TrainRow(r.ids, r.targets, r.routes[:, :, ::-1].copy()) for r in recorded]  # type: ignore[index]
    torch.testing.assert_close(score(model, flipped), score(model, recorded), atol=1e-6, rtol=1e-6)


def test_an_expert_outside_the_natural_choice_has_a_gate_and_the_right_gradient() -> None:
    model, given = qwen(num_experts_per_tok=1, norm_topk_prob=False), rows(1)
    natural = record(model, given)[0]
    assert natural.routes is not None
    other = [TrainRow(natural.ids, natural.targets, (natural.routes + 1) % 4)]
    assert not torch.allclose(score(model, other), score(model, given), atol=1e-3)
    score(model, other)
    weight: Any = routers_of(model)[0].weight
    grad = float(weight.grad[1, 3])
    step, sums = 2e-3, []
    for sign in (1, -1):
        with torch.no_grad():
            weight[1, 3] += sign * step
        sums.append(float(score(model, other).double().sum()))
        with torch.no_grad():
            weight[1, 3] -= sign * step
    assert (sums[0] - sums[1]) / (2 * step) == pytest.approx(grad, rel=0.02, abs=1e-3)


def test_positions_without_a_record_choose_for_themselves() -> None:
    model, given = qwen(), rows()
    empty = [TrainRow(r.ids, r.targets, np.full((len(r.ids) - 1, 2, 2), -1)) for r in given]
    assert torch.equal(score(model, empty), score(model, given))
    mixed = [record(model, given)[0], *given[1:]]
    torch.testing.assert_close(score(model, mixed), score(model, given), atol=1e-6, rtol=1e-6)


def test_positions_without_a_record_are_counted() -> None:
    whole = np.tile([0, 3], (4, 2, 1))
    partial = whole.copy()
    partial[1, 1] = -1  # one layer of the position that predicts token 2
    partial[3] = -1
    ids = np.arange(5)
    given = [TrainRow(ids, np.array([2]), partial), TrainRow(ids, np.array([3, 4])), TrainRow(ids, ids[1:], whole)]
    assert uncovered(given) == {"routes_uncovered": 6.0, "routes_uncovered_trained": 3.0}
    assert uncovered([TrainRow(ids, ids[1:])]) == {}


def test_a_steps_record_says_how_many_positions_had_no_record(tmp_path: Path) -> None:
    qwen().save_pretrained(tmp_path / "policy")
    rng = np.random.default_rng(0)
    entries: list[tuple[float | None, list[RowTokens]]] = [(r, [random_row(rng, [1, 2, 3])]) for r in (1.0, 0.0)]
    batch = write_rl(tmp_path / "batch", {"g": entries}, routes=lambda row: partly(len(row.ids) - 1))
    metrics = Learner(learner_config(tmp_path / "policy", tmp_path)).step(0, batch)["metrics"]
    assert metrics["routes_uncovered"] == 4
    assert metrics["routes_uncovered_trained"] == 0


def partly(length: int) -> np.ndarray:
    """Routes of which the first two positions have no record."""
    routes = np.tile([0, 3], (length, 2, 1))
    routes[:2] = -1
    return routes


def test_a_forward_that_is_computed_again_replays_the_same() -> None:
    model, recorded = qwen(), record(qwen(), rows())
    perturbed(model)
    plain = score(model, recorded)
    expected = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.gradient_checkpointing_enable({"use_reentrant": False})  # type: ignore[operator]
    model.train()
    torch.testing.assert_close(score(model, recorded), plain)
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(parameter.grad, expected[name], atol=1e-5, rtol=1e-4)


def test_hooks_are_gone_after_a_batch() -> None:
    model, given = qwen(), rows()
    score(model, record(model, given))
    assert not any(router._forward_hooks for router in routers_of(model))


@pytest.mark.parametrize(
    ("routes", "why"),
    [
        (np.zeros((4, 2, 2), int), "twice"),
        (np.zeros((3, 2, 1), int), "shape"),
        (np.tile([0, 4], (4, 2, 1)), "expert 4 of 4"),
        (np.zeros((4, 2, 1), int), "all zero"),
    ],
)
def test_unusable_captures_are_named(routes: np.ndarray, why: str) -> None:
    assert why in fault(routes, tokens=5, experts=4)


def test_a_whole_and_a_partial_capture_are_usable() -> None:
    whole = np.tile([0, 3], (4, 2, 1))
    assert fault(whole, 5, 4) == ""
    whole[2] = -1
    assert fault(whole, 5, 4) == ""


def test_routes_meet_a_model_that_can_replay_them_or_a_refusal() -> None:
    given = record(qwen(), rows())
    with pytest.raises(UserError, match="no router"):
        make_forward(tiny_llama(), ForwardConfig(kind="rows")).open(given)
    with pytest.raises(UserError, match="2 layers, the model has 3"):
        score(qwen(num_hidden_layers=3), given)
    assert given[0].routes is not None
    unknown = TrainRow(given[0].ids, given[0].targets, given[0].routes + 3)
    with pytest.raises(UserError, match="cannot be replayed: expert"):
        score(qwen(), [unknown])


def balance(model: nn.Module, given: list[TrainRow], kind: Any) -> tuple[float, torch.Tensor]:
    model.zero_grad()
    session = make_forward(model, ForwardConfig(kind=kind), balance=True).open(given)
    scored = session.score(range(len(given)))
    assert scored.balance is not None
    scored.balance.backward()  # type: ignore[no-untyped-call]
    session.finish()
    weight: Any = routers_of(model)[0].weight
    return float(scored.balance) / sum(len(r.ids) for r in given), weight.grad.clone()


def test_the_load_balancing_loss_is_one_where_experts_are_used_alike_and_packing_does_not_change_it() -> None:
    model, given = qwen(), rows()
    value, grad = balance(model, given, "packed")
    alone, expected = balance(model, given, "rows")
    assert value == pytest.approx(alone, rel=1e-5)
    torch.testing.assert_close(grad, expected, atol=1e-4, rtol=1e-3)
    assert value > 1
    with torch.no_grad():
        for router in routers_of(model):
            router.weight.zero_()  # type: ignore[operator, union-attr]
    assert balance(model, given, "packed")[0] == pytest.approx(1.0)
