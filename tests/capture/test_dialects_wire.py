"""Errors, waits, retries and refusals, each in its dialect's own shape, as the official clients meet them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import openai
import pytest

from journeyman.engines.base import EngineIdentity, SampleChunk, SampleRequest
from journeyman.engines.scripted import SeededEngine
from journeyman.tokens.template import TemplateRenderer

from .speakers import SCHEMA, SPEAKERS, Room, replies, room

DIALECTS = [speaker.name for speaker in SPEAKERS]
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
HISTORY = {"chat": "messages", "responses": "input", "messages": "messages"}
HELLO = [{"role": "user", "content": "hello"}]


class BreakingEngine(SeededEngine):
    """Samples three tokens, then runs out of memory."""

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        yield SampleChunk(ids=(70, 71, 72), logprobs=(-1.0,) * 3, versions=(0,) * 3)
        raise RuntimeError("out of memory")


async def _post(
    place: Room, dialect: str, body: dict[str, Any], headers: dict[str, str] | None = None, path: str = ""
) -> tuple[int, str]:
    """A raw call; `hello` where the body has no history."""
    body = {"model": "policy", HISTORY[dialect]: HELLO, **body}
    headers = {"Authorization": f"Bearer {place.slot.key}", **(headers or {})}
    async with aiohttp.ClientSession() as session:
        async with session.post(place.slot.url + (path or PATHS[dialect]), json=body, headers=headers) as response:
            return response.status, await response.text()


# -- streams that wait, break, or lose their client


@pytest.mark.parametrize(
    ("dialect", "beat"), [("chat", ": waiting"), ("responses", "in_progress"), ("messages", "ping")]
)
async def test_a_stream_that_waits_sends_what_its_clients_count_as_life(
    tmp_path: Path, renderer: TemplateRenderer, dialect: str, beat: str
) -> None:
    engine = SeededEngine(vocabulary=400, tokens=4, seconds=0.8)
    async with room(tmp_path, engine, renderer, heartbeat_seconds=0.1) as place:
        async with place.speaker(dialect) as speaker:
            speaker.hear("hello")
            assert (await speaker.ask(stream=True)).completion_tokens == 4
        _, text = await _post(place, dialect, {"stream": True, HISTORY[dialect]: [{"role": "user", "content": "b"}]})
    lines = [line for line in text.splitlines() if not line.startswith("data:")]
    assert sum(beat in line for line in lines) >= 2


async def test_a_chat_stream_that_breaks_ends_in_an_error_object(tmp_path: Path, renderer: TemplateRenderer) -> None:
    async with room(tmp_path, BreakingEngine(vocabulary=400), renderer) as place, place.speaker("chat") as speaker:
        speaker.hear("hello")
        with pytest.raises(openai.APIError, match="out of memory") as caught:
            await speaker.ask(stream=True)
        assert caught.value.code == "engine.RuntimeError"


async def test_a_responses_stream_that_breaks_ends_in_response_failed(
    tmp_path: Path, renderer: TemplateRenderer
) -> None:
    async with room(tmp_path, BreakingEngine(vocabulary=400), renderer) as place, place.speaker("responses") as speaker:
        stream = await speaker.client.responses.create(model="m", input="hello", stream=True)
        events = [event async for event in stream]
    assert events[-1].type == "response.failed"
    assert (events[-1].response.status, events[-1].response.error.code) == ("failed", "engine.RuntimeError")
    assert [event.sequence_number for event in events] == list(range(len(events)))


async def test_a_messages_stream_that_breaks_ends_in_an_error_event(tmp_path: Path, renderer: TemplateRenderer) -> None:
    async with room(tmp_path, BreakingEngine(vocabulary=400), renderer) as place, place.speaker("messages") as speaker:
        speaker.hear("hello")
        with pytest.raises(anthropic.APIStatusError, match="out of memory") as caught:
            await speaker.ask(stream=True)
        assert caught.value.body["error"]["type"] == "api_error"  # type: ignore[index]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_failure_before_the_stream_is_a_502_that_is_not_tried_again(
    tmp_path: Path, renderer: TemplateRenderer, dialect: str
) -> None:
    async with room(tmp_path, BreakingEngine(vocabulary=400), renderer) as place, place.speaker(dialect) as speaker:
        speaker.hear("hello")
        with pytest.raises((openai.InternalServerError, anthropic.InternalServerError)) as caught:
            await speaker.ask()
        assert caught.value.status_code == 502
        assert caught.value.response.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_client_that_hangs_up_in_mid_stream_cancels_the_engine(
    tmp_path: Path, renderer: TemplateRenderer, dialect: str
) -> None:
    engine = SeededEngine(vocabulary=400, tokens=64, chunk=2, seconds=0.9)
    async with room(tmp_path, engine, renderer) as place:
        async with place.speaker(dialect) as speaker:
            speaker.hear("hello")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await speaker.ask(stream=True)
        await asyncio.sleep(0.1)
        assert (engine.calls, engine.cancelled) == (1, 1)
        async with place.speaker(dialect) as speaker:
            speaker.hear("hello")
            limit = {"responses": "max_output_tokens"}.get(dialect, "max_tokens")
            await speaker.ask(stream=True, **{limit: 2})
        episode = await place.sealed()
    assert [(t.orphan, t.trainable) for t in episode.turns] == [(True, False), (False, True)]
    assert [s.trainable for s in episode.segments] == [True]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_retry_replays_the_recorded_turn(
    tmp_path: Path, renderer: TemplateRenderer, dialect: str, stream: bool
) -> None:
    engine = SeededEngine(vocabulary=400, text=replies(renderer, "hello", "other"))
    async with room(tmp_path, engine, renderer) as place:
        body = {"stream": stream}
        first = await _post(place, dialect, body)
        assert first[0] == 200
        again = await _post(place, dialect, body, {"x-stainless-retry-count": "1"})
        assert (again[1].count("hello") > 0, engine.calls) == (True, 1)
        assert stream or again == first
        captured = await place.slot.close()
    assert (captured.turns, captured.segments, captured.trainable) == (1, 1, True)


# -- keys and errors


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_wrong_key_is_the_dialects_own_authentication_error(
    tmp_path: Path, renderer: TemplateRenderer, seeded: SeededEngine, dialect: str
) -> None:
    async with room(tmp_path, seeded, renderer) as place:
        async with place.speaker(dialect) as speaker:
            speaker.client.api_key = "jm-guess"
            speaker.hear("hello")
            with pytest.raises((openai.AuthenticationError, anthropic.AuthenticationError)):
                await speaker.ask()
        assert (await place.slot.close()).turns == 0


async def test_a_prompt_that_is_too_long_says_so_in_the_words_each_client_knows(
    tmp_path: Path, renderer: TemplateRenderer, seeded: SeededEngine
) -> None:
    async with room(tmp_path, seeded, renderer, context_tokens=60) as place:
        for dialect in DIALECTS:
            async with place.speaker(dialect) as speaker:
                speaker.hear("hello " * 80)
                with pytest.raises((openai.BadRequestError, anthropic.BadRequestError)) as caught:
                    await speaker.ask()
                if dialect == "messages":
                    assert "prompt is too long" in str(caught.value)
                else:
                    assert caught.value.code == "context_length_exceeded"  # type: ignore[union-attr]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_every_client_can_list_the_one_model(
    tmp_path: Path, renderer: TemplateRenderer, seeded: SeededEngine, dialect: str
) -> None:
    async with room(tmp_path, seeded, renderer) as place, place.speaker(dialect) as speaker:
        assert [model.id async for model in await speaker.client.models.list()] == ["seeded"]


# -- every parameter is honoured, harmless, or refused by name

TOOL = {"type": "function", "name": "f", "parameters": SCHEMA, "strict": False}
CHAT_TOOL = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
INPUT_TOOL = {"name": "f", "input_schema": SCHEMA}
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    *[
        (dialect, body, next(iter(body)))
        for dialect in DIALECTS
        for body in (
            {"brand_new_knob": 1},
            {"temperature": "hot"},
            {"top_p": 1.5},
            {"seed": 1.5},
            {"stream": "yes"},
            {HISTORY[dialect]: []},
            {HISTORY[dialect]: [*HELLO, {"role": "tool_master", "content": "x"}]},
            {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
            {HISTORY[dialect]: [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
        )
    ],
    ("chat", {"stop": ["x"]}, "stop"),
    ("chat", {"n": 2}, "n"),
    ("chat", {"verbosity": "low"}, "verbosity"),
    ("chat", {"reasoning_effort": "high"}, "reasoning_effort"),
    ("chat", {"max_completion_tokens": 0}, "max_completion_tokens"),
    ("chat", {"tool_choice": "required"}, "tool_choice"),
    ("chat", {"response_format": {"type": "json_object"}}, "response_format"),
    ("chat", {"response_format": {"type": "grammar"}}, "response_format"),
    ("chat", {"tools": [{"type": "function", "function": {"name": "f", "strict": True}}]}, "tools"),
    ("chat", {"stream_options": {"include_obfuscation": True}}, "stream_options"),
    ("responses", {"max_output_tokens": 0}, "max_output_tokens"),
    ("responses", {"background": True}, "background"),
    ("responses", {"conversation": "conv_1"}, "conversation"),
    ("responses", {"truncation": "auto"}, "truncation"),
    ("responses", {"max_tool_calls": 3}, "max_tool_calls"),
    ("chat", {"parallel_tool_calls": False, "tools": [CHAT_TOOL]}, "parallel_tool_calls"),
    ("responses", {"parallel_tool_calls": False, "tools": [TOOL]}, "parallel_tool_calls"),
    ("responses", {"reasoning": {"effort": "high"}}, "reasoning"),
    ("responses", {"text": {"format": {"type": "json_schema", "name": "x", "schema": {}}}}, "text"),
    ("responses", {"text": {"verbosity": "low"}}, "text"),
    ("responses", {"include": ["message.output_text.logprobs"]}, "include"),
    ("responses", {"tools": [{"type": "web_search"}]}, "tools"),
    ("responses", {"tools": [{"type": "function", "name": "f", "parameters": {}, "strict": True}]}, "tools"),
    ("responses", {"tool_choice": {"type": "function", "name": "f"}}, "tool_choice"),
    ("responses", {"previous_response_id": "resp_unheard"}, "previous_response_id"),
    ("responses", {"input": [{"type": "item_reference", "id": "x"}]}, "input"),
    ("messages", {"system": [{"type": "image"}]}, "system"),
    ("messages", {"max_tokens": 0}, "max_tokens"),
    ("messages", {"stop_sequences": ["x"]}, "stop_sequences"),
    ("messages", {"speed": "fast"}, "speed"),
    ("messages", {"thinking": {"type": "enabled", "budget_tokens": 2000}}, "thinking"),
    ("messages", {"output_config": {"effort": "high"}}, "output_config"),
    ("messages", {"output_config": {"format": {"type": "json_schema", "schema": {}}}}, "output_config"),
    ("messages", {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}, "context_management"),
    ("messages", {"tool_choice": "any"}, "tool_choice"),
    (
        "messages",
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}, "tools": [INPUT_TOOL]},
        "tool_choice",
    ),
    ("messages", {"tools": [{"name": "f", "input_schema": {}, "strict": True}]}, "tools"),
    ("messages", {"tools": [{"name": "f", "input_schema": {}, "defer_loading": True}]}, "tools"),
    ("messages", {"mcp_servers": [{"type": "url", "url": "http://x"}]}, "mcp_servers"),
]


@pytest.mark.parametrize(
    ("dialect", "body", "param"), REFUSED, ids=[f"{d}-{p}-{i}" for i, (d, _, p) in enumerate(REFUSED)]
)
async def test_what_cannot_be_honoured_is_refused_by_name(
    tmp_path: Path, renderer: TemplateRenderer, seeded: SeededEngine, dialect: str, body: dict[str, Any], param: str
) -> None:
    async with room(tmp_path, seeded, renderer) as place, aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {place.slot.key}"}
        asked = {"model": "policy", HISTORY[dialect]: HELLO, **body}
        async with session.post(place.slot.url + PATHS[dialect], json=asked, headers=headers) as response:
            error = (await response.json())["error"]
        assert (response.status, error["param"]) == (400, param)
        assert param in error["message"]
        assert seeded.calls == 0
        assert (await place.slot.close()).segments == 0


HARMLESS: dict[str, dict[str, Any]] = {
    "chat": {"user": "u", "metadata": {"a": "b"}, "store": True, "service_tier": "flex", "prompt_cache_key": "k"},
    "responses": {
        **{"user": "u", "metadata": {"a": "b"}, "store": False, "prompt_cache_key": "k", "truncation": "disabled"},
        **{
            "reasoning": {"summary": "auto"},
            "text": {"format": {"type": "text"}},
            "include": ["reasoning.encrypted_content"],
        },
        **{"client_metadata": {"turn": "1"}, "tool_choice": "none", "parallel_tool_calls": False},
    },
    "messages": {
        **{"metadata": {"user_id": "u"}, "service_tier": "auto", "stop_sequences": [], "tool_choice": {"type": "none"}},
        **{"thinking": {"type": "adaptive", "display": "omitted"}, "cache_control": {"type": "ephemeral"}},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    },
}


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_changes_nothing_sampled_is_accepted_and_numbers_are_on_record(
    tmp_path: Path, renderer: TemplateRenderer, seeded: SeededEngine, dialect: str
) -> None:
    limit = {"responses": "max_output_tokens"}.get(dialect, "max_tokens")
    numbers = {"temperature": 0.5, "top_p": 0.9, "top_k": 5, "seed": 11, limit: 7}
    async with room(tmp_path, seeded, renderer) as place:
        status, _ = await _post(place, dialect, {**HARMLESS[dialect], **numbers})
        assert status == 200
        (turn,) = (await place.sealed()).turns
    assert turn.request == {"temperature": 0.5, "top_p": 0.9, "top_k": 5, "max_tokens": 7, "seed": 11}


# -- structured output, where the engine has it


class GrammarEngine(SeededEngine):
    """An engine that can sample under a schema, and remembers which it was asked for."""

    def __init__(self, text: Any) -> None:
        super().__init__(vocabulary=400, text=text)
        self.identity = EngineIdentity(kind="seeded", model="seeded", token_exact=True, grammar=True)
        self.asked: list[Any] = []

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        self.asked.append(request.json_schema)
        async for chunk in super().sample(request):
            yield chunk


async def test_a_schema_reaches_an_engine_that_samples_under_it(tmp_path: Path, renderer: TemplateRenderer) -> None:
    engine = GrammarEngine(replies(renderer, '{"file_path": "a"}'))
    wanted: list[tuple[str, dict[str, Any]]] = [
        ("chat", {"response_format": {"type": "json_object"}}),
        ("chat", {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}}),
        ("responses", {"text": {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}}}),
        ("messages", {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    ]
    async with room(tmp_path, engine, renderer) as place:
        for dialect, body in wanted:
            async with place.speaker(dialect, tools=()) as speaker:
                speaker.hear(f"{dialect} {len(engine.asked)}")
                assert (await speaker.ask(**body)).text == '{"file_path": "a"}'
    assert engine.asked == [{"type": "object"}, SCHEMA, SCHEMA, SCHEMA]
