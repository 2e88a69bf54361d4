"""Template families by name: which renderer writes a family, and how it is told by a checkpoint's own files.

Invariant: a family's renderer is used only where it writes a probe conversation exactly as the checkpoint's own chat
template does (or where the user names the family); else the checkpoint's template itself writes, and the family reads.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from journeyman.errors import UserError
from journeyman.tokens.base import Message, Renderer
from journeyman.tokens.template import TemplateRenderer

if TYPE_CHECKING:
    from journeyman.tokens.renderers import FamilyRenderer, OwnTemplate


class Family(NamedTuple):
    """How a family speaks. `config`: class and arguments in the `renderers` package."""

    config: str
    arguments: Mapping[str, Any]
    tokens: tuple[str, ...]  # added tokens without which it cannot be written
    written: tuple[str, ...]  # texts that the chat template holds
    absent: tuple[str, ...] = ()  # texts that it does not hold
    opening: str = "<tool_call>"  # where a call begins: prose ends there
    thinks: bool = True  # whether turns may begin with <think>
    next_roles: tuple[str, str] | None = None  # markers that end a turn: before tool results, before a user
    calls_a_turn: int = 0  # most calls in one turn; 0: any number


_CHATML = ("<|im_start|>", "<|im_end|>", "<tool_call>", "<tool_response>", "<think>")
_GLM = ("[gMASK]", "<|user|>", "<|assistant|>", "<|observation|>", "<think>", "<tool_call>", "<arg_key>")
_GLM_ENDS = ("<|observation|>", "<|user|>")
_QWEN35 = (*_CHATML, "<|vision_start|>", "<|video_pad|>")

FAMILIES: dict[str, Family] = {  # the first that fits is taken
    "qwen3": Family("Qwen3RendererConfig", {}, _CHATML, ("<function-name>", "<think>")),
    "qwen3.8": Family(
        "Qwen38RendererConfig",
        {},
        _QWEN35,
        ("<function=", "preserve_thinking", "reasoning_effort"),
        opening="<tool_call>",
    ),
    "qwen3.6": Family("Qwen36RendererConfig", {}, _QWEN35, ("<function=", "preserve_thinking")),
    "qwen3.5": Family("Qwen35RendererConfig", {}, _QWEN35, ("<function=", "enable_thinking")),
    "glm-4.5": Family("GLM45RendererConfig", {}, _GLM, ("<arg_key>", "/nothink"), next_roles=_GLM_ENDS),
    "glm-5.3": Family("GLM53RendererConfig", {}, _GLM, ("<arg_key>", "reasoning_effort"), next_roles=_GLM_ENDS),
    "glm-5.1": Family("GLM51RendererConfig", {}, _GLM, ("<arg_key>", "clear_thinking"), next_roles=_GLM_ENDS),
    "glm-5": Family("GLM5RendererConfig", {}, _GLM, ("<arg_key>", "clear_thinking"), next_roles=_GLM_ENDS),
    "deepseek-v3": Family(
        "DeepSeekV3RendererConfig",
        {},
        ("<｜User｜>", "<｜Assistant｜>", "<｜tool▁calls▁begin｜>", "<｜tool▁outputs▁begin｜>"),
        ("<｜tool▁calls▁begin｜>",),
        absent=("enable_thinking",),
        opening="<｜tool▁calls▁begin｜>",
        thinks=False,
    ),
    "kimi-k2": Family(
        "KimiK2RendererConfig",
        {},
        ("<|im_middle|>", "<|im_system|>", "<|tool_calls_section_begin|>", "<|tool_call_argument_begin|>"),
        ("<|tool_calls_section_begin|>",),
        absent=("<think>",),
        opening="<|tool_calls_section_begin|>",
    ),
    "gpt-oss": Family(
        "GptOssRendererConfig",
        {"conversation_start_date": "2026-01-01"},
        ("<|start|>", "<|channel|>", "<|message|>", "<|call|>", "<|return|>", "<|constrain|>"),
        ("<|channel|>",),
        opening="",
        thinks=False,
        calls_a_turn=1,
    ),
    "llama-3": Family(
        "Llama3RendererConfig",
        {},
        ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>"),
        ("ipython", "<|start_header_id|>"),
        opening="{",
        thinks=False,
        calls_a_turn=1,
    ),
}

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


def families_of(added: Mapping[str, int], template: str) -> list[str]:
    """Names of the families that a vocabulary and a chat template might belong to, likeliest first."""
    return [
        name
        for name, family in FAMILIES.items()
        if all(token in added for token in family.tokens)
        and all(text in template for text in family.written)
        and not any(text in template for text in family.absent)
    ]


def renderer_for(directory: Path, family: str | None = None) -> Renderer:
    """The renderer of a checkpoint directory: its family's where that is proven or named, else its own template's.

    Raises UserError where `family` is not known, or where neither can be had.
    """
    from journeyman.tokens.renderers import FamilyRenderer, ReadByFamily, own_template

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


def _agree(family: "FamilyRenderer", own: "OwnTemplate") -> bool:
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
