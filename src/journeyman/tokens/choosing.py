"""Which renderer writes for a checkpoint: its family's, or its own chat template.

Invariant: a family's renderer is used only where it writes a probe conversation exactly as the checkpoint's own chat
template does (or where the user names the family); else the checkpoint's template itself writes, and the family reads.
"""

from pathlib import Path
from typing import Any

from journeyman.errors import UserError
from journeyman.tokens.base import Message, Renderer
from journeyman.tokens.families import FAMILIES, families_of
from journeyman.tokens.renderers import FamilyRenderer, OwnTemplate, ReadByFamily, own_template
from journeyman.tokens.template import TemplateRenderer

_PROBE: tuple[Message, ...] = (
    {"role": "system", "content": "Be exact."},
    {"role": "user", "content": "What does a.txt say?"},
)
_PROBE_TOOLS: tuple[dict[str, Any], ...] = (
    {
        "type": "function",
        "function": {
            "name": "read",
            "description": "Read a file.",
            "parameters": {
                "type": "object",
                "properties": {"file_path": {"type": "string"}},
                "required": ["file_path"],
            },
        },
    },
)


def renderer_for(directory: Path, family: str | None = None) -> Renderer:
    """The renderer of a checkpoint directory: its family's where that is proven or named, else its own template's.

    Raises UserError where `family` is not known, or where neither can be had.
    """
    if family is not None:
        if family not in FAMILIES:
            raise UserError(f"family {family!r} is unknown: use one of {sorted(FAMILIES)}, or leave it out")
        return FamilyRenderer(directory, family)
    own = own_template(directory)
    likely = [FamilyRenderer(directory, name, own.encoder) for name in families_of(own.encoder.added, own.source)]
    for found in likely:
        if _agree(found, own):
            return found
    if not likely:
        return TemplateRenderer(directory)
    try:
        return ReadByFamily(TemplateRenderer(directory), likely[0])
    except UserError as error:
        name = likely[0].family
        text = f"the chat template of {directory} differs from the {name} family's, and by itself: {error}"
        raise UserError(f"{text}; name the family {name!r} to use it all the same") from None


def _agree(family: FamilyRenderer, own: OwnTemplate) -> bool:
    """Whether both write the probe alike: with tools and without, and through a turn of tool calls.

    Templates differ in how they want calls told; one way must agree.
    """
    names = ["read"] if FAMILIES[family.family].calls_a_turn == 1 else ["read", "read"]
    calls, results = [], []
    for n, name in enumerate(names):
        native = f"functions.{name}:{n}"
        calls.append({"id": native, "name": name, "arguments": {"file_path": "a.txt"}, "raw": ""})
        results.append({"role": "tool", "content": "hello", "tool_call_id": native, "name": name, "native": native})
    first = list(_PROBE)
    whole = [*first, {"role": "assistant", "content": "", "tool_calls": calls}, *results]
    for messages, tools in ((first, ()), (first, _PROBE_TOOLS), (whole, _PROBE_TOOLS)):
        ways = [own.render(messages, tools, wire) for wire in (False, True)]
        if family.full(messages, tools) not in ways:
            return False
    return True
