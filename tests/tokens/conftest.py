"""A real tokenizer, made once, under several chat templates."""

import json
from pathlib import Path

import pytest

from journeyman.engines import embedded
from journeyman.tokens.template import TemplateRenderer
from journeyman.tokens.tiny import write_tiny_tokenizer

# Qwen3's shape: reasoning kept only after the last user query, tool results merged into one user turn.
THINKING = """{%- set ns = namespace(last=messages | length - 1) %}
{%- for message in messages[::-1] %}
{%- set index = (messages | length - 1) - loop.index0 %}
{%- if message.role == 'user' and ns.last == messages | length - 1 and not ns.found %}
{%- set ns.last = index %}{%- set ns.found = true %}
{%- endif %}
{%- endfor %}
{%- if tools %}
{{- '<|im_start|>system\n' }}
{%- for tool in tools %}{{- tool | tojson + '\n' }}{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{{- '<|im_start|>assistant\n' }}
{%- if loop.index0 > ns.last and (loop.last or message.reasoning_content) %}
{{- '<think>\n' + (message.reasoning_content or '') + '\n</think>\n\n' }}
{%- endif %}
{{- message.content }}
{%- for call in message.tool_calls or [] %}
{{- '\n<tool_call>\n{"name": "' + call.function.name }}
{{- '", "arguments": ' + (call.function.arguments | tojson) + '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- elif message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
{{- '\n<tool_response>\n' + message.content + '\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\n' }}{%- endif %}
{%- else %}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}
"""
# Llama-3's shape: no newline after a turn, tool results as turns of their own.
HEADERS = """{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\n\n' + message.content | trim }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>{"name": "' + call.function.name }}
{{- '", "arguments": ' + (call.function.arguments | tojson) + '}</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>' }}
{%- if loop.first and tools %}{{- '<|im_start|>tools\n\n' + (tools | tojson) + '<|im_end|>' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n\n' }}{%- endif %}
"""
EMBEDDED = Path(embedded.__file__).parent
TEMPLATES = {
    "chatml": None,
    "thinking": THINKING,
    "headers": HEADERS,
    "policy": (EMBEDDED / "policy" / "chat_template.jinja").read_text(),
    "smollm2": (EMBEDDED / "smollm2.jinja").read_text(),
}
POLICY_SPECIALS = ("<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<tool_call>", "</tool_call>")


def make_renderer(directory: Path, template: str | None) -> TemplateRenderer:
    """The tiny tokenizer under a template (None: the shipped one), with the special tokens that it writes."""
    write_tiny_tokenizer(directory, **({"specials": POLICY_SPECIALS} if template and "<|end|>" in template else {}))
    if template is not None:
        (directory / "chat_template.jinja").write_text(template)
    return TemplateRenderer(directory)


@pytest.fixture(scope="session")
def renderers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TemplateRenderer]:
    return {name: make_renderer(tmp_path_factory.mktemp(name), template) for name, template in TEMPLATES.items()}


@pytest.fixture(scope="session")
def renderer(renderers: dict[str, TemplateRenderer]) -> TemplateRenderer:
    return renderers["chatml"]


@pytest.fixture(scope="session")
def tools() -> list[dict[str, object]]:
    return [
        {"type": "function", "function": {"name": "read", "parameters": json.loads('{"type": "object"}')}},
        {"type": "function", "function": {"name": "write", "description": "Write <|im_end|> too.", "parameters": {}}},
    ]
