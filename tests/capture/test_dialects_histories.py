"""How each dialect's own habits of telling a history are read, so that it stays one segment."""

import json
import shutil
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from journeyman.capture.verify import verify_episode
from journeyman.engines.scripted import ScriptedEngine, SeededEngine
from journeyman.tokens.template import TemplateRenderer

from .speakers import SCHEMA, SPEAKERS, Responses, call, replies, room, thinking_renderer

DIALECTS = [speaker.name for speaker in SPEAKERS]


def _clear_ids(history: list[Any]) -> None:
    for item in history:
        item.pop("id", None)
        item.pop("status", None)


def _move_cache_marks(history: list[Any]) -> None:
    """Claude Code marks the last message, and no earlier one any more."""
    for message in history:
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        for block in message["content"]:
            block.pop("cache_control", None)
    history[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}


def _drop_reasoning(history: list[Any]) -> None:
    history[:] = [item for item in history if item.get("type") != "reasoning"]
    for message in history:
        if isinstance(message.get("content"), list):
            message["content"] = [b for b in message["content"] if b.get("type") != "thinking"]


@pytest.mark.parametrize(
    ("dialect", "respell"),
    [
        ("responses", _clear_ids),
        ("responses", _drop_reasoning),
        ("messages", _drop_reasoning),
        ("messages", _move_cache_marks),
    ],
)
async def test_a_history_told_in_its_clients_habit_stays_one_segment(
    tmp_path: Path, renderer: TemplateRenderer, dialect: str, respell: Any
) -> None:
    said = replies(renderer, {"content": "hm", "tool_calls": [call("read", file_path="a")]}, "one", "two")
    async with room(tmp_path, SeededEngine(vocabulary=400, text=said), renderer) as place:
        async with place.speaker(dialect) as speaker:
            speaker.hear("hello")
            heard = await speaker.ask()
            speaker.results([(heard.calls[0][0], "x")])
            for _ in range(2):
                respell(speaker.history)
                await speaker.ask()
                speaker.hear("more")
        captured = await place.slot.close()
    assert (captured.turns, captured.segments, captured.trainable) == (3, 1, True)


async def test_instructions_and_developers_are_the_system(tmp_path: Path, renderer: TemplateRenderer) -> None:
    async with room(tmp_path, SeededEngine(vocabulary=400), renderer) as place:
        async with place.speaker("responses") as speaker:
            developer = {
                "type": "message",
                "role": "developer",
                "content": [{"type": "input_text", "text": "be brief"}],
            }
            await speaker.client.responses.create(
                model="m", instructions="you help", input=[developer, {"role": "user", "content": "a"}]
            )
        async with place.speaker("messages") as speaker:
            blocks = [
                {"type": "text", "text": "x-anthropic-billing-header: cc_version=1;"},
                {"type": "text", "text": "you help", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "be brief"},
            ]
            speaker.hear("a")
            await speaker.ask(system=blocks)
        turns = (await place.sealed()).turns
    told = [[(m["role"], m["content"]) for m in turn.new_messages] for turn in turns]
    assert told[0] == [("system", "you help"), ("system", "be brief"), ("user", "a")]
    assert told[1] == [("system", "you help\nbe brief"), ("user", "a")]


async def test_a_user_message_with_results_and_text_is_read_in_order(
    tmp_path: Path, renderer: TemplateRenderer
) -> None:
    said = replies(renderer, {"tool_calls": [call("read", file_path="a"), call("read", file_path="b")]}, "ok")
    async with room(tmp_path, SeededEngine(vocabulary=400, text=said), renderer) as place:
        async with place.speaker("messages") as speaker:
            speaker.hear("hello")
            calls = (await speaker.ask()).calls
            content = [
                {"type": "tool_result", "tool_use_id": calls[0][0], "content": [{"type": "text", "text": "A"}]},
                {"type": "tool_result", "tool_use_id": calls[1][0], "content": "no such file", "is_error": True},
                {"type": "text", "text": "mind the time"},
            ]
            speaker.history.append({"role": "user", "content": content})
            await speaker.ask()
        new = (await place.sealed()).turns[1].new_messages
    assert [(m["role"], m["content"], m.get("is_error", False)) for m in new] == [
        ("tool", "A", False),
        ("tool", "Error: no such file", True),
        ("user", "mind the time", False),
    ]
    assert [m.get("name") for m in new] == ["read", "read", None]


