"""The native loop over a real gateway and a real box."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from journeyman.engines.scripted import SeededEngine
from journeyman.harnesses.whitebox.loop import native_harness
from journeyman.records.outcome import StopReason
from journeyman.records.task import Budget
from journeyman.services.base import ServiceResult, WorldSnapshot
from tests.harnesses.conftest import plan

LOOK = ("bash", {"command": "cat a.txt"})


def told(stage: Any, turn: int = -1) -> list[str]:
    """Tool results in the history the engine was asked with."""
    return [message["content"] for message in stage.asked[turn] if message["role"] == "tool"]


@pytest.mark.parametrize("unix", [False, True])
async def test_a_plan_runs_to_its_end_through_gateway_and_box(stage: Any, unix: bool) -> None:
    steps = plan(
        [("read", {"file_path": "a.txt"})],
        [("bash", {"command": "cat a.txt | wc -l"})],
        [("write", {"file_path": "out.txt", "content": "lines: 2\n"})],
    )
    async with stage(steps, unix=unix) as held:
        exit = await native_harness().run(held.run)
        change = await held.box.collect()
    assert exit.stop is StopReason.FINISHED
    assert exit.final_message == "Done."
    assert [event.tool for event in exit.events] == ["read", "bash", "write"]
    assert [event.turn_id for event in exit.events] == ["t1", "t2", "t3"]
    assert change.written == {"out.txt": b"lines: 2\n"}
    assert held.closed.turns == 4
    assert told(held) == ["1\talpha\n2\tbeta", "2", "wrote out.txt (1 lines)"]


async def test_calls_of_one_turn_run_in_the_models_order(stage: Any) -> None:
    steps = plan(
        [
            ("write", {"file_path": "n.txt", "content": "one\n"}),
            ("bash", {"command": "sed -i s/one/two/ n.txt"}),
            ("read", {"file_path": "n.txt"}),
            ("edit", {"file_path": "n.txt", "old_string": "two", "new_string": "three"}),
        ]
    )
    async with stage(steps) as held:
        await native_harness().run(held.run)
    assert told(held) == ["wrote n.txt (1 lines)", "[no output]", "1\ttwo", "edited n.txt (1 replaced)"]


async def test_the_loop_talks_once_to_the_box_per_tool_call(stage: Any) -> None:
    calls = [
        ("read", {"file_path": "a.txt"}),
        ("grep", {"pattern": "alpha"}),
        ("glob", {"pattern": "*"}),
        ("edit", {"file_path": "a.txt", "old_string": "alpha", "new_string": "omega"}),
        ("write", {"file_path": "b.txt", "content": ""}),
        LOOK,
    ]
    async with stage(plan(calls)) as held:
        await native_harness().run(held.run)
        assert held.box.channel.round_trips == len(calls)


async def test_background_tasks_go_by_their_own_tools(stage: Any) -> None:
    steps = plan(
        [("bash", {"command": "echo up; sleep 60", "run_in_background": True})],
        [("bash", {"command": "sleep 0.2"}), ("task_list", {}), ("task_output", {"task_id": "1"})],
        [("task_stop", {"task_id": "1"}), ("task_output", {"task_id": "7"})],
    )
    async with stage(steps) as held:
        await native_harness().run(held.run)
    results = told(held)
    assert results[0] == "started task 1"
    assert results[2] == "1 running: echo up; sleep 60"
    assert results[3] == "[running]\nup"
    assert results[4] == "task 1 stopped"
    assert results[5].startswith("error: unknown task_id")


async def test_what_the_model_can_correct_is_told_and_the_episode_goes_on(stage: Any) -> None:
    """L-01: six faults of the policy, one trajectory."""
    steps = plan(
        [("read", {"path": "a.txt"})],
        [("browse", {"url": "x"})],
        [("read", {"file_path": "absent.txt"})],
        [("read", {"file_path": "a.txt"}), ("edit", {"file_path": "a.txt", "old_string": "zz", "new_string": ""})],
        [("bash", {"command": "echo out; exit 3"})],
        [("bash", {"command": "sleep 30", "timeout_seconds": 0.2})],
    )
    async with stage(steps) as held:
        exit = await native_harness().run(held.run)
    assert exit.stop is StopReason.FINISHED
    results = told(held)
    assert results[0] == "error: missing argument file_path"
    assert results[1].startswith("error: unknown tool 'browse'; available: read, edit,")
    assert results[2] == "error: no such file: absent.txt"
    assert results[4] == "error: old_string was not found in a.txt"
    assert results[5] == "out\n[exit code 3]"
    assert results[6] == "error: timed out after 0.2 s; all its processes were killed"
    assert [event.is_error for event in exit.events] == [True, True, True, False, True, True, True]
    assert [event.valid for event in exit.events] == [True, False, True, True, True, True, True]


async def test_wrong_arguments_are_named(stage: Any) -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("read", {"file_path": 3}),
        ("read", {"file_path": "a.txt", "limit": True}),
        ("read", {"file_path": "a.txt", "colour": "red"}),
        ("todo_write", {"todos": [{"content": "x", "status": "later"}]}),
        ("todo_write", {"todos": [{"content": "x"}]}),
        ("read", {"file_path": "a.txt", "limit": None}),
    ]
    async with stage(plan(wrong)) as held:
        await native_harness().run(held.run)
    results = told(held)
    assert results[0] == "error: argument file_path is not of type string"
    assert results[1] == "error: argument limit is not of type integer"
    assert results[2] == "error: unknown argument colour; known: file_path, offset, limit"
    assert results[3] == "error: argument todos[0].status is not one of pending, in_progress, completed"
    assert results[4] == "error: missing argument todos[0].status"
    assert not results[5].startswith("error")


class Desk:
    """A service world with one tool."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any], str]] = []

    async def tools(self) -> list[dict[str, Any]]:
        parameters = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
        return [{"type": "function", "function": {"name": "desk__get", "parameters": parameters}}]

    async def call(self, tool: str, arguments: dict[str, Any], call_id: str = "") -> ServiceResult:
        self.calls.append((tool, arguments, call_id))
        if arguments["id"] == "0":
            return ServiceResult(ok=False, error="no ticket 0")
        return ServiceResult(ok=True, result={"id": arguments["id"], "state": "open"})

    async def freeze(self) -> WorldSnapshot:
        return WorldSnapshot(state={}, ledger=())

    async def close(self) -> None:
        return None


