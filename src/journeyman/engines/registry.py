"""Engines by name, so that nothing heavy is imported before it is asked for. Outsiders name "module:Class" instead."""

import importlib
from typing import Any

from journeyman.errors import UserError

ENGINES: dict[str, str] = {
    "embedded": "journeyman.engines.embedded.client:EmbeddedEngine",
    "sglang": "journeyman.engines.sglang:SGLangEngine",
    "vllm": "journeyman.engines.vllm:VLLMEngine",
    "openai": "journeyman.engines.openai:OpenAIEngine",
    "scripted": "journeyman.engines.scripted:ScriptedEngine",
    "seeded": "journeyman.engines.scripted:SeededEngine",
}


def engine_class(name: str) -> type[Any]:
    """The class behind a registry name or "module:Class". Raises UserError naming what is known."""
    module, colon, attribute = ENGINES.get(name, name).partition(":")
    if not colon:
        raise UserError(f"engine {name!r} is unknown: use one of {sorted(ENGINES)} or 'module:Class'")
    try:
        found: type[Any] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UserError(f"engine {name!r} cannot be imported ({error}): check the name and its extra") from None
    return found
