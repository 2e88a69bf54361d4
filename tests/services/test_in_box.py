"""Inside a box with no network the services answer over the episode's socket, and nothing else of them is there."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from journeyman.sandbox.base import Sandbox, SandboxSpec
from journeyman.sandbox.bubblewrap import BubblewrapProvider
from journeyman.sandbox.detect import detect
from journeyman.services import service_cli
from journeyman.services.client import BOX_SOCKET, HostedWorld, ServiceHost

pytestmark = pytest.mark.skipif(not detect().ready, reason="bubblewrap cannot run here")

NOW = "2025-03-04T09:00:00Z"
CLI = "/opt/service_cli.py"


@pytest.fixture
async def placed(grants: Any, state: Any, tmp_path: Path) -> AsyncIterator[tuple[HostedWorld, Sandbox]]:
    """A world and a box that may speak to it."""
    async with ServiceHost() as host, BubblewrapProvider() as boxes:
        world = await host.open("a", grants, state, NOW, 1)
        box = await boxes.start(
            SandboxSpec(
                workspace=(),
                sockets={BOX_SOCKET: await world.listen()},
                read_only={CLI: Path(service_cli.__file__)},
                environment={"JM_SERVICES_TOKEN": world.token},
            )
        )
        yield world, box
        await box.close()


async def _bash(box: Sandbox, command: str) -> str:
    reply = await box.call("exec", {"command": command, "timeout_seconds": 20.0})
    output = reply["output"]
    return output.decode() if isinstance(output, bytes) else str(output)


async def test_the_command_line_works_inside_the_box(placed: tuple[HostedWorld, Sandbox]) -> None:
    world, box = placed
    said = await _bash(box, f"python3 {CLI} wms get_capacity --dock D1")
    assert json.loads(said)["free"] == 12
    ledger = (await world.freeze()).ledger
    assert [(e.tool, e.arguments, e.call_id) for e in ledger] == [("get_capacity", {"dock": "D1"}, "")]


async def test_a_denied_call_from_inside_is_refused_and_stands_in_the_ledger(
    placed: tuple[HostedWorld, Sandbox],
) -> None:
    world, box = placed
    assert "clerk may not hold_order" in await _bash(box, f"python3 {CLI} wms hold_order --order-id SO-1")
    assert [e.outcome for e in (await world.freeze()).ledger] == ["denied"]


async def test_neither_the_database_nor_the_host_is_inside_the_box(placed: tuple[HostedWorld, Sandbox]) -> None:
    _, box = placed
    found = await _bash(
        box,
        "ls /run/jm; "
        "find /run /tmp /workspace /var /home /root /opt -xdev "
        "\\( -name '*.sqlite*' -o -name '*.db' -o -name 'host-*.sock' \\) 2>/dev/null;"
        " cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o 'journeyman.services[.]host' | head -1",
    )
    assert "services.sock" in found
    assert "host-" not in found
    assert ".sqlite" not in found
    assert "services.host" not in found


async def test_without_the_token_the_socket_answers_nothing(placed: tuple[HostedWorld, Sandbox]) -> None:
    world, box = placed
    said = await _bash(box, f"JM_SERVICES_TOKEN=guess python3 {CLI} wms get_order --order-id SO-1")
    assert "bearer token" in said
    assert (await world.freeze()).ledger == ()
