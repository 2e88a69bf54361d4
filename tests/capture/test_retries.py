"""Retries sample once, what nobody was told is never trained, and every fault names its layer."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest

from journeyman.capture.server import Gateway
from journeyman.capture.verify import verify_episode
from journeyman.engines.base import SampleChunk, SampleRequest
from journeyman.engines.scripted import ScriptedEngine, SeededEngine
from journeyman.errors import CaptureFailure, EngineFailure
from journeyman.tokens.template import TemplateRenderer

from .conftest import Opener, Place


class BrokenEngine(SeededEngine):
    """Answers with what the test says until it is told to be well again."""

    def __init__(self, chunks: list[SampleChunk | Exception]) -> None:
        super().__init__(vocabulary=400)
        self.chunks: list[SampleChunk | Exception] | None = chunks

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        if self.chunks is None:
            async for chunk in super().sample(request):
                yield chunk
            return
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


async def _raw(place: Place, headers: dict[str, str], messages: list[Any] | None = None) -> dict[str, Any]:
    """A call whose connection the test can drop."""
    headers = {"Authorization": f"Bearer {place.slot.key}", **headers}
    body = {"messages": messages or place.messages}
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{place.slot.url}/v1/chat/completions", json=body, headers=headers) as response:
            answer: dict[str, Any] = await response.json()
            return answer


async def _drop(place: Place, headers: dict[str, str], after: float, messages: list[Any] | None = None) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(after):
            await _raw(place, headers, messages)


NAMED = {"X-Journeyman-Turn": "turn-1"}


async def test_a_retry_of_a_recorded_turn_replays_the_same_tokens_and_one_record(
    opened: Opener, seeded: SeededEngine
) -> None:
    async with opened(seeded) as place:
        first = await _raw(place, NAMED)
        assert await _raw(place, NAMED) == first
        assert seeded.calls == 1
        (turn,) = (await place.sealed()).turns
        assert (turn.turn_id, turn.orphan, turn.trainable) == ("turn-1", False, True)


async def test_a_retry_after_a_dropped_connection_joins_the_call_in_flight(opened: Opener) -> None:
    engine = SeededEngine(vocabulary=400, seconds=0.4)
    async with opened(engine) as place:
        await _drop(place, NAMED, 0.1)
        answer = await _raw(place, NAMED)
        assert answer["x_journeyman"]["turn_id"] == "turn-1"
        assert (engine.calls, engine.cancelled) == (1, 0)
        captured = await place.slot.close()
    assert (captured.turns, captured.orphans, captured.segments) == (1, 0, 1)


async def test_two_clients_asking_for_one_turn_share_one_sample(opened: Opener) -> None:
    engine = SeededEngine(vocabulary=400, seconds=0.1)
    async with opened(engine) as place:
        one, two = await asyncio.gather(_raw(place, NAMED), _raw(place, NAMED))
        assert one == two
        assert engine.calls == 1


async def test_a_turn_id_with_another_body_is_refused(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        await _raw(place, NAMED)
        answer = await _raw(place, NAMED, [{"role": "user", "content": "other"}])
        assert answer["error"]["code"] == "turn_id_reused"


async def test_the_official_clients_own_retry_replays(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        first = await _raw(place, {})
        assert await _raw(place, {"x-stainless-retry-count": "1"}) == first
        assert (seeded.calls, (await place.slot.close()).segments) == (1, 1)


async def test_a_client_that_goes_away_cancels_the_engine_and_leaves_an_orphan(opened: Opener) -> None:
    engine = SeededEngine(vocabulary=400, tokens=64, chunk=4, seconds=1.0)
    async with opened(engine) as place:
        await _drop(place, {}, 0.2)
        await asyncio.sleep(0.05)
        assert engine.cancelled == 1
        await place.ask(max_tokens=4)
        episode = await place.sealed()
    orphan, told = episode.turns
    assert (orphan.orphan, orphan.trainable, orphan.finish_reason) == (True, False, "aborted")
    assert orphan.sampled.end > orphan.sampled.start
    assert (told.orphan, told.trainable) == (False, True)
    assert [s.trainable for s in episode.segments] == [True]
    assert episode.segment_tokens(0, 0).mask.sum() == 4
    assert verify_episode(place.directory) is None


async def test_a_named_turn_nobody_comes_back_for_is_an_orphan(opened: Opener) -> None:
    async with opened(SeededEngine(vocabulary=400, seconds=0.2)) as place:
        await _drop(place, NAMED, 0.05)
        await asyncio.sleep(0.4)  # it is sampled to its end, and told to no one
        await place.ask(headers={"X-Journeyman-Turn": "turn-2"})
        episode = await place.sealed()
    assert [(t.turn_id, t.orphan) for t in episode.turns] == [("turn-1", True), ("turn-2", False)]
    assert [(s.index, s.trainable) for s in episode.segments] == [(0, True)]
    assert verify_episode(place.directory) is None


async def test_a_named_turn_is_given_up_when_its_run_moves_on(opened: Opener) -> None:
    engine = SeededEngine(vocabulary=400, seconds=0.5)
    async with opened(engine) as place:
        await _drop(place, NAMED, 0.1)
        await place.ask(headers={"X-Journeyman-Turn": "turn-2"})
        assert engine.cancelled == 1
        captured = await place.slot.close()
    assert (captured.turns, captured.segments, captured.trainable) == (1, 1, True)


async def test_an_untold_last_turn_is_an_orphan_at_the_close(opened: Opener) -> None:
    async with opened(SeededEngine(vocabulary=400, seconds=0.1)) as place:
        await place.ask()
        place.tell("more")
        await _drop(place, NAMED, 0.05)
        await asyncio.sleep(0.2)
        episode = await place.sealed()
    assert [t.orphan for t in episode.turns] == [False, True]
    assert episode.segment_tokens(0, 0).mask.sum() == 64
    assert verify_episode(place.directory) is None


async def test_nothing_lands_after_the_close(opened: Opener) -> None:
    engine = SeededEngine(vocabulary=400, seconds=1.0)
    async with opened(engine) as place:
        call = asyncio.create_task(_raw(place, NAMED))
        await asyncio.sleep(0.2)
        captured = await place.slot.close()
        size = (place.directory / "tokens.i32").stat().st_size
        assert (await call)["error"]["code"] == "engine.aborted"
        assert (captured.turns, engine.cancelled) == (0, 1)
        await asyncio.sleep(0.1)
        assert (place.directory / "tokens.i32").stat().st_size == size
        assert await place.slot.close() is captured


@pytest.mark.parametrize("stream", [False, True])
async def test_an_engine_that_raises_is_an_engine_failure(opened: Opener, stream: bool) -> None:
    engine = BrokenEngine(
        [SampleChunk(ids=(5, 6), logprobs=(-1.0, -1.0), versions=(0, 0)), RuntimeError("out of memory")]
    )
    async with opened(engine) as place:
        if stream:
            with pytest.raises(openai.APIError, match="out of memory"):
                async for _ in await place.ask(stream=True):
                    pass
        else:
            with pytest.raises(openai.InternalServerError) as caught:
                await place.ask()
            assert (caught.value.status_code, caught.value.code) == (502, "engine.RuntimeError")
        assert isinstance(place.slot.failure, EngineFailure)
        engine.chunks = None
        await place.ask()
        captured = await place.slot.close()
    assert (captured.turns, captured.orphans, captured.segments) == (1, 1, 1)
    assert captured.failure is place.slot.failure
    assert not captured.trainable


@pytest.mark.parametrize(
    ("chunk", "cause"),
    [
        (SampleChunk(ids=(5,), logprobs=(), versions=(0,), finish_reason="stop"), "token_data"),
        (SampleChunk(ids=(5,), logprobs=(float("nan"),), versions=(0,), finish_reason="stop"), "token_data"),
        (SampleChunk(ids=(5,), logprobs=(float("-inf"),), versions=(0,), finish_reason="stop"), "token_data"),
        (SampleChunk(ids=(5,), logprobs=(-1.0,), versions=(0,)), "no_finish_reason"),
        (SampleChunk(finish_reason="stop"), "empty_reply"),
        (SampleChunk(ids=(5,), logprobs=(-1.0,), versions=(0,), finish_reason="aborted"), "aborted"),
    ],
)
async def test_unusable_token_data_is_an_engine_failure_and_not_on_record_as_a_turn(
    opened: Opener, chunk: SampleChunk, cause: str
) -> None:
    async with opened(BrokenEngine([chunk])) as place:
        with pytest.raises(openai.InternalServerError) as caught:
            await place.ask()
        assert caught.value.code == f"engine.{cause}"
        assert (await place.slot.close()).turns == 0


async def test_an_engine_that_never_answers_is_an_engine_failure(opened: Opener) -> None:
    async with opened(SeededEngine(vocabulary=400, seconds=60), engine_seconds=0.1) as place:
        with pytest.raises(openai.InternalServerError) as caught:
            await place.ask()
        assert caught.value.code == "engine.TimeoutError"


async def test_a_script_that_raises_is_an_engine_failure(opened: Opener) -> None:
    async with opened(ScriptedEngine(lambda episode, messages: {}[episode])) as place:
        with pytest.raises(openai.InternalServerError):
            await place.ask()
        assert isinstance(place.slot.failure, EngineFailure)


async def test_a_stream_that_waits_sends_heartbeats(opened: Opener) -> None:
    async with opened(SeededEngine(vocabulary=400, tokens=4, seconds=0.3), heartbeat_seconds=0.1) as place:
        headers = {"Authorization": f"Bearer {place.slot.key}"}
        body = {"messages": place.messages, "stream": True}
        async with aiohttp.ClientSession() as session:
            async with session.post(f"{place.slot.url}/chat/completions", json=body, headers=headers) as response:
                text = await response.text()
    assert ": waiting" in text
    assert text.endswith("data: [DONE]\n\n")


async def test_a_prompt_that_is_not_an_append_is_a_capture_failure(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        await place.ask()
        (run,) = place.slot._runs.values()
        run.lineages[0].ids[3] += 1  # a bit of memory flips
        place.tell("more")
        with pytest.raises(openai.InternalServerError) as caught:
            await place.ask()
        assert caught.value.code == "capture.append_invariant"
        assert isinstance(place.slot.failure, CaptureFailure)
        captured = await place.slot.close()
    assert (captured.turns, captured.trainable) == (1, False)


async def test_a_gateway_that_stops_ends_its_episodes(
    renderer: TemplateRenderer, opened: Opener, seeded: SeededEngine, tmp_path: Path
) -> None:
    async with opened(seeded) as place:
        await place.ask()
        await place.gateway.close()
        with pytest.raises(openai.APIConnectionError):
            await place.ask()
        with pytest.raises(CaptureFailure, match="gateway_down"):
            place.gateway.open(place.spec, tmp_path / "x", 100)
        assert (await place.slot.close()).turns == 1
    with pytest.raises(CaptureFailure, match="gateway_down"):
        Gateway(seeded, renderer).open(place.spec, tmp_path / "y", 100)


@pytest.mark.parametrize("turns", [0, 2])
async def test_a_streaming_client_that_hangs_up_at_once_spoils_nothing(opened: Opener, turns: int) -> None:
    """Its call may be cancelled before it took its first step."""
    async with opened(SeededEngine(vocabulary=400, seconds=0.01)) as place:
        for _ in range(turns):
            await place.ask()
            place.tell("go on")
        body = json.dumps({"messages": place.messages, "stream": True}).encode()
        head = f"Host: x\r\nAuthorization: Bearer {place.slot.key}\r\nContent-Length: {len(body)}\r\n\r\n"
        host, port = place.slot.url.removeprefix("http://").split(":")
        for _ in range(12):
            _, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"POST /v1/chat/completions HTTP/1.1\r\n{head}".encode() + body)
            writer.transport.abort() if turns else writer.close()
            await asyncio.sleep(0.01)
        await place.ask()
        sealed = await place.sealed()
    assert verify_episode(place.directory) is None
    assert [(s.index, s.trainable) for s in sealed.segments] == [(0, True)]
    assert sum(not turn.orphan for turn in sealed.turns) == turns + 1


async def test_a_call_that_the_close_cut_off_takes_nothing_from_the_episode(opened: Opener) -> None:
    async with opened(SeededEngine(vocabulary=400, seconds=0.2)) as place:
        await place.ask()
        place.tell("go on")
        late = asyncio.create_task(_raw(place, {}, place.messages))
        await asyncio.sleep(0.1)
        captured = await place.slot.close()
        assert (await late)["error"]["code"] == "engine.aborted"
    assert (captured.failure, captured.trainable, captured.turns) == (None, True, 1)
