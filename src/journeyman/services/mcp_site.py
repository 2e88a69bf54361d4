"""MCP over streamable HTTP for one request of an episode: one stateless server per service, made once per process.

The episode's world travels in the request's ASGI scope, so servers hold no episode state. Imported only when an agent
first speaks MCP (the SDK takes most of a second to import).
"""

import asyncio
import json
from collections.abc import MutableMapping
from contextlib import AsyncExitStack
from typing import Any

import mcp_types as types
from aiohttp import web
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from journeyman.errors import ServiceFailure
from journeyman.services.definition import ServiceDefinition
from journeyman.services.world import LiveService, World

_Scope = MutableMapping[str, Any]
_Context = ServerRequestContext[Any, Any]


def mcp_tools(definition: ServiceDefinition) -> dict[str, types.Tool]:
    """MCP tools of a definition by name, with result schemas and hints from the declared semantics."""
    return {
        name: types.Tool(
            name=name,
            description=tool.description,
            input_schema=tool.parameters,
            output_schema=tool.result_schema,
            annotations=types.ToolAnnotations(
                read_only_hint=not tool.writes, idempotent_hint=tool.idempotent, open_world_hint=False
            ),
        )
        for name, tool in definition.tools.items()
    }


def _make_server(definition: ServiceDefinition) -> Server[Any]:
    tools = mcp_tools(definition)

    async def list_tools(context: _Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        service: LiveService = _scope(context)["journeyman.service"]
        return types.ListToolsResult(tools=[tools[name] for name in service.grant.tools])

    async def call_tool(context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        world: World = _scope(context)["journeyman.world"]
        try:
            answer = world.call(f"{definition.name}__{params.name}", params.arguments or {})
        except ServiceFailure as failure:
            return _text(f"{definition.name} crashed: {failure.cause}", is_error=True)
        if not answer.ok:
            return _text(answer.error, is_error=True)
        text = json.dumps(answer.result, separators=(",", ":"), ensure_ascii=False)
        return _text(text, structured=answer.result)

    return Server(definition.name, title=definition.title, on_list_tools=list_tools, on_call_tool=call_tool)


def _scope(context: _Context) -> _Scope:
    """The ASGI scope of the HTTP request behind an MCP message."""
    if context.request is None:
        raise ServiceFailure("mcp_transport", "an MCP message arrived without an HTTP request")
    scope: _Scope = context.request.scope
    return scope


def _text(text: str, *, is_error: bool = False, structured: Any = None) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=structured, is_error=is_error)


class _Managers:
    """The running session manager of every service asked for so far; they live as long as the process."""

    def __init__(self) -> None:
        self._running: dict[str, StreamableHTTPSessionManager] = {}
        self._lock = asyncio.Lock()
        self._keep: list[asyncio.Task[None]] = []

    async def get(self, definition: ServiceDefinition) -> StreamableHTTPSessionManager:
        """The manager of a service, started on first use in a task of its own (sub-app lifespans do not run)."""
        async with self._lock:
            if definition.name not in self._running:
                # A unix socket has no host to rebind: without this every request answers "421 Invalid Host header".
                security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
                server = _make_server(definition)
                manager = StreamableHTTPSessionManager(
                    server, json_response=True, stateless=True, security_settings=security
                )
                started = asyncio.Event()
                self._keep.append(asyncio.create_task(_run_forever(manager, started)))
                await started.wait()
                self._running[definition.name] = manager
            return self._running[definition.name]


async def _run_forever(manager: StreamableHTTPSessionManager, started: asyncio.Event) -> None:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(manager.run())
        started.set()
        await asyncio.Event().wait()


_MANAGERS = _Managers()


async def serve_mcp(request: web.BaseRequest, service: LiveService, world: World) -> web.StreamResponse:
    """Answer one HTTP request with the service's MCP server."""
    manager = await _MANAGERS.get(service.definition)
    bridge = _Bridge(request, await request.read())
    scope = bridge.scope()
    scope["journeyman.service"] = service
    scope["journeyman.world"] = world
    await manager.handle_request(scope, bridge.receive, bridge.send)
    return await bridge.finish()


class _Bridge:
    """An aiohttp request as an ASGI connection."""

    def __init__(self, request: web.BaseRequest, body: bytes) -> None:
        self._request = request
        self._body: bytes | None = body
        self._response: web.StreamResponse | None = None

    def scope(self) -> _Scope:
        """The ASGI scope."""
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self._request.method,
            "scheme": "http",
            "path": self._request.path,
            "raw_path": self._request.path.encode(),
            "root_path": "",
            "query_string": self._request.query_string.encode(),
            "headers": [(name.lower(), value) for name, value in self._request.raw_headers],
            "client": ("unix", 0),
            "server": ("localhost", 80),
            "state": {},
        }

    async def receive(self) -> _Scope:
        """The body once; then wait until the client is gone."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(self, message: _Scope) -> None:
        """Start or continue the response."""
        if message["type"] == "http.response.start":
            self._response = web.StreamResponse(status=message["status"])
            for name, value in message.get("headers", ()):
                if name.lower() not in (b"content-length", b"transfer-encoding"):
                    self._response.headers.add(name.decode(), value.decode())
            await self._response.prepare(self._request)
        elif self._response is not None and message.get("body"):
            await self._response.write(message["body"])

    async def finish(self) -> web.StreamResponse:
        """The finished response."""
        if self._response is None:
            return web.Response(status=500, text="the MCP server gave no answer")
        await self._response.write_eof()
        return self._response
