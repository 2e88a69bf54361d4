"""The service host: one process serves the services of many episodes; it owns their state and lends out only answers.

    python -m journeyman.services.host --socket PATH

On PATH it speaks the driver's channel: one JSON object a line, answered in order under the request's `id`; the first
line must be the admin secret (environment variable JOURNEYMAN_SERVICES_ADMIN). Where an episode asks for it, a unix
socket of its own speaks MCP and HTTP (`services.http_site`). The host ends when its standard input does.
"""

import argparse
import asyncio
import contextlib
import hmac
import json
import os
import secrets
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from journeyman.errors import ServiceFailure, UserError, boundary
from journeyman.records.task import ServiceGrant
from journeyman.services.http_site import EpisodeSite
from journeyman.services.world import World, open_world

ADMIN_SECRET = "JOURNEYMAN_SERVICES_ADMIN"
LINE_BYTES = 64 << 20  # longest line either side accepts


class Served:
    """One open episode: its world, its bearer token, and its site once somebody asked for one."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.token = secrets.token_urlsafe(24)
        self.site: EpisodeSite | None = None


class Host:
    """The episodes this process serves, and what the driver may ask."""

    def __init__(self, sockets: Path, secret: str) -> None:
        self.sockets = sockets  # directory of the per-episode sockets
        self.secret = secret
        self.episodes: dict[str, Served] = {}

    def open(self, episode: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """Start all services of an episode. Raises UserError."""
        if episode in self.episodes:
            raise UserError(f"episode {episode} is open already; close it first")
        grants = [ServiceGrant.model_validate(grant) for grant in message["grants"]]
        served = Served(open_world(grants, message["state"], message["time"], message["seed"]))
        self.episodes[episode] = served
        return {"token": served.token, "tools": served.world.tools()}

    async def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one request of the driver. Raises UserError or ServiceFailure."""
        operation, episode = message["op"], message["episode"]
        if operation == "open":
            return self.open(episode, message)
        served = self.episodes.get(episode)
        if operation == "close":
            await self.close(episode)
            return {}
        if served is None:
            raise ServiceFailure("unknown_episode", episode)
        if operation == "call":
            result = served.world.call(message["tool"], message["arguments"], message["call_id"])
            return {"ok": result.ok, "result": result.result, "error": result.error}
        if operation == "freeze":
            return served.world.freeze().model_dump(mode="json")
        if operation == "listen":
            if served.site is None:
                path = self.sockets / f"{secrets.token_hex(6)}.sock"
                served.site = await EpisodeSite.start(path, served.world, served.token)
            return {"path": str(served.site.path)}
        raise ServiceFailure("unknown_operation", str(operation))

    async def close(self, episode: str) -> None:
        """Forget an episode; idempotent."""
        served = self.episodes.pop(episode, None)
        if served is None:
            return
        if served.site is not None:
            await served.site.close()
        served.world.close()

    async def reply(self, line: bytes) -> bytes:
        """One line in, one line out; whatever goes wrong is told to the driver, the other episodes carry on."""
        message: dict[str, Any] = {}
        try:
            with boundary("service"):
                message = json.loads(line)
                body: dict[str, Any] = {"id": message["id"], "answer": await self.answer(message)}
        except UserError as error:
            body = {"id": message.get("id"), "user_error": str(error)}
        except ServiceFailure as failure:
            body = {"id": message.get("id"), "failure": failure.cause, "detail": failure.detail}
        return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One driver's channel: prove the secret, then ask."""
        try:
            hello = await reader.readline()
            if not hmac.compare_digest(hello.strip(), self.secret.encode()):
                writer.write(b'{"id":null,"failure":"wrong_secret","detail":""}\n')
                return
            writer.write(b'{"id":null,"answer":{}}\n')
            while line := await reader.readline():
                writer.write(await self.reply(line))
                await writer.drain()
        except ConnectionError:
            return
        finally:
            writer.close()


async def _until_stdin_ends() -> None:
    """Return when the driver's end of our standard input is gone, however it ended."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(4096):
        pass


async def serve_host(socket: Path, secret: str, ready: Callable[[], None]) -> None:
    """Serve until standard input ends, then close every episode."""
    host = Host(socket.parent, secret)
    server = await asyncio.start_unix_server(host.serve, path=str(socket), limit=LINE_BYTES)
    async with server:
        ready()
        await _until_stdin_ends()
        for episode in list(host.episodes):
            await host.close(episode)
    socket.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # a killed driver removes nothing; its directory goes once it is empty
        socket.parent.rmdir()


def main(argv: list[str] | None = None) -> None:
    """Entry point of the process."""
    parser = argparse.ArgumentParser(
        prog="python -m journeyman.services.host", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--socket", type=Path, required=True, help="unix socket of the driver's channel")
    options = parser.parse_args(argv)
    secret = os.environ.pop(ADMIN_SECRET, "")
    if not secret:
        parser.error(f"the environment variable {ADMIN_SECRET} must hold the admin secret")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to answer; it ends this process
    asyncio.run(serve_host(options.socket, secret, lambda: print("ready", flush=True)))


if __name__ == "__main__":
    main()
