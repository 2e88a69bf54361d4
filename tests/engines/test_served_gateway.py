"""A gateway in front of SGLang and of vLLM: weights change in the middle of a reply, and the record is exact."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from journeyman.capture.server import Gateway
from journeyman.engines.fakes.server import FakeServer
from journeyman.engines.registry import engine_class
from journeyman.engines.served import ServedEngine
from journeyman.records.episode import EpisodeSpec
from journeyman.records.turn import Turn
from journeyman.store.token_log import read_tokens
from journeyman.tokens.template import TemplateRenderer
from journeyman.tokens.tiny import write_tiny_tokenizer

SPEC = EpisodeSpec(job="j", policy="rl", task="t", group="g", attempt=0)


async def ask(session: aiohttp.ClientSession, url: str, messages: list[Any], stream: bool) -> str:
    """The prose of one reply."""
    body = {"model": "m", "messages": messages, "stream": stream}
    async with session.post(f"{url}/v1/chat/completions", json=body) as answer:
        assert answer.status == 200
        if not stream:
            return str((await answer.json())["choices"][0]["message"]["content"])
        prose = ""
        async for line in answer.content:
            if line.startswith(b"data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    prose += choice["delta"].get("content") or ""
        return prose


@pytest.mark.parametrize("kind", ["sglang", "vllm"])
@pytest.mark.parametrize("stream", [False, True])
async def test_weights_change_within_one_reply_and_every_token_says_which_sampled_it(
    kind: str, stream: bool, tmp_path: Path
) -> None:
    renderer = TemplateRenderer(write_tiny_tokenizer(tmp_path / "tokenizer"))
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "config.json").write_text("{}")
    with FakeServer(kind, tokens=40, chunk=2, seconds=0.4, first=300, vocabulary=400, context=4096) as server:
        engine: ServedEngine = engine_class(kind)(server.url)
        async with engine, Gateway(engine, renderer) as gateway:
            slot = gateway.open(SPEC, tmp_path / "episode", context_tokens=4096)
            headers = {"Authorization": f"Bearer {slot.key}"}
            async with aiohttp.ClientSession(headers=headers) as session:
                messages: list[Any] = [{"role": "user", "content": "hello"}]
                call = asyncio.create_task(ask(session, slot.url, messages, stream))
                await asyncio.sleep(0.2)
                await engine.load_weights(weights, 5)
                prose = await call
                messages += [{"role": "assistant", "content": prose}, {"role": "user", "content": "go on"}]
                await ask(session, slot.url, messages, stream)
            captured = await slot.close()
        assert (captured.turns, captured.segments, captured.trainable, captured.failure) == (2, 1, True, None)
    turns = [Turn.parse(line) for line in (tmp_path / "episode" / "turns.jsonl").read_text().splitlines()]
    arrays = read_tokens(tmp_path / "episode")
    first, second = (arrays.versions[turn.sampled.start : turn.sampled.end].tolist() for turn in turns)
    assert len(first) == len(second) == 40
    assert first == sorted(first)
    assert (set(first), set(second)) == ({0, 5}, {5})
    assert turns[1].prompt_tokens == turns[1].context.end
