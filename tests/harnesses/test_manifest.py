"""What the policy is shown, and that a change of it is a change of the harness."""

import json

from journeyman.harnesses.registry import HARNESSES, harness_factory
from journeyman.harnesses.whitebox.loop import native_harness
from journeyman.harnesses.whitebox.prompt import SYSTEM_PROMPT
from journeyman.harnesses.whitebox.schemas import NATIVE

TOOLS = {  # F-01: tool -> (required, optional)
    "read": (["file_path"], ["offset", "limit"]),
    "edit": (["file_path", "old_string", "new_string"], ["replace_all"]),
    "write": (["file_path", "content"], []),
    "grep": (["pattern"], ["path", "glob"]),
    "glob": (["pattern"], ["path"]),
    "bash": (["command"], ["timeout_seconds", "run_in_background"]),
    "task_list": ([], []),
    "task_output": (["task_id"], []),
    "task_stop": (["task_id"], []),
    "todo_write": (["todos"], []),
}


def test_the_tool_set_is_the_texts() -> None:
    shown = {}
    for name, schema in NATIVE.items():
        parameters = schema["function"]["parameters"]
        required = parameters["required"]
        shown[name] = (required, [key for key in parameters["properties"] if key not in required])
    assert shown == TOOLS


def test_the_prompt_is_three_sentences_of_at_most_fifty_words() -> None:
    assert SYSTEM_PROMPT.count(". ") + 1 == 3
    assert len(SYSTEM_PROMPT.split()) <= 50


def test_tool_texts_are_short_and_prescribe_nothing() -> None:
    for schema in NATIVE.values():
        words = schema["function"]["description"].split()
        assert len(words) <= 40
        assert not {"always", "never", "must", "should", "important"} & {word.lower().strip(".,") for word in words}


def test_the_manifest_identifies_the_composition() -> None:
    native = native_harness().manifest
    assert native.digest() == native_harness().manifest.digest()
    assert native.digest() != native_harness(compaction="pruning").manifest.digest()
    assert native.digest() != native_harness(tools=("read",)).manifest.digest()
    assert [tool["function"]["name"] for tool in native.tools] == list(TOOLS)
    assert json.loads(native.canonical())["middleware"] == list(native.middleware)


def test_every_registered_harness_can_be_imported() -> None:
    assert [harness_factory(name) for name in HARNESSES]
