"""Template families by name: how each speaks, and how it is told by a checkpoint's own files."""

from collections.abc import Mapping
from typing import Any, NamedTuple


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


def families_of(added: Mapping[str, int], template: str) -> list[str]:
    """Names of the families that a vocabulary and a chat template might belong to, likeliest first."""
    return [
        name
        for name, family in FAMILIES.items()
        if all(token in added for token in family.tokens)
        and all(text in template for text in family.written)
        and not any(text in template for text in family.absent)
    ]
