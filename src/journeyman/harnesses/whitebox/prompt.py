"""What the policy is told besides the task: three neutral sentences, and the texts around a compaction."""

from collections.abc import Sequence
from typing import Any

SYSTEM_PROMPT = (
    "You work in a Linux sandbox through the tools listed here. "
    "Keep secrets and credentials out of everything you write or send. "
    "Save each requested file under the path that the request or the environment names."
)
SUMMARY_REQUEST = (
    "The context is nearly full and will be replaced by your summary. "
    "Write down the findings, figures, file paths and decisions so far, and what remains. Call no tool."
)
PRUNED = "[removed to save context]"


def opening(instruction: str) -> list[dict[str, Any]]:
    """The history a run starts with."""
    return [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": instruction}]


def reopening(instruction: str, summary: str, todos: Sequence[dict[str, str]]) -> list[dict[str, Any]]:
    """The history a run continues with after a summary; the todo list comes in its current state."""
    text = f"{instruction}\n\nThe earlier history was replaced by this summary:\n{summary}"
    if todos:
        text += f"\n\nCurrent todo list:\n{todo_text(todos)}"
    return [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": text}]


def todo_text(todos: Sequence[dict[str, str]]) -> str:
    """One line per item: [ ] pending, [~] in progress, [x] completed."""
    marks = {"pending": " ", "in_progress": "~", "completed": "x"}
    return "\n".join(f"- [{marks[todo['status']]}] {todo['content']}" for todo in todos)
