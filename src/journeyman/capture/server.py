"""The gateway: one loopback endpoint for any agent, one bearer key per episode, every sampled token on record.

A key reaches its own episode only, bodies are bounded, and a reply's last byte follows the turn's record on disk.
"""

import asyncio
import errno
import ipaddress
import json
import re
import secrets
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from journeyman.capture.admin import Admin
from journeyman.capture.call import Call
from journeyman.capture.clients import client_of
from journeyman.capture.dialects.base import Dialect, Events, Refusal
from journeyman.capture.dialects.body import json_body
from journeyman.capture.dialects.chat import ChatDialect
from journeyman.capture.dialects.continuing import continued
from journeyman.capture.dialects.messages import MessagesDialect
from journeyman.capture.dialects.parameters import check_engine
from journeyman.capture.dialects.refusing import shallow
from journeyman.capture.dialects.responses import ResponsesDialect
from journeyman.capture.http import quiet_log, unknown_route
from journeyman.capture.reading import reading
from journeyman.capture.recorder import Recorder
from journeyman.capture.reopen import reopen
from journeyman.capture.segments import Declared
from journeyman.capture.slot import Ask, Slot, Terms
from journeyman.engines.base import Engine
from journeyman.errors import CaptureFailure, Failure, UserError, boundary
from journeyman.records.episode import EpisodeSpec
from journeyman.tokens.base import Renderer

_NAME = re.compile(r"[\w.:/#@+-]{1,200}")
_EVENTS = ("", "summary", "pruning", "branch")
_AUTHORS = ("", "policy", "harness")
_STATUS = {"engine": 502, "capture": 500}
_HISTORY = ("messages", "input", "system", "tools")  # read part by part, with limits of their own
_LARGE = 1 << 20  # bytes of a body whose tokens are counted beside the event loop first
_JSON = "application/json"
_Serve = Callable[[Dialect, Slot, web.Request], Awaitable[web.StreamResponse]]
_ENCODER = json.JSONEncoder(ensure_ascii=False)


