"""`journeyman gateway` by hand: killed under load and typed again, it loses no turn that was acknowledged."""

import asyncio
import os
import random
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from journeyman.cli.engine_options import engine_recipe
from journeyman.engines.fakes.server import FakeServer
from journeyman.errors import UserError
from journeyman.pipeline.gateway import Wanted, serve
from journeyman.store.sealed import SealedEpisode
from tests.capture.persistent_agent import PersistentAgent
from tests.pipeline.conftest import typed

RUNS = ("", "a", "b")


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer("sglang", tokens=16, chunk=4, seconds=0.02, first=300, vocabulary=2000, context=1 << 20) as fake:
        yield fake


class Started:
    """One process of the command, up."""

    def __init__(self, server: FakeServer, out: Path, port: int, *more: str) -> None:
        options = ("--engine", "sglang", "--url", server.url, "--out", str(out), "--port", str(port), *more)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "journeyman.cli.main", "gateway", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "COLUMNS": "200"},
        )
        assert self.process.stdout is not None
        self.shown = ""
        while "press Ctrl-C" not in self.shown:
            line = self.process.stdout.readline()
            assert line, self.shown
            self.shown += line

    def said(self, pattern: str) -> str:
        found = re.search(pattern, self.shown)
        assert found, self.shown
        return found[1]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def interrupt(self) -> str:
        """Ctrl-C; what it says at the end."""
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=30)
        assert self.process.returncode == 0, rest
        return rest


async def _work(server: FakeServer, out: Path, port: int, kills: int) -> tuple[list[PersistentAgent], str]:
    draw = random.Random(kills)
    gateway = Started(server, out, port)
    url, key = gateway.said(r"OPENAI_BASE_URL=(\S+)"), gateway.said(r"OPENAI_API_KEY=(\S+)")
    done = asyncio.Event()
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session:
        agents = [PersistentAgent(session, url, run) for run in RUNS]
        await agents[0].turn()

        async def work(agent: PersistentAgent) -> None:
            while not done.is_set():
                await agent.turn()

        tasks = [asyncio.create_task(work(agent)) for agent in agents]
        for _ in range(kills):
            await asyncio.sleep(draw.uniform(0.05, 0.3))
            told = sum(len(agent.told) for agent in agents)
            gateway.kill()
            gateway = await asyncio.to_thread(Started, server, out, port)
            assert gateway.said(r"OPENAI_API_KEY=(\S+)") == key
            assert int(gateway.said(r"going on with episode 0 after (\d+) recorded turns")) >= told
        await asyncio.sleep(0.2)
        done.set()
        await asyncio.gather(*tasks)
    return agents, gateway.interrupt()


@pytest.mark.parametrize("kills", [2, pytest.param(12, marks=pytest.mark.slow)])
async def test_killed_under_load_and_typed_again_it_loses_no_acknowledged_turn(
    server: FakeServer, tmp_path: Path, unused_tcp_port: int, kills: int
) -> None:
    out = tmp_path / "run"
    agents, said = await _work(server, out, unused_tcp_port, kills)
    directory = Path(re.search(r"next: journeyman verify (\S+)", said)[1])  # type: ignore[index]
    checked = typed("verify", directory)
    assert checked.returncode == 0, checked.stdout
    episode = SealedEpisode.open(directory)
    turns = {turn.turn_id: turn for turn in episode.turns}
    assert sum(len(agent.told) for agent in agents) > kills
    for turn_id, total in (told for agent in agents for told in agent.told):
        turn = turns[turn_id]
        assert turn.prompt_tokens + turn.sampled.end - turn.sampled.start == total
        assert (turn.orphan, turn.trainable) == (False, True)
    assert [(s.run, s.index, s.trainable) for s in episode.segments] == [(run, 0, True) for run in range(len(RUNS))]
    assert not list((out / "ledger" / "gateway").glob("*.json"))  # a sealed episode has no key


def test_an_open_episode_is_its_owners_its_policys_and_one_processs(
    server: FakeServer, tmp_path: Path, unused_tcp_port: int
) -> None:
    out = tmp_path / "run"
    gateway = Started(server, out, unused_tcp_port)
    (begun,) = (out / "ledger" / "gateway").glob("*.json")
    assert stat.S_IMODE(begun.stat().st_mode) == 0o600
    same = ("--engine", "sglang", "--url", server.url, "--out", out)
    busy = typed("gateway", *same, "--port", "0")
    said = f"episode '0' of {out} is in use by another process: stop the gateway that records it"
    assert (busy.returncode, said in busy.stderr) == (2, True), busy.stderr
    taken = typed("gateway", *same, "--port", str(unused_tcp_port), "--episode", "1")
    assert (taken.returncode, f"port {unused_tcp_port} of 127.0.0.1 is in use" in taken.stderr) == (2, True)
    gateway.kill()
    (open_episode,) = out.glob("episodes/*/*/*/*")
    unsealed = typed("verify", open_episode)
    assert (unsealed.returncode, "is not sealed" in unsealed.stderr) == (2, True), unsealed.stderr
    other = typed("gateway", "--out", out, "--port", "0")
    assert (other.returncode, "was begun with --policy base on engine sglang" in other.stderr) == (2, True)
    Started(server, out, unused_tcp_port).interrupt()
    sealed = typed("gateway", *same, "--port", "0")
    assert (sealed.returncode, "is sealed: give another --episode" in sealed.stderr) == (2, True)


async def test_a_start_that_failed_binds_the_episode_to_nothing(server: FakeServer, tmp_path: Path) -> None:
    for model in ("none", "other"):  # the second would be told of the first
        wanted = Wanted("base", tmp_path, "0", "127.0.0.1", 0, engine_recipe("sglang", (server.url,), model, None))
        with pytest.raises(UserError, match=f"does not serve '{model}'"):
            await serve(wanted, print)
    assert not list(tmp_path.glob("ledger/gateway/*.json"))


async def test_a_damaged_ledger_is_one_line(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger" / "gateway" / "0.json"
    ledger.parent.mkdir(parents=True)
    ledger.write_text("{")
    with pytest.raises(UserError, match=rf"^{ledger} is unreadable: [^\n]+: delete it to go on with the episode"):
        await serve(Wanted("base", tmp_path, "0", "127.0.0.1", 0), print)


def test_a_name_that_leaves_the_run_is_refused(tmp_path: Path) -> None:
    done = typed("gateway", "--out", tmp_path / "run", "--episode", "../elsewhere")
    assert (done.returncode, "is no name" in done.stderr) == (2, True)
    assert not (tmp_path / "elsewhere").exists()
