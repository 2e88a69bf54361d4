"""A conversation is the same record in every dialect: one segment, exact ids, exact masks, streamed or not."""

import json
from pathlib import Path
from typing import Any

import pytest

from journeyman.capture.verify import verify_episode
from journeyman.engines.embedded.client import POLICY
from journeyman.engines.scripted import SeededEngine
from journeyman.tokens.template import TemplateRenderer

from .speakers import SPEAKERS, Heard, call, replies, room, thinking_renderer

DIALECTS = [speaker.name for speaker in SPEAKERS]
EVERY_WAY = [(name, stream) for name in DIALECTS for stream in (False, True)]


@pytest.fixture(scope="session")
def shipped() -> TemplateRenderer:
    """The tokenizer and template of the policy that is shipped."""
    return TemplateRenderer(POLICY)


@pytest.fixture(scope="session")
def thinking(tmp_path_factory: pytest.TempPathFactory) -> TemplateRenderer:
    """A template whose turns may begin with reasoning."""
    return thinking_renderer(tmp_path_factory.mktemp("thinking"))


async def _tool_loop(
    path: Path, renderer: TemplateRenderer, dialect: str, stream: bool, reasoning: str
) -> tuple[Any, list[list[int]], list[Heard]]:
    """Four turns: two parallel calls, one call, prose, prose; returns the sealed episode, prompts, what was heard."""
    thought = {"reasoning": reasoning} if reasoning else {}
    prompts: list[list[int]] = []
    said = replies(
        renderer,
        {"content": "reading", "tool_calls": [call("read", file_path="a"), call("read", file_path="b")], **thought},
        {"tool_calls": [call("write", file_path="é.txt", content='x "y"\n')], **thought},
        "all done",
        "hello",
        prompts=prompts,
    )
    engine = SeededEngine(vocabulary=400, text=said, chunk=3)
    heard = []
    async with room(path, engine, renderer) as place, place.speaker(dialect) as speaker:
        speaker.hear("read both and write")
        heard.append(await speaker.ask(stream))
        speaker.results([(i, f"text of {json.loads(a)['file_path']}") for i, _, a in heard[-1].calls])
        heard.append(await speaker.ask(stream))
        speaker.results([(heard[-1].calls[0][0], "wrote")])
        heard.append(await speaker.ask(stream))
        speaker.hear("say hello")
        heard.append(await speaker.ask(stream))
        episode = await place.sealed()
    assert verify_episode(place.directory) is None
    return episode, prompts, heard


@pytest.mark.parametrize("family", ["shipped", "thinking"])
async def test_a_tool_loop_is_one_segment_with_equal_ids_in_every_dialect(
    tmp_path: Path, family: str, request: pytest.FixtureRequest
) -> None:
    renderer: TemplateRenderer = request.getfixturevalue(family)
    reasoning = "the report says hello" if family == "thinking" else ""
    records = {}
    for dialect, stream in EVERY_WAY:
        where = tmp_path / f"{dialect}-{stream}"
        episode, prompts, heard = await _tool_loop(where, renderer, dialect, stream, reasoning)
        assert [(s.opened_by, s.trainable, s.untrainable_reason) for s in episode.segments] == [("start", True, "")]
        tokens = episode.segment_tokens(0, 0)
        for turn, prompt in zip(episode.turns, prompts, strict=True):
            assert tokens.ids[: turn.prompt_tokens].tolist() == prompt
        assert tokens.mask.sum() == sum(h.completion_tokens for h in heard)
        assert [h.prompt_tokens for h in heard] == [len(p) for p in prompts]
        assert [h.text for h in heard] == ["reading", "", "all done", "hello"]
        assert [h.reasoning for h in heard] == [reasoning, reasoning, "", ""]
        assert [(n, json.loads(a)) for h in heard for _, n, a in h.calls] == [
            ("read", {"file_path": "a"}),
            ("read", {"file_path": "b"}),
            ("write", {"file_path": "é.txt", "content": 'x "y"\n'}),
        ]
        messages = [(t.message, t.new_messages) for t in episode.turns]
        records[dialect, stream] = (tokens.ids.tolist(), tokens.mask.tolist(), messages)
    first = records["chat", False]
    assert all(record == first for record in records.values())


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_stream_shows_reasoning_then_prose_as_they_are_sampled(
    tmp_path: Path, thinking: TemplateRenderer, dialect: str
) -> None:
    said = replies(
        thinking, {"content": "hello the report says yes", "reasoning": "the approved forecast for the year"}
    )
    engine = SeededEngine(vocabulary=400, text=said, chunk=2)
    async with room(tmp_path, engine, thinking) as place, place.speaker(dialect) as speaker:
        speaker.hear("hello")
        heard = await speaker.ask(stream=True)
    assert (heard.text, heard.reasoning) == ("hello the report says yes", "the approved forecast for the year")
    assert heard.pieces.count("reasoning") > 2
    assert heard.pieces.count("text") > 2
    assert heard.pieces == sorted(heard.pieces)


