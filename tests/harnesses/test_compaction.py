"""Compaction: both triggers, who writes the new history, what survives it, and that the gateway is told."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeyman.harnesses.whitebox.compaction import reserve_tokens, trigger_tokens
from journeyman.harnesses.whitebox.loop import native_harness
from journeyman.harnesses.whitebox.prompt import PRUNED, SUMMARY_REQUEST
from journeyman.records.outcome import StopReason
from journeyman.records.task import Budget
from journeyman.records.turn import Segment
from tests.harnesses.conftest import plan

WINDOW = 8_192
TODOS = [{"content": "find it", "status": "completed"}, {"content": "write it", "status": "in_progress"}]
LONG = ("bash", {"command": "seq 1 300"})


def test_the_trigger_of_the_texts_window_is_101_072() -> None:
    assert trigger_tokens(131_072) == 101_072
    assert trigger_tokens(200_000) == 170_000
    assert trigger_tokens(200_001) == 170_000  # from here on 85 % comes first
    assert trigger_tokens(400_000) == 340_000
    assert trigger_tokens(2_048) == 1_740


@given(st.integers(min_value=64, max_value=4_000_000))
def test_the_trigger_is_the_earlier_of_the_two(window: int) -> None:
    reserve = 30_000 if window >= 60_000 else window // 10
    assert reserve_tokens(window) == reserve
    assert trigger_tokens(window) == min(int(0.85 * window + 1e-9), window - reserve)
    assert 0 < trigger_tokens(window) < window


def segments(stage: Any) -> list[Segment]:
    lines = (stage.directory / "segments.jsonl").read_text().splitlines()
    return [Segment.parse(line) for line in lines]


def summaries(stage: Any) -> list[str]:
    """First user messages, one per history."""
    seen: list[str] = []
    for messages in stage.asked:
        if messages[1]["content"] not in seen:
            seen.append(messages[1]["content"])
    return seen


async def test_the_policy_writes_a_summary_and_the_todo_list_survives_twice(stage: Any) -> None:
    steps = plan([("todo_write", {"todos": TODOS})], *[[LONG]] * 15)
    async with stage(steps, budget=Budget(context_tokens=WINDOW)) as held:
        exit = await native_harness().run(held.run)
    assert exit.stop is StopReason.FINISHED
    assert exit.compactions >= 2
    assert len(exit.events) == 16  # every step once: the plan went on where it was
    for history in summaries(held)[1:]:
        assert "steps of the plan are done" in history
        assert history.startswith("Do it.")
        assert history.endswith("- [x] find it\n- [~] write it")
    kinds = [(segment.opened_by, segment.summary_by) for segment in segments(held)]
    assert kinds[0] == ("start", None)
    assert set(kinds[1:]) == {("summary", "policy")}
    assert all(segment.trainable for segment in segments(held))


async def test_a_harness_summary_is_declared_as_such(stage: Any) -> None:
    steps = plan([("todo_write", {"todos": TODOS})], *[[LONG]] * 5)

    def answer(episode: str, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
        done = len([m for m in messages if m["role"] == "assistant"])
        if done > 12 or any("replaced by this summary" in m["content"] for m in messages):
            return {"content": "over"}
        return {"content": "", "tool_calls": [{"name": LONG[0], "arguments": LONG[1]}]}

    async with stage(answer, budget=Budget(context_tokens=WINDOW)) as held:
        exit = await native_harness(compaction="harness").run(held.run)
    assert exit.compactions == 1
    assert '- bash {"command": "seq 1 300"}: 1 2 3' in summaries(held)[1]
    assert [(s.opened_by, s.summary_by) for s in segments(held)][1] == ("summary", "harness")
    assert steps.steps  # the plan itself is not what this test follows


async def test_pruning_empties_old_results_and_keeps_the_newest(stage: Any) -> None:
    async with stage(plan(*[[LONG]] * 8), budget=Budget(context_tokens=WINDOW)) as held:
        exit = await native_harness(compaction="pruning").run(held.run)
    assert exit.stop is StopReason.FINISHED
    assert exit.compactions >= 1
    results = [m["content"] for m in held.asked[-1] if m["role"] == "tool"]
    assert PRUNED in results
    assert results[-1].startswith("1\n2\n3")
    assert len(results) == 8
    assert {s.opened_by for s in segments(held)[1:]} == {"pruning"}


async def test_one_result_larger_than_the_window_is_pruned_not_fatal(stage: Any) -> None:
    huge = ("bash", {"command": "seq 1 3000"})
    async with stage(plan([huge], [huge]), budget=Budget(context_tokens=2_600)) as held:
        exit = await native_harness().run(held.run)
    assert exit.stop is StopReason.FINISHED
    assert exit.compactions >= 1
    assert held.closed.turns == 3


@pytest.mark.parametrize("mode", ["policy", "harness", "pruning"])
async def test_a_request_that_does_not_fit_ends_the_run(stage: Any, mode: Any) -> None:
    async with stage(plan([LONG]), budget=Budget(context_tokens=1_200), instruction="word " * 3_000) as held:
        exit = await native_harness(compaction=mode).run(held.run)
    assert exit.stop is StopReason.CONTEXT_FULL
    assert exit.events == []


async def test_a_summary_request_answered_by_calls_falls_back_to_the_harness(stage: Any) -> None:
    def answer(episode: str, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
        if any("replaced by this summary" in m["content"] for m in messages):
            return {"content": "over"}
        call = {
            "name": "bash",
            "arguments": {"command": "true" if messages[-1]["content"] == SUMMARY_REQUEST else "seq 1 300"},
        }
        return {"content": "", "tool_calls": [call]}

    async with stage(answer, budget=Budget(context_tokens=WINDOW)) as held:
        exit = await native_harness().run(held.run)
    assert exit.stop is StopReason.FINISHED
    assert "true" not in [event.arguments["command"] for event in exit.events]
    assert segments(held)[-1].summary_by == "harness"
