"""The engine as the driver sees it: a process, chunks, versions across a swap, aborts, death as an EngineFailure."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from journeyman.engines.base import SampleChunk, SampleRequest
from journeyman.engines.embedded.client import EmbeddedEngine
from journeyman.errors import EngineFailure, UserError
from journeyman.records.episode import Sampling


def request(number: int, *, tokens: int = 24, lineage: str = "", stop: tuple[int, ...] = ()) -> SampleRequest:
    return SampleRequest(
        episode="e",
        turn_id=f"t{number}",
        lineage=lineage or f"l{number}",
        prompt_ids=[2 + (7 * n + number) % 90 for n in range(10 + number)],
        sampling=Sampling(max_tokens=tokens),
        stop_token_ids=stop,
        seed=number,
    )


async def whole(engine: EmbeddedEngine, one: SampleRequest) -> SampleChunk:
    ids, logprobs, versions, finish = [], [], [], None
    async for chunk in engine.sample(one):
        ids += chunk.ids
        logprobs += chunk.logprobs
        versions += chunk.versions
        finish = chunk.finish_reason
    return SampleChunk(ids=tuple(ids), logprobs=tuple(logprobs), versions=tuple(versions), finish_reason=finish)


async def test_weights_that_are_none_are_one_line_with_their_directory(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "nothing"}')
    with pytest.raises(
        UserError, match=rf"^{tmp_path} holds no model that can be sampled \(.*nothing.*\): give another$"
    ):
        async with EmbeddedEngine(tmp_path):
            raise AssertionError("it started")


async def test_many_calls_a_swap_and_an_abort_in_one_process(llama: Path, other_llama: Path) -> None:
    async with EmbeddedEngine(llama) as engine:
        answers = await asyncio.gather(*(whole(engine, request(n)) for n in range(8)))
        assert all(len(a.ids) == len(a.logprobs) == len(a.versions) == 24 for a in answers)
        assert {a.finish_reason for a in answers} == {"length"}
        assert {v for a in answers for v in a.versions} == {0}
        assert engine.identity.context_tokens == 256

        stream = engine.sample(request(9, tokens=240))
        first = await anext(stream)
        await engine.load_weights(other_llama, 7)
        rest = [chunk async for chunk in stream]
        versions = [v for chunk in (first, *rest) for v in chunk.versions]
        assert len(versions) == 237  # the context ends at 256
        assert versions == sorted(versions)
        assert {versions[0], versions[-1]} == {0, 7}

        aborted = engine.sample(request(10, tokens=240))
        await anext(aborted)
        await aborted.aclose()
        before = (await engine.statistics())["sampled_tokens"]
        await asyncio.sleep(0.05)
        assert (await engine.statistics())["sampled_tokens"] == before

        with pytest.raises(EngineFailure, match="prompt_too_long"):
            await whole(engine, request(300))
        with pytest.raises(EngineFailure, match="weights_unreadable"):
            await engine.load_weights(llama / "absent", 8)
        pid, neighbour = engine.pid, asyncio.create_task(whole(engine, request(11, tokens=200)))
        for wrong in (
            {"seed": -1},
            {"sampling": Sampling(top_p=0.0)},
            {"sampling": Sampling(temperature=-1.0)},
            {"sampling": Sampling(temperature=1e-30)},
            {"prompt_ids": [5, 1 << 20]},
            {"prompt_ids": [-3]},
        ):
            with pytest.raises(EngineFailure, match="bad_request"):
                await whole(engine, request(12).model_copy(update=wrong))
        assert len((await neighbour).ids) == 200
        assert engine.pid == pid
        again = await whole(engine, request(1))
        assert set(again.versions) == {7}


async def test_a_killed_sampler_fails_its_calls_and_comes_back(llama: Path) -> None:
    async with EmbeddedEngine(llama, version=3) as engine:
        stream = engine.sample(request(1, tokens=240))
        await anext(stream)
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGKILL)
        with pytest.raises(EngineFailure, match="sampler_died"):
            async for _ in stream:
                pass
        answer = await whole(engine, request(2))
        assert set(answer.versions) == {3}
    with pytest.raises(EngineFailure, match="closed"):
        await whole(engine, request(3))


def test_a_directory_without_a_model_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"config\.json"):
        EmbeddedEngine(tmp_path)