@pytest.mark.parametrize(("dialect", "stream"), EVERY_WAY)
async def test_a_cut_turn_says_so_and_goes_on(
    tmp_path: Path, shipped: TemplateRenderer, dialect: str, stream: bool
) -> None:
    engine = SeededEngine(vocabulary=400, text=replies(shipped, "hello hello hello", "done"))
    limit = {"chat": "max_tokens", "responses": "max_output_tokens", "messages": "max_tokens"}[dialect]
    async with room(tmp_path, engine, shipped) as place, place.speaker(dialect) as speaker:
        speaker.hear("hello")
        heard = await speaker.ask(stream, **{limit: 5})
        assert (heard.text, heard.completion_tokens) == ("hello", 5)
        assert heard.finish == {"chat": "length", "responses": "max_output_tokens", "messages": "max_tokens"}[dialect]
        speaker.hear("go on")
        assert (await speaker.ask(stream)).text == "done"
        assert (await place.slot.close()).segments == 1


@pytest.mark.parametrize(("called", "shown"), [('"name": "read", ', "read"), ("", "invalid_call")])
@pytest.mark.parametrize(("dialect", "stream"), EVERY_WAY)
async def test_a_malformed_call_comes_back_as_the_same_message(
    tmp_path: Path, dialect: str, stream: bool, renderer: TemplateRenderer, called: str, shown: str
) -> None:
    broken = f'<tool_call>\n{{{called}"arguments": {{"file_path": oops}}}}\n</tool_call>'
    engine = SeededEngine(vocabulary=400, text=replies(renderer, broken, "sorry"))
    async with room(tmp_path, engine, renderer) as place, place.speaker(dialect) as speaker:
        speaker.hear("read")
        ((call_id, name, told),) = (await speaker.ask(stream)).calls
        assert name == shown
        assert "oops" in told
        speaker.results([(call_id, "not JSON")])
        assert (await speaker.ask(stream)).text == "sorry"
        captured = await place.slot.close()
    assert (captured.segments, captured.trainable, captured.invalid_calls) == (1, True, 1)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_all_that_a_reply_says_may_be_told_again(
    tmp_path: Path, thinking: TemplateRenderer, dialect: str
) -> None:
    said = {"content": "hello", "reasoning": "the report", "tool_calls": [call("read", file_path="a")]}
    engine = SeededEngine(vocabulary=400, text=replies(thinking, said, "done"))
    more: dict[str, Any] = {"include": ["reasoning.encrypted_content"]} if dialect == "responses" else {}
    async with room(tmp_path, engine, thinking) as place, place.speaker(dialect) as speaker:
        answers: list[Any] = []
        resource = speaker.client.chat.completions if dialect == "chat" else getattr(speaker.client, dialect)
        create = resource.create

        async def kept(**asked: Any) -> Any:
            answers.append(await create(**asked))
            return answers[-1]

        resource.create = kept
        speaker.hear("hello")
        ((call_id, _, _),) = (await speaker.ask(**more)).calls
        answer = answers[0].model_dump()  # its empty fields, too
        told = {"chat": lambda: [answer["choices"][0]["message"]], "responses": lambda: answer["output"]}
        speaker.history[1:] = told.get(dialect, lambda: [answer])()
        speaker.results([(call_id, "x")])
        assert (await speaker.ask(**more)).text == "done"
        captured = await place.slot.close()
    assert (captured.segments, captured.trainable) == (1, True)
