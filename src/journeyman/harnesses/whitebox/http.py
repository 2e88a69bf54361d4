"""One HTTP/1.1 connection to a loopback gateway: a full client costs more than everything else a model call needs.

Invariant: a reply is returned whole or an error is raised; a connection that broke is never used again.
"""

import asyncio
import socket
from urllib.parse import urlsplit

MAX_HEAD_BYTES = 64 << 10
CONNECT_SECONDS = 10.0


class BrokenReply(Exception):
    """The connection ended before its reply did, or what came is not HTTP."""


class Connection:
    """POSTs to one server, over TCP or a unix socket; connects when it must. Waits for replies without a limit."""

    def __init__(self, url: str) -> None:
        """`url`: "http://127.0.0.1:PORT" or "unix:/path"."""
        self._path = url.removeprefix("unix:") if url.startswith("unix:") else None
        parts = urlsplit("http://gateway" if self._path else url)
        self._address = (parts.hostname or "127.0.0.1", parts.port or 80)
        self.prefix = parts.path.rstrip("/")
        self._host = parts.netloc
        self._socket: socket.socket | None = None
        self._buffer = b""

    def close(self) -> None:
        """Close the connection; the next post opens another."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._buffer = None, b""

    async def post(self, path: str, headers: str, body: bytes) -> tuple[int, bytes]:
        """Status and body. `headers`: whole lines, each ended by CRLF. Raises OSError, BrokenReply."""
        head = (
            f"POST {self.prefix}{path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        )
        loop = asyncio.get_running_loop()
        try:
            sock = self._socket or await self._connect(loop)
            await loop.sock_sendall(sock, head.encode("latin-1") + body)
            return await self._reply(loop, sock)
        except BaseException:
            self.close()
            raise

    async def _connect(self, loop: asyncio.AbstractEventLoop) -> socket.socket:
        async with asyncio.timeout(CONNECT_SECONDS):
            if self._path:
                family, address = socket.AF_UNIX, self._path
                sock = socket.socket(family, socket.SOCK_STREAM)
                sock.setblocking(False)
                await self._open(loop, sock, address)
            else:
                found = socket.getaddrinfo(*self._address, type=socket.SOCK_STREAM)  # loopback: no look-up to wait for
                sock = socket.socket(found[0][0], socket.SOCK_STREAM)
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await self._open(loop, sock, found[0][4])
        self._socket = sock
        return sock

    @staticmethod
    async def _open(loop: asyncio.AbstractEventLoop, sock: socket.socket, address: object) -> None:
        try:
            await loop.sock_connect(sock, address)  # type: ignore[arg-type]
        except BaseException:
            sock.close()
            raise

    async def _reply(self, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> tuple[int, bytes]:
        while True:
            head = (await self._until(loop, sock, b"\r\n\r\n")).decode("latin-1")
            status, fields = _read_head(head)
            if status >= 200:
                break
        if "chunked" in fields.get("transfer-encoding", "").lower():
            body = await self._chunks(loop, sock)
        else:
            try:
                size = int(fields["content-length"])
            except (KeyError, ValueError) as error:
                raise BrokenReply(f"no usable content-length: {error}") from None
            body = await self._exactly(loop, sock, size)
        if fields.get("connection", "").lower() == "close":
            self.close()
        return status, body

    async def _chunks(self, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> bytes:
        parts: list[bytes] = []
        while True:
            line = await self._until(loop, sock, b"\r\n")
            try:
                size = int(line.split(b";")[0], 16)
            except ValueError:
                raise BrokenReply(f"not a chunk size: {line[:20]!r}") from None
            data = await self._exactly(loop, sock, size + 2)
            if size == 0:
                return b"".join(parts)
            parts.append(data[:-2])

    async def _more(self, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
        data = await loop.sock_recv(sock, 1 << 16)
        if not data:
            raise BrokenReply("the connection was closed")
        self._buffer += data

    async def _until(self, loop: asyncio.AbstractEventLoop, sock: socket.socket, mark: bytes) -> bytes:
        while (end := self._buffer.find(mark)) < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise BrokenReply("a head without an end")
            await self._more(loop, sock)
        found, self._buffer = self._buffer[:end], self._buffer[end + len(mark) :]
        return found

    async def _exactly(self, loop: asyncio.AbstractEventLoop, sock: socket.socket, size: int) -> bytes:
        while len(self._buffer) < size:
            await self._more(loop, sock)
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found


def _read_head(head: str) -> tuple[int, dict[str, str]]:
    first, *lines = head.split("\r\n")
    try:
        status = int(first.split(" ", 2)[1])
    except (IndexError, ValueError):
        raise BrokenReply(f"not a status line: {first[:40]!r}") from None
    return status, {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
