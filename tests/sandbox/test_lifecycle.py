"""Boxes begin, are lost, and end without leaving anything behind."""

import asyncio
import os
import signal
import subprocess
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import pytest

from journeyman.errors import SandboxFailure, UserError
from journeyman.sandbox.ahead import StartAhead
from journeyman.sandbox.base import SandboxSpec
from journeyman.sandbox.bubblewrap import BubblewrapProvider
from journeyman.sandbox.local import LocalProvider
from tests.sandbox.conftest import provider_of
from tests.sandbox.test_contract import bash


def processes() -> int:
    """Processes below this one, but for the one that Python keeps for itself once a test has used `multiprocessing`."""
    count, waiting = 0, [os.getpid()]
    tracker = resource_tracker._resource_tracker._pid
    while waiting:
        pid = waiting.pop()
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            children = [int(child) for child in task.read_text().split() if int(child) != tracker]
            count += len(children)
            waiting += children
    return count


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def settled(before: tuple[int, int]) -> None:
    """What was killed takes a moment to go, on a busy machine a longer one; then the counts are as they were."""
    for _ in range(300):
        if (processes(), open_files()) == before:
            return
        await asyncio.sleep(0.1)
    assert (processes(), open_files()) == before


async def crash(provider: BubblewrapProvider, workspace: Path, number: int) -> None:
    """One episode that ends in one of several bad ways."""
    box = await provider.start(SandboxSpec(workspace=(workspace,)))
    if number % 5 == 0:
        os.kill(box.started.pid, signal.SIGKILL)
    elif number % 5 == 1:
        await bash(box, "kill -9 -1")
    elif number % 5 == 2:
        task = asyncio.create_task(bash(box, "sleep 66.5"))
        await asyncio.sleep(0.02)
        task.cancel()
    elif number % 5 == 3:
        await box.call("task_start", {"command": "(setsid sleep 67.5 &) ; sleep 67.5"})
    await box.close()


@pytest.mark.parametrize("episodes", [20, pytest.param(100, marks=pytest.mark.slow)])
async def test_episodes_with_crashes_leave_counts_flat(
    bubblewrap: BubblewrapProvider, workspace: Path, episodes: int
) -> None:
    await crash(bubblewrap, workspace, 1)
    before = 1, open_files()  # the spawner is all that stays
    await settled(before)
    for number in range(0, episodes, 4):
        await asyncio.gather(*(crash(bubblewrap, workspace, number + i) for i in range(4)))
    await settled(before)
    spawner = bubblewrap._launcher._process.pid
    assert len(list(Path(f"/proc/{spawner}/fd").iterdir())) < 12
    assert not list((bubblewrap._state / "boxes").iterdir())


async def test_a_closed_provider_leaves_no_process_file_or_cgroup(workspace: Path) -> None:
    before = processes(), open_files()
    async with provider_of("bubblewrap") as provider:
        box = await provider.start(SandboxSpec(workspace=(workspace,)))
        await bash(box, "mkdir closed; chmod 000 closed; (setsid sleep 68.5 &)")
        state, name = provider._state, provider._limits._name
    await settled(before)
    assert not state.exists()
    assert not list(Path("/sys/fs/cgroup").glob(f"*/{name}"))


async def test_a_killed_box_is_a_sandbox_failure(bubblewrap: BubblewrapProvider, workspace: Path) -> None:
    box = await bubblewrap.start(SandboxSpec(workspace=(workspace,)))
    os.kill(box.started.pid, signal.SIGKILL)
    await asyncio.wait({box.started.exit}, timeout=10.0)
    with pytest.raises(SandboxFailure) as failure:
        await bash(box, "true")
    assert failure.value.cause == "box_lost"
    with pytest.raises(SandboxFailure):
        await bash(box, "true")
    with pytest.raises(SandboxFailure, match="box_lost"):
        await box.kill_agent()
    assert (await box.collect()).written == {}
    await box.close()


async def test_a_box_that_dies_after_its_last_call_is_noticed_before_its_files_are_taken(
    bubblewrap: BubblewrapProvider, workspace: Path
) -> None:
    box = await bubblewrap.start(SandboxSpec(workspace=(workspace,)))
    await bash(box, "echo half > report.md")
    os.kill(box.started.pid, signal.SIGKILL)
    await asyncio.wait({box.started.exit}, timeout=10.0)
    with pytest.raises(SandboxFailure, match="box_lost"):
        await box.kill_agent()
    await box.close()


async def test_a_box_killed_during_a_call_is_a_sandbox_failure(bubblewrap: BubblewrapProvider) -> None:
    box = await bubblewrap.start(SandboxSpec(workspace=()))
    call = asyncio.create_task(bash(box, "sleep 30", 60.0))
    await asyncio.sleep(0.1)
    os.kill(box.started.pid, signal.SIGKILL)
    with pytest.raises(SandboxFailure, match="box_lost"):
        await call
    await box.close()


