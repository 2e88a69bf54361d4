"""A hosted model: messages in and out, nothing that could be trained on, and whatever it said is kept."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from journeyman.capture.server import Gateway
from journeyman.engines.base import SampleRequest
from journeyman.engines.fakes.server import FakeServer
from journeyman.engines.openai import HostedOptions, OpenAIEngine
from journeyman.errors import EngineFailure, UserError
from journeyman.records.episode import EpisodeSpec, Sampling
from journeyman.records.turn import Turn
from journeyman.tokens.template import TemplateRenderer
from journeyman.tokens.tiny import write_tiny_tokenizer

TOOLS = ({"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}},)
USER = {"role": "user", "content": "What does a.txt say?"}


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer("openai") as fake:
        yield fake


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FAKE_KEY", "fake-key")
    return "FAKE_KEY"


def ask(*messages: dict[str, Any], **more: Any) -> SampleRequest:
    fields: dict[str, Any] = {"episode": "e", "turn_id": "t", "lineage": "l", "prompt_ids": [1], "stop_token_ids": ()}
    return SampleRequest(**(fields | {"sampling": Sampling(), "messages": messages, "tools": TOOLS} | more))


def engine(server: FakeServer, key: str, **options: Any) -> OpenAIEngine:
    return OpenAIEngine(f"{server.url}/v1", model="some-model", options=HostedOptions(api_key_env=key, **options))


async def say(hosted: OpenAIEngine, request: SampleRequest) -> dict[str, Any]:
    (chunk,) = [chunk async for chunk in hosted.sample(request)]
    assert chunk.ids == chunk.logprobs == ()
    assert chunk.message is not None
    return chunk.message


async def test_calls_reasoning_and_raw_arguments_are_kept(server: FakeServer, key: str) -> None:
    hosted = engine(server, key, reasoning_field="reasoning_content")
    assert (hosted.identity.token_exact, hosted.identity.needs_messages) == (False, True)
    first = await say(hosted, ask(USER))
    call = {"name": "read", "arguments": {"file_path": "a.txt"}, "raw": '{ "file_path":"a.txt" }'}
    assert first == {"content": "", "reasoning": "I look.", "tool_calls": [call]}
    told = {"role": "tool", "content": "hello", "tool_call_id": "call_0", "name": "read"}
    assert (await say(hosted, ask(USER, {"role": "assistant", **first}, told)))["content"] == "It says: hello"
    await hosted.close()


async def test_malformed_arguments_are_the_policys_and_stay_as_they_were(server: FakeServer, key: str) -> None:
    server.order("bad_arguments")
    (call,) = (await say(engine(server, key), ask(USER)))["tool_calls"]
    assert (call["raw"], call["arguments"]) == ('{"file_path": "a.txt",}', {})
    assert call["invalid"].startswith("arguments are not JSON")


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("http_500", "http_500"),
        ("filtered", "finish_reason"),
        ("silent", "empty_reply"),
        ("truncated_body", "not_json"),
    ],
)
async def test_what_the_provider_breaks_is_a_failure_and_asked_only_once(
    server: FakeServer, key: str, fault: str, cause: str
) -> None:
    before = server.state()["calls"]
    server.order(fault)
    with pytest.raises(EngineFailure) as caught:
        await say(engine(server, key), ask(USER))
    assert caught.value.cause == cause
    assert server.state()["calls"] == before + (fault != "http_500")


async def test_a_rate_limit_is_waited_out(server: FakeServer, key: str) -> None:
    server.order("busy")
    assert (await say(engine(server, key), ask(USER)))["tool_calls"]


async def test_what_chat_completions_cannot_do_is_refused_by_name(server: FakeServer, key: str) -> None:
    hosted = engine(server, key)
    with pytest.raises(EngineFailure, match="top_k"):
        await say(hosted, ask(USER, sampling=Sampling(top_k=5)))
    with pytest.raises(UserError, match="hosted"):
        await hosted.load_weights(Path("weights"), 1)
    with pytest.raises(UserError, match="name of a model"):
        OpenAIEngine(server.url, model="")
    with pytest.raises(UserError, match=r"\$NO_SUCH_KEY is not set"):
        engine(server, "NO_SUCH_KEY")


async def test_a_hosted_episode_is_recorded_and_never_trained_on(server: FakeServer, key: str, tmp_path: Path) -> None:
    renderer = TemplateRenderer(write_tiny_tokenizer(tmp_path / "tokenizer"))
    spec = EpisodeSpec(job="j", policy="hosted", task="t", group="g", attempt=0)
    async with Gateway(engine(server, key), renderer) as gateway:
        slot = gateway.open(spec, tmp_path / "episode", context_tokens=4096)
        headers = {"Authorization": f"Bearer {slot.key}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            body = {"model": "m", "messages": [USER], "tools": list(TOOLS)}
            async with session.post(f"{gateway.url}/v1/chat/completions", json=body) as answer:
                told = await answer.json()
        assert told["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "read"
        await slot.close()
        assert gateway.engine_identity["token_exact"] is False
    (turn,) = map(Turn.parse, (tmp_path / "episode" / "turns.jsonl").read_text().splitlines())
    assert (turn.source, turn.trainable) == ("hosted", False)