async def test_thinking_whose_text_is_not_wanted_is_told_by_its_signature_alone(tmp_path: Path) -> None:
    engine = ScriptedEngine(lambda episode, messages: {"content": "yes", "reasoning": "because"})
    async with room(tmp_path, engine, thinking_renderer(tmp_path)) as place:
        for stream in (False, True):
            async with place.speaker("messages") as speaker:
                speaker.hear(f"hello {stream}")
                heard = await speaker.ask(stream, thinking={"type": "adaptive", "display": "omitted"})
                assert (heard.text, heard.reasoning) == ("yes", "")
                (block,) = [b for b in speaker.history[-1]["content"] if b["type"] == "thinking"]
                assert block["signature"].startswith("journeyman:")
        assert (await place.sealed()).turns[0].message["reasoning"] == "because"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_turn_that_the_client_began_is_gone_on_with(
    tmp_path: Path, renderer: TemplateRenderer, dialect: str
) -> None:
    engine = SeededEngine(vocabulary=400, text=replies(renderer, " is seven", "done"))
    async with room(tmp_path, engine, renderer) as place, place.speaker(dialect) as speaker:
        speaker.hear("which version")
        speaker.history.append({"role": "assistant", "content": "the version"})
        heard = await speaker.ask(stream=True)
        assert heard.text.strip() == "is seven"
        speaker.history[-2:] = [{"role": "assistant", "content": "the version is seven"}]
        speaker.hear("thanks")
        await speaker.ask()
        episode = await place.sealed()
    assert [s.trainable for s in episode.segments] == [True]
    tokens = episode.segment_tokens(0, 0)
    assert tokens.mask.sum() == sum(t.sampled.end - t.sampled.start for t in episode.turns)
    assert verify_episode(place.directory) is None


# -- tools in namespaces


async def test_tools_in_namespaces_are_told_apart_by_model_and_client(
    tmp_path: Path, renderer: TemplateRenderer
) -> None:
    def tool(name: str) -> dict[str, Any]:
        return {"type": "function", "name": name, "parameters": SCHEMA, "strict": False}

    tools = [tool("read"), {"type": "namespace", "name": "files", "description": "d", "tools": [tool("read")]}]
    said = replies(renderer, {"tool_calls": [call("files__read", file_path="a"), call("read", file_path="b")]}, "ok")
    async with room(tmp_path, SeededEngine(vocabulary=400, text=said), renderer) as place:
        async with place.speaker("responses") as speaker:
            speaker.hear("hello")
            answer = await speaker.client.responses.create(model="m", input=speaker.history, tools=tools)
            calls = [item for item in answer.output if item.type == "function_call"]
            assert [(c.namespace, c.name) for c in calls] == [("files", "read"), (None, "read")]
            speaker.history += [item.to_dict() for item in answer.output]
            speaker.results([(c.call_id, "x") for c in calls])
            await speaker.client.responses.create(model="m", input=speaker.history, tools=tools)
        captured = await place.slot.close()
    assert (captured.segments, captured.trainable, captured.invalid_calls) == (1, True, 0)


# -- naming a reply instead of telling the history


