"""How a fake server answers a call: whole, or streamed as server-sent events, with the faults of the wire on order.

Invariant: a reply or stream that was not spoiled on order is complete, and a stream ends with its end mark.
"""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from aiohttp import web

from journeyman.engines.fakes.policy import Call, FakePolicy


def whole(reply: dict[str, Any], policy: FakePolicy) -> web.Response:
    """A reply in one piece; `truncated_body` breaks it off."""
    text = json.dumps(reply)
    if policy.take_fault("truncated_body"):
        text = text[: len(text) // 2]
    return web.Response(text=text, content_type="application/json")


async def streamed(
    request: web.Request, policy: FakePolicy, calls: AsyncIterator[Call], event: Callable[[Call], dict[str, Any]]
) -> web.StreamResponse:
    """One event per state of the call; `truncated_stream` cuts the connection before the next."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    async for call in calls:
        if policy.take_fault("truncated_stream"):
            assert request.transport is not None
            request.transport.abort()
            return response
        await response.write(b"data: " + json.dumps(event(call)).encode() + b"\n\n")
    await response.write(b"data: [DONE]\n\n")
    return response