async def test_a_lost_spawner_fails_its_boxes(workspace: Path) -> None:
    async with provider_of("bubblewrap") as provider:
        box = await provider.start(SandboxSpec(workspace=(workspace,)))
        os.kill(provider._launcher._process.pid, signal.SIGKILL)
        with pytest.raises(SandboxFailure):
            await bash(box, "sleep 1")
        with pytest.raises(SandboxFailure):
            await provider.start(SandboxSpec(workspace=(workspace,)))


@pytest.mark.parametrize("command", ["kill -9 -1", "kill -9 $PPID", "kill -TERM $PPID; sleep 5"])
async def test_a_policy_that_kills_the_executor_only_gets_an_error(
    bubblewrap: BubblewrapProvider, workspace: Path, command: str
) -> None:
    box = await bubblewrap.start(SandboxSpec(workspace=(workspace,)))
    await box.call("write", {"path": "kept.txt", "content": "x"})
    assert "killed" in (await bash(box, command))["error"]
    assert (await bash(box, "cat kept.txt"))["output"] == "x"
    assert "has not been read" in (await box.call("write", {"path": "kept.txt", "content": "y"}))["error"]
    assert (await box.collect()).written == {"kept.txt": b"x"}
    await box.close()


async def test_a_policy_cannot_escape_collection_by_killing_executors(bubblewrap: BubblewrapProvider) -> None:
    box = await bubblewrap.start(SandboxSpec(workspace=()))
    await box.call("write", {"path": "kept.txt", "content": "x"})
    killer = "while true; do for p in $(pgrep -f python); do kill -9 $p; done; done"
    await box.call("task_start", {"command": f"trap '' TERM; {killer}"})
    await asyncio.sleep(0.1)
    await box.kill_agent()
    assert (await box.collect()).written == {"kept.txt": b"x"}
    await box.close()


async def test_an_abandoned_call_costs_the_box(bubblewrap: BubblewrapProvider) -> None:
    box = await bubblewrap.start(SandboxSpec(workspace=()))
    call = asyncio.create_task(bash(box, "sleep 30", 60.0))
    await asyncio.sleep(0.05)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    with pytest.raises(SandboxFailure, match="abandoned"):
        await bash(box, "true")
    await box.close()


async def test_a_box_that_cannot_start_says_why(bubblewrap: BubblewrapProvider, tmp_path: Path) -> None:
    with pytest.raises(SandboxFailure):
        await bubblewrap.start(SandboxSpec(workspace=(tmp_path / "absent",)))
    with pytest.raises((SandboxFailure, FileNotFoundError)):
        await bubblewrap.start(SandboxSpec(workspace=(), read_only={"/opt/x": tmp_path / "absent"}))
    box = await bubblewrap.start(SandboxSpec(workspace=()))
    await box.close()


async def test_boxes_started_ahead_are_used_once_and_closed(bubblewrap: BubblewrapProvider, workspace: Path) -> None:
    spec = SandboxSpec(workspace=(workspace,))
    async with StartAhead(bubblewrap, most=2) as ahead:
        for _ in range(4):
            ahead.expect(spec)
        boxes: list[Any] = [await ahead.start(spec) for _ in range(3)]
        assert len({id(box) for box in boxes}) == 3
        ahead.expect(spec)
        for box in boxes:
            await box.close()
    assert not bubblewrap._boxes


async def test_local_refuses_unless_it_is_asked_for_by_name() -> None:
    with pytest.raises(UserError, match="--sandbox local"):
        LocalProvider()


async def test_what_a_killed_driver_left_is_cleared_by_the_next_one(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = tmp_path / f"journeyman-box-{dead.pid}-abc"
    (left / "boxes" / "1" / "work").mkdir(parents=True)
    (left / "boxes" / "1" / "work").chmod(0)
    ours = tmp_path / f"journeyman-box-{os.getpid()}-abc"
    ours.mkdir()
    provider_of("bubblewrap")
    closed = [path for path in (tmp_path, *tmp_path.parents) if path.stat().st_mode & 0o055 != 0o055]
    for path in closed:
        path.chmod(path.stat().st_mode | 0o055)  # pytest keeps its directories to itself, at one level more under xdist
    async with BubblewrapProvider(tmp_path):
        assert not left.exists()
        assert ours.exists()


async def test_a_workspace_comes_back_under_the_uid_that_has_its_copy(
    bubblewrap: BubblewrapProvider, workspace: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    one = await bubblewrap.start(SandboxSpec(workspace=(workspace,)))
    two = await bubblewrap.start(SandboxSpec(workspace=(other,)))
    await bash(one, "echo mine > left.txt")
    await one.close()
    await two.close()  # the uid freed last is this one's
    again = await bubblewrap.start(SandboxSpec(workspace=(workspace,)))
    beside = await bubblewrap.start(SandboxSpec(workspace=(workspace,)))
    assert again.identity.uid == one.identity.uid
    assert beside.identity.uid != again.identity.uid
    assert (await bash(again, "ls left.txt"))["exit_code"] != 0
    await again.close()
    await beside.close()
