"""Chat Completions as the official client speaks it, streaming and not, and what is on record afterwards."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import openai
import pytest

from journeyman.capture.server import Gateway
from journeyman.capture.verify import verify_episode
from journeyman.engines.scripted import ScriptedEngine, SeededEngine
from journeyman.errors import CaptureFailure, UserError
from journeyman.records.episode import EpisodeSpec
from journeyman.tokens.template import TemplateRenderer

from .conftest import TOOLS, Opener, says


async def test_a_conversation_is_one_segment_whose_ids_are_what_the_model_saw(
    opened: Opener, renderer: TemplateRenderer
) -> None:
    prompts: list[list[int]] = []

    def text(request: Any) -> list[int]:
        prompts.append(list(request.prompt_ids))
        return [*range(100 + len(prompts), 110), renderer.stop_token_ids[0]]

    async with opened(SeededEngine(vocabulary=400, text=text)) as place:
        for i in range(4):
            await place.ask()
            place.tell(f"more {i}")
        episode = await place.sealed()
    tokens = episode.segment_tokens(0, 0)
    for turn, prompt in zip(episode.turns, prompts, strict=True):
        assert tokens.ids[: turn.prompt_tokens].tolist() == prompt
    sampled = tokens.mask.astype(bool)
    assert np.isfinite(tokens.logprobs[sampled]).all()
    assert (tokens.versions[sampled] == 0).all()
    assert np.isnan(tokens.logprobs[~sampled]).all()
    assert [t.trainable for t in episode.turns] == [True] * 4
    assert len(episode.segments) == len(episode.runs) == 1
    assert verify_episode(place.directory) is None


async def test_ids_that_are_not_the_canonical_encoding_stay_as_sampled(
    opened: Opener, renderer: TemplateRenderer
) -> None:
    split = [i for letter in "hello" for i in renderer.encoder.encode(letter)]
    assert split != renderer.encoder.encode("hello")
    stop = renderer.stop_token_ids[0]
    async with opened(SeededEngine(vocabulary=400, text=lambda _: [*split, stop])) as place:
        assert (await place.ask()).choices[0].message.content == "hello"
        place.tell("again")
        await place.ask()
        episode = await place.sealed()
    ids = episode.segment_tokens(0, 0).ids.tolist()
    second = episode.turns[1]
    before = ids[: second.prompt_tokens]
    assert before[episode.turns[0].prompt_tokens :][: len(split) + 1] == [*split, stop]


async def test_streamed_and_whole_replies_are_the_same_message_and_record(
    opened: Opener, renderer: TemplateRenderer
) -> None:
    said = 'hello the report\n<tool_call>\n{"name": "read", "arguments": {"b": 1,  "a": "x"}}\n</tool_call>'
    answers = []
    for stream in (False, True):
        async with opened(SeededEngine(vocabulary=400, chunk=2, text=says(renderer, said))) as place:
            if not stream:
                message = (await place.ask(tools=TOOLS)).choices[0].message
                answers.append((message.content, message.tool_calls[0].function.arguments))
            else:
                chunks = [
                    c async for c in await place.ask(tools=TOOLS, stream=True, stream_options={"include_usage": True})
                ]
                deltas = [c.choices[0].delta for c in chunks if c.choices]
                content = [d.content for d in deltas if d.content]
                assert len(content) > 1  # it came as it was sampled
                (call,) = [c for d in deltas for c in d.tool_calls or ()]
                answers.append(("".join(content), call.function.arguments))
                assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "tool_calls"
                assert chunks[-1].usage.completion_tokens > 0
            (turn,) = (await place.sealed()).turns
            assert turn.message["tool_calls"][0]["raw"] == '{"b": 1,  "a": "x"}'
        place.directory.rename(place.directory.with_name(f"kept-{stream}"))
    assert answers == [("hello the report", '{"b": 1,  "a": "x"}')] * 2


async def test_parallel_calls_and_their_results_stay_one_segment(opened: Opener, renderer: TemplateRenderer) -> None:
    call = '<tool_call>\n{"name": "read", "arguments": {"file_path": "%s"}}\n</tool_call>'
    said = says(renderer, "\n".join([call % "a", call % "b"]), "done")
    async with opened(SeededEngine(vocabulary=400, text=said)) as place:
        calls = (await place.ask(tools=TOOLS)).choices[0].message.tool_calls
        assert len({c.id for c in calls}) == 2
        place.messages += [{"role": "tool", "content": c.function.arguments, "tool_call_id": c.id} for c in calls]
        assert (await place.ask(tools=TOOLS)).choices[0].message.content == "done"
        episode = await place.sealed()
    full = renderer.start(
        [
            {"role": "user", "content": "hello"},
            episode.turns[0].message,
            *episode.turns[1].new_messages,
        ],
        TOOLS,
    )
    assert episode.segment_tokens(0, 0).ids[: episode.turns[1].prompt_tokens].tolist() == full
    assert [m["name"] for m in episode.turns[1].new_messages] == ["read", "read"]


async def test_a_malformed_call_can_be_answered_and_is_counted(opened: Opener, renderer: TemplateRenderer) -> None:
    said = says(renderer, '<tool_call>\n{"name": "read", oops\n</tool_call>', "sorry")
    async with opened(SeededEngine(vocabulary=400, text=said)) as place:
        answer = await place.ask(tools=TOOLS)
        (invalid,) = answer.model_extra["x_journeyman"]["invalid"]
        (call,) = answer.choices[0].message.tool_calls
        assert (invalid["id"], invalid["raw"], call.function.arguments) == (
            call.id,
            '{"name": "read", oops',
            invalid["raw"],
        )
        place.messages.append({"role": "tool", "content": "not JSON", "tool_call_id": call.id})
        await place.ask(tools=TOOLS)
        captured = await place.slot.close()
    assert (captured.invalid_calls, captured.tool_calls, captured.segments) == (1, 1, 1)


async def test_a_turn_cut_by_length_is_closed_by_the_templates_marker_unmasked(
    opened: Opener, renderer: TemplateRenderer
) -> None:
    async with opened(SeededEngine(vocabulary=400, tokens=50)) as place:
        answer = await place.ask(max_tokens=10)
        assert (answer.choices[0].finish_reason, answer.usage.completion_tokens) == ("length", 10)
        place.tell("go on")
        await place.ask(max_completion_tokens=5)
        episode = await place.sealed()
    first = episode.turns[0]
    tokens = episode.segment_tokens(0, 0)
    at = first.prompt_tokens + 10
    assert (tokens.ids[at], tokens.mask[at - 1], tokens.mask[at]) == (renderer.stop_token_ids[0], 1, 0)
    assert episode.turns[1].request["max_tokens"] == 5
    assert verify_episode(place.directory) is None


async def test_a_scripted_expert_is_recorded_as_scripted(opened: Opener, renderer: TemplateRenderer) -> None:
    seen: list[Any] = []

    def script(episode: str, messages: Any) -> dict[str, Any]:
        seen.append((episode, [m["role"] for m in messages]))
        if len(messages) == 1:
            return {"content": "", "tool_calls": [{"name": "write", "arguments": {"content": "a <|im_end|> b"}}]}
        return {"content": "Done."}

    async with opened(ScriptedEngine(script)) as place:
        call = (await place.ask(tools=TOOLS)).choices[0].message.tool_calls[0]
        assert json.loads(call.function.arguments) == {"content": "a <|im_end|> b"}
        place.messages.append({"role": "tool", "content": "ok", "tool_call_id": call.id})
        assert (await place.ask(tools=TOOLS)).choices[0].message.content == "Done."
        episode = await place.sealed()
    assert seen == [(place.spec.id, ["user"]), (place.spec.id, ["user", "assistant", "tool"])]
    assert {t.source for t in episode.turns} == {"scripted"}
    assert verify_episode(place.directory) is None


async def test_the_turn_is_on_record_before_the_reply_ends(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        answer = await place.ask()
        line = json.loads((place.directory / "turns.jsonl").read_bytes().splitlines()[0])
        assert line["turn_id"] == answer.model_extra["x_journeyman"]["turn_id"]
        tokens = (place.directory / "tokens.i32").stat().st_size // 4
        assert tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"stop": ["x"]}, "stop"),
        ({"n": 2}, "n"),
        ({"presence_penalty": 0.5}, "presence_penalty"),
        ({"frequency_penalty": 1}, "frequency_penalty"),
        ({"min_p": 0.1}, "min_p"),
        ({"logit_bias": {"5": 1}}, "logit_bias"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"logprobs": True}, "logprobs"),
        ({"brand_new_knob": 1}, "brand_new_knob"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_p": 1.5}, "top_p"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"seed": 1.5}, "seed"),
    ],
)
async def test_what_cannot_be_honoured_is_refused_by_name(
    opened: Opener, seeded: SeededEngine, body: dict[str, Any], param: str
) -> None:
    async with opened(seeded) as place:
        with pytest.raises(openai.BadRequestError) as caught:
            await place.ask(extra_body=body)
        assert caught.value.param == param
        assert param in str(caught.value)
        assert seeded.calls == 0


async def test_what_is_honoured_is_on_record(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        await place.ask(
            temperature=0.5, top_p=0.9, max_tokens=7, seed=11, n=1, presence_penalty=0, extra_body={"top_k": 5}
        )
        (turn,) = (await place.sealed()).turns
    assert turn.request == {"temperature": 0.5, "top_p": 0.9, "top_k": 5, "max_tokens": 7, "seed": 11}


async def test_a_prompt_that_fills_the_window_is_refused_and_leaves_no_segment(
    opened: Opener, seeded: SeededEngine
) -> None:
    async with opened(seeded, context_tokens=60) as place:
        with pytest.raises(openai.BadRequestError) as caught:
            await place.ask([{"role": "user", "content": "hello " * 80}])
        assert caught.value.code == "context_length_exceeded"
        answer = await place.ask(max_tokens=500)
        ours = answer.model_extra["x_journeyman"]
        assert ours["context_tokens"] == answer.usage.total_tokens <= ours["window_tokens"] == 60
        assert (await place.slot.close()).segments == 1


async def test_a_key_reaches_its_own_episode_only(opened: Opener, seeded: SeededEngine, tmp_path: Path) -> None:
    async with opened(seeded) as place:
        other = place.gateway.open(
            EpisodeSpec(job="j", policy="p", task="u", group="g", attempt=0), tmp_path / "o", 4096
        )
        await place.ask()
        with pytest.raises(openai.AuthenticationError):
            async with openai.AsyncOpenAI(base_url=f"{place.slot.url}/v1", api_key="jm-guess", max_retries=0) as client:
                await client.chat.completions.create(model="m", messages=place.messages)  # type: ignore[arg-type]
        assert (await other.close()).turns == 0
        assert (await place.slot.close()).turns == 1
        with pytest.raises(openai.AuthenticationError):
            await place.ask([{"role": "user", "content": "too late"}])


async def test_bodies_are_bounded(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded, max_body_bytes=2000) as place:
        with pytest.raises(openai.APIStatusError) as caught:
            await place.ask([{"role": "user", "content": "x" * 3000}])
        assert caught.value.status_code == 413


async def test_only_loopback_is_listened_on(renderer: TemplateRenderer, seeded: SeededEngine) -> None:
    with pytest.raises(UserError, match="loopback"):
        Gateway(seeded, renderer, host="0.0.0.0")


async def test_a_unix_socket_serves_the_same(renderer: TemplateRenderer, seeded: SeededEngine, tmp_path: Path) -> None:
    async with Gateway(seeded, renderer, socket_dir=tmp_path) as gateway:
        slot = gateway.open(EpisodeSpec(job="j", policy="p", task="t", group="g", attempt=0), tmp_path / "e", 4096)
        assert slot.url == f"unix:{tmp_path / 'gateway.sock'}"
        connector = aiohttp.UnixConnector(path=slot.url.removeprefix("unix:"))
        async with aiohttp.ClientSession(connector=connector) as session:
            body = {"messages": [{"role": "user", "content": "a"}]}
            headers = {"Authorization": f"Bearer {slot.key}"}
            async with session.post("http://gateway/chat/completions", json=body, headers=headers) as response:
                assert response.status == 200
    assert not (tmp_path / "gateway.sock").exists()


async def test_a_directory_with_turns_is_not_recorded_into_again(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        await place.ask()
        await place.slot.close()
        with pytest.raises(CaptureFailure, match="already_recorded"):
            place.gateway.open(place.spec, place.directory, 4096)


async def test_four_parallel_runs_take_as_long_as_one(opened: Opener) -> None:
    async with opened(SeededEngine(vocabulary=400, tokens=8, seconds=0.3)) as place:
        await place.ask()
        started = asyncio.get_running_loop().time()
        await asyncio.gather(
            *(
                place.ask([{"role": "user", "content": f"part {i}"}], headers={"X-Journeyman-Run": f"sub{i}"})
                for i in range(4)
            )
        )
        assert asyncio.get_running_loop().time() - started < 0.9
        assert (await place.slot.close()).runs == 5


@pytest.mark.parametrize("path", ["/v1/models/policy", "/v1/embeddings", "/v1/responses/resp_1"])
async def test_a_route_that_is_not_served_says_which_are(opened: Opener, seeded: SeededEngine, path: str) -> None:
    async with opened(seeded) as place:
        for method in ("GET", "PUT"):
            async with aiohttp.request(method, place.slot.url + path) as response:
                told = (await response.json())["error"]["message"]
            assert response.status == 404
            assert path in told
            assert "/v1/chat/completions" in told
        async with aiohttp.request("GET", f"{place.slot.url}/v1/chat/completions") as response:
            assert (response.status, (await response.json())["error"]["code"]) == (405, "unknown_route")


async def test_a_body_that_is_not_what_its_headers_say_is_refused(opened: Opener, seeded: SeededEngine) -> None:
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    async with opened(seeded) as place:
        headers["Authorization"] = f"Bearer {place.slot.key}"
        async with aiohttp.ClientSession(headers=headers, auto_decompress=False) as session:
            async with session.post(f"{place.slot.url}/v1/chat/completions", data=b"no gzip at all") as response:
                assert (response.status, (await response.json())["error"]["code"]) == (400, "unreadable_body")


@pytest.mark.parametrize("field", ["metadata", "user", "whatever"])
async def test_a_field_nested_too_deep_is_refused_before_the_stream_begins(
    opened: Opener, seeded: SeededEngine, field: str
) -> None:
    deep = "[" * 900 + "]" * 900
    body = f'{{"input": "hello", "stream": true, "{field}": {deep}}}'
    async with opened(seeded) as place:
        headers = {"Authorization": f"Bearer {place.slot.key}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            async with session.post(f"{place.slot.url}/v1/responses", data=body) as response:
                assert response.status == 400
                assert field in (await response.json())["error"]["message"]
        assert (await place.slot.close()).failure is None


async def test_a_huge_prompt_is_refused_without_holding_up_other_runs(opened: Opener, seeded: SeededEngine) -> None:
    """Not timed: while the huge one is read, small calls are answered one after the other."""
    huge = [{"role": "user", "content": "the cat sat on " * 150_000}]
    async with opened(seeded) as place:
        await place.ask()
        late = asyncio.create_task(place.client.responses.create(model="policy", input=huge[0]["content"]))
        answered = 0
        while not late.done():
            await place.ask([{"role": "user", "content": "hi"}], headers={"X-Journeyman-Run": f"r{answered}"})
            answered += 1
        with pytest.raises(openai.BadRequestError, match="context window"):
            await late
    assert answered > 2