async def test_service_tools_stand_beside_the_native_ones(stage: Any) -> None:
    desk = Desk()
    steps = plan([("desk__get", {"id": "7"}), ("desk__get", {"id": "0"}), ("desk__get", {})])
    async with stage(steps, services=desk) as held:
        exit = await native_harness().run(held.run)
    assert [json.loads(told(held)[0]), *told(held)[1:]] == [
        {"id": "7", "state": "open"},
        "error: no ticket 0",
        "error: missing argument id",
    ]
    assert [call[0] for call in desk.calls] == ["desk__get", "desk__get"]
    assert [call[2] for call in desk.calls] == [event.call_id for event in exit.events[:2]]


async def test_the_turn_cap_is_250_or_the_tasks_own(stage: Any) -> None:
    endless = plan(*[[LOOK]] * 400)
    async with stage(endless, budget=Budget(max_turns=3, context_tokens=32_768)) as held:
        exit = await native_harness().run(held.run)
    assert (exit.stop, held.closed.turns) == (StopReason.MAX_TURNS, 3)
    assert "turn_cap:250" in native_harness().manifest.middleware


async def test_the_token_budget_ends_a_run(stage: Any) -> None:
    endless = plan(*[[LOOK]] * 50)
    async with stage(endless, budget=Budget(max_sampled_tokens=60, context_tokens=32_768)) as held:
        exit = await native_harness().run(held.run)
    assert exit.stop is StopReason.TOKEN_BUDGET
    assert held.closed.turns < 50


async def test_a_turn_cut_by_length_ends_the_run_as_the_policys_doing(stage: Any) -> None:
    engine = SeededEngine(vocabulary=300, tokens=5000)
    async with stage(plan(), engine=engine, budget=Budget(max_sampled_tokens=50, context_tokens=32_768)) as held:
        exit = await native_harness().run(held.run)
    assert exit.stop is StopReason.TOKEN_BUDGET


async def test_the_models_time_does_not_count_and_the_policys_own_does(stage: Any) -> None:
    slow = SeededEngine(vocabulary=300, tokens=4, seconds=0.5)
    budget = Budget(policy_seconds=0.4, context_tokens=32_768)
    async with stage(plan(), engine=slow, budget=budget) as held:
        exit = await native_harness().run(held.run)
    assert exit.stop is StopReason.FINISHED
    assert exit.engine_seconds >= 0.5


async def test_a_command_cannot_outlast_the_policys_time(stage: Any) -> None:
    steps = plan([("bash", {"command": "sleep 30"})], [LOOK])
    async with stage(steps, budget=Budget(policy_seconds=0.5, context_tokens=32_768)) as held:
        exit = await native_harness().run(held.run)
    assert exit.stop is StopReason.TIME_BUDGET
    assert exit.events[0].seconds < 5


async def test_images_are_answered_with_text(stage: Any) -> None:
    steps = plan([("bash", {"command": "printf '\\x89PNG\\x00' > chart.png"})], [("read", {"file_path": "chart.png"})])
    async with stage(steps) as held:
        exit = await native_harness().run(held.run)
    assert "vision is not available" in told(held)[1]
    assert not exit.events[1].is_error


async def test_malformed_calls_are_told_and_counted_as_invalid(stage: Any) -> None:
    replies = iter(['<tool_call>\n{"name": "read", "arguments": {\n</tool_call>', "done"])

    def text(request: Any) -> Sequence[int]:
        said = next(replies)
        return [*renderer.encoder.encode(renderer.encoder.escape(said)), renderer.stop_token_ids[0]]

    asked = SeededEngine(vocabulary=300, text=text)
    async with stage(plan(), engine=asked) as held:
        renderer = held.gateway.renderer
        exit = await native_harness().run(held.run)
    assert exit.stop is StopReason.FINISHED
    assert [(event.valid, event.is_error) for event in exit.events] == [(False, True)]
    assert asked.calls == 2