class Gateway:
    """The capture server of a job. An async context manager; `open` gives each episode its slot."""

    def __init__(
        self,
        engine: Engine,
        renderer: Renderer,
        *,
        socket_dir: Path | None = None,
        host: str | None = None,
        port: int = 0,
        max_body_bytes: int = 64 << 20,
        heartbeat_seconds: float = 10.0,
        linger_seconds: float = 30.0,
        engine_seconds: float = 1800.0,
        admin_root: Path | None = None,
        tokenizer_digest: str = "",
    ) -> None:
        """`socket_dir`: listen on its gateway.sock. `host`: listen on TCP too (the default where there is no socket).
        `admin_root`: a job's directory; episodes in it may be opened by HTTP, under `admin.key`.
        `tokenizer_digest`: of the renderer's tokenizer, put on record where the engine does not say its own.

        Raises UserError for a host that is not loopback.
        """
        self.host = host or (None if socket_dir else "127.0.0.1")
        if self.host:
            self.check_host(self.host)
        self.engine = engine
        self.renderer = renderer
        self.engine_identity: dict[str, Any] = engine.identity.model_dump(mode="json")
        self.engine_identity["tokenizer_digest"] = engine.identity.tokenizer_digest or tokenizer_digest
        self.url = ""
        self._socket = socket_dir / "gateway.sock" if socket_dir else None
        self._port = port
        self._max_body_bytes = max_body_bytes
        self._heartbeat = heartbeat_seconds
        self._linger = linger_seconds
        self._engine_seconds = engine_seconds
        self._slots: dict[str, Slot] = {}
        self._runner: web.AppRunner | None = None
        self._dialects: tuple[Dialect, ...] = (ChatDialect(), ResponsesDialect(), MessagesDialect())
        self.admin = Admin(admin_root, engine, self.open) if admin_root is not None else None

    @staticmethod
    def check_host(host: str) -> None:
        """Raises UserError for a host that is not loopback."""
        try:
            loopback = ipaddress.ip_address(host).is_loopback
        except ValueError:
            loopback = False
        if not loopback:
            raise UserError(f"host {host} is not loopback: the gateway listens on 127.0.0.1 or ::1 only")

    async def __aenter__(self) -> Self:
        """Raises UserError where the port is taken."""
        app = web.Application(client_max_size=self._max_body_bytes, middlewares=[unknown_route])
        for dialect in self._dialects:
            for path in dialect.paths:
                app.router.add_post(path, self._handler(dialect, self._serve))
            for path, fields in dialect.count_paths.items():
                app.router.add_post(path, self._handler(dialect, partial(self._count, fields)))
        for path in ("/v1/models", "/models"):
            app.router.add_get(path, self._models)
        if self.admin is not None:
            self.admin.add_routes(app)
        self._runner = web.AppRunner(
            app, access_log=None, logger=quiet_log(), handler_cancellation=True, shutdown_timeout=1.0
        )
        await self._runner.setup()
        if self.host:
            try:
                await web.TCPSite(self._runner, self.host, self._port).start()
            except OSError as error:
                await self.close()
                reason = "in use" if error.errno == errno.EADDRINUSE else error.strerror
                raise UserError(
                    f"port {self._port} of {self.host} is {reason}: give another, 0 takes a free one"
                ) from None
            port = self._runner.addresses[0][1]
            self.url = f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{port}"
        if self._socket:
            self._socket.parent.mkdir(parents=True, exist_ok=True)
            await web.UnixSite(self._runner, str(self._socket)).start()
            self._socket.chmod(0o600)
            self.url = f"unix:{self._socket}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every slot and stop listening; idempotent."""
        for slot in list(self._slots.values()):
            await slot.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
            if self._socket:
                self._socket.unlink(missing_ok=True)

    def open(
        self,
        spec: EpisodeSpec,
        directory: Path,
        context_tokens: int,
        resume: bool | None = None,
        key: str | None = None,
    ) -> Slot:
        """A slot that records the episode into `directory`; the window is the engine's own where that is smaller.

        `resume`: turns that a killed gateway left there are gone on with; None: they are not, nor will be those of
        this one if it is killed. `key`: the episode's; None makes one.
        Raises CaptureFailure where the directory holds turns and `resume` is not True, or a log that cannot be read.
        """
        if self._runner is None:
            raise CaptureFailure("gateway_down", "the gateway is not running")
        key = key or f"jm-{secrets.token_urlsafe(32)}"
        window = min(context_tokens, self.engine.identity.context_tokens or context_tokens)
        terms = Terms(self.engine, self.renderer, window, self._linger, self._engine_seconds)
        found = reopen(directory) if resume and (directory / "turns.jsonl").exists() else None
        recorder = Recorder(directory, found is not None, resumable=resume is not None)
        slot = Slot(spec, recorder, terms, self.url, key, self._forget)
        if found is not None:
            slot.restore(found)
        self._slots[key] = slot
        return slot

    def _forget(self, key: str) -> None:
        self._slots.pop(key, None)

    # -- requests

    def _slot(self, request: web.Request) -> Slot:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            key = request.headers.get("x-api-key", "")  # as Anthropic's clients send it
        slot = self._slots.get(key.strip())
        if slot is None:
            raise Refusal(
                401, "invalid_api_key", "no open episode has this key: send the episode's own as a bearer token"
            )
        return slot

    async def _models(self, request: web.Request) -> web.Response:
        try:
            self._slot(request)
        except Refusal as refusal:
            return _refused(self._dialects[0], refusal)
        name = self.engine.identity.model
        model = {"id": name, "object": "model", "created": 0, "owned_by": "journeyman"}  # as OpenAI's clients read it
        model |= {"type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}  # as Anthropic's do
        return _json_response({"object": "list", "data": [model], "has_more": False, "first_id": name, "last_id": name})

    def _handler(self, dialect: Dialect, serve: _Serve) -> Any:
        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                slot = self._slot(request)
            except Refusal as refusal:
                return _refused(dialect, refusal)
            try:
                with boundary("capture"):
                    return await serve(dialect, slot, request)
            except Refusal as refusal:
                return _refused(dialect, refusal)
            except Failure as failure:
                return _failed(dialect, slot.note(failure))

        return handle

    async def _serve(self, dialect: Dialect, slot: Slot, request: web.Request) -> web.StreamResponse:
        with reading():
            ask, body = await _read(request)
            asked, canonical = continued(dialect.parse(body, slot.spec.sampling), slot.history, dialect.canonical)
            check_engine(asked, self.engine.identity, slot.spec.sampling)
            if ask.bytes > _LARGE:
                await slot.measure(asked, ask, canonical)
            call = await slot.begin(asked, ask, canonical)
        call.clients += 1
        try:
            if asked.stream:
                events = dialect.events(asked, call.turn_id, self.engine.identity)
                return await self._stream(events, slot, call, request)
            reply = await call.finished()
            response = _json_response(dialect.reply(asked, reply, self.engine.identity))
            await response.prepare(request)
            await response.write_eof()
            if _connected(request):
                call.deliver()
            return response
        except ConnectionResetError:
            raise asyncio.CancelledError from None  # nobody is there to answer
        finally:
            slot.leave(call)

    async def _count(
        self, fields: Mapping[str, str], dialect: Dialect, slot: Slot, request: web.Request
    ) -> web.StreamResponse:
        """How long a prompt would be; nothing is sampled or recorded."""
        with reading():
            ask, body = await _read(request)
            asked, canonical = continued(dialect.parse(body, slot.spec.sampling), slot.history, dialect.canonical)
            counted = partial(slot.count, asked, ask, canonical)
            tokens = await asyncio.to_thread(counted) if ask.bytes > _LARGE else counted()
        return _json_response({**fields, "input_tokens": tokens})

    async def _stream(self, events: Events, slot: Slot, call: Call, request: web.Request) -> web.StreamResponse:
        """Server-sent events, as the engine samples; an error after the start ends the stream in-band."""
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        )
        await response.prepare(request)
        failed: list[Failure] = []
        async with aclosing(self._pieces(events, call, failed)) as pieces:
            async for piece in pieces:
                await response.write(piece)
        if failed:
            slot.note(failed[0])
        elif _connected(request):
            call.deliver()
        await response.write_eof()
        return response

    async def _pieces(self, events: Events, call: Call, failed: list[Failure]) -> AsyncGenerator[bytes]:
        """What a stream says; a failure, also one of ours in saying it, ends it in-band and is put into `failed`."""
        try:
            with boundary("capture"):
                yield events.opening(call.prompt_tokens, call.cached_tokens)
                async for piece in call.follow(self._heartbeat):
                    if piece is None:
                        yield events.waiting()
                    else:
                        yield (events.reasoning if piece.kind == "reasoning" else events.prose)(piece.text)
                yield events.ending(await call.finished())
        except Failure as failure:
            failed.append(failure)
            yield events.broken(f"{failure.layer}.{failure.cause}", str(failure))


