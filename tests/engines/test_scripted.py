"""The engines without a model are deterministic, and the registry imports only what is named."""

from typing import Any

import pytest

from journeyman.engines.base import SampleChunk, SampleRequest
from journeyman.engines.registry import engine_class
from journeyman.engines.scripted import ScriptedEngine, SeededEngine
from journeyman.errors import EngineFailure, UserError
from journeyman.records.episode import Sampling


def _request(**more: Any) -> SampleRequest:
    fields: dict[str, Any] = {"episode": "e", "turn_id": "t", "lineage": "l", "prompt_ids": [3, 4], "seed": 1}
    return SampleRequest(**(fields | {"sampling": Sampling(), "stop_token_ids": (2,)} | more))


async def _read(engine: SeededEngine | ScriptedEngine, request: SampleRequest) -> list[SampleChunk]:
    return [chunk async for chunk in engine.sample(request)]


async def test_a_seeded_engine_repeats_itself_and_ends_with_a_stop_token() -> None:
    engine = SeededEngine(vocabulary=50, tokens=10, chunk=4)
    first = await _read(engine, _request())
    assert first == await _read(engine, _request())
    assert first != await _read(engine, _request(seed=2))
    ids = [i for chunk in first for i in chunk.ids]
    assert (len(ids), ids[-1], first[-1].finish_reason) == (10, 2, "stop")
    assert all(len(c.ids) == len(c.logprobs) == len(c.versions) for c in first)


async def test_max_tokens_cuts_a_turn() -> None:
    chunks = await _read(SeededEngine(vocabulary=50, tokens=10), _request(sampling=Sampling(max_tokens=3)))
    assert (sum(len(c.ids) for c in chunks), chunks[-1].finish_reason) == (3, "length")


async def test_weights_change_the_version_of_later_tokens() -> None:
    engine = SeededEngine(vocabulary=50, tokens=8, chunk=2)
    versions: list[int] = []
    async for chunk in engine.sample(_request()):
        versions += chunk.versions
        if len(versions) == 4:
            await engine.load_weights(None, 3)  # type: ignore[arg-type]
    assert versions == [0, 0, 0, 0, 3, 3, 3, 3]


async def test_a_script_is_asked_with_episode_and_messages() -> None:
    engine = ScriptedEngine(lambda episode, messages: {"content": f"{episode}: {len(messages)}"})
    (chunk,) = await _read(engine, _request(messages=({"role": "user", "content": "a"},)))
    assert chunk.message == {"content": "e: 1"}
    assert engine.identity.needs_messages


async def test_a_script_that_raises_is_an_engine_failure() -> None:
    with pytest.raises(EngineFailure, match="KeyError"):
        await _read(ScriptedEngine(lambda episode, messages: {}[episode]), _request())


def test_engines_are_found_by_name_or_by_module_and_class() -> None:
    assert engine_class("seeded") is engine_class("journeyman.engines.scripted:SeededEngine") is SeededEngine
    with pytest.raises(UserError, match="'vlm' is unknown"):
        engine_class("vlm")
    with pytest.raises(UserError, match="cannot be imported"):
        engine_class("journeyman.engines.scripted:Nothing")
