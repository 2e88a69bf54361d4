"""A call that names a reply instead of telling the history again: the gateway tells it, as it is on record."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from journeyman.capture.dialects.base import CallRequest
from journeyman.capture.dialects.parameters import not_found
from journeyman.tokens.base import Message

Canonical = Callable[[Any], Message]


def continued(
    asked: CallRequest, history: Callable[[str], list[Message] | None], canonical: Canonical
) -> tuple[CallRequest, Canonical]:
    """The call with its whole history, and how its items are read. `history`: the messages up to a turn's end.

    Raises Refusal where the named reply is not on record.
    """
    if not asked.previous:
        return asked, canonical
    messages = history(asked.previous)
    if messages is None:
        raise not_found(asked.previous)
    told = [(message,) for message in messages]  # no item of a client is a tuple
    items = [*asked.items[: asked.lead], *told, *asked.items[asked.lead :]]

    def read(item: Any) -> Message:
        return item[0] if isinstance(item, tuple) else canonical(item)

    return replace(asked, items=items), read
