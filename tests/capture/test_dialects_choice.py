"""A tool choice is honoured by the turn's own beginning: the ids every such call begins with, which are not sampled."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from journeyman.capture.openings import opening
from journeyman.capture.verify import verify_episode
from journeyman.engines.base import SampleRequest
from journeyman.engines.embedded.client import POLICY
from journeyman.engines.scripted import ScriptedEngine, SeededEngine
from journeyman.tokens.template import TemplateRenderer

from .speakers import SPEAKERS, call, room, thinking_renderer

DIALECTS = [speaker.name for speaker in SPEAKERS]
ANY: dict[str, Any] = {"chat": "required", "responses": "required", "messages": {"type": "any"}}
WRITE: dict[str, Any] = {
    "chat": {"type": "function", "function": {"name": "write"}},
    "responses": {"type": "function", "name": "write"},
    "messages": {"type": "tool", "name": "write"},
}
MESSAGE = {"role": "assistant", "content": "", "tool_calls": [call("write", file_path="a b")]}


def _goes_on(renderer: TemplateRenderer, prompts: list[list[int]]) -> Callable[[SampleRequest], list[int]]:
    """Samples what is left of MESSAGE's turn, whatever of it the prompt has begun."""
    turn = renderer.assistant(MESSAGE)

    def text(request: SampleRequest) -> list[int]:
        prompt = list(request.prompt_ids)
        prompts.append(prompt)
        begun = next((n for n in range(len(turn), 0, -1) if prompt[-n:] == turn[:n]), 0)
        return turn[begun:]

    return text


@pytest.mark.parametrize("family", ["shipped", "thinking", "tiny"])
@pytest.mark.parametrize("choices", [ANY, WRITE], ids=["any", "named"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_turn_that_must_call_begins_with_its_call_and_only_the_rest_is_sampled(
    tmp_path: Path, renderer: TemplateRenderer, dialect: str, choices: dict[str, Any], family: str
) -> None:
    renderer = {"shipped": lambda: TemplateRenderer(POLICY), "thinking": lambda: thinking_renderer(tmp_path / "t")}.get(
        family, lambda: renderer
    )()
    prompts: list[list[int]] = []
    engine = SeededEngine(vocabulary=400, text=_goes_on(renderer, prompts), chunk=2)
    async with room(tmp_path, engine, renderer) as place, place.speaker(dialect) as speaker:
        for stream in (False, True):
            speaker.hear("go")
            heard = await speaker.ask(stream, tool_choice=choices[dialect])
            ((call_id, name, arguments),) = heard.calls
            assert (name, json.loads(arguments), heard.text) == ("write", {"file_path": "a b"}, "")
            speaker.results([(call_id, "ok")])
        episode = await place.sealed()
    begun = opening(renderer, "" if choices is ANY else "write").tolist()
    assert all(prompt[-len(begun) :] == begun for prompt in prompts)
    assert renderer.assistant(MESSAGE)[: len(begun)] == begun
    assert [s.trainable for s in episode.segments] == [True]
    tokens = episode.segment_tokens(0, 0)
    assert tokens.mask.sum() == sum(t.sampled.end - t.sampled.start for t in episode.turns)
    for turn, prompt in zip(episode.turns, prompts, strict=True):
        assert tokens.ids[: turn.prompt_tokens].tolist() == prompt
    assert verify_episode(place.directory) is None


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_choice_that_cannot_be_made_is_refused_by_name(
    tmp_path: Path, renderer: TemplateRenderer, seeded: SeededEngine, dialect: str
) -> None:
    none: Any = {"type": "none"} if dialect == "messages" else "none"
    other: Any = json.loads(json.dumps(WRITE[dialect]).replace("write", "delete"))
    async with room(tmp_path, seeded, renderer) as place:
        for tools, choice in ((("read",), none), (("read",), other), ((), ANY[dialect])):
            async with place.speaker(dialect, tools=tools) as speaker:
                speaker.hear("go")
                with pytest.raises((openai.BadRequestError, anthropic.BadRequestError), match="tool_choice"):
                    await speaker.ask(tool_choice=choice)
        async with place.speaker(dialect) as speaker:
            speaker.hear("go")
            speaker.history.append({"role": "assistant", "content": "I"})
            with pytest.raises((openai.BadRequestError, anthropic.BadRequestError), match="tool_choice"):
                await speaker.ask(tool_choice=ANY[dialect])
        assert (await place.slot.close()).segments == 0


async def test_an_engine_that_answers_in_messages_cannot_be_made_to_call(
    tmp_path: Path, renderer: TemplateRenderer
) -> None:
    engine = ScriptedEngine(lambda episode, messages: {"content": "no"})
    async with room(tmp_path, engine, renderer) as place, place.speaker("chat") as speaker:
        speaker.hear("go")
        with pytest.raises(openai.BadRequestError, match="tool_choice"):
            await speaker.ask(tool_choice="required")


FAMILIES = ["qwen3", "qwen3.5", "glm-4.5", "glm-5", "deepseek-v3", "kimi-k2", "llama-3"]


@pytest.mark.parametrize("tool", ["", "write"], ids=["any", "named"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_familys_calls_begin_as_they_are_begun_here(family: str, tool: str) -> None:
    pytest.importorskip("renderers", reason="the package of template families is not installed")
    from ..tokens.test_families import TOOLS, tiny

    renderer = tiny(family)
    made = {"id": "functions.write:7", "name": "write", "arguments": {"file_path": "a b", "n": 3}, "raw": ""}
    turn = renderer.assistant({"role": "assistant", "content": "", "tool_calls": [made]})
    begun = opening(renderer, tool).tolist()
    assert turn[: len(begun)] == begun
    assert ("write" in renderer.text(begun)) == bool(tool)
    (read,) = renderer.parse(turn, TOOLS).message["tool_calls"]
    assert (read["name"], read["arguments"]) == ("write", {"file_path": "a b", "n": 3})
