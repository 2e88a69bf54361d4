"""Faults that users of other capture software reported, in the smallest input that would show them here.

docs/faults.md is the whole list, with the test of each kind.
"""

import re
from pathlib import Path

from journeyman.capture.verify import verify_episode
from journeyman.engines.scripted import SeededEngine
from journeyman.tokens.template import TemplateRenderer

from .conftest import TOOLS, Opener, says

ROOT = Path(__file__).parents[2]


async def test_a_call_of_several_lines_after_a_stray_think_tag_is_appended_to_as_it_was_sampled(
    opened: Opener, renderer: TemplateRenderer
) -> None:
    text = "if x:\n        return 123  # eight spaces\n"
    call = '{"name": "write", "arguments": {"text": "if x:\\n        return 123  # eight spaces\\n", "n": "123"}}'
    sampled = f"I know.\n</think>\n\n<tool_call>\n{call}\n</tool_call>"
    seen: list[list[int]] = []
    said = says(renderer, sampled, sampled, "done")

    def watched(request: object) -> list[int]:
        seen.append(list(request.prompt_ids))  # type: ignore[attr-defined]
        return said(request)

    async with opened(SeededEngine(vocabulary=400, text=watched)) as place:
        for _ in range(2):
            (made,) = (await place.ask(tools=TOOLS)).choices[0].message.tool_calls
            assert text in made.function.arguments.replace("\\n", "\n")
            assert '"n": "123"' in made.function.arguments
            place.messages.append({"role": "tool", "content": "ok", "tool_call_id": made.id})
        await place.ask(tools=TOOLS)
        episode = await place.sealed()
    ids = episode.segment_tokens(0, 0).ids.tolist()
    assert [ids[: len(prompt)] for prompt in seen] == seen
    assert [(s.opened_by, s.trainable) for s in episode.segments] == [("start", True)]
    assert verify_episode(place.directory) is None


async def test_a_reply_under_another_prefix_than_it_was_sampled_under_is_conditioning(
    opened: Opener, seeded: SeededEngine
) -> None:
    async with opened(seeded) as place:
        reply = (await place.ask()).choices[0].message.content
        moved = [{"role": "user", "content": "hello"}, {"role": "user", "content": "something in between"}]
        moved += [{"role": "assistant", "content": reply}, {"role": "user", "content": "go on"}]
        await place.ask(moved)
        episode = await place.sealed()
    turn = episode.turns[1]
    tokens = episode.segment_tokens(turn.run, turn.segment)
    assert tokens.mask.sum() == turn.sampled.end - turn.sampled.start
    assert not tokens.mask[: turn.prompt_tokens].any()
    assert not episode.segments[turn.segment].trainable


async def test_a_parent_and_a_child_in_turns_are_two_segments(opened: Opener, seeded: SeededEngine) -> None:
    child = {"X-Journeyman-Run": "child"}
    async with opened(seeded) as place:
        told = [{"role": "user", "content": "look into it"}]
        for _ in range(4):
            await place.ask()
            place.tell("go on")
            answer = await place.ask(told, headers=child)
            told += [{"role": "assistant", "content": answer.choices[0].message.content}]
            told += [{"role": "user", "content": "and"}]
        episode = await place.sealed()
    assert [(s.run, s.index, s.trainable) for s in episode.segments] == [(0, 0, True), (1, 0, True)]
    assert [len(episode.segment_turns(run, 0)) for run in (0, 1)] == [4, 4]


def test_every_test_that_the_list_of_faults_names_is_there() -> None:
    listed = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", (ROOT / "docs" / "faults.md").read_text())
    assert len(listed) > 30
    for path, name in listed:
        assert re.search(rf"def {name}\(", (ROOT / path).read_text()), f"{path} has no {name}"
