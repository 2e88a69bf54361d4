"""Engines by name, so that nothing heavy is imported before it is asked for. Outsiders name "module:Class" instead."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from journeyman.engines.replicas import Replicas
from journeyman.errors import UserError
from journeyman.store.config_file import parse_config

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


def served_engine(
    kind: str, urls: Sequence[str], *, version: int = 0, model: str = "", settings: Mapping[str, Any] | None = None
) -> Any:
    """The client of a server, or of several servers of one model; an async context manager, not connected yet.

    `settings`: the fields of the class's `options_type`. Raises UserError.
    """
    found = engine_class(kind)
    if (options_type := getattr(found, "options_type", None)) is None:
        raise UserError(f"engine {kind!r} is no client of a server: give one such as sglang, vllm or openai")
    if not urls:
        raise UserError(f"engine {kind!r} is reached by its address: say urls = ['http://127.0.0.1:30000'] (--url)")
    try:
        options = parse_config(dict(settings or {}), options_type)
    except UserError as error:
        raise UserError(f"engine.settings: {error}") from None
    engines = [found(url, version=version, model=model, options=options) for url in urls]
    return engines[0] if len(engines) == 1 else Replicas(engines)
