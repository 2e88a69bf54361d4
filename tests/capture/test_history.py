"""Which histories stay one segment, which open another, and which are kept but never trained."""

import shutil
from typing import Any

import openai
import pytest

from journeyman.capture.verify import verify_episode
from journeyman.engines.scripted import SeededEngine
from journeyman.tokens.template import TemplateRenderer

from .conftest import TOOLS, Opener, says

CALLING = '<tool_call>\n{"name": "read", "arguments": {"b": 1, "a": "x"}}\n</tool_call>'


def _drop_content(message: dict[str, Any]) -> None:
    message["content"] = None


def _reorder_keys(message: dict[str, Any]) -> None:
    message["tool_calls"][0]["function"]["arguments"] = '{"a":"x","b":1}'


def _rename_ids(message: dict[str, Any]) -> None:
    message["tool_calls"][0]["id"] = "toolu_1"


def _as_parts(message: dict[str, Any]) -> None:
    message["content"] = [{"type": "text", "text": "  " + (message.get("content") or "")}]


@pytest.mark.parametrize("respell", [_drop_content, _reorder_keys, _rename_ids, _as_parts])
async def test_a_history_spelled_differently_stays_one_segment(
    opened: Opener, renderer: TemplateRenderer, respell: Any
) -> None:
    async with opened(SeededEngine(vocabulary=400, text=says(renderer, CALLING, "done"))) as place:
        call = (await place.ask(tools=TOOLS)).choices[0].message.tool_calls[0]
        respell(place.messages[-1])
        place.messages.append({"role": "tool", "content": "x", "tool_call_id": call.id})
        await place.ask(tools=TOOLS)
        captured = await place.slot.close()
    assert (captured.segments, captured.trainable, captured.untrainable_reason) == (1, True, "")


async def test_a_silently_edited_history_is_answered_kept_and_trains_nothing(
    opened: Opener, seeded: SeededEngine
) -> None:
    async with opened(seeded) as place:
        await place.ask()
        place.tell("second")
        await place.ask()
        edited = [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "never said"},
            *place.messages[2:],
        ]
        edited.append({"role": "user", "content": "third"})
        assert (await place.ask(edited)).choices[0].message is not None
        episode = await place.sealed()
    assert [s.opened_by for s in episode.segments] == ["start", "branch"]
    assert not any(s.trainable for s in episode.segments)
    reason = episode.segments[1].untrainable_reason
    assert "message 1" in reason
    assert "first differing token" in reason
    assert "never said" in reason
    assert not episode.turns[2].trainable
    assert verify_episode(place.directory) is None


