"""What Claude Code asks beside its work (as seen on its wire): a run of its own, no fault, and no training row."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from journeyman.capture.verify import verify_episode
from journeyman.datasets.base import own_segments
from journeyman.engines.scripted import SeededEngine
from journeyman.pipeline.explain_capture import Part, lines, token_lines
from journeyman.store.sealed import SealedEpisode

from .conftest import Opener, Place

BILLING = "x-anthropic-billing-header: cc_version=2.1.332.344; cc_entrypoint=cli;"
IDENTITY = "You are Claude Code, Anthropic's official CLI for Claude."
WORK = "\nYou are an agent working with the user toward their goals, using your own judgment along the way."
TITLE = "You are naming a coding session so the user can pick it out of a long list of sessions."
TOOL = {"name": "Read", "description": "", "input_schema": {"type": "object", "properties": {}}}


def _blocks(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts]


def _title(task: str) -> dict[str, Any]:
    told = f"<session>\n{task}\n</session>\n\nWrite the title in the predominant language of the session."
    return {"system": _blocks(BILLING, IDENTITY, TITLE), "messages": [{"role": "user", "content": told}], "tools": []}


class _Claude:
    """Its wire, and nothing more."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.history: list[dict[str, Any]] = []

    async def post(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        headers = {
            "Authorization": f"Bearer {self._place.slot.key}",
            "User-Agent": "claude-cli/2.1.332 (external, cli)",
            "X-Claude-Code-Session-Id": "87a9d438-2d0b-48d3-a9cc-e00e989b03e0",
        }
        url = f"{self._place.slot.url}/v1/messages"
        async with aiohttp.ClientSession() as session, session.post(url, json=body, headers=headers) as answer:
            told = await answer.json()
            assert answer.status == 200, told
            content: list[dict[str, Any]] = told["content"]
            return content

    async def work(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})
        body = {"system": _blocks(BILLING, IDENTITY, WORK), "tools": [TOOL], "messages": self.history}
        reply = await self.post({"model": "policy", "max_tokens": 32000, **body})
        self.history.append({"role": "assistant", "content": reply})

    async def aside(self, body: dict[str, Any]) -> None:
        await self.post({"model": "policy", "max_tokens": 32000, **body})


async def _session(opened: Opener, seeded: SeededEngine, talk: Callable[[_Claude], Any]) -> SealedEpisode:
    async with opened(seeded) as place:
        await talk(_Claude(place))
        sealed: SealedEpisode = await place.sealed()
    assert verify_episode(sealed.directory) is None
    assert [(s.opened_by, s.trainable, s.untrainable_reason) for s in sealed.segments] == [("start", True, "")] * len(
        sealed.segments
    )
    return sealed


async def test_a_title_asked_for_first_leaves_the_work_one_segment_of_the_root(
    opened: Opener, seeded: SeededEngine
) -> None:
    async def talk(claude: _Claude) -> None:
        await claude.post({"model": "policy", "max_tokens": 1, "messages": [{"role": "user", "content": "quota"}]})
        await claude.aside(_title("Read notes.txt"))
        await claude.work("Read notes.txt")
        await claude.work("and now say hello")

    sealed = await _session(opened, seeded, talk)
    runs = {run.run: (run.aside, run.parent) for run in sealed.runs}
    assert runs == {
        1: ("whether its account has quota left", None),
        2: ("a title for the session", None),
        0: ("", None),
    }
    assert len(sealed.segment_turns(0, 0)) == 2
    assert own_segments(sealed, subagents=True) == [(0, 0)]


async def test_an_unknown_question_in_mid_work_is_beside_it_and_the_next_turn_appends(
    opened: Opener, seeded: SeededEngine
) -> None:
    async def talk(claude: _Claude) -> None:
        await claude.work("Read notes.txt")
        question = {
            "system": _blocks(IDENTITY, "Say what a page says."),
            "messages": [{"role": "user", "content": "p"}],
        }
        await claude.aside(question)
        await claude.aside(question | {"messages": [{"role": "user", "content": "another page"}]})
        await claude.aside(_title("Read notes.txt"))
        await claude.work("and now say hello")

    sealed = await _session(opened, seeded, talk)
    asked = [run.aside for run in sealed.runs if run.run]
    assert asked == ["a call without tools under a system prompt of its own"] * 2 + ["a title for the session"]
    assert own_segments(sealed, subagents=False) == [(0, 0)]


async def test_work_without_tools_stays_work_and_a_changed_system_prompt_is_still_a_change(
    opened: Opener, seeded: SeededEngine
) -> None:
    async with opened(seeded) as place:
        claude = _Claude(place)
        one = [{"role": "user", "content": "hello"}]
        await claude.aside({"system": _blocks(IDENTITY, WORK), "messages": one})
        await claude.aside({"system": _blocks(IDENTITY, "Something else."), "messages": one})
        sealed = await place.sealed()
    assert [run.aside for run in sealed.runs] == [""]
    assert [s.trainable for s in sealed.segments] == [False, False]


async def test_explain_says_what_was_asked_beside_the_work(opened: Opener, seeded: SeededEngine) -> None:
    async def talk(claude: _Claude) -> None:
        await claude.aside(_title("Read notes.txt"))
        await claude.work("Read notes.txt")

    sealed = await _session(opened, seeded, talk)
    said = "\n".join(lines(Part(sealed.directory, None)))
    assert "asked beside the work (a title for the session); no row is made of it" in said
    assert "run       0: the root" in said
    assert said.count("no row is made of it: it was asked beside the work") == 1
    sampled = int(sealed.segment_tokens(1, 0).mask.argmax())
    assert "trainable no: it was asked beside the work" in "\n".join(token_lines(Path(sealed.directory), 1, 0, sampled))


CRITICAL = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n"


@pytest.mark.parametrize("again", [CRITICAL + "Say it in other words, between tags.", "let us go on without"])
async def test_a_request_for_a_summary_that_is_taken_back_is_a_branch_and_no_fault(
    opened: Opener, seeded: SeededEngine, again: str
) -> None:
    async def talk(claude: _Claude) -> None:
        await claude.work("Read notes.txt")
        before = list(claude.history)
        await claude.work(CRITICAL + "Your task is to summarise.")
        claude.history = before
        await claude.work(again)
        claude.history = []
        await claude.work("This session is being continued from a previous conversation: notes.txt was read.")

    async with opened(seeded) as place:
        await talk(_Claude(place))
        sealed = await place.sealed()
    assert [(s.opened_by, s.trainable) for s in sealed.segments] == [
        ("start", True),
        ("branch", True),
        ("summary", True),
    ]
    assert verify_episode(sealed.directory) is None
