"""The scheduler: what it samples is what the model says, whoever shares the batch, from a cache or afresh."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from journeyman.engines.embedded.cache import Rows, Store
from journeyman.engines.embedded.sampling import Draw
from journeyman.engines.embedded.scheduler import Call, Scheduler
from journeyman.engines.embedded.weights import forward_of, load_model

CPU = torch.device("cpu")


def scheduler(path: Path, *, lean: bool = True, rows: int = 6, store_tokens: int = 4096) -> Scheduler:
    model = load_model(path, CPU, torch.float32)
    config = model.config
    size = config.hidden_size // config.num_attention_heads
    memory = Rows(config.num_hidden_layers, rows, config.num_key_value_heads, size, 256, CPU)
    return Scheduler(forward_of(model, lean=lean), 0, memory, Store(store_tokens))


def call(number: int, prompt: list[int], *, temperature: float = 1.0, tokens: int = 20, **options: object) -> Call:
    draw = Draw(
        temperature,
        float(options.get("top_p", 1.0)),  # type: ignore[arg-type]
        int(options.get("top_k", -1)),  # type: ignore[call-overload]
        np.random.default_rng(number),
    )
    lineage = str(options.get("lineage", f"l{number}"))
    return Call(number, lineage, np.array(prompt, dtype=np.int32), tokens, frozenset({1}), draw)


def run(engine: Scheduler, *calls: Call) -> None:
    for one in calls:
        engine.add(one)
    while engine.busy:
        engine.step()


def prompt(seed: int, length: int) -> list[int]:
    return np.random.default_rng(seed).integers(2, 97, length).tolist()


def recomputed(path: Path, one: Call, temperature: float) -> np.ndarray:
    """Log-probs of the sampled tokens by the Hugging Face model in one pass, as a trainer computes them."""
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    ids = torch.tensor([[*one.prompt.tolist(), *one.ids]])
    with torch.no_grad():
        logprobs = torch.log_softmax(model(input_ids=ids).logits[0] / temperature, -1)
    start = len(one.prompt)
    return logprobs[start - 1 : -1].gather(-1, ids[0, start:, None])[:, 0].numpy()


@pytest.mark.parametrize(("kind", "lean"), [("llama", True), ("llama", False), ("qwen", True)])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_sampled_logprobs_equal_the_trainers(
    kind: str, lean: bool, temperature: float, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(kind)
    calls = [call(n, prompt(n, 5 + 9 * n), temperature=temperature) for n in range(1, 6)]
    run(scheduler(path, lean=lean), *calls)
    for one in calls:
        assert np.abs(recomputed(path, one, temperature) - np.array(one.logprobs)).max() < 1e-4


@pytest.mark.parametrize("kind", ["llama", "qwen"])
def test_a_call_does_not_depend_on_its_batch(kind: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(kind)
    together = [call(n, prompt(n, 4 + 7 * n)) for n in range(1, 9)]
    run(scheduler(path, rows=5), *together)
    for one in together:
        alone = call(one.number, one.prompt.tolist())
        run(scheduler(path), alone)
        assert alone.ids == one.ids
        assert np.allclose(alone.logprobs, one.logprobs, atol=1e-4)


@pytest.mark.parametrize("kind", ["llama", "qwen"])
def test_a_reused_prefix_gives_what_a_fresh_prompt_gives(kind: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(kind)
    warm, cold = scheduler(path), scheduler(path, store_tokens=0)
    first = call(1, prompt(1, 40), lineage="a")
    run(warm, first)
    longer = [*first.prompt.tolist(), *first.ids, *prompt(9, 12)]
    continued, fresh = call(2, longer, lineage="a"), call(2, longer, lineage="a")
    run(warm, continued)
    run(cold, fresh)
    assert warm.reused == 40 + len(first.ids) - 1
    assert cold.reused == 0
    assert continued.ids == fresh.ids
    assert np.allclose(continued.logprobs, fresh.logprobs, atol=1e-4)


def test_a_shared_prompt_is_computed_once(llama: Path) -> None:
    engine = scheduler(llama)
    calls = [call(n, prompt(1, 50)) for n in range(4)]
    run(engine, *calls)
    assert engine.prefilled == 50 + 3
    alone = call(3, prompt(1, 50))
    run(scheduler(llama), alone)
    assert alone.ids == calls[3].ids


def test_a_swap_is_seen_by_open_calls_and_forgets_prefixes(llama: Path, other_llama: Path) -> None:
    engine = scheduler(llama)
    one = call(1, prompt(1, 30), lineage="a", tokens=12)
    one.stop = frozenset()
    engine.add(one)
    for _ in range(5):
        engine.step()
    engine.swap(forward_of(load_model(other_llama, CPU, torch.float32)), 1)
    while engine.busy:
        engine.step()
    assert one.versions == [0] * 5 + [1] * 7
    assert len(engine.store) == 0  # its cache holds keys of two versions
    again = call(2, [*one.prompt.tolist(), *one.ids], lineage="a")
    run(engine, again)
    assert engine.reused == 0
    assert np.abs(recomputed(other_llama, again, 1.0) - np.array(again.logprobs)).max() < 1e-4


def test_an_aborted_call_leaves_its_row_and_the_others_go_on(llama: Path) -> None:
    engine = scheduler(llama, rows=2)
    calls = [call(n, prompt(n, 20)) for n in range(1, 4)]
    for one in calls:
        one.stop = frozenset()
        engine.add(one)
    engine.step()
    gone = engine.abort(lambda one: one.number in (1, 3))
    assert [one.number for one in gone] == [3, 1]
    assert {one.finish for one in gone} == {"aborted"}
    while engine.busy:
        engine.step()
    assert calls[1].finish == "length"
    assert len(calls[1].ids) == 20


def test_greedy_takes_the_first_token_at_logprob_zero(llama: Path) -> None:
    one = call(1, prompt(2, 12), temperature=0.0)
    run(scheduler(llama), one)
    model = AutoModelForCausalLM.from_pretrained(llama, dtype=torch.float32)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[*one.prompt.tolist(), *one.ids]])).logits[0]
    assert one.ids == logits[11:-1].argmax(-1).tolist()
    assert set(one.logprobs) == {0.0}


def test_truncated_sampling_reports_the_truncated_distribution(llama: Path) -> None:
    one = call(1, prompt(3, 12), top_k=1, tokens=6)
    run(scheduler(llama), one)
    assert np.allclose(one.logprobs, 0.0, atol=1e-6)
    for seed in range(5):
        narrow = call(seed, prompt(3, 12), top_p=0.3, tokens=1)
        run(scheduler(llama), narrow)
        full = recomputed(llama, narrow, 1.0)
        assert narrow.logprobs[0] >= full[0]


def test_the_store_forgets_the_least_recently_used(llama: Path) -> None:
    engine = scheduler(llama, store_tokens=100)
    for n in range(1, 6):
        run(engine, call(n, prompt(n, 30), tokens=1))
    assert len(engine.store) == 3
    assert engine.store.get("l1") is None
    assert engine.store.get("l5") is not None


def test_a_step_computes_no_row_without_a_call(llama: Path) -> None:
    engine = scheduler(llama, rows=8)
    calls = [call(n, prompt(n, 10 + n), tokens=3 if n < 5 else 25) for n in range(1, 9)]
    for one in calls:
        engine.add(one)
    moved = False
    while engine.busy:
        before = {one.number: row for row, one in engine.active.items()}
        engine.step()
        moved |= any(before.get(one.number, row) > row for row, one in engine.active.items())
    assert moved  # a long call went down into a row that a short one left
    for one in calls:
        alone = call(one.number, one.prompt.tolist(), tokens=3 if one.number < 5 else 25)
        run(scheduler(llama), alone)
        assert alone.ids == one.ids
        assert np.allclose(alone.logprobs, one.logprobs, atol=1e-4)
