"""HTTP/1.1 to an inference server, kept lean because every model call pays for it.

Invariant: a request is sent at most once. Only what never reached the server is tried again: a refused connection, or
an answer 429 or 503 that says nothing was sampled. Whatever breaks later is the caller's to judge.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import SplitResult, urlsplit

from journeyman.errors import EngineFailure, UserError

_IDLE_SECONDS = 2.0  # servers of this kind close an idle connection after five: a reused one must be alive
_HEAD_BYTES = 65_536
_AGAIN = {429, 503}
_AS = "write it as http://127.0.0.1:30000"


class _Link:
    """One connection and since when it has been idle."""

    __slots__ = ("idle_since", "reader", "writer")

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.idle_since = 0.0

    def alive(self) -> bool:
        return (
            time.monotonic() - self.idle_since < _IDLE_SECONDS
            and not self.writer.is_closing()
            and not self.reader.at_eof()
        )


class Response:
    """A reply whose body has not been read yet. `done` once it has been read to its end."""

    def __init__(self, link: _Link, status: int, headers: Mapping[bytes, bytes]) -> None:
        self.status = status
        self._reader = link.reader
        self._length = int(headers[b"content-length"]) if b"content-length" in headers else None
        self._chunked = b"chunked" in headers.get(b"transfer-encoding", b"").lower()
        self.closes = b"close" in headers.get(b"connection", b"").lower() or not (
            self._chunked or self._length is not None
        )
        self.done = False

    async def parts(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises EngineFailure("truncated") where it ends too early."""
        try:
            if self._chunked:
                while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
                    yield (await self._reader.readexactly(size + 2))[:-2]
                while await self._reader.readuntil(b"\r\n") != b"\r\n":  # trailers
                    pass
            elif self._length is not None:
                yield await self._reader.readexactly(self._length)
            else:
                while data := await self._reader.read(65_536):
                    yield data
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError) as error:
            raise EngineFailure("truncated", f"the server's reply broke off: {error}") from error
        self.done = True

    async def read(self) -> bytes:
        """The whole body. Raises EngineFailure."""
        return b"".join([part async for part in self.parts()])

    async def json(self) -> Any:
        """The whole body as JSON. Raises EngineFailure("not_json")."""
        return parse(await self.read())

    async def events(self) -> AsyncIterator[bytes]:
        """`data:` payloads of a server-sent event stream. Raises EngineFailure where the stream has no end mark."""
        buffer, ended = b"", False
        async for part in self.parts():
            buffer += part
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                if not line.startswith(b"data:"):
                    continue
                data = line[5:].strip()
                if data == b"[DONE]":
                    ended = True
                else:
                    yield data
        if not ended:
            raise EngineFailure("truncated", "the stream ended without its end mark")


