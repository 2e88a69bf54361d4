"""One request and one reply at a time over an executor's socket; whatever breaks the stream is a SandboxFailure."""

import asyncio
import socket
from typing import Any

from journeyman.errors import SandboxFailure
from journeyman.sandbox import wire

GRACE_SECONDS = 15.0  # an executor answers a timed-out command itself; this is how long past its limit we wait


class Channel:
    """Owns our end of the socket. A call that is cancelled half-way loses the channel: its reply has no owner."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._lock = asyncio.Lock()
        self._lost = ""
        self.round_trips = 0

    async def hello(self, timeout_seconds: float) -> None:
        """Wait until the executor is up. Raises SandboxFailure."""
        async with self._lock:
            await self._exchange(b"", timeout_seconds)

    async def call(self, op: str, args: dict[str, Any], timeout_seconds: float) -> dict[str, Any]:
        """One operation of `sandbox.executor`. Raises SandboxFailure when the executor is lost or silent."""
        async with self._lock:
            self.round_trips += 1
            return await self._exchange(wire.request(op, args), timeout_seconds + GRACE_SECONDS)

    async def _exchange(self, frame: bytes, timeout_seconds: float) -> dict[str, Any]:
        if self._lost:
            raise SandboxFailure("box_lost", self._lost)
        loop = asyncio.get_running_loop()
        lost = "a call was abandoned"
        try:
            async with asyncio.timeout(timeout_seconds):
                if frame:
                    await loop.sock_sendall(self._socket, frame)
                size = int.from_bytes(await self._exactly(loop, 4), "big")
                if size > wire.MAX_REPLY_BYTES:
                    raise wire.WireError(f"a reply of {size} bytes")
                answer = wire.reply(await self._exactly(loop, size))
            lost = ""
        except TimeoutError:
            lost = "the executor does not answer"
            raise SandboxFailure("executor_silent", f"no reply within {timeout_seconds:.0f} s") from None
        except (OSError, EOFError, wire.WireError) as error:
            lost = str(error) or type(error).__name__
            raise SandboxFailure("executor_gone", lost) from error
        finally:
            self._lost = lost
        return answer

    async def _exactly(self, loop: asyncio.AbstractEventLoop, size: int) -> bytes:
        data = await loop.sock_recv(self._socket, min(size, 1 << 16)) if size else b""
        if len(data) == size:
            return data
        buffer = bytearray(data)
        while len(buffer) < size:
            data = await loop.sock_recv(self._socket, min(size - len(buffer), 1 << 20)) if data else b""
            if not data:
                raise EOFError("the executor's socket was closed")
            buffer += data
        return bytes(buffer)

    def close(self) -> None:
        """Close our end: the executor ends its box."""
        self._lost = self._lost or "closed"
        self._socket.close()
