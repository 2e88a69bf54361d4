"""Turns a plan into what a scripted engine answers: the step a history asks for next, also after a compaction.

Invariant: the same plan and history always give the same message.
"""

import re
from collections.abc import Sequence
from typing import Any

from journeyman.harnesses.whitebox.prompt import SUMMARY_REQUEST
from journeyman.records.task import Plan

DONE = "Done."
_PROGRESS = re.compile(r"\[(\d+) steps of the plan are done\]")


def scripted_reply(plan: Plan, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """{"content", "tool_calls": [{"name", "arguments"}]} of the next step; a last plain message ends the run."""
    done = sum(message["role"] == "assistant" for message in messages)
    for message in messages:
        if message["role"] == "user" and (said := _PROGRESS.findall(message["content"])):
            done += int(said[-1])
    if messages[-1]["content"] == SUMMARY_REQUEST:
        return {"content": f"[{done} steps of the plan are done]"}
    if done >= len(plan.steps):
        return {"content": DONE}
    step = plan.steps[done]
    calls = [{"name": call.tool, "arguments": call.arguments} for call in step.calls]
    return {"content": step.text or ("" if calls else DONE), "tool_calls": calls}
