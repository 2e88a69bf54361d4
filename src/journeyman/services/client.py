"""The driver's side of the service host: it starts the process, multiplexes one channel, and names what is lost.

A lost host fails the worlds that were open on it (their state is gone) and no others: the next `open` starts a new one.
"""

import asyncio
import contextlib
import itertools
import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from journeyman.errors import ServiceFailure, UserError
from journeyman.records.task import ServiceGrant
from journeyman.services.base import ServiceResult, WorldSnapshot
from journeyman.services.host import ADMIN_SECRET, LINE_BYTES
from journeyman.services.world import State

BOX_SOCKET = "/run/jm/services.sock"  # where an episode's own socket is bound in its box
_KEPT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "TMPDIR")


class _Channel:
    """One host process and the connection to it. Requests run concurrently under ids."""

    def __init__(self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.process = process
        self._reader = reader
        self._writer = writer
        self._ids = itertools.count()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.lost = False
        self._listener = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, directory: Path, start_seconds: float) -> "_Channel":
        """Start a host process with its sockets in `directory` and prove our secret. Raises ServiceFailure."""
        socket = directory / f"host-{secrets.token_hex(4)}.sock"
        secret = secrets.token_urlsafe(32)
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "journeyman.services.host",
            "--socket",
            str(socket),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**kept, ADMIN_SECRET: secret},
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(start_seconds):
                if await process.stdout.readline() != b"ready\n":
                    raise ServiceFailure("host_start", f"the host exited with code {await process.wait()}")
                reader, writer = await asyncio.open_unix_connection(str(socket), limit=LINE_BYTES)
                writer.write(secret.encode() + b"\n")
                await reader.readline()
        except TimeoutError:
            process.kill()
            raise ServiceFailure("host_start", f"no answer within {start_seconds:g} s") from None
        return cls(process, reader, writer)

    async def ask(self, operation: str, episode: str, timeout_seconds: float, **details: Any) -> dict[str, Any]:
        """One request. Raises UserError, or ServiceFailure where the host is lost, too slow, or a service crashed."""
        if self.lost:
            raise ServiceFailure("host_lost", f"{operation} of {episode}")
        number = next(self._ids)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        message = {"id": number, "op": operation, "episode": episode, **details}
        self._writer.write(json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
        deadline = asyncio.get_running_loop().call_later(timeout_seconds, self._expire, number)
        try:
            body = await future
        finally:
            deadline.cancel()
            self._waiting.pop(number, None)
        if "user_error" in body:
            raise UserError(body["user_error"])
        if "failure" in body:
            raise ServiceFailure(body["failure"], body.get("detail", ""))
        answer: dict[str, Any] = body["answer"]
        return answer

    def _expire(self, number: int) -> None:
        future = self._waiting.get(number)
        if future is not None and not future.done():
            future.set_exception(ServiceFailure("host_timeout", "the service host did not answer in time"))

    async def _listen(self) -> None:
        """Hand every line to whoever waits for it; when the channel ends, fail all who wait."""
        with contextlib.suppress(ConnectionError):
            while line := await self._reader.readline():
                body = json.loads(line)
                future = self._waiting.get(body["id"])
                if future is not None and not future.done():
                    future.set_result(body)
        self.lost = True
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ServiceFailure("host_lost", "the service host ended"))

    async def close(self) -> None:
        """End the process (it ends by itself once its standard input closes) and the listener."""
        self._writer.close()
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            async with asyncio.timeout(5.0):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        self._listener.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._listener


class HostedWorld:
    """`ServiceWorld` of one episode on the host."""

    def __init__(self, channel: _Channel, episode: str, opened: dict[str, Any], call_seconds: float) -> None:
        self._channel = channel
        self._episode = episode
        self._call_seconds = call_seconds
        self._tools: list[dict[str, Any]] = opened["tools"]
        self.token: str = opened["token"]  # the bearer secret of the episode's own socket

    async def tools(self) -> list[dict[str, Any]]:
        """OpenAI function schemas of the granted tools."""
        return self._tools

    async def call(self, tool: str, arguments: dict[str, Any], call_id: str = "") -> ServiceResult:
        """Call service__tool."""
        answer = await self._channel.ask(
            "call", self._episode, self._call_seconds, tool=tool, arguments=arguments, call_id=call_id
        )
        return ServiceResult(ok=answer["ok"], result=answer["result"], error=answer["error"])

    async def listen(self) -> Path:
        """The episode's own unix socket (HTTP and MCP), made when first asked for; bind it into a box at BOX_SOCKET."""
        return Path((await self._channel.ask("listen", self._episode, self._call_seconds))["path"])

    async def freeze(self) -> WorldSnapshot:
        """Refuse further calls; the final state and ledger."""
        return WorldSnapshot.model_validate(await self._channel.ask("freeze", self._episode, self._call_seconds))

    async def close(self) -> None:
        """Forget the episode; idempotent, also after the host is lost."""
        if not self._channel.lost:
            with contextlib.suppress(ServiceFailure):
                await self._channel.ask("close", self._episode, self._call_seconds)


class ServiceHost:
    """Owner of the host process; `async with ServiceHost() as host`."""

    def __init__(self, *, start_seconds: float = 30.0, call_seconds: float = 30.0) -> None:
        self._start_seconds = start_seconds
        self._call_seconds = call_seconds
        self._directory = Path()
        self._channel: _Channel | None = None
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._directory = Path(tempfile.mkdtemp(prefix="jm-services-"))
        try:
            await self._live()
        except ServiceFailure:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._channel is not None:
            await self._channel.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def pid(self) -> int:
        """Process id of the host now serving."""
        if self._channel is None:
            raise ServiceFailure("host_lost", "the service host was never started")
        return self._channel.process.pid

    async def _live(self) -> _Channel:
        """The channel to a living host; starts one where there is none."""
        async with self._starting:
            if self._channel is None or self._channel.lost:
                if self._channel is not None:
                    await self._channel.close()
                self._channel = await _Channel.start(self._directory, self._start_seconds)
            return self._channel

    async def open(
        self, episode: str, grants: Sequence[ServiceGrant], initial_state: State, frozen_time: str, seed: int
    ) -> HostedWorld:
        """Start all services of an episode. Raises UserError (grants or state do not fit) or ServiceFailure."""
        channel = await self._live()
        opened = await channel.ask(
            "open",
            episode,
            self._call_seconds,
            grants=[grant.model_dump(mode="json") for grant in grants],
            state=initial_state,
            time=frozen_time,
            seed=seed,
        )
        return HostedWorld(channel, episode, opened, self._call_seconds)
