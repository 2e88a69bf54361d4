"""A scripted expert's plan, step by step."""

from journeyman.harnesses.whitebox.plan import DONE, scripted_reply
from journeyman.harnesses.whitebox.prompt import SUMMARY_REQUEST, opening, reopening
from journeyman.records.task import Plan, PlanStep, ToolCall

PLAN = Plan(
    name="reference",
    kind="reference",
    steps=(
        PlanStep(text="Looking.", calls=(ToolCall(tool="read", arguments={"file_path": "a"}),)),
        PlanStep(calls=(ToolCall(tool="write", arguments={"file_path": "b", "content": ""}),)),
        PlanStep(text="All done."),
    ),
)


def said(*replies: dict[str, object]) -> list[dict[str, object]]:
    return [{"role": "assistant", **reply} for reply in replies]


def test_each_turn_gets_its_step() -> None:
    history = opening("Do it.")
    first = scripted_reply(PLAN, history)
    assert first == {"content": "Looking.", "tool_calls": [{"name": "read", "arguments": {"file_path": "a"}}]}
    history += said(first)
    assert scripted_reply(PLAN, history)["tool_calls"][0]["name"] == "write"
    history += said({"content": ""})
    assert scripted_reply(PLAN, history) == {"content": "All done.", "tool_calls": []}
    history += said({"content": "All done."})
    assert scripted_reply(PLAN, history) == {"content": DONE}


def test_a_plan_goes_on_after_a_summary_of_its_own() -> None:
    history = [*opening("Do it."), *said({"content": ""}), {"role": "user", "content": SUMMARY_REQUEST}]
    summary = scripted_reply(PLAN, history)["content"]
    after = reopening("Do it.", summary, [])
    assert scripted_reply(PLAN, after)["tool_calls"][0]["name"] == "write"
