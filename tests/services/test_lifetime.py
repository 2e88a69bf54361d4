"""Nothing leaks: not over many episodes, not when the driver is killed; and worlds are a function of their calls."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.errors import ServiceFailure
from journeyman.records.task import ServiceGrant
from journeyman.services.client import ServiceHost
from journeyman.services.definitions import load_service
from journeyman.services.world import open_world

NOW = "2025-03-04T09:00:00Z"

_DRIVER = """
import asyncio, json, sys
from journeyman.services.client import ServiceHost
async def main():
    async with ServiceHost() as host:
        world = await host.open("a", [], {}, "2025-01-01T00:00:00Z", 0)
        path = await world.listen()
        print(json.dumps({"pid": host.pid, "directory": str(path.parent)}), flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""


def _handles(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_hundred_episodes_leave_no_handle_and_no_socket(grants: Any, state: Any) -> None:
    crash = {"tool": "get_order", "call": 1, "effect": "crash"}
    crashing = [grants[0].model_copy(update={"faults": (crash,)}), grants[1]]
    async with ServiceHost() as host:
        before = _handles(host.pid)
        sockets: set[Path] = set()
        for number in range(100):
            world = await host.open(str(number), crashing if number % 2 else grants, state, NOW, number)
            if number % 10 < 2:
                sockets.add(await world.listen())
            if number % 2:
                with pytest.raises(ServiceFailure):
                    await world.call("wms__get_order", {"order_id": "SO-1"})
            else:
                await world.freeze()
            await world.close()
        assert _handles(host.pid) == before
        assert not any(path.exists() for path in sockets)


def test_a_killed_driver_leaves_no_host_and_no_directory() -> None:
    with subprocess.Popen([sys.executable, "-c", _DRIVER], stdout=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        told = json.loads(driver.stdout.readline())
        assert _alive(told["pid"])
        driver.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while (_alive(told["pid"]) or Path(told["directory"]).exists()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(told["pid"])
    assert not Path(told["directory"]).exists()


_CALLS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["wms__get_order", "wms__hold_order", "wms__release_order", "wms__list_reservations"]),
            st.fixed_dictionaries({"order_id": st.sampled_from(["SO-1", "SO-2", "SO-9", ""])}),
        ),
        st.tuples(
            st.just("wms__reserve_dock"),
            st.fixed_dictionaries(
                {"order_id": st.sampled_from(["SO-1", "SO-2"]), "dock": st.sampled_from(["D1", "D2", "D9"])}
            ),
        ),
        st.tuples(
            st.just("wms__cancel_reservation"),
            st.fixed_dictionaries({"reservation_id": st.sampled_from(["R-1", "R-2", "R-3"])}),
        ),
        st.tuples(st.sampled_from(["wms__fly", "wms__get_stock"]), st.dictionaries(st.text(max_size=3), st.integers())),
    ),
    max_size=12,
)


def _play(calls: Any, state: Any, seed: int) -> Any:
    tools = tuple(load_service("wms").tools)
    faults = ({"tool": "reserve_dock", "rate": 0.5, "effect": "timeout_after_commit"},)
    grant = ServiceGrant(service="wms", actor="supervisor", tools=tools, faults=faults)
    world = open_world([grant], {"wms": state["wms"]}, NOW, seed)
    answers = [world.call(tool, arguments, str(number)) for number, (tool, arguments) in enumerate(calls)]
    return answers, world.freeze()


@settings(max_examples=60, deadline=None)
@given(_CALLS, st.integers(0, 3))
def test_a_world_is_a_function_of_its_seed_and_calls(calls: Any, seed: int) -> None:
    state = {
        "wms": {
            "orders": [{"order_id": "SO-1", "pallets": 5}, {"order_id": "SO-2", "pallets": 3}],
            "docks": [{"dock": "D1", "capacity": 12}, {"dock": "D2", "capacity": 4}],
            "reservations": [{"reservation_id": "R-1", "order_id": "SO-2", "dock": "D2", "pallets": 2}],
        }
    }
    answers, snapshot = _play(calls, state, seed)
    assert (answers, snapshot) == _play(calls, state, seed)
    assert [entry.seq for entry in snapshot.ledger] == list(range(len(calls)))
    assert [entry.outcome == "ok" for entry in snapshot.ledger] == [answer.ok for answer in answers]
    assert all(not entry.effect for entry in snapshot.ledger if not entry.committed)
    for dock, capacity in (("D1", 12), ("D2", 4)):
        held = [
            r["pallets"] for r in snapshot.state["wms"]["reservations"] if r["dock"] == dock and r["status"] == "active"
        ]
        assert sum(held) <= capacity
    written = {row["reservation_id"] for e in snapshot.ledger for row in e.effect.get("reservations", ())}
    assert {r["reservation_id"] for r in snapshot.state["wms"]["reservations"]} <= written | {"R-1"}
