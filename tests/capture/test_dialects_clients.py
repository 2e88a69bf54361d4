"""Agents known by name: their subagents are runs of their own, and their summaries are declared rewrites."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from journeyman.capture.clients import handed_over
from journeyman.capture.verify import verify_episode
from journeyman.engines.scripted import ScriptedEngine, SeededEngine
from journeyman.tokens.template import TemplateRenderer

from .speakers import Speaker, call, room

CLAUDE = {"User-Agent": "claude-cli/2.1.332 (external, sdk-cli)", "X-Claude-Code-Session-Id": "s"}
CODEX = {"originator": "codex_exec", "session-id": "s", "thread-id": "s"}


def _child(dialect: str, name: str, parent: str = "") -> dict[str, str]:
    """Headers of a subagent's call."""
    if dialect == "messages":
        nested = {"x-claude-code-parent-agent-id": parent} if parent else {}
        return {**CLAUDE, "x-claude-code-agent-id": name, **nested}
    return {**CODEX, "thread-id": name, "x-codex-parent-thread-id": parent or "s"}


ROOT = {"messages": CLAUDE, "responses": CODEX}


def _script(episode: str, messages: Any) -> dict[str, Any]:
    """Hands two parts over; a part that asks for more hands over once more."""
    if any(m["role"] == "tool" for m in messages):
        return {"content": "done"}
    asked = messages[-1]["content"]
    if asked == "start":
        return {"content": "", "tool_calls": [call("spawn", kind="helper", prompt=f"look at part {i}") for i in (1, 2)]}
    if "part 1" in asked:
        return {"content": "", "tool_calls": [call("spawn", kind="helper", prompt="look deeper")]}
    return {"content": f"seen: {asked}"}


async def _say(speaker: Speaker, text: str, headers: dict[str, str]) -> list[tuple[str, str, str]]:
    speaker.hear(text)
    return (await speaker.ask(extra_headers=headers)).calls


@pytest.mark.parametrize("dialect", ["messages", "responses"])
async def test_a_known_agents_subagents_are_runs_with_the_call_that_handed_over(
    tmp_path: Path, renderer: TemplateRenderer, dialect: str
) -> None:
    async with room(tmp_path, ScriptedEngine(_script), renderer) as place:
        speakers = [place.speaker(dialect, tools=["spawn"]) for _ in range(4)]
        for speaker in speakers:
            speaker.connect()
        root, one, two, deep = speakers
        calls = await _say(root, "start", ROOT[dialect])
        await asyncio.gather(
            _say(two, "<hint>be quick</hint>look at part 2", _child(dialect, "two")),
            _say(one, "look at part 1", _child(dialect, "one")),
        )
        await _say(deep, "look deeper", _child(dialect, "deep", parent="one"))
        root.results([(i, "done") for i, _, _ in calls])
        await root.ask(extra_headers=ROOT[dialect])
        for speaker in speakers:
            await speaker.client.close()
        episode = await place.sealed()
    assert all(s.trainable and s.opened_by == "start" for s in episode.segments)
    first = {t.new_messages[-1]["content"]: t for t in episode.turns if t.index == 0}
    runs = {run.run: run for run in episode.runs}
    assert len(runs) == 4
    opened = {text: runs[turn.run] for text, turn in first.items()}
    start = first["start"]
    for text, call_id in (("look at part 1", calls[0][0]), ("<hint>be quick</hint>look at part 2", calls[1][0])):
        run = opened[text]
        assert (run.parent, run.fork_turn, run.handoff_event) == (0, start.turn_id, call_id)
    parent, made = opened["look at part 1"], first["look at part 1"]
    nested = opened["look deeper"]
    assert (nested.parent, nested.fork_turn) == (parent.run, made.turn_id)
    assert nested.handoff_event == made.message["tool_calls"][0]["id"]
    assert verify_episode(place.directory) is None


async def test_an_agent_that_is_not_known_is_not_taken_at_its_headers(
    tmp_path: Path, renderer: TemplateRenderer, seeded: SeededEngine
) -> None:
    async with room(tmp_path, seeded, renderer) as place, place.speaker("messages") as speaker:
        await _say(speaker, "start", {})
        speaker.history.clear()
        await _say(speaker, "other", {"x-claude-code-agent-id": "one"})
        captured = await place.slot.close()
    assert (captured.runs, captured.segments, captured.trainable) == (1, 2, False)


@pytest.mark.parametrize(
    ("dialect", "summary"),
    [
        ("messages", "This session is being continued from a previous conversation that ran out of context."),
        ("responses", "Another language model started to solve this problem and produced a summary."),
    ],
)
@pytest.mark.parametrize("by_policy", [True, False])
async def test_a_known_agents_summary_is_a_declared_rewrite(
    tmp_path: Path, renderer: TemplateRenderer, dialect: str, summary: str, by_policy: bool
) -> None:
    engine = ScriptedEngine(lambda episode, messages: {"content": f"words number {len(messages)}"})
    async with room(tmp_path, engine, renderer) as place, place.speaker(dialect) as speaker:
        await _say(speaker, "start", ROOT[dialect])
        await _say(speaker, "summarise", ROOT[dialect])
        told = "words number 3" if by_policy else "what the harness wrote"
        speaker.history[:] = [{"role": "user", "content": f"{summary}\n{told}"}]
        await _say(speaker, "go on", ROOT[dialect])
        await _say(speaker, "and on", ROOT[dialect])
        episode = await place.sealed()
    before, after = episode.segments
    assert (after.opened_by, after.summary_by) == ("summary", "policy" if by_policy else "harness")
    assert (before.trainable, after.trainable, after.predecessor) == (True, True, 0)
    assert [t.segment for t in episode.turns] == [0, 0, 1, 1]
    assert verify_episode(place.directory) is None


def test_work_is_handed_over_by_the_call_whose_longest_text_is_told() -> None:
    calls = [call("spawn", prompt="look at it"), call("spawn", prompt="look at it all", kind="x"), call("stop")]
    for i, made in enumerate(calls):
        made["id"] = f"c{i}"
    user = [{"role": "user", "content": "hint\nlook at it all"}]
    assert handed_over(calls[1:], user) == "c1"
    assert handed_over(calls[2:], user) is None
    assert handed_over([calls[0]], [{"role": "system", "content": "look at it"}]) is None
