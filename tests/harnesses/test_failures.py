"""What is ours ends the attempt with the layer's name, and a lost reply is asked for again, never sampled again."""

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from journeyman.errors import CaptureFailure, EngineFailure, HarnessFailure, SandboxFailure, ServiceFailure, UserError
from journeyman.harnesses.whitebox.loop import NativeHarness, native_harness
from journeyman.harnesses.whitebox.middleware import TurnCap
from journeyman.harnesses.whitebox.state import LoopState
from journeyman.records.outcome import StopReason
from journeyman.records.turn import Turn
from journeyman.sandbox.bubblewrap import BubblewrapProvider
from journeyman.sandbox.detect import detect
from tests.harnesses.conftest import plan
from tests.harnesses.test_loop import LOOK, Desk


async def test_a_killed_sandbox_is_a_sandbox_failure(stage: Any) -> None:
    async with stage(plan([LOOK], [LOOK])) as held:
        os.kill(held.box.started.pid, signal.SIGKILL)
        with pytest.raises(SandboxFailure, match="box_lost"):
            await native_harness().run(held.run)


async def test_a_killed_bubblewrap_box_is_a_sandbox_failure(stage: Any) -> None:
    if not detect().ready:
        pytest.skip(detect().line())
    async with BubblewrapProvider() as provider:
        async with stage(plan([LOOK], [LOOK]), provider=provider) as held:
            os.kill(held.box.started.pid, signal.SIGKILL)
            with pytest.raises(SandboxFailure, match="box_lost"):
                await native_harness().run(held.run)


async def test_an_engine_that_raises_is_an_engine_failure(stage: Any) -> None:
    def broken(episode: str, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
        raise RuntimeError("out of memory")

    async with stage(broken) as held:
        with pytest.raises(EngineFailure, match="RuntimeError"):
            await native_harness().run(held.run)


async def test_a_gateway_that_is_gone_is_a_capture_failure(stage: Any) -> None:
    async with stage(plan([LOOK])) as held:
        run = replace(held.run, url="http://127.0.0.1:9")
        with pytest.raises(CaptureFailure, match="gateway_lost"):
            await native_harness().run(run)
        with pytest.raises(CaptureFailure, match="invalid_api_key"):
            await native_harness().run(replace(held.run, key="wrong"))


async def test_a_service_host_that_is_gone_is_a_service_failure(stage: Any) -> None:
    class Gone(Desk):
        async def call(self, tool: str, arguments: dict[str, Any], call_id: str = "") -> Any:
            raise ServiceFailure("host_lost", "it ended")

    async with stage(plan([("desk__get", {"id": "1"})]), services=Gone()) as held:
        with pytest.raises(ServiceFailure, match="host_lost"):
            await native_harness().run(held.run)


async def test_a_middleware_that_raises_is_a_harness_failure(stage: Any) -> None:
    class Broken(TurnCap):
        async def before_turn(self, state: LoopState) -> StopReason | None:
            raise ZeroDivisionError("half of nothing")

    async with stage(plan([LOOK])) as held:
        with pytest.raises(HarnessFailure, match="ZeroDivisionError"):
            await NativeHarness(("bash",), (Broken(),)).run(held.run)


def test_a_composition_that_cannot_work_fails_before_sampling() -> None:
    with pytest.raises(UserError, match="no tool 'browse'"):
        native_harness(tools=("read", "browse"))
    with pytest.raises(UserError, match="named twice"):
        NativeHarness(("read",), (TurnCap(), TurnCap()))


class DroppingProxy:
    """Passes one request on, takes the whole reply, and hangs up on the client; later connections pass."""

    def __init__(self, port: int, drops: int) -> None:
        self._port, self.drops, self.dropped = port, drops, 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        forward = asyncio.create_task(_pipe(reader, back))
        while data := await there.read(1 << 16):
            if self.dropped < self.drops:
                self.dropped += 1
                break
            writer.write(data)
            await writer.drain()
        forward.cancel()
        writer.close()
        back.close()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.close()


async def test_a_reply_lost_on_the_way_is_replayed_and_sampled_once(stage: Any) -> None:
    """L-03."""
    async with stage(plan([LOOK], [LOOK])) as held:
        proxy = DroppingProxy(int(held.run.url.rpartition(":")[2]), drops=2)
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        exit = await native_harness().run(replace(held.run, url=url))
        server.close()
    assert proxy.dropped == 2
    assert exit.stop is StopReason.FINISHED
    assert len(held.asked) == 3
    turns = [Turn.parse(line) for line in (held.directory / "turns.jsonl").read_text().splitlines()]
    assert [(turn.turn_id, turn.orphan) for turn in turns] == [("t1", False), ("t2", False), ("t3", False)]


async def test_nothing_of_ours_is_inside_the_box(stage: Any, tmp_path: Path) -> None:
    """F-12: no key, no gateway, no loop in what a box can see."""
    if not detect().ready:
        pytest.skip(detect().line())
    look = ("bash", {"command": "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null; ls -R /workspace /tmp /run"})
    async with BubblewrapProvider() as provider:
        async with stage(plan([look]), provider=provider) as held:
            await native_harness().run(held.run)
    seen = held.asked[-1][-1]["content"]
    assert held.run.key not in seen
    assert "gateway" not in seen
    assert "PATH=" in seen
