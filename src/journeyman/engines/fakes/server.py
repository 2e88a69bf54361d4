"""Running a fake server: `python -m journeyman.engines.fakes.server sglang --tokens 64`, or `with FakeServer(...)`.

Invariant: it listens on loopback only, and ends when the process that started it ends.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import fields
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from journeyman.engines.fakes import openai, sglang, vllm
from journeyman.engines.fakes.policy import FakePolicy
from journeyman.errors import EngineFailure

APPS: dict[str, Callable[[FakePolicy], web.Application]] = {
    "sglang": sglang.application,
    "vllm": vllm.application,
    "openai": openai.application,
}
_OPTIONS = [item for item in fields(FakePolicy) if item.type in (int, float, str) and item.name != "fault"]


def _control(policy: FakePolicy) -> list[web.RouteDef]:
    """Routes that no real server has: what the fake saw, and faults to order."""

    async def state(request: web.Request) -> web.Response:
        return web.json_response(policy.state())

    async def fault(request: web.Request) -> web.Response:
        policy.fault = (await request.json())["fault"]
        return web.json_response({})

    return [web.get("/fake/state", state), web.post("/fake/fault", fault)]


async def _serve(kind: str, policy: FakePolicy, port: int) -> None:
    application = APPS[kind](policy)
    application.add_routes(_control(policy))
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    bound = runner.addresses[0][1]
    print(f"http://127.0.0.1:{bound}", flush=True)
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(0, lambda: gone.set() if not os.read(0, 4096) else None)  # the parent holds our standard input
    await gone.wait()
    await runner.cleanup()


def main(arguments: list[str] | None = None) -> int:
    """Serve until standard input closes; the first line printed is the address."""
    parser = argparse.ArgumentParser(prog="journeyman.engines.fakes.server", description=__doc__)
    parser.add_argument("kind", choices=sorted(APPS))
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    for item in _OPTIONS:
        flag, kind = item.name.replace("_", "-"), item.type
        parser.add_argument(f"--{flag}", type=kind, default=item.default)
    options = parser.parse_args(arguments)
    asyncio.run(_serve_with(options))
    return 0


async def _serve_with(options: argparse.Namespace) -> None:
    policy = FakePolicy(**{item.name: getattr(options, item.name) for item in _OPTIONS})
    await _serve(options.kind, policy, options.port)


class FakeServer:
    """`with FakeServer("sglang", tokens=64, seconds=0.5) as server`: a fake in a process of its own, at `url`.

    Options are the fields of `FakePolicy`.
    """

    def __init__(self, kind: str, **options: Any) -> None:
        self.url = ""
        self.pid = 0
        self._command = [sys.executable, "-m", "journeyman.engines.fakes.server", kind]
        for name, value in options.items():
            self._command += [f"--{name.replace('_', '-')}", str(value)]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        process = self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, text=True)
        assert process.stdout is not None
        self.pid = process.pid
        self.url = process.stdout.readline().strip()
        if not self.url:
            process.wait()
            raise EngineFailure("fake", f"the fake server did not start: {' '.join(self._command[2:])}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def state(self) -> dict[str, Any]:
        """What the fake has seen."""
        found: dict[str, Any] = _get(f"{self.url}/fake/state", None)
        return found

    def order(self, fault: str) -> None:
        """The next call that can will show this fault, once."""
        _get(f"{self.url}/fake/fault", {"fault": fault})


def _get(url: str, value: Any) -> Any:
    data = None if value is None else json.dumps(value).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"})) as answer:
        return json.loads(answer.read())


if __name__ == "__main__":
    sys.exit(main())