def _connected(request: web.Request) -> bool:
    return request.transport is not None and not request.transport.is_closing()


async def _read(request: web.Request) -> tuple[Ask, Any]:
    """Headers and body. Raises Refusal where either cannot be used."""
    headers = request.headers
    names = {name: headers.get(f"X-Journeyman-{name}", "") for name in ("Turn", "Run", "Parent", "Handoff")}
    for name, value in names.items():
        if value and not _NAME.fullmatch(value):
            raise Refusal(
                400, "invalid_header", f"X-Journeyman-{name}={value[:80]!r} is not a name", f"X-Journeyman-{name}"
            )
    turn = names["Turn"] or _idempotency(headers)
    turn_header = "X-Journeyman-Turn" if names["Turn"] else "Idempotency-Key"
    event, author = headers.get("X-Journeyman-Event", ""), headers.get("X-Journeyman-Summary-By", "")
    for name, value, allowed in (("Event", event, _EVENTS), ("Summary-By", author, _AUTHORS)):
        if value not in allowed:
            text = f"X-Journeyman-{name}={value[:80]!r}: use one of {', '.join(filter(None, allowed))}"
            raise Refusal(400, "invalid_header", text, f"X-Journeyman-{name}")
    try:
        raw = await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise Refusal(413, "body_too_large", f"the body is larger than this gateway reads: {error.text}") from None
    except (ConnectionResetError, web.RequestPayloadError) as error:
        if not _connected(request):
            raise asyncio.CancelledError from None  # the client went away in mid-sentence: nobody is there to answer
        raise Refusal(400, "unreadable_body", f"the body is not what its headers say: {error}") from None
    body = json_body(raw)
    for name, value in body.items() if isinstance(body, dict) else ():
        if name not in _HISTORY:
            shallow([value], name)
    declared = Declared(event, author or None)  # type: ignore[arg-type]
    client = client_of(headers)
    own = names["Run"], names["Parent"]
    run, parent = client.loop(headers) if client is not None and not own[0] else own
    return Ask(
        turn_id=turn,
        turn_header=turn_header,
        run=run,
        parent=parent,
        handoff=names["Handoff"] or None,
        declared=declared,
        retry=headers.get("x-stainless-retry-count", "0") != "0",
        fingerprint=zlib.crc32(raw),
        bytes=len(raw),
        client=client,
    ), body


def _idempotency(headers: Mapping[str, str]) -> str:
    """The turn that the usual header names; "" where it does not. Raises Refusal."""
    key = headers.get("Idempotency-Key", "").strip('"')
    if key and not _NAME.fullmatch(key):
        raise Refusal(400, "invalid_header", f"Idempotency-Key={key[:80]!r} is not a name", "Idempotency-Key")
    return key


def _json_response(body: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    data = _ENCODER.encode(body).encode()
    return web.Response(body=data, status=status, content_type=_JSON, headers=headers)


def _refused(dialect: Dialect, refusal: Refusal) -> web.Response:
    body = dialect.error(refusal.status, refusal.code, refusal.message, refusal.param)
    return _json_response(body, refusal.status, {"x-should-retry": "false"})


def _failed(dialect: Dialect, failure: Failure) -> web.Response:
    """A failure of ours: 5xx, typed by layer, and clients are told not to try again by themselves."""
    status = _STATUS.get(failure.layer, 500)
    body = dialect.error(status, f"{failure.layer}.{failure.cause}", str(failure))
    return _json_response(body, status, {"x-should-retry": "false"})
