"""A gateway killed at any moment loses no turn that it had acknowledged, and the next one goes on where it stopped."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest

from journeyman.capture.server import Gateway
from journeyman.capture.verify import verify_episode
from journeyman.engines.scripted import SeededEngine
from journeyman.errors import CaptureFailure
from journeyman.store.sealed import SealedEpisode

from .conftest import TOOLS, Opener, Place, seal_episode
from .killed_gateway import KEY
from .persistent_agent import PersistentAgent

ROOT = Path(__file__).parents[2]
RUNS = ("", "a", "b")


async def _until(path: Path) -> int:
    """The pid of the gateway that is up."""
    async with asyncio.timeout(120):
        while not path.exists():
            await asyncio.sleep(0.002)
    return int(path.read_text())


async def _killed(home: Path, kills: int) -> list[PersistentAgent]:
    """Agents at work while the gateway is killed so many times; then it ends in order."""
    draw = random.Random(kills)
    process = subprocess.Popen([sys.executable, "-m", "tests.capture.killed_gateway", str(home)], cwd=ROOT)
    connector = aiohttp.UnixConnector(path=str(home / "gateway.sock"))
    try:
        await _until(home / "pid")
        async with aiohttp.ClientSession(connector=connector, headers={"Authorization": f"Bearer {KEY}"}) as session:
            agents = [PersistentAgent(session, "http://g/v1", run) for run in RUNS]
            await agents[0].turn()
            done = asyncio.Event()

            async def work(agent: PersistentAgent) -> None:
                while not done.is_set():
                    await agent.turn()

            tasks = [asyncio.create_task(work(agent)) for agent in agents]
            for _ in range(kills):
                pid = await _until(home / "pid")
                await asyncio.sleep(draw.uniform(0.0, 0.12))
                (home / "pid").unlink()
                os.kill(pid, signal.SIGKILL)
            pid = await _until(home / "pid")
            done.set()
            await asyncio.gather(*tasks)
            os.kill(pid, signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, 20) == 0
            return agents
    finally:
        process.kill()
        process.wait()


async def _survives(home: Path, kills: int) -> None:
    agents = await _killed(home, kills)
    episode = SealedEpisode.open(home / "episode")
    turns = {turn.turn_id: turn for turn in episode.turns}
    assert sum(len(agent.told) for agent in agents) > kills // 2
    for agent in agents:
        for turn_id, total in agent.told:
            turn = turns[turn_id]
            assert turn.prompt_tokens + turn.sampled.end - turn.sampled.start == total
            assert (turn.orphan, turn.trainable) == (False, True), turn_id
    assert [(s.run, s.index, s.trainable) for s in episode.segments] == [(run, 0, True) for run in range(len(RUNS))]
    assert {run.name for run in episode.runs} == set(RUNS)
    assert verify_episode(home / "episode") is None


async def test_no_acknowledged_turn_is_lost_to_five_kills(tmp_path: Path) -> None:
    await _survives(tmp_path, 5)


@pytest.mark.slow
async def test_no_acknowledged_turn_is_lost_to_fifty_kills_at_random_moments(tmp_path: Path) -> None:
    await _survives(tmp_path, 50)


# -- what a kill leaves, byte by byte


async def _left(place: Place) -> Path:
    """An episode as a kill leaves it: two runs, a rewrite, and no close."""
    await place.ask(tools=TOOLS, headers={"X-Journeyman-Turn": "one"})
    place.tell("more")
    await place.ask(tools=TOOLS)
    await place.ask([{"role": "user", "content": "find"}], headers={"X-Journeyman-Run": "child"})
    await place.ask([{"role": "user", "content": "so far"}], headers={"X-Journeyman-Event": "summary"}, tools=TOOLS)
    left = place.directory.with_name("left")
    left.mkdir()
    for path in place.directory.iterdir():
        (left / path.name).write_bytes(path.read_bytes())
    return left


async def _reopened(place: Place, left: Path, gateway: Gateway) -> Place:
    slot = gateway.open(place.spec, left, 4096, resume=True)
    place.client.api_key = slot.key
    return Place(gateway, slot, left, place.spec, place.client)


@pytest.mark.parametrize("cut", ["nothing", "a torn turn", "tokens without a turn", "a turn without tokens"])
async def test_a_log_is_gone_on_with_from_its_last_whole_turn(opened: Opener, seeded: SeededEngine, cut: str) -> None:
    async with opened(seeded, resume=False) as place:
        left = await _left(place)
        turns = left / "turns.jsonl"
        if cut == "a torn turn":
            turns.write_bytes(turns.read_bytes()[:-9])
        elif cut == "tokens without a turn":
            (left / "tokens.i32").write_bytes((left / "tokens.i32").read_bytes() + b"\1\0\0\0" * 7 + b"\1")
        elif cut == "a turn without tokens":
            (left / "versions.i32").write_bytes((left / "versions.i32").read_bytes()[:-8])
        again = await _reopened(place, left, place.gateway)
        again.messages = [{"role": "user", "content": "so far"}]
        if cut in ("nothing", "tokens without a turn"):
            told = json.loads(turns.read_bytes().splitlines()[-1])["message"]["content"]
            again.messages += [{"role": "assistant", "content": told}, {"role": "user", "content": "on"}]
            await again.ask(tools=TOOLS)
        else:
            await again.ask(tools=TOOLS, headers={"X-Journeyman-Event": "summary"})
        captured = await again.slot.close()
        seal_episode(left, place.spec, captured)
    lost = cut in ("a torn turn", "a turn without tokens")
    assert (captured.turns, captured.segments, captured.orphans) == (4 if lost else 5, 3, 0)
    assert captured.trainable
    assert verify_episode(left) is None


async def test_a_turn_asked_again_after_a_kill_is_replayed(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded, resume=False) as place:
        headers = {"X-Journeyman-Turn": "one"}
        first = await place.ask([{"role": "user", "content": "hello"}], headers=headers)
        left = place.directory.with_name("left")
        left.mkdir()
        for path in place.directory.iterdir():
            (left / path.name).write_bytes(path.read_bytes())
        calls = seeded.calls
        again = await _reopened(place, left, place.gateway)
        assert await again.ask([{"role": "user", "content": "hello"}], headers=headers) == first
        assert seeded.calls == calls
        assert (await again.slot.close()).turns == 1


async def test_a_reply_nobody_was_sent_before_the_kill_is_an_orphan_unless_it_comes_back(
    opened: Opener, seeded: SeededEngine
) -> None:
    for comes_back in (False, True):
        async with opened(seeded, resume=False) as place:
            answer = await place.ask()
            left = place.directory.with_name("left")
            left.mkdir()
            for path in place.directory.iterdir():
                (left / path.name).write_bytes(b"" if path.name == "delivered.log" else path.read_bytes())
            again = await _reopened(place, left, place.gateway)
            if comes_back:
                said = {"role": "assistant", "content": answer.choices[0].message.content}
                await again.ask([{"role": "user", "content": "hello"}, said, {"role": "user", "content": "on"}])
            captured = await again.slot.close()
            seal_episode(left, place.spec, captured)
        assert (captured.turns, captured.orphans) == ((2, 0) if comes_back else (0, 1))
        assert verify_episode(left) is None
        left.rename(left.with_name(f"kept-{comes_back}"))
        place.directory.rename(place.directory.with_name(f"first-{comes_back}"))


async def test_a_turn_that_was_rolled_back_before_the_kill_stays_an_orphan(
    opened: Opener, seeded: SeededEngine
) -> None:
    async with opened(seeded, resume=False) as place:
        await place.ask(headers={"X-Journeyman-Turn": "one"})
        (run,) = place.slot._runs.values()
        run.lineages[0].unconfirmed._delivered = False  # its client had gone
        await place.ask([{"role": "user", "content": "another way"}])
        left = place.directory.with_name("left")
        left.mkdir()
        for path in place.directory.iterdir():
            (left / path.name).write_bytes(path.read_bytes())
        again = await _reopened(place, left, place.gateway)
        captured = await again.slot.close()
        seal_episode(left, place.spec, captured)
    assert (captured.turns, captured.orphans, captured.segments, captured.trainable) == (1, 1, 1, True)
    assert verify_episode(left) is None


async def test_a_log_that_contradicts_itself_is_not_gone_on_with(opened: Opener, seeded: SeededEngine) -> None:
    async with opened(seeded, resume=False) as place:
        left = await _left(place)
        lines = (left / "turns.jsonl").read_bytes().splitlines()
        second = json.loads(lines[1])
        second["prompt_tokens"] += 1
        lines[1] = json.dumps(second).encode()
        (left / "turns.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        with pytest.raises(CaptureFailure, match="log_broken"):
            place.gateway.open(place.spec, left, 4096, resume=True)
