"""HTTP and MCP of one episode on a unix socket of its own; both answer what `World.call` answers, nothing else.

    GET  /                     the granted services
    GET  /SERVICE              its tools with their schemas
    POST /SERVICE/TOOL         JSON arguments -> {"ok", "result", "error"}; 200 ok, 422 error, 403 denied, 504 timeout
    *    /SERVICE/mcp          MCP, streamable HTTP

Every request carries the episode's token: `Authorization: Bearer TOKEN`.
"""

import asyncio
import hmac
import json
from importlib import import_module
from pathlib import Path
from typing import Any

from aiohttp import web

from journeyman.errors import ServiceFailure
from journeyman.services.base import ServiceResult
from journeyman.services.world import LiveService, World

_STATUS = {"denied": 403, "timeout": 504}


def _json(body: dict[str, Any], status: int = 200) -> web.Response:
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    return web.Response(text=text, status=status, content_type="application/json")


def _problem(status: int, error: str) -> web.Response:
    return _json({"ok": False, "result": None, "error": error}, status)


def _answer(result: ServiceResult) -> web.Response:
    status = 200 if result.ok else _STATUS.get(result.error.partition(":")[0], 422)
    return _json({"ok": result.ok, "result": result.result, "error": result.error}, status)


def describe_service(service: LiveService) -> dict[str, Any]:
    """A service as its interfaces introduce it: title and granted tools with schemas and declared semantics."""
    return {
        "service": service.definition.name,
        "title": service.definition.title,
        "actor": service.grant.actor,
        "tools": [
            {
                "name": name,
                "description": service.definition.tools[name].description,
                "parameters": service.definition.tools[name].parameters,
                "writes": service.definition.tools[name].writes,
                "idempotent": service.definition.tools[name].idempotent,
            }
            for name in service.grant.tools
        ],
    }


class EpisodeSite:
    """A listening unix socket for one episode."""

    def __init__(self, path: Path, world: World, token: str) -> None:
        self.path = path
        self._world = world
        self._expected = f"Bearer {token}".encode()
        self._runner = web.ServerRunner(web.Server(self._handle))

    @classmethod
    async def start(cls, path: Path, world: World, token: str) -> "EpisodeSite":
        """Listen on `path`; whoever reaches the socket still needs the token."""
        site = cls(path, world, token)
        await site._runner.setup()
        await web.UnixSite(site._runner, str(path)).start()
        path.chmod(0o666)  # its directory is the host's own; a box sees only this socket, under a uid of its own
        return site

    async def close(self) -> None:
        """Stop listening and remove the socket."""
        await self._runner.cleanup()
        self.path.unlink(missing_ok=True)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        presented = request.headers.get("Authorization", "").encode()
        if not hmac.compare_digest(presented, self._expected):
            return _problem(401, "missing or wrong bearer token")
        parts = [part for part in request.path.split("/") if part]
        if not parts:
            return _json({"services": [describe_service(s)["service"] for s in self._world.services.values()]})
        service = self._world.services.get(parts[0])
        if service is None:
            return _problem(404, f"no service {parts[0]}; available: {', '.join(self._world.services)}")
        if parts[1:] == ["mcp"]:
            # Heavy, so only once an agent speaks MCP, and off the loop that serves the other episodes.
            mcp_site = await asyncio.to_thread(import_module, "journeyman.services.mcp_site")
            answer: web.StreamResponse = await mcp_site.serve_mcp(request, service, self._world)
            return answer
        if len(parts) == 1 and request.method == "GET":
            return _json(describe_service(service))
        if len(parts) == 2 and request.method == "POST":
            return await self._call(request, service, parts[1])
        return _problem(404, f"no route {request.method} {request.path}")

    async def _call(self, request: web.BaseRequest, service: LiveService, tool: str) -> web.Response:
        try:
            arguments = json.loads(await request.read() or b"{}")
        except ValueError:
            return _problem(400, "the body is not JSON")
        try:
            return _answer(self._world.call(f"{service.definition.name}__{tool}", arguments))
        except ServiceFailure as failure:
            return _problem(500, f"{service.definition.name} crashed: {failure.cause}")
