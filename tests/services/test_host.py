"""The host process: the same answers over every interface, isolation of episodes, and what happens when it is lost."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import mcp
import pytest
from mcp.client.streamable_http import streamable_http_client

from journeyman.errors import ServiceFailure, UserError
from journeyman.services import service_cli
from journeyman.services.client import HostedWorld, ServiceHost
from journeyman.services.world import open_world

NOW = "2025-03-04T09:00:00Z"
QUERY = ("get_capacity", {"dock": "D1"})


@pytest.fixture
async def host() -> AsyncIterator[ServiceHost]:
    async with ServiceHost() as running:
        yield running


async def _http(world: HostedWorld, path: str, body: Any, token: str | None = None) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {world.token if token is None else token}"}
    connector = aiohttp.UnixConnector(str(await world.listen()))
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        async with session.post(f"http://localhost{path}", json=body) as response:
            return response.status, await response.json()


async def _cli(world: HostedWorld, *arguments: str) -> tuple[int, str, str]:
    environment = {"JM_SERVICES_SOCKET": str(await world.listen()), "JM_SERVICES_TOKEN": world.token}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        str(Path(service_cli.__file__)),
        *arguments,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode().strip(), err.decode().strip()


async def _mcp(world: HostedWorld, service: str, tool: str, arguments: Any, mode: str = "auto") -> Any:
    transport = httpx2.AsyncHTTPTransport(uds=str(await world.listen()))
    headers = {"Authorization": f"Bearer {world.token}"}
    async with httpx2.AsyncClient(transport=transport, headers=headers) as http:
        url = f"http://localhost/{service}/mcp"
        async with mcp.Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            names = [t.name for t in (await client.list_tools()).tools]
            return names, await client.call_tool(tool, arguments)


async def test_one_query_is_answered_identically_over_all_interfaces(
    host: ServiceHost, grants: Any, state: Any
) -> None:
    world = await host.open("a", grants, state, NOW, 1)
    tool, arguments = QUERY
    expected = open_world(grants, state, NOW).call(f"wms__{tool}", arguments).result
    assert (await world.call(f"wms__{tool}", arguments)).result == expected
    status, body = await _http(world, f"/wms/{tool}", arguments)
    assert (status, body["result"]) == (200, expected)
    code, out, _ = await _cli(world, "wms", "get-capacity".replace("-", "_"), "--dock", "D1")
    assert (code, json.loads(out)) == (0, expected)
    for mode in ("auto", "legacy"):
        names, answer = await _mcp(world, "wms", tool, arguments, mode)
        assert answer.structured_content == expected
        assert json.loads(answer.content[0].text) == expected
        assert tuple(names) == grants[0].tools
    ledger = (await world.freeze()).ledger
    assert {(e.tool, json.dumps(e.arguments), e.outcome) for e in ledger} == {(tool, json.dumps(arguments), "ok")}
    assert len(ledger) == 5


async def test_a_refusal_reads_the_same_over_all_interfaces(host: ServiceHost, grants: Any, state: Any) -> None:
    world = await host.open("a", grants, state, NOW, 1)
    arguments = {"order_id": "SO-1"}
    expected = (await world.call("wms__hold_order", arguments)).error
    assert expected.startswith("denied: clerk may not hold_order")
    status, body = await _http(world, "/wms/hold_order", arguments)
    assert (status, body["error"]) == (403, expected)
    assert await _cli(world, "wms", "hold_order", "--order-id=SO-1") == (1, "", f"error: {expected}")
    _, answer = await _mcp(world, "wms", "hold_order", arguments)
    assert answer.is_error
    assert answer.content[0].text == expected


async def test_without_its_token_the_socket_says_nothing(host: ServiceHost, grants: Any, state: Any) -> None:
    world = await host.open("a", grants, state, NOW, 1)
    other = await host.open("b", grants, state, NOW, 1)
    for token in ("", other.token):
        status, body = await _http(world, "/wms/get_order", {"order_id": "SO-1"}, token)
        assert status == 401
        assert body["result"] is None
    assert (await world.freeze()).ledger == ()


async def test_episodes_do_not_see_each_other(host: ServiceHost, grants: Any, state: Any) -> None:
    worlds = [await host.open(str(n), grants, state, NOW, n) for n in range(20)]
    await asyncio.gather(*(w.call("wms__reserve_dock", {"order_id": "SO-1", "dock": "D1"}, "c") for w in worlds[::2]))
    counts = [len((await w.freeze()).state["wms"]["reservations"]) for w in worlds]
    assert counts == [2, 1] * 10


async def test_the_command_line_explains_itself(host: ServiceHost, grants: Any, state: Any) -> None:
    world = await host.open("a", grants, state, NOW, 1)
    assert await _cli(world) == (0, "services: wms, ticketing", "")
    code, out, _ = await _cli(world, "wms", "--help")
    assert code == 0
    assert "reserve_dock --order-id --dock" in out
    assert (await _cli(world, "crm"))[0] == 1
    assert (await _cli(world, "wms", "get_order", "SO-1"))[0] == 2


async def test_a_closed_episode_leaves_no_socket_and_its_token_is_dead(
    host: ServiceHost, grants: Any, state: Any
) -> None:
    world = await host.open("a", grants, state, NOW, 1)
    path = await world.listen()
    assert path.exists()
    await world.close()
    await world.close()
    assert not path.exists()
    with pytest.raises(ServiceFailure, match="unknown_episode"):
        await world.call("wms__get_order", {"order_id": "SO-1"})


async def test_wrong_grants_are_the_users_mistake(host: ServiceHost, grants: Any) -> None:
    with pytest.raises(UserError, match="no role 'king'"):
        await host.open("a", [grants[0].model_copy(update={"actor": "king"})], {}, NOW, 1)


async def test_a_crashed_service_fails_its_episode_only(host: ServiceHost, grants: Any, state: Any) -> None:
    crash = {"tool": "get_order", "call": 1, "effect": "crash"}
    broken = await host.open("broken", [grants[0].model_copy(update={"faults": (crash,)}), grants[1]], state, NOW, 1)
    sibling = await host.open("sibling", grants, state, NOW, 1)
    with pytest.raises(ServiceFailure, match="crash"):
        await broken.call("wms__get_order", {"order_id": "SO-1"})
    with pytest.raises(ServiceFailure, match="crash"):
        await broken.freeze()
    assert (await sibling.call("wms__get_order", {"order_id": "SO-1"})).ok
    await broken.close()


async def test_a_killed_host_fails_its_worlds_and_the_next_open_starts_another(
    host: ServiceHost, grants: Any, state: Any
) -> None:
    lost = await host.open("lost", grants, state, NOW, 1)
    first = host.pid
    os.kill(first, signal.SIGKILL)
    with pytest.raises(ServiceFailure, match="host_lost"):
        await lost.call("wms__get_order", {"order_id": "SO-1"})
    sibling = await host.open("sibling", grants, state, NOW, 1)
    assert host.pid != first
    assert (await sibling.call("wms__get_order", {"order_id": "SO-1"})).ok
    with pytest.raises(ServiceFailure, match="host_lost"):
        await lost.freeze()
    await lost.close()


async def test_the_host_ends_with_its_driver(grants: Any, state: Any) -> None:
    async with ServiceHost() as host:
        pid = host.pid
        await host.open("a", grants, state, NOW, 1)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_starting_all_services_of_an_episode_takes_under_fifty_milliseconds(
    host: ServiceHost, grants: Any, state: Any
) -> None:
    await host.open("warm", grants, state, NOW, 1)
    seconds = []
    for number in range(15):
        started = time.perf_counter()
        await host.open(str(number), grants, state, NOW, 1)
        seconds.append(time.perf_counter() - started)
    assert sorted(seconds)[len(seconds) // 2] < 0.05
