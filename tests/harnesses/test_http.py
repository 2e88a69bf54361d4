"""The loop's own HTTP connection against servers that behave in all the ways HTTP allows, and some it does not."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from journeyman.harnesses.whitebox.http import BrokenReply, Connection


@asynccontextmanager
async def serving(*replies: bytes, close: bool = False) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that gives one raw reply per request; each request's body is kept."""
    left, bodies = list(replies), []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while left:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                bodies.append(await reader.readexactly(size))
                for part in left.pop(0).split(b"|"):
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0.001)
                if close:
                    break
        except asyncio.IncompleteReadError:
            pass
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", bodies
    server.close()


async def test_replies_come_whole_however_they_are_cut() -> None:
    plain = b"HTTP/1.1 200 OK\r\nContent-|Length: 5\r\n\r|\nhe|llo"
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n|2;x=y\r\nd|e\r\n0\r\n\r\n"
    waiting = b"HTTP/1.1 100 Continue\r\n\r\n|HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno"
    async with serving(plain, chunked, waiting) as (url, bodies):
        connection = Connection(url)
        assert await connection.post("/x", "", b"1") == (200, b"hello")
        assert await connection.post("/x", "A: b\r\n", b"22") == (200, b"abcde")
        assert await connection.post("/x", "", b"") == (404, b"no")
        connection.close()
    assert bodies == [b"1", b"22", b""]


async def test_a_server_that_closes_is_connected_to_again() -> None:
    one = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na"
    async with serving(one, one, close=True) as (url, _):
        connection = Connection(url)
        assert await connection.post("/", "", b"") == (200, b"a")
        assert await connection.post("/", "", b"") == (200, b"a")
        connection.close()


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\n\r\nno length",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000,
        b"",
    ],
)
async def test_a_broken_reply_is_an_error_and_its_connection_is_dropped(reply: bytes) -> None:
    async with serving(reply, close=True) as (url, _):
        connection = Connection(url)
        with pytest.raises((BrokenReply, OSError)):
            await connection.post("/", "", b"")
        assert connection._socket is None


async def test_nothing_listening_is_an_os_error(unused_tcp_port_factory: Callable[[], int]) -> None:
    with pytest.raises(OSError):
        await Connection(f"http://127.0.0.1:{unused_tcp_port_factory()}").post("/", "", b"")
    with pytest.raises(OSError):
        await Connection("unix:/nowhere/gateway.sock").post("/", "", b"")
