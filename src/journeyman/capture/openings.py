"""How a turn begins that must call a tool: the ids with which every such turn of a model begins.

They are found by writing some, put at the end of the prompt, and never count as sampled. Any renderer will do.
"""

import json
from array import array
from typing import Any

from journeyman.capture.dialects.base import Refusal
from journeyman.tokens.base import Message, Renderer

_ARGUMENTS: tuple[dict[str, Any], ...] = ({}, {"a": "b"}, {"file_path": "x", "n": 1}, {"query": ["y"]})


_KEPT = 1024
_FOUND: dict[tuple[str, str], "array[int]"] = {}  # by the renderer's digest and the tool


def opening(renderer: Renderer, tool: str) -> "array[int]":
    """Ids that a turn calling `tool` ("": any) begins with, whatever its arguments.

    Raises Refusal where this family's calls do not begin otherwise than its prose, RenderError.
    """
    key = (renderer.digest, tool)
    if key not in _FOUND:
        if len(_FOUND) >= _KEPT:
            _FOUND.clear()
        _FOUND[key] = _find(renderer, tool)
    return _FOUND[key]


def _find(renderer: Renderer, tool: str) -> "array[int]":
    names = [tool] if tool else ["a", "zoom", "Quiet_down"]
    turns = [renderer.assistant(_calling(name, i)) for name in names for i in range(len(_ARGUMENTS))]
    common = _common(turns)
    prose = renderer.assistant({"role": "assistant", "content": "a"})
    if len(common) <= len(_common([common, prose])):
        text = "tool_choice cannot be honoured: this model's calls have no beginning of their own: use auto"
        raise Refusal(400, "unsupported_parameter", text, "tool_choice")
    return array("i", common)


def _calling(name: str, which: int) -> Message:
    """A turn that calls; its id is spelled as in Kimi's family, the one that shows ids to the model."""
    arguments, native = _ARGUMENTS[which], f"functions.{name}:{which}"
    call = {"id": native, "native": native, "name": name, "arguments": arguments, "raw": json.dumps(arguments)}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _common(turns: list[list[int]]) -> list[int]:
    """The longest beginning that all have."""
    shortest = min(turns, key=len)
    size = next((i for i, token in enumerate(shortest) if any(turn[i] != token for turn in turns)), len(shortest))
    return shortest[:size]
