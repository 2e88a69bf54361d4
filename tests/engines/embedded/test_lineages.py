"""The embedded engine over a conversation: prefixes are reused at equal versions only, and tokens say their version."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from journeyman.engines.base import SampleRequest
from journeyman.engines.embedded.client import EmbeddedEngine
from journeyman.records.episode import Sampling


def request(
    ids: Sequence[int], lineage: str = "l", *, tokens: int = 12, seed: int = 1, temperature: float = 1.0
) -> SampleRequest:
    return SampleRequest(
        episode="e",
        turn_id="t",
        lineage=lineage,
        prompt_ids=list(ids),
        sampling=Sampling(max_tokens=tokens, temperature=temperature),
        stop_token_ids=(),
        seed=seed,
    )


class Turn:
    """One call's answer, collected."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.versions: list[int] = []


async def sample(engine: EmbeddedEngine, one: SampleRequest) -> Turn:
    turn = Turn()
    async for chunk in engine.sample(one):
        turn.ids += chunk.ids
        turn.logprobs += chunk.logprobs
        turn.versions += chunk.versions
    return turn


def recomputed(path: Path, ids: Sequence[int], sampled: int) -> np.ndarray:
    """Log-probs of the last `sampled` ids by Hugging Face's own forward pass."""
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    with torch.no_grad():
        logprobs = torch.log_softmax(model(input_ids=torch.tensor([list(ids)])).logits[0], -1)
    rows = logprobs[-sampled - 1 : -1]
    return rows.gather(-1, torch.tensor(list(ids)[-sampled:])[:, None])[:, 0].numpy()


async def test_a_conversation_prefills_only_what_is_new_and_forgets_prefixes_at_a_swap(
    llama: Path, other_llama: Path
) -> None:
    async with EmbeddedEngine(llama) as engine:
        prompt = [2 + (7 * n) % 90 for n in range(40)]
        for turn in range(3):
            before = await engine.statistics()
            answer = await sample(engine, request(prompt, seed=turn))
            after = await engine.statistics()
            new = 40 if turn == 0 else 5 + 1  # the tool result, and the last sampled id, which was never fed back
            assert after["prefilled_tokens"] - before["prefilled_tokens"] == new
            assert np.abs(recomputed(llama, [*prompt, *answer.ids], 12) - np.array(answer.logprobs)).max() < 1e-4
            prompt = [*prompt, *answer.ids, *range(50, 55)]

        await engine.load_weights(other_llama, 1)
        before = await engine.statistics()
        answer = await sample(engine, request(prompt))
        after = await engine.statistics()
        assert after["prefilled_tokens"] - before["prefilled_tokens"] == len(prompt)
        assert after["reused_tokens"] == before["reused_tokens"]
        assert set(answer.versions) == {1}
        assert np.abs(recomputed(other_llama, [*prompt, *answer.ids], 12) - np.array(answer.logprobs)).max() < 1e-4


async def test_tokens_after_a_swap_in_flight_are_the_new_weights_on_the_old_cache(
    llama: Path, other_llama: Path
) -> None:
    """A token's log-prob is of the version that sampled it, given the cache that it saw; the call stays open."""
    async with EmbeddedEngine(llama) as engine:
        prompt = [2 + (5 * n) % 90 for n in range(20)]
        call = asyncio.create_task(sample(engine, request(prompt, tokens=220)))
        await asyncio.sleep(0.02)
        await engine.load_weights(other_llama, 4)
        turn = await call
        assert turn.versions == sorted(turn.versions)
        assert set(turn.versions) <= {0, 4}
        old = turn.versions.count(0)
        expected = recomputed(llama, [*prompt, *turn.ids[:old]], old) if old else np.zeros(0)
        assert np.abs(expected - np.array(turn.logprobs[:old])).max(initial=0.0) < 1e-4
        again = await sample(engine, request([*prompt, *turn.ids], tokens=4))
        assert (await engine.statistics())["reused_tokens"] == 0  # a cache of two versions is not a prefix
        assert set(again.versions) == {4}


async def test_greedy_turns_repeat_and_do_not_depend_on_seed_or_company(llama: Path) -> None:
    async with EmbeddedEngine(llama) as engine:
        prompt = [2 + (3 * n) % 90 for n in range(15)]
        alone = await sample(engine, request(prompt, "a", temperature=0.0))
        company = [request([*prompt, n], f"c{n}", seed=n) for n in range(3, 8)]
        again, *_ = await asyncio.gather(
            sample(engine, request(prompt, "b", seed=99, temperature=0.0)), *(sample(engine, one) for one in company)
        )
        assert again.ids == alone.ids
        assert set(again.logprobs) == {0.0}


async def test_a_pause_samples_nothing_until_it_is_over(llama: Path, other_llama: Path) -> None:
    async with EmbeddedEngine(llama) as engine:
        await sample(engine, request([5, 6, 7], "warm", tokens=1))
        await engine.pause()
        call = asyncio.create_task(sample(engine, request(range(2, 22), tokens=30)))
        await asyncio.sleep(0.05)
        before = (await engine.statistics())["sampled_tokens"]
        await engine.load_weights(other_llama, 2)
        await asyncio.sleep(0.05)
        assert (await engine.statistics())["sampled_tokens"] == before
        assert not call.done()
        await engine.resume()
        assert (await call).versions == [2] * 30


@pytest.mark.parametrize("count", [1, 3])
async def test_an_aborted_call_frees_its_row_for_the_next(llama: Path, count: int) -> None:
    async with EmbeddedEngine(llama) as engine:
        streams = [engine.sample(request(range(2, 12 + n), f"l{n}", tokens=200)) for n in range(count)]
        for stream in streams:
            await anext(stream)
            await stream.aclose()
        answer = await sample(engine, request(range(2, 30), tokens=8))
        assert len(answer.ids) == 8
        before = (await engine.statistics())["sampled_tokens"]
        await asyncio.sleep(0.03)
        assert (await engine.statistics())["sampled_tokens"] == before
