"""A history may be begun, continued, rewound and split: what the model saw is on record, and what is sampled stays."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openai
import pytest

from journeyman.capture.server import Gateway
from journeyman.capture.verify import verify_episode
from journeyman.engines.scripted import SeededEngine
from journeyman.records.episode import EpisodeSpec
from journeyman.store.sealed import SealedEpisode
from journeyman.tokens.template import RenderError, TemplateRenderer
from journeyman.tokens.tiny import write_tiny_tokenizer

from .conftest import TOOLS, Opener, Place, says

BRANCH = {"X-Journeyman-Event": "branch"}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


# -- a turn that its client began


@pytest.mark.parametrize("told_as", ["one message", "two messages"])
async def test_a_turn_its_client_began_is_continued_and_stays_one_segment(
    opened: Opener, renderer: TemplateRenderer, told_as: str
) -> None:
    prompts: list[list[int]] = []
    said = says(renderer, " the report says yes", "done")

    def text(request: Any) -> list[int]:
        prompts.append(list(request.prompt_ids))
        return said(request)

    async with opened(SeededEngine(vocabulary=400, text=text)) as place:
        begun = [_user("hello"), _assistant("In short,")]
        answer = (await place.ask(begun)).choices[0].message.content
        assert answer == " the report says yes"
        after = [_assistant("In short," + answer)] if told_as == "one message" else [begun[1], _assistant(answer)]
        assert (await place.ask([_user("hello"), *after, _user("go on")])).choices[0].message.content == "done"
        episode = await place.sealed()
    start = renderer.start([_user("hello")], [])
    prefill = renderer.encoder.encode("In short,")
    assert prompts[0] == [*start, *prefill]
    assert len(episode.segments) == 1
    assert [t.trainable for t in episode.turns] == [True, True]
    tokens = episode.segment_tokens(0, 0)
    assert tokens.ids[: len(prompts[1])].tolist() == prompts[1]
    assert tokens.mask[: len(prompts[0])].sum() == 0  # what the client began was not sampled
    assert verify_episode(place.directory) is None


async def test_a_streamed_continuation_shows_only_what_was_sampled(opened: Opener, renderer: TemplateRenderer) -> None:
    engine = SeededEngine(vocabulary=400, chunk=2, text=says(renderer, " the report says yes"))
    async with opened(engine) as place:
        stream = await place.ask([_user("hello"), _assistant("In short, ")], stream=True)
        shown = [c.choices[0].delta.content or "" async for c in stream if c.choices]
    assert "".join(shown) == " the report says yes"


async def test_a_call_its_client_began_is_read_as_a_call(opened: Opener, renderer: TemplateRenderer) -> None:
    rest = '"read", "arguments": {"a": "x"}}\n</tool_call>'
    async with opened(SeededEngine(vocabulary=400, text=says(renderer, rest))) as place:
        begun = [_user("hello"), _assistant('<tool_call>\n{"name": ')]
        message = (await place.ask(begun, tools=TOOLS)).choices[0].message
    assert message.content is None
    assert [(c.function.name, c.function.arguments) for c in message.tool_calls] == [("read", '{"a": "x"}')]


async def test_a_call_that_its_client_wrote_into_the_beginning_is_not_the_policys(
    opened: Opener, renderer: TemplateRenderer
) -> None:
    begun = 'So: <tool_call>\n{"name": "read", "arguments": {}}\n</tool_call>'
    async with opened(SeededEngine(vocabulary=400, text=says(renderer, " ok"))) as place:
        (choice,) = (await place.ask([_user("hello"), _assistant(begun)], tools=TOOLS)).choices
    assert (choice.finish_reason, choice.message.tool_calls) == ("stop", None)
    assert choice.message.content.strip() == "ok"


# -- spelling


async def test_markers_that_move_along_with_the_history_do_not_split_it(opened: Opener, seeded: SeededEngine) -> None:
    def marked(text: str, marker: bool) -> dict[str, Any]:
        part: dict[str, Any] = {"type": "text", "text": text}
        return {"role": "user", "content": [part | ({"cache_control": {"type": "ephemeral"}} if marker else {})]}

    async with opened(seeded) as place:
        messages: list[Any] = [marked("question 0", True)]
        for turn in range(1, 5):
            answer = await place.ask(messages)
            messages = [marked(m["content"][0]["text"], False) if m["role"] == "user" else m for m in messages]
            messages += [_assistant(answer.choices[0].message.content), marked(f"question {turn}", True)]
        captured = await place.slot.close()
    assert (captured.turns, captured.segments, captured.trainable) == (4, 1, True)


@pytest.mark.parametrize(("written", "the_same"), [("so", True), ("so not", False), ("", True)])
async def test_reasoning_that_a_client_writes_into_the_content_is_the_recorded_one_or_a_change(
    opened: Opener, thinking: TemplateRenderer, written: str, the_same: bool
) -> None:
    said = says(thinking, "<think>\nso\n</think>\n\nyes", "no")
    async with opened(SeededEngine(vocabulary=400, text=said), speaks=thinking) as place:
        assert (await place.ask([_user("hello")])).choices[0].message.content == "yes"
        await place.ask([_user("hello"), _assistant(f"<think>\n{written}\n</think>\n\nyes"), _user("more")])
        captured = await place.slot.close()
    assert (captured.segments, captured.trainable) == ((1, True) if the_same else (2, False))


@pytest.mark.parametrize("edit", ["content", "argument", "role", "order", "dropped"])
async def test_a_real_change_inside_the_recorded_history_is_answered_and_trains_nothing(
    opened: Opener, renderer: TemplateRenderer, edit: str
) -> None:
    calling = '<tool_call>\n{"name": "read", "arguments": {"a": "x"}}\n</tool_call>'
    async with opened(SeededEngine(vocabulary=400, text=says(renderer, calling, "done"))) as place:
        call = (await place.ask(tools=TOOLS)).choices[0].message.tool_calls[0]
        place.messages.append({"role": "tool", "content": "x", "tool_call_id": call.id})
        await place.ask(tools=TOOLS)
        place.tell("more")
        told = place.messages
        if edit == "content":
            told[2]["content"] = "y"
        elif edit == "argument":
            told[1]["tool_calls"][0]["function"]["arguments"] = '{"a": "y"}'
        elif edit == "role":
            told[0]["role"] = "system"
        elif edit == "order":
            told[1], told[2] = told[2], told[1]
        else:
            del told[2]
        await place.ask(told, tools=TOOLS)
        episode = await place.sealed()
    assert len(episode.segments) == 2
    assert not any(s.trainable for s in episode.segments)
    assert "first differing token" in episode.segments[1].untrainable_reason
    assert verify_episode(place.directory) is None


class Choosy(TemplateRenderer):
    """A template that cannot be asked for some messages alone, but shows whole histories that have them."""

    def extend(self, messages: Sequence[Any], *rest: Any, **more: Any) -> list[int]:
        if any(message["content"] == "unspeakable" for message in messages):
            raise RenderError("not on its own")
        return super().extend(messages, *rest, **more)


async def test_what_cannot_be_rendered_as_an_append_is_answered_kept_and_trains_nothing(
    tmp_path: Path, seeded: SeededEngine
) -> None:
    spec = EpisodeSpec(job="job", policy="p", task="t", group="g", attempt=0)
    async with Gateway(seeded, Choosy(write_tiny_tokenizer(tmp_path / "tokenizer"))) as gateway:
        slot = gateway.open(spec, tmp_path / "episode", 4096)
        async with openai.AsyncOpenAI(base_url=f"{slot.url}/v1", api_key=slot.key, max_retries=0) as client:
            place = Place(gateway, slot, tmp_path / "episode", spec, client)
            await place.ask()
            place.tell("unspeakable")
            await place.ask()
            episode = await place.sealed()
    assert [(s.opened_by, s.trainable) for s in episode.segments] == [("start", False), ("branch", False)]
    reason = episode.segments[1].untrainable_reason
    assert "not on its own" in reason
    assert "first differing token" in reason
    assert verify_episode(place.directory) is None


# -- branches


async def _grown(place: Place, turns: int) -> list[list[Any]]:
    """A conversation of so many turns; returns the history as it stood after each."""
    stood = []
    for turn in range(turns):
        place.tell(f"question {turn}")
        await place.ask()
        stood.append(list(place.messages))
    return stood


@pytest.mark.parametrize("back_to", [0, 1, 2, 3])
async def test_a_declared_rewind_of_any_depth_goes_on_from_that_turns_own_ids(
    opened: Opener, seeded: SeededEngine, back_to: int
) -> None:
    async with opened(seeded) as place:
        stood = await _grown(place, 4)
        await place.ask([*stood[back_to], _user("another way")], headers=BRANCH)
        await place.ask([*place.messages, _user("the first way goes on")])
        episode = await place.sealed()
    trunk = episode.segment_tokens(0, 0)
    turn = episode.segment_turns(0, 0)[back_to]
    held = turn.prompt_tokens + turn.sampled.end - turn.sampled.start
    assert [t.segment for t in episode.turns[4:]] == [1, 0]
    branch = episode.segment_tokens(0, 1)
    assert branch.ids[:held].tolist() == trunk.ids[:held].tolist()
    assert branch.mask[:held].sum() == 0
    assert all(s.trainable for s in episode.segments)
    assert verify_episode(place.directory) is None


@pytest.mark.parametrize("said", ["way {}", "the same"])
async def test_every_branch_from_one_turn_goes_on_from_that_turns_own_ids(
    opened: Opener, seeded: SeededEngine, said: str
) -> None:
    async with opened(seeded) as place:
        stood = await _grown(place, 2)
        for i in range(3):
            await place.ask([*stood[0], _user(said.format(i))], headers=BRANCH)
        episode = await place.sealed()
    trunk, turn = episode.segment_tokens(0, 0), episode.segment_turns(0, 0)[0]
    held = turn.prompt_tokens + turn.sampled.end - turn.sampled.start
    for index in (1, 2, 3):
        assert episode.segment_tokens(0, index).ids[:held].tolist() == trunk.ids[:held].tolist()
    assert [(s.predecessor, bool(s.prefix_before)) for s in episode.segments[1:]] == [(0, True)] * 3
    assert all(s.trainable for s in episode.segments)
    assert verify_episode(place.directory) is None


async def test_branches_in_parallel_from_one_turn_do_not_wait_for_each_other(opened: Opener) -> None:
    async with opened(SeededEngine(vocabulary=400, tokens=8, seconds=0.3)) as place:
        await place.ask()
        history = list(place.messages)
        started = asyncio.get_running_loop().time()
        await asyncio.gather(*(place.ask([*history, _user(f"way {i}")], headers=BRANCH) for i in range(4)))
        assert asyncio.get_running_loop().time() - started < 0.9
        episode = await place.sealed()
    assert sorted(t.segment for t in episode.turns) == [0, 1, 2, 3, 4]
    assert all(s.trainable for s in episode.segments)
    assert verify_episode(place.directory) is None


async def test_a_branch_of_a_branch_and_its_trunk_all_go_on(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        stood = await _grown(place, 3)
        branch = [*stood[1], _user("b")]
        branch.append(_assistant((await place.ask(branch, headers=BRANCH)).choices[0].message.content))
        twig = [*branch, _user("c")]
        twig.append(_assistant((await place.ask(twig)).choices[0].message.content))
        await place.ask([*branch, _user("d")], headers=BRANCH)
        for history in (place.messages, twig):
            await place.ask([*history, _user("on")])
        episode = await place.sealed()
    assert [(t.segment) for t in episode.turns] == [0, 0, 0, 1, 1, 2, 0, 1]
    assert [s.predecessor for s in episode.segments] == [None, 0, 1]
    assert verify_episode(place.directory) is None


async def test_the_recorded_reply_told_back_alone_is_a_branch_that_trains_nothing_undeclared(
    opened: Opener, seeded: SeededEngine
) -> None:
    async with opened(seeded) as place:
        await place.ask()
        await place.ask(place.messages)
        episode = await place.sealed()
    assert "begun again" in episode.segments[1].untrainable_reason
    assert verify_episode(place.directory) is None


# -- rewrites


@pytest.mark.parametrize("by", ["policy", "harness"])
async def test_an_unsigned_summary_is_the_policys_where_it_said_it(
    opened: Opener, renderer: TemplateRenderer, by: str
) -> None:
    said = says(renderer, "work work", "the report is read, the answer is not written", "on")
    async with opened(SeededEngine(vocabulary=400, text=said)) as place:
        await place.ask()
        place.tell("sum up")
        summary = (await place.ask()).choices[0].message.content if by == "policy" else "notes of the harness"
        await place.ask([_user(f"hello\n\nSo far: {summary}")], headers={"X-Journeyman-Event": "summary"})
        episode = await place.sealed()
    assert episode.segments[1].summary_by == by
    assert verify_episode(place.directory) is None


async def test_a_rewrite_follows_the_branch_that_it_rewrites(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        stood = await _grown(place, 3)
        await place.ask([*stood[0], _user("side way")], headers=BRANCH)
        pruned = [*place.messages[:-1], _assistant("(cut)"), _user("on")]
        await place.ask(pruned, headers={"X-Journeyman-Event": "pruning"})
        episode = await place.sealed()
    assert [(s.opened_by, s.predecessor) for s in episode.segments][2] == ("pruning", 0)
    assert verify_episode(place.directory) is None


async def test_subagents_share_a_first_message_and_stay_apart(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded) as place:
        await place.ask()
        runs = [{"X-Journeyman-Run": name, "X-Journeyman-Handoff": f"call_{name}"} for name in ("a", "b", "c")]
        histories: list[list[Any]] = [[_user("look it up")] for _ in runs]
        for _ in range(3):
            answers = await asyncio.gather(
                *(
                    place.ask(history, headers=headers, tools=TOOLS[: i % 2 + 1])
                    for i, (history, headers) in enumerate(zip(histories, runs, strict=True))
                )
            )
            for history, answer in zip(histories, answers, strict=True):
                history += [_assistant(answer.choices[0].message.content), _user("and")]
        episode = await place.sealed()
    _check_children(episode)
    assert verify_episode(place.directory) is None


def _check_children(episode: SealedEpisode) -> None:
    assert [(r.parent, r.handoff_event) for r in episode.runs] == [
        (None, None),
        (0, "call_a"),
        (0, "call_b"),
        (0, "call_c"),
    ]
    assert [(s.run, s.index, s.trainable) for s in episode.segments] == [(run, 0, True) for run in range(4)]
    assert [len(episode.segment_turns(run, 0)) for run in range(4)] == [1, 3, 3, 3]