async def test_a_call_may_name_the_reply_it_continues(tmp_path: Path, renderer: TemplateRenderer) -> None:
    said = replies(renderer, {"tool_calls": [call("read", file_path="a")]}, "one", "two")
    async with room(tmp_path, SeededEngine(vocabulary=400, text=said), renderer) as place:
        async with place.speaker("responses") as speaker:
            create = speaker.client.responses.create
            tools = [{"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}]
            asked: dict[str, Any] = {"model": "m", "instructions": "be brief", "tools": tools}
            first = await create(input="hello", **asked)
            result = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "x"}
            second = await create(input=[result], previous_response_id=first.id, **asked)
            assert second.previous_response_id == first.id
            third = await create(input="more", previous_response_id=second.id, **asked)
            assert third.output_text == "two"
            with pytest.raises(openai.BadRequestError) as caught:
                await create(input="more", previous_response_id="resp_other", **asked)
            assert caught.value.code == "previous_response_not_found"
        episode = await place.sealed()
    assert [[m["role"] for m in t.new_messages] for t in episode.turns] == [["system", "user"], ["tool"], ["user"]]
    assert [s.trainable for s in episode.segments] == [True]
    assert verify_episode(place.directory) is None


async def test_instructions_are_not_carried_over(tmp_path: Path, renderer: TemplateRenderer) -> None:
    async with room(tmp_path, SeededEngine(vocabulary=400), renderer) as place:
        async with place.speaker("responses") as speaker:
            create = speaker.client.responses.create
            first = await create(model="m", input="hello", instructions="be brief")
            await create(model="m", input="more", previous_response_id=first.id)
        turns = (await place.sealed()).turns
    assert [m["role"] for m in turns[1].new_messages] == ["user", "assistant", "user"]


async def test_a_reply_of_a_gateway_that_was_killed_may_be_named(tmp_path: Path, renderer: TemplateRenderer) -> None:
    async with room(tmp_path, SeededEngine(vocabulary=400), renderer) as place:
        asked: dict[str, Any] = {"model": "m", "instructions": "be brief"}
        async with place.speaker("responses") as speaker:
            first = await speaker.client.responses.create(input="hello", **asked)
            second = await speaker.client.responses.create(input="more", previous_response_id=first.id, **asked)
        left = shutil.copytree(place.directory, place.directory.with_name("left"))  # as a kill leaves it
        slot = place.gateway.open(place.spec, left, 8192, resume=True)
        async with Responses(slot.url, slot.key) as speaker:
            await speaker.client.responses.create(input="go on", previous_response_id=second.id, **asked)
        captured = await slot.close()
    assert (captured.turns, captured.segments, captured.trainable) == (3, 1, True)


# -- counting


async def test_counted_is_what_the_call_then_has(tmp_path: Path, renderer: TemplateRenderer) -> None:
    said = replies(renderer, "hello there", "done")
    tools = [{"name": "read", "input_schema": SCHEMA}]
    engine = SeededEngine(vocabulary=400, text=said)
    async with room(tmp_path, engine, renderer) as place, place.speaker("messages", tools=["read"]) as speaker:
        for text in ("hello", "go on"):
            speaker.hear(text)
            client: anthropic.AsyncAnthropic = speaker.client
            counted = await client.messages.count_tokens(
                model="m",
                messages=speaker.history,
                tools=tools,
                system="be brief",  # type: ignore[arg-type]
            )
            heard = await speaker.ask(system="be brief")
            assert counted.input_tokens == heard.prompt_tokens
        async with place.speaker("responses") as other:
            count = await other.client.responses.input_tokens.count(model="m", input="hello")
            assert count.input_tokens > 0
        captured = await place.slot.close()
    assert (captured.turns, captured.segments, engine.calls) == (2, 1, 2)


async def test_numbers_told_for_counting_are_checked_too(tmp_path: Path, renderer: TemplateRenderer) -> None:
    async with room(tmp_path, SeededEngine(vocabulary=400), renderer) as place:
        async with place.speaker("messages") as speaker:
            with pytest.raises(anthropic.BadRequestError) as caught:
                await speaker.client.messages.count_tokens(
                    model="m", messages=[{"role": "user", "content": "a"}], extra_body={"new_knob": 1}
                )
    assert json.loads(caught.value.response.text)["error"]["param"] == "new_knob"
