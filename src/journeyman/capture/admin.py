"""Driving a gateway from another process: episodes are opened and closed, weights loaded, under a key of its own.

No episode's key reaches these routes and this key reaches no episode; an episode lies below the given root only.
"""

import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from journeyman.capture.dialects.base import Refusal
from journeyman.capture.slot import Slot
from journeyman.engines.base import Engine
from journeyman.errors import Failure
from journeyman.records.base import first_fault
from journeyman.records.episode import EpisodeSpec
from journeyman.store.layout import Job

Opened = Callable[[EpisodeSpec, Path, int, bool], Slot]


class Admin:
    """Routes below /admin of one gateway. `root` is a job's directory."""

    def __init__(self, root: Path, engine: Engine, open_slot: Opened) -> None:
        self.key = f"jm-admin-{secrets.token_urlsafe(32)}"
        self._job = Job(root)
        self._engine = engine
        self._open_slot = open_slot
        self._slots: dict[str, Slot] = {}  # by episode id

    def add_routes(self, app: web.Application) -> None:
        """Put the routes into the gateway's application."""
        app.router.add_get("/admin/episodes", self._guarded(self._list))
        app.router.add_post("/admin/episodes", self._guarded(self._open))
        app.router.add_post("/admin/episodes/close", self._guarded(self._close))
        app.router.add_post("/admin/weights", self._guarded(self._weights))

    def _guarded(self, serve: Callable[[dict[str, Any]], Awaitable[Any]]) -> Any:
        async def handle(request: web.Request) -> web.Response:
            scheme, _, key = request.headers.get("Authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not secrets.compare_digest(key.strip().encode(), self.key.encode()):
                return _error(401, "invalid_admin_key", "this is not the gateway's admin key")
            try:
                body = json.loads(await request.read() or b"{}")
                if not isinstance(body, dict):
                    raise Refusal(400, "invalid_request", "the body is not a JSON object")
                return web.json_response(await serve(body))
            except web.HTTPRequestEntityTooLarge as error:
                return _error(413, "body_too_large", str(error.text))
            except ValidationError as error:
                return _error(400, "invalid_request", first_fault(error, "body"))
            except ValueError as error:
                return _error(400, "invalid_json", f"the body is not JSON: {error}")
            except Refusal as refusal:
                return _error(refusal.status, refusal.code, refusal.message)
            except Failure as failure:
                return _error(500, f"{failure.layer}.{failure.cause}", str(failure))

        return handle

    async def _list(self, body: dict[str, Any]) -> Any:
        """Open episodes; never their keys."""
        self._forget_closed()
        return {"episodes": sorted(self._slots), "engine": self._engine.identity.model_dump(mode="json")}

    async def _open(self, body: dict[str, Any]) -> Any:
        """{"spec": EpisodeSpec, "context_tokens"?, "resume"?} -> {"episode", "url", "key", "directory"}."""
        spec = EpisodeSpec.model_validate(body.get("spec"))
        if spec.job != self._job.name:
            raise Refusal(400, "invalid_request", f"this gateway records job {self._job.name!r}, not {spec.job!r}")
        if any(part in ("", ".", "..") for part in spec.key.split("/")) or spec.key.count("/") != 3:
            raise Refusal(400, "invalid_request", f"{spec.key!r} is not policy/task/group/attempt.try")
        self._forget_closed()
        if spec.id in self._slots:
            raise Refusal(409, "episode_open", f"episode {spec.id} is open already")
        directory = self._job.episode_dir(spec.key)
        window = body.get("context_tokens", 131_072)
        if not isinstance(window, int) or window < 1:
            raise Refusal(400, "invalid_request", f"context_tokens={window!r}: use a positive integer")
        slot = self._slots[spec.id] = self._open_slot(spec, directory, window, body.get("resume") is True)
        return {"episode": spec.id, "url": slot.url, "key": slot.key, "directory": str(directory)}

    async def _close(self, body: dict[str, Any]) -> Any:
        """{"episode"} -> what its capture amounts to."""
        slot = self._slots.pop(str(body.get("episode")), None)
        if slot is None:
            raise Refusal(404, "unknown_episode", f"no open episode {body.get('episode')!r}")
        captured = await slot.close()
        return {**asdict(captured), "failure": str(captured.failure) if captured.failure else None}

    async def _weights(self, body: dict[str, Any]) -> Any:
        """{"path", "version"}: the engine takes other weights between decode steps."""
        path, version = body.get("path"), body.get("version")
        if not isinstance(path, str) or not isinstance(version, int):
            raise Refusal(400, "invalid_request", "name a path and a version")
        await self._engine.load_weights(Path(path), version)
        return {"version": version}

    def _forget_closed(self) -> None:
        self._slots = {name: slot for name, slot in self._slots.items() if slot.captured is None}


def _error(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=status)
