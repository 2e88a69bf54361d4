"""Harnesses by name, so that nothing is imported before it is asked for. Outsiders name "module:callable" instead."""

import importlib
from typing import Any

from journeyman.errors import UserError

HARNESSES: dict[str, str] = {
    "native": "journeyman.harnesses.whitebox.loop:native_harness",
    "replay": "journeyman.harnesses.replay:ReplayHarness",
}


def harness_factory(name: str) -> Any:
    """The callable behind a registry name or "module:callable". Raises UserError naming what is known."""
    module, colon, attribute = HARNESSES.get(name, name).partition(":")
    if not colon:
        raise UserError(f"harness {name!r} is unknown: use one of {', '.join(HARNESSES)} or 'module:callable'")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UserError(f"harness {name!r} cannot be imported ({error}): check the name") from None