def address_of(url: str) -> tuple[SplitResult, int | None]:
    """The parts of a server's address, and its port where one is named. Raises UserError where it is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UserError(f"{url!r} is not the address of a server ({error}): {_AS}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or " " in url:
        raise UserError(f"{url!r} is not the address of a server: {_AS}")
    if parts.username is not None:
        host = parts.netloc.rpartition("@")[2]
        raise UserError(
            f"the address of {host} holds a user or password: leave it out, and name the environment variable of the "
            "server's key (--api-key-env)"
        )
    return parts, port


class Connections:
    """Connections to one server, reused. `headers` go with every request."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, attempts: int = 4) -> None:
        """Raises UserError where `url` is not an http address."""
        parts, port = address_of(url)
        self.url = url.rstrip("/")
        self.retried = 0  # requests sent again because nothing had been done with them
        self._secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = port or (443 if self._secure else 80)
        self._base = parts.path.rstrip("/")
        self._attempts = attempts
        lines = [f"Host: {parts.netloc}", "Content-Type: application/json"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self._headers = "".join(f"{line}\r\n" for line in lines)
        self._idle: list[_Link] = []

    @asynccontextmanager
    async def send(self, method: str, path: str, body: bytes = b"") -> AsyncIterator[Response]:
        """One request; its connection is reused if the body was read to its end. Raises EngineFailure."""
        link, response = await self._answered(method, path, body)
        try:
            yield response
        finally:
            if response.done and not response.closes:
                link.idle_since = time.monotonic()
                self._idle.append(link)
            else:
                link.writer.close()

    async def call(self, method: str, path: str, value: Any = None, seconds: float = 60.0) -> Any:
        """A control request with a small JSON answer (None: empty or not JSON). Raises EngineFailure("http_STATUS")."""
        body = b"" if value is None else json.dumps(value).encode()
        try:
            async with asyncio.timeout(seconds):
                async with self.send(method, path, body) as response:
                    answer = await response.read()
        except TimeoutError:
            raise EngineFailure("timeout", f"{method} {path}: no answer within {seconds:.0f} s") from None
        if response.status >= 400:
            raise refused(response.status, path, answer)
        try:
            return json.loads(answer)
        except ValueError:
            return None

    async def close(self) -> None:
        """Close idle connections; those in use close with their requests."""
        for link in self._idle:
            link.writer.close()
        self._idle.clear()

    async def _answered(self, method: str, path: str, body: bytes) -> tuple[_Link, Response]:
        """Send and read the head of the answer; a server that is too busy to begin is asked again."""
        for attempt in range(self._attempts):
            link = await self._link(attempt)
            try:
                response = await self._exchange(link, method, path, body)
            except BaseException:
                link.writer.close()
                raise
            if response.status not in _AGAIN or attempt == self._attempts - 1:
                break
            link.writer.close()
            self.retried += 1
            await asyncio.sleep(0.2 * 2**attempt)
        return link, response

    async def _link(self, attempt: int) -> _Link:
        while self._idle:
            link = self._idle.pop()
            if link.alive():
                return link
            link.writer.close()
        while True:
            try:
                opened = asyncio.open_connection(self._host, self._port, ssl=self._secure or None, limit=1 << 20)
                return _Link(*await opened)
            except (OSError, UnicodeError) as error:  # the latter: a host that cannot be one
                attempt += 1
                if attempt >= self._attempts:
                    raise EngineFailure("unreachable", f"{self.url}: {error}") from error
                self.retried += 1
                await asyncio.sleep(0.2 * 2**attempt)

    async def _exchange(self, link: _Link, method: str, path: str, body: bytes) -> Response:
        head = f"{method} {self._base}{path} HTTP/1.1\r\n{self._headers}Content-Length: {len(body)}\r\n\r\n"
        try:
            link.writer.write(head.encode() + body)
            await link.writer.drain()
            status, headers = _parse_head(await link.reader.readuntil(b"\r\n\r\n"))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError) as error:
            raise EngineFailure("connection_lost", f"{method} {path}: {error}") from error
        return Response(link, status, headers)


def _parse_head(data: bytes) -> tuple[int, dict[bytes, bytes]]:
    """Status and headers, names in lower case. Raises ValueError."""
    if len(data) > _HEAD_BYTES:
        raise ValueError(f"headers of {len(data)} bytes")
    first, *lines = data[:-4].split(b"\r\n")
    version, status, *_ = first.split(b" ", 2)
    if not version.startswith(b"HTTP/1."):
        raise ValueError(f"not HTTP/1: {first[:40]!r}")
    pairs = (line.partition(b":") for line in lines)
    return int(status), {name.strip().lower(): value.strip() for name, _, value in pairs}


def parse(data: bytes) -> Any:
    """JSON from the server. Raises EngineFailure("not_json")."""
    try:
        return json.loads(data)
    except ValueError as error:
        raise EngineFailure("not_json", f"{error}: {data[:120]!r}") from error


def refused(status: int, path: str, body: bytes) -> EngineFailure:
    """The failure that an HTTP error status is, with the server's own words."""
    return EngineFailure(f"http_{status}", f"{path}: {body[:400].decode(errors='replace')}")