async def test_asking_the_same_history_twice_undeclared_trains_nothing(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        same = [{"role": "user", "content": "hello"}]
        await place.ask(same)
        await place.ask(same)
        captured = await place.slot.close()
    assert (captured.segments, captured.trainable) == (2, False)


@pytest.mark.parametrize("event", ["summary", "pruning"])
async def test_a_declared_rewrite_opens_a_linked_segment(opened: Opener, seeded: SeededEngine, event: str) -> None:
    async with opened(seeded) as place:
        await place.ask()
        place.tell("second")
        await place.ask()
        headers = {"X-Journeyman-Event": event, "X-Journeyman-Summary-By": "policy"}
        await place.ask([{"role": "user", "content": "hello; so far: done"}], headers=headers)
        episode = await place.sealed()
    before, after = episode.segments
    assert (after.opened_by, after.predecessor, after.trainable, before.trainable) == (event, 0, True, True)
    assert after.prefix_before
    assert after.prefix_after != after.prefix_before
    assert after.summary_by == ("policy" if event == "summary" else None)
    tokens = episode.segment_tokens(0, 1)
    assert tokens.mask[: episode.turns[2].prompt_tokens].sum() == 0  # the summary is conditioning
    assert verify_episode(place.directory) is None


async def test_changed_tool_schemas_open_a_segment(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        await place.ask(tools=TOOLS)
        place.tell("second")
        await place.ask(tools=TOOLS[:1])
        place.tell("third")
        await place.ask(tools=TOOLS[:1])
        episode = await place.sealed()
    assert [(s.opened_by, s.trainable) for s in episode.segments] == [("start", True), ("tools_changed", True)]
    assert len({s.tools_digest for s in episode.segments}) == 2
    assert [t.segment for t in episode.turns] == [0, 1, 1]
    assert verify_episode(place.directory) is None


async def test_a_declared_branch_continues_on_the_older_turns_own_ids(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        await place.ask()
        early = list(place.messages)
        place.tell("second")
        await place.ask()
        await place.ask([*early, {"role": "user", "content": "other"}], headers={"X-Journeyman-Event": "branch"})
        episode = await place.sealed()
    held = episode.turns[1].prompt_tokens - (episode.turns[1].context.end - episode.turns[1].context.start)
    trunk, branch = episode.segment_tokens(0, 0), episode.segment_tokens(0, 1)
    assert branch.ids[:held].tolist() == trunk.ids[:held].tolist()
    assert branch.mask[:held].sum() == 0
    assert all(s.trainable for s in episode.segments)
    assert verify_episode(place.directory) is None


async def test_subagents_are_their_own_runs_with_fork_point_and_hand_off(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        turn = (await place.ask()).model_extra["x_journeyman"]["turn_id"]
        child = [{"role": "user", "content": "look it up"}]
        headers = {"X-Journeyman-Run": "finder", "X-Journeyman-Handoff": "call_0_0_0"}
        answer = await place.ask(child, headers=headers, tools=TOOLS)
        child += [{"role": "assistant", "content": answer.choices[0].message.content}, {"role": "user", "content": "b"}]
        await place.ask(child, headers=headers, tools=TOOLS)
        place.tell("found it")
        await place.ask()
        episode = await place.sealed()
    root, finder = episode.runs
    assert (finder.parent, finder.fork_turn, finder.handoff_event) == (root.run, turn, "call_0_0_0")
    assert [(t.run, t.segment) for t in episode.turns] == [(0, 0), (1, 0), (1, 0), (0, 0)]
    assert all(s.trainable for s in episode.segments)
    assert verify_episode(place.directory) is None


async def test_a_subagent_of_a_run_that_never_spoke_is_refused(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        with pytest.raises(Exception, match="made no call yet"):
            await place.ask(headers={"X-Journeyman-Run": "finder"})


async def test_an_assistant_message_the_client_adds_is_conditioning(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        await place.ask()
        place.messages += [
            {"role": "user", "content": "example"},
            {"role": "assistant", "content": "like this"},
            {"role": "user", "content": "now you"},
        ]
        await place.ask()
        episode = await place.sealed()
    assert len(episode.segments) == 1
    assert episode.segment_tokens(0, 0).mask.sum() == sum(t.sampled.end - t.sampled.start for t in episode.turns)


async def test_a_system_message_in_mid_conversation_is_an_append(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        await place.ask()
        place.messages += [{"role": "system", "content": "be brief"}, {"role": "user", "content": "go"}]
        await place.ask()
        assert (await place.slot.close()).segments == 1


async def test_versions_are_per_token_across_a_refresh_in_flight(opened: Opener) -> None:
    engine = SeededEngine(vocabulary=400, tokens=8, chunk=2, seconds=0.2)
    async with opened(engine) as place:
        seen = 0
        async for _ in await place.ask(stream=True):
            seen += 1
            if seen == 2:
                await engine.load_weights(place.directory, 7)
        episode = await place.sealed()
    versions = episode.segment_tokens(0, 0).versions[-8:].tolist()
    assert set(versions) == {0, 7}
    assert versions == sorted(versions)
    assert verify_episode(place.directory) is None


# -- calls and their results

TWO = "\n".join(
    f'<tool_call>\n{{"name": "read", "arguments": {{"n": {value}}}}}\n</tool_call>' for value in ("1", "2.0")
)


def _result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_call_id": call_id}


@pytest.mark.parametrize("killed", [False, True])
async def test_results_stand_in_the_order_of_their_calls_however_they_are_told(
    opened: Opener, renderer: TemplateRenderer, killed: bool
) -> None:
    async with opened(SeededEngine(vocabulary=400, text=says(renderer, TWO, "done")), resume=False) as place:
        one, two = (await place.ask(tools=TOOLS)).choices[0].message.tool_calls
        place.messages += [_result(two.id, "second"), _result(one.id, "first")]
        await place.ask(tools=TOOLS)
        place.tell("more")
        if killed:
            left = shutil.copytree(place.directory, place.directory.with_name("left"))
            place.slot = place.gateway.open(place.spec, left, 4096, resume=True)
            place.client.api_key, place.directory = place.slot.key, left
        await place.ask(tools=TOOLS)
        episode = await place.sealed()
    assert [m["content"] for m in episode.turns[1].new_messages] == ["first", "second"]
    assert [s.trainable for s in episode.segments] == [True]
    assert verify_episode(place.directory) is None


@pytest.mark.parametrize("renamed", [False, True])
async def test_a_result_of_a_call_that_nobody_made_is_refused(
    opened: Opener, renderer: TemplateRenderer, renamed: bool
) -> None:
    async with opened(SeededEngine(vocabulary=400, text=says(renderer, TWO, "done"))) as place:
        calls = (await place.ask(tools=TOOLS)).choices[0].message.tool_calls
        ids = ["toolu_a", "toolu_b"] if renamed else [call.id for call in calls]
        for told, call_id in zip(place.messages[1]["tool_calls"], ids, strict=True):
            told["id"] = call_id
        with pytest.raises(openai.BadRequestError, match="no call has"):
            await place.ask([*place.messages, _result("call_9", "x"), _result(ids[0], "y")], tools=TOOLS)
        place.messages += [_result(ids[1], "b"), _result(ids[0], "a")]
        await place.ask(tools=TOOLS)
        episode = await place.sealed()
    assert [(m["name"], m["content"]) for m in episode.turns[1].new_messages] == [("read", "a"), ("read", "b")]
    assert [s.trainable for s in episode.segments] == [True]


async def test_a_history_that_ends_in_a_call_is_refused(opened: Opener, renderer: TemplateRenderer) -> None:
    async with opened(SeededEngine(vocabulary=400, text=says(renderer, TWO, "ok"))) as place:
        await place.ask(tools=TOOLS)
        with pytest.raises(openai.BadRequestError, match="has no result"):
            await place.ask(place.messages, tools=TOOLS)
        captured = await place.slot.close()
    assert (captured.turns, captured.segments, captured.failure, captured.trainable) == (1, 1, None, True)


@pytest.mark.parametrize(("told", "the_same"), [('{"n": 1.0}', True), ('{"n": true}', False), ('{"n": "1"}', False)])
async def test_an_argument_that_only_python_takes_for_the_same_is_a_change(
    opened: Opener, renderer: TemplateRenderer, told: str, the_same: bool
) -> None:
    async with opened(SeededEngine(vocabulary=400, text=says(renderer, TWO, "done"))) as place:
        one, two = (await place.ask(tools=TOOLS)).choices[0].message.tool_calls
        place.messages[1]["tool_calls"][0]["function"]["arguments"] = told
        place.messages += [_result(one.id, "x"), _result(two.id, "y")]
        await place.ask(tools=TOOLS)
        captured = await place.slot.close()
    assert captured.trainable is the_same


async def test_a_tool_schema_that_only_python_takes_for_the_same_opens_a_segment(
    opened: Opener, seeded: SeededEngine
) -> None:
    def offered(default: Any) -> list[Any]:
        parameters = {"type": "object", "properties": {"n": {"default": default}}}
        return [{"type": "function", "function": {"parameters": parameters, "name": "read"}}]

    async with opened(seeded) as place:
        for default in (0, 0, False, False):
            await place.ask(tools=offered(default))
            place.tell("more")
        episode = await place.sealed()
    assert [(s.opened_by, s.trainable) for s in episode.segments] == [("start", True), ("tools_changed", True)]


async def test_a_call_that_names_an_older_reply_is_a_declared_branch(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        create = place.client.responses.create
        first = await create(model="m", input="hello")
        for text in ("one way", "another", "a third"):
            await create(model="m", input=text, previous_response_id=first.id)
        episode = await place.sealed()
    assert [s.opened_by for s in episode.segments] == ["start", "branch", "branch"]
    assert all(s.trainable for s in episode.segments)
    held = episode.turns[0].prompt_tokens + episode.turns[0].sampled.end - episode.turns[0].sampled.start
    trunk = episode.segment_tokens(0, 0).ids[:held].tolist()
    assert [episode.segment_tokens(0, i).ids[:held].tolist() for i in (1, 2)] == [trunk, trunk]
    assert verify_episode(place.directory) is None
