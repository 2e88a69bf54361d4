"""Packed, shared and last-layer-lean scoring equals scoring each row alone, in values and in gradients."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from transformers import (
    MistralConfig,
    MistralForCausalLM,
    Qwen3_5ForCausalLM,
    Qwen3_5TextConfig,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

from journeyman.errors import UserError
from journeyman.training.config import ForwardConfig, ModelConfig
from journeyman.training.exactness import packing_gap, packs_exactly, window_of
from journeyman.training.forward import make_forward, plan
from journeyman.training.policy import load_policy
from journeyman.training.prefix import TrainRow, common_length, forest

from .conftest import VOCABULARY, tiny_llama


def rows_like(seed: int, shared: int = 40, count: int = 7) -> list[TrainRow]:
    rng = np.random.default_rng(seed)
    start = rng.integers(0, VOCABULARY, shared)
    middle = rng.integers(0, VOCABULARY, 30)
    made = []
    for i in range(count):
        tail = rng.integers(0, VOCABULARY, rng.integers(5, 30))
        ids = np.concatenate([start, middle[: 30 * (i % 2)], tail]).astype(np.int64)
        made.append(TrainRow(ids, np.sort(rng.choice(np.arange(shared, len(ids)), 4, replace=False)).astype(np.int64)))
    made.append(TrainRow(made[0].ids.copy(), made[0].targets.copy()))  # two members that behaved alike
    made.append(TrainRow(made[1].ids[:-2].copy(), np.array([shared + 1])))  # one that stopped earlier
    made.append(TrainRow(made[2].ids.copy(), np.zeros(0, dtype=np.int64)))  # one without a trained token
    return made


def score(
    model: nn.Module, rows: Sequence[TrainRow], kind: str, micro: int = 100, temperature: float = 1.0
) -> tuple[list[np.ndarray], dict[str, torch.Tensor]]:
    model.zero_grad()
    session = make_forward(model, ForwardConfig(kind=kind, micro_tokens=micro), temperature).open(rows)  # type: ignore[arg-type]
    found: list[np.ndarray] = [np.zeros(0)] * len(rows)
    for indexes in session.micro_batches():
        scored = session.score(indexes)
        weights = torch.cat([torch.arange(1, len(rows[i].targets) + 1) * (i + 1.0) for i in indexes])
        (scored.logp * weights).sum().backward()
        for i, part in zip(indexes, scored.logp.detach().split([len(rows[i].targets) for i in indexes]), strict=True):
            found[i] = part.numpy()
    session.finish()
    return found, {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def assert_same(a: tuple, b: tuple, tolerance: float = 2e-5) -> None:
    for x, y in zip(a[0], b[0], strict=True):
        np.testing.assert_allclose(x, y, atol=tolerance)
    assert a[1].keys() == b[1].keys()
    for name, g in a[1].items():
        scale = float(b[1][name].abs().max()) + 1e-6
        assert float((g - b[1][name]).abs().max()) / scale < 2e-4, name


@pytest.mark.parametrize("kind", ["lean", "packed"])
@pytest.mark.parametrize("micro", [60, 200, 100_000])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_packed_equals_separate_on_llama(kind: str, micro: int, temperature: float) -> None:
    model, rows = tiny_llama(), rows_like(0)
    assert_same(score(model, rows, kind, micro, temperature), score(model, rows, "rows", 10, temperature))


@pytest.mark.parametrize(
    "shape", [{"tie_word_embeddings": False}, {"num_key_value_heads": 4}, {"num_hidden_layers": 1}]
)
def test_lean_follows_the_shape_of_the_llama(shape: dict[str, object]) -> None:
    model, rows = tiny_llama(**shape), rows_like(1)
    assert_same(score(model, rows, "lean"), score(model, rows, "rows"))


@pytest.mark.parametrize("seed", range(4))
def test_lean_equals_separate_without_a_common_beginning(seed: int) -> None:
    model, rows = tiny_llama(seed), rows_like(seed, shared=1)
    assert_same(score(model, rows, "lean", 90), score(model, rows, "rows"))
    assert_same(score(model, rows, "lean", 1), score(model, rows, "rows"))


def test_long_pieces_are_attended_in_chunks() -> None:
    rng = np.random.default_rng(5)
    model = tiny_llama(max_position_embeddings=1024)
    rows = [TrainRow(rng.integers(0, VOCABULARY, n), np.arange(5, n, 3)) for n in (450, 200)]
    assert_same(score(model, rows, "lean"), score(model, rows, "rows"))


@pytest.mark.parametrize("family", ["qwen3", "qwen3_moe"])
def test_packed_equals_separate_on_other_architectures(family: str) -> None:
    torch.manual_seed(0)
    shape = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "initializer_range": 0.2,
    }
    if family == "qwen3":
        model: nn.Module = Qwen3ForCausalLM(Qwen3Config(**shape)).float()
    else:
        moe = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "decoder_sparse_step": 1}
        model = Qwen3MoeForCausalLM(Qwen3MoeConfig(**shape, **moe)).float()
    rows = rows_like(2)
    assert_same(score(model, rows, "packed"), score(model, rows, "rows"))


def test_an_id_that_doubles_as_padding_learns_like_any_other(tmp_path: Path) -> None:
    tiny_llama(pad_token_id=3).save_pretrained(tmp_path)
    model, rows = load_policy(tmp_path, ModelConfig()), rows_like(0)
    assert any(3 in row.ids for row in rows)
    assert_same(score(model, rows, "lean"), score(model, rows, "rows"))


def test_log_probs_are_those_of_the_sampling_temperature() -> None:
    model, rows = tiny_llama(), rows_like(3)[:1]
    logits = model(torch.from_numpy(rows[0].ids)[None]).logits[0].detach()
    found, _ = score(model, rows, "lean", temperature=0.7)
    expected = torch.log_softmax(logits / 0.7, -1)[rows[0].targets - 1, rows[0].ids[rows[0].targets]]
    np.testing.assert_allclose(found[0], expected.numpy(), atol=1e-5)


def hybrid() -> nn.Module:
    """Gated-delta layers between attention layers: a state that runs on past the end of a row."""
    torch.manual_seed(0)
    config = Qwen3_5TextConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        initializer_range=0.2,
    )
    return Qwen3_5ForCausalLM(config).float()


def test_a_hybrid_is_not_packed_and_is_exact_row_by_row() -> None:
    model, rows = hybrid(), rows_like(4, count=2)
    assert packing_gap(model) > 1e-3
    with pytest.raises(UserError, match=r'cannot be packed exactly.*"rows"'):
        make_forward(model, ForwardConfig(kind="packed"))
    found, _ = score(model, rows, "auto")
    alone, _ = score(model, rows, "rows", 10)
    for a, b in zip(found, alone, strict=True):
        np.testing.assert_array_equal(a, b)


def test_attention_only_models_pack_and_the_probe_is_asked_once() -> None:
    model = tiny_llama()
    assert packs_exactly(model)
    assert packing_gap(model) == packing_gap(model)
    with pytest.raises(UserError, match="lean"):
        make_forward(hybrid(), ForwardConfig(kind="lean"))


def test_rows_longer_than_a_sliding_window_are_not_packed() -> None:
    torch.manual_seed(0)
    shape = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "initializer_range": 0.2}
    model = MistralForCausalLM(MistralConfig(**shape, **heads, sliding_window=20)).float()
    assert window_of(model) == 20
    rows = rows_like(5)
    assert_same(score(model, rows, "packed"), score(model, rows, "rows", 10))


short_rows = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), min_size=1, max_size=8)


@settings(max_examples=200, deadline=None)
@given(short_rows, st.integers(1, 6))
def test_a_forest_spells_every_row(texts: list[list[int]], min_share: int) -> None:
    rows = [TrainRow(np.array(t, dtype=np.int64), np.zeros(0, dtype=np.int64)) for t in texts]
    made = forest(rows, min_share=min_share)
    for row, chain in zip(rows, made.chains, strict=True):
        assert np.concatenate([made.pieces[i].ids for i in chain]).tolist() == row.ids.tolist()
        assert [made.pieces[i].parent for i in chain] == [-1, *chain[:-1]]
        starts = np.cumsum([0, *(len(made.pieces[i].ids) for i in chain)])[:-1]
        assert [made.pieces[i].start for i in chain] == starts.tolist()
    assert made.tokens <= sum(len(r.ids) for r in rows)


@settings(max_examples=100, deadline=None)
@given(short_rows)
def test_the_common_length_is_the_longest_shared_prefix(texts: list[list[int]]) -> None:
    expected = 0
    while all(len(t) > expected and t[expected] == texts[0][expected] for t in texts):
        expected += 1
    assert common_length([np.array(t) for t in texts]) == expected


@settings(max_examples=50, deadline=None)
@given(short_rows, st.integers(1, 30))
def test_every_row_is_in_exactly_one_micro_batch(texts: list[list[int]], budget: int) -> None:
    rows = [TrainRow(np.array(t, dtype=np.int64), np.zeros(0, dtype=np.int64)) for t in texts]
    made = plan(rows, None, budget, 0)
    assert sorted(i for batch in made for i in batch) == list(range(len(rows)))
