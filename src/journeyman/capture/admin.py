"""Driving a gateway from another process: episodes are opened and closed, weights loaded, under a key of its own.

No episode's key reaches these routes and this key reaches no episode; an episode lies below the given root only.
"""

import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web
from pydantic import Field, StrictBool, ValidationError

from journeyman.capture.dialects.base import Refusal
from journeyman.capture.dialects.body import json_body
from journeyman.capture.slot import Slot
from journeyman.engines.base import Engine
from journeyman.errors import Failure, boundary
from journeyman.records.base import Record, first_fault
from journeyman.records.episode import EpisodeSpec
from journeyman.store.layout import Job

_SEGMENT = re.compile(r"(?!\.{1,2}$)[\w.=@+-]{1,200}")
Opened = Callable[[EpisodeSpec, Path, int, bool], Slot]


class _Nothing(Record):
    pass


class _Open(Record):
    spec: EpisodeSpec
    context_tokens: int = Field(default=131_072, ge=1, strict=True)
    resume: StrictBool = False


class _Close(Record):
    episode: str


class _Weights(Record):
    path: str
    version: int = Field(ge=0, lt=1 << 31, strict=True)  # as the token log holds it


R = TypeVar("R", bound=Record)


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
        app.router.add_get("/admin/episodes", self._guarded(_Nothing, self._list))
        app.router.add_post("/admin/episodes", self._guarded(_Open, self._open))
        app.router.add_post("/admin/episodes/close", self._guarded(_Close, self._close))
        app.router.add_post("/admin/weights", self._guarded(_Weights, self._weights))

    def _guarded(self, kind: type[R], serve: Callable[[R], Awaitable[Any]]) -> Any:
        async def handle(request: web.Request) -> web.Response:
            scheme, _, key = request.headers.get("Authorization", "").partition(" ")
            given = key.strip().encode(errors="surrogateescape")
            if scheme.lower() != "bearer" or not secrets.compare_digest(given, self.key.encode()):
                return _error(401, "invalid_admin_key", "this is not the gateway's admin key")
            try:
                with boundary("capture"):
                    body = json_body(await request.read() or b"{}")
                    return web.json_response(await serve(_asked(kind, body)))
            except web.HTTPRequestEntityTooLarge as error:
                return _error(413, "body_too_large", str(error.text))
            except Refusal as refusal:
                return _error(refusal.status, refusal.code, refusal.message)
            except Failure as failure:
                return _error(500, f"{failure.layer}.{failure.cause}", str(failure))

        return handle

    async def _list(self, asked: "_Nothing") -> Any:
        """Open episodes; never their keys."""
        self._forget_closed()
        return {"episodes": sorted(self._slots), "engine": self._engine.identity.model_dump(mode="json")}

    async def _open(self, asked: "_Open") -> Any:
        """What is asked -> {"episode", "url", "key", "directory"}."""
        spec = asked.spec
        if spec.job != self._job.name:
            raise Refusal(400, "invalid_request", f"this gateway records job {self._job.name!r}, not {spec.job!r}")
        for name, value in (("policy", spec.policy), ("task", spec.task), ("group", spec.group)):
            if not _SEGMENT.fullmatch(value):
                text = f"spec.{name}={value[:80]!r} names no directory: use letters, digits and . _ = @ + -"
                raise Refusal(400, "invalid_request", text)
        if min(spec.attempt, spec.try_) < 0:
            raise Refusal(400, "invalid_request", f"attempt {spec.attempt}, try {spec.try_}: count from 0")
        self._forget_closed()
        if spec.id in self._slots:
            raise Refusal(409, "episode_open", f"episode {spec.id} is open already")
        directory = self._job.episode_dir(spec.key)
        slot = self._slots[spec.id] = self._open_slot(spec, directory, asked.context_tokens, asked.resume)
        return {"episode": spec.id, "url": slot.url, "key": slot.key, "directory": str(directory)}

    async def _close(self, asked: "_Close") -> Any:
        """The episode's name -> what its capture amounts to."""
        slot = self._slots.pop(asked.episode, None)
        if slot is None:
            raise Refusal(404, "unknown_episode", f"no open episode {asked.episode[:200]!r}")
        captured = await slot.close()
        return {**asdict(captured), "failure": str(captured.failure) if captured.failure else None}

    async def _weights(self, asked: "_Weights") -> Any:
        """The engine takes other weights between decode steps."""
        await self._engine.load_weights(Path(asked.path), asked.version)
        return {"version": asked.version}

    def _forget_closed(self) -> None:
        self._slots = {name: slot for name, slot in self._slots.items() if slot.captured is None}


def _asked(kind: type[R], body: Any) -> R:
    """The body as the route wants it. Raises Refusal, naming the first field that is wrong."""
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        raise Refusal(400, "invalid_request", first_fault(error, "body")) from None


def _error(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=status)
