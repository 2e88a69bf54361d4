"""What a gateway says and logs where no dialect answers: an unknown route, and what is no HTTP at all."""

import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

_Handle = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def unknown_route(request: web.Request, handler: _Handle) -> web.StreamResponse:
    """An error object, as the clients of every dialect read it, where the server knows the path or the method not."""
    try:
        return await handler(request)
    except (web.HTTPNotFound, web.HTTPMethodNotAllowed) as error:
        known = sorted({route.resource.canonical for route in request.app.router.routes() if route.resource})
        served = ", ".join(path for path in known if path.startswith("/v1"))
        text = f"{request.method} {request.path[:100]!r} is not served here; what is: {served}"
        told = {"type": "not_found_error", "code": "unknown_route", "message": text, "param": None}
        headers = {"x-should-retry": "false"} | ({"Allow": error.headers["Allow"]} if "Allow" in error.headers else {})
        return web.json_response({"type": "error", "error": told}, status=error.status, headers=headers)


def quiet_log() -> logging.Logger:
    """The server's log: one line an error and nothing that a client sent, which may be a key."""
    log = logging.getLogger("journeyman.gateway")
    if not any(isinstance(f, _Plain) for f in log.filters):
        log.addFilter(_Plain())
    return log


class _Plain(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else "an error"
        record.msg, record.args = f"a connection was given up: {kind}", ()
        record.exc_info = record.exc_text = record.stack_info = None
        return True
