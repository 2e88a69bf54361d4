"""What a captured model call costs: the gateway in front of an instant sampler, beside that sampler called directly.

CPU is this process's, client and server together (as the driver and its loop pay it), over a unix socket. Medians of
several rounds; the direct calls of the same round are the zero.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

from journeyman.capture.server import Gateway
from journeyman.engines.base import SampleRequest
from journeyman.engines.scripted import SeededEngine
from journeyman.records.episode import EpisodeSpec, Sampling
from journeyman.tokens.template import TemplateRenderer
from journeyman.tokens.tiny import write_tiny_tokenizer

ROUNDS = 5
CALLS = 80
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"What {name} does, told in a sentence or two so that a model can use it well.",
            "parameters": {
                "type": "object",
                "properties": {"file_path": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["file_path"],
            },
        },
    }
    for name in ("read", "edit", "write", "grep", "glob", "bash", "todo_write", "wms__get_order")
]


class Client:
    """One open session against a slot."""

    def __init__(self, session: aiohttp.ClientSession, key: str) -> None:
        self._session = session
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    async def ask(self, messages: list[dict[str, Any]], turn: str) -> dict[str, Any]:
        """One call; raises where the gateway refuses."""
        return await self.send(json.dumps({"model": "policy", "messages": messages, "tools": TOOLS}).encode(), turn)

    async def send(self, body: bytes, turn: str) -> dict[str, Any]:
        """One call whose body is encoded already."""
        headers = self._headers | {"X-Journeyman-Turn": turn}
        async with self._session.post("http://gateway/v1/chat/completions", data=body, headers=headers) as response:
            answer: dict[str, Any] = json.loads(await response.read())
            if response.status != 200:
                raise RuntimeError(answer)
            return answer


async def _cpu(work: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """CPU and wall seconds of `work`."""
    cpu, wall = time.process_time(), time.perf_counter()
    await work()
    return time.process_time() - cpu, time.perf_counter() - wall


async def _session(gateway: Gateway, session: aiohttp.ClientSession, home: Path, name: str, turns: int) -> None:
    """One episode of `turns` calls, as a loop makes them."""
    spec = EpisodeSpec(job="bench", policy="p", task=name, group="g", attempt=0)
    slot = gateway.open(spec, home / name, 1 << 20)
    client = Client(session, slot.key)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You do office work with the tools you have."},
        {"role": "user", "content": "Read notes.txt and write the approved revenue to answer.txt."},
    ]
    for turn in range(turns):
        answer = await client.ask(messages, f"t{turn}")
        messages.append(answer["choices"][0]["message"])
        messages.append({"role": "user", "content": f"1\trevenue: {turn}20\n2\tmargin: 14\n3\tstatus: approved"})
    await slot.close()


async def _rounds(gateway: Gateway, session: aiohttp.ClientSession, home: Path, turns: int, at_once: int) -> Any:
    """Median CPU ms and calls/s per call of sessions of `turns` turns, `at_once` at a time."""
    cpus, rates = [], []
    for r in range(ROUNDS):
        names = [f"{turns}-{at_once}-{r}-{i}" for i in range(max(CALLS // turns, at_once))]

        async def work(names: list[str] = names) -> None:
            for start in range(0, len(names), at_once):
                batch = names[start : start + at_once]
                await asyncio.gather(*(_session(gateway, session, home, name, turns) for name in batch))

        cpu, wall = await _cpu(work)
        cpus.append(cpu / (len(names) * turns) * 1e3)
        rates.append(len(names) * turns / wall)
    return statistics.median(cpus), statistics.median(rates)


async def _direct(engine: SeededEngine) -> float:
    """CPU ms of the sampler itself."""
    request = SampleRequest(
        episode="e",
        turn_id="t",
        lineage="l",
        prompt_ids=list(range(3, 400)),
        sampling=Sampling(),
        stop_token_ids=(2,),
        seed=1,
    )

    async def work() -> None:
        for _ in range(CALLS):
            async for _chunk in engine.sample(request):
                pass

    return statistics.median([(await _cpu(work))[0] / CALLS * 1e3 for _ in range(ROUNDS)])


async def _long(gateway: Gateway, session: aiohttp.ClientSession, home: Path, turns: int) -> tuple[float, float, int]:
    """CPU ms of an early and a late turn of one append-only conversation, and the tokens it grew to.

    The client's own encoding of its history is left out: it is not the gateway's to avoid.
    """
    spec = EpisodeSpec(job="bench", policy="p", task="long", group="g", attempt=0)
    slot = gateway.open(spec, home / "long", 1 << 20)
    client = Client(session, slot.key)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Begin."}]
    costs, tokens = [], 0
    for turn in range(turns):
        body = json.dumps({"model": "policy", "messages": messages, "tools": TOOLS}).encode()
        started = time.process_time()
        answer = await client.send(body, f"t{turn}")
        costs.append((time.process_time() - started) * 1e3)
        tokens = answer["x_journeyman"]["context_tokens"]
        messages.append(answer["choices"][0]["message"])
        messages.append({"role": "user", "content": "the approved forecast for the year is the version seven " * 94})
    await slot.close()
    edge = max(turns // 10, 1)
    return statistics.median(costs[1 : edge + 1]), statistics.median(costs[-edge:]), tokens


async def main() -> int:
    """Print each figure beside its target; 0 only if every target is reached."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        renderer = TemplateRenderer(write_tiny_tokenizer(home / "tokenizer"))
        engine = SeededEngine(vocabulary=400)
        async with Gateway(engine, renderer, socket_dir=home) as gateway:
            connector = aiohttp.UnixConnector(path=gateway.url.removeprefix("unix:"), limit=64)
            async with aiohttp.ClientSession(connector=connector) as session:
                await _session(gateway, session, home, "warm", 5)
                zero = await _direct(engine)
                single = await _rounds(gateway, session, home, 1, 1)
                ten = await _rounds(gateway, session, home, 10, 1)
                crowd = await _rounds(gateway, session, home, 10, 16)
                early, late, tokens = await _long(gateway, session, home, 100)
    growth = (late - early) / (tokens / 1000)
    rows = [
        ("CPU ms, 1-turn call, client + gateway", single[0] - zero, 2.5, "<="),
        ("CPU ms, call of a 10-turn session, client + gateway", ten[0] - zero, 2.5, "<="),
        ("calls/s, 16 sessions at once", crowd[1], 400.0, ">="),
        (f"CPU ms per turn at {tokens:,} tokens, client + gateway", late - zero, 10.0, "<="),
        ("CPU ms per 1,000 history tokens", growth, 0.05, "<="),
    ]
    print(f"sampler called directly: {zero:.2f} ms CPU per call of 64 tokens (subtracted below)")
    reached = 0
    for name, value, target, sense in rows:
        good = value <= target if sense == "<=" else value >= target
        reached += good
        print(f"{'ok  ' if good else 'MISS'} {name:58} {value:9.3f}  target {sense} {target:g}")
    print(f"capture: {reached} of {len(rows)} targets reached")
    return 0 if reached == len(rows) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
