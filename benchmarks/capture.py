"""What a captured model call costs: the gateway in its own process, before an instant fake SGLang in another.

The fake called directly, in the same rounds and by the same client, is the zero: it is subtracted from every latency.
CPU is the gateway process's own, from the kernel's scheduler. Medians of several rounds. The peer's figures are those
of the best public proxy, measured the same way on such a machine.
"""

import argparse
import asyncio
import ctypes
import gc
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from journeyman.capture.by_hand import seal_by_hand
from journeyman.capture.verify import verify_episode
from journeyman.harnesses.whitebox.http import Connection
from journeyman.records.episode import EpisodeSpec
from journeyman.store.sealed import SealedEpisode

POLICY = Path(__file__).parents[1] / "src" / "journeyman" / "engines" / "embedded" / "policy"
ROUNDS = 3
CALLS = {1: 60, 16: 320, 64: 640}  # by concurrency
LONG_TURNS = 100
LONG_TOKENS = 109_000
LONG_EDGE = 10  # a tenth of the turns is early, a tenth late
SAMPLED = 64
SLOW_SECONDS = 0.5
JOB = "bench"
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
FIRST = [
    {"role": "system", "content": "You do office work with the tools you have."},
    {"role": "user", "content": "Read notes.txt and write the approved revenue to answer.txt."},
]
WORDS = (
    *("the", "approved", "forecast", "of", "revenue", "and", "margin", "for", "this", "year", "is", "in", "version"),
    *("seven,", "which", "board", "released", "on", "before", "counsel", "cleared", "it"),
)


# -- processes


def serve(home: Path, tokenizer: Path, engine_url: str) -> None:
    """The gateway process: prints its address and admin key, then serves until it is killed."""
    import uvloop

    from journeyman.capture.server import Gateway
    from journeyman.engines.sglang import SGLangEngine
    from journeyman.tokens.template import TemplateRenderer

    async def run() -> None:
        async with SGLangEngine(engine_url) as engine:
            async with Gateway(engine, TemplateRenderer(tokenizer), admin_root=home / JOB) as gateway:
                assert gateway.admin is not None
                asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, _settle)
                print(json.dumps({"url": gateway.url, "key": gateway.admin.key}), flush=True)
                await asyncio.Event().wait()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as `journeyman gateway` does
        runner.run(run())


def _settle() -> None:
    """Give freed memory back, so that what was needed at the start does not hide what sessions need."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


class Process:
    """A child of this benchmark and what it has used."""

    def __init__(self, *arguments: str) -> None:
        pipe = subprocess.PIPE
        self._popen = subprocess.Popen([sys.executable, *arguments], stdin=pipe, stdout=pipe)
        assert self._popen.stdout is not None
        self.said = self._popen.stdout.readline().decode().strip()

    def cpu_seconds(self) -> float:
        """On-CPU seconds of all its threads."""
        total = 0
        for thread in Path(f"/proc/{self._popen.pid}/task").iterdir():
            total += int((thread / "schedstat").read_text().split()[0])
        return total / 1e9

    async def rss_bytes(self) -> int:
        """Resident memory, once what is free has been given back."""
        self._popen.send_signal(signal.SIGUSR1)
        await asyncio.sleep(0.5)
        pages = Path(f"/proc/{self._popen.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def end(self) -> None:
        """Kill and reap it."""
        self._popen.kill()
        self._popen.wait()


# -- a client


class Session(NamedTuple):
    """An open episode."""

    episode: str
    headers: str
    directory: Path


class Bench:
    """The client's side: connections to the gateway and to the fake."""

    def __init__(self, gateway: Process, fake_url: str, stop: int) -> None:
        said = json.loads(gateway.said)
        self.gateway = gateway
        self.fake_url = fake_url
        self.stop = stop
        self._url, self._key = said["url"], said["key"]
        self._admin = Connection(self._url)
        self._opened = 0

    async def admin(self, path: str, body: Any) -> Any:
        """One call under the admin key."""
        headers = f"Authorization: Bearer {self._key}\r\nContent-Type: application/json\r\n"
        status, answer = await self._admin.post(path, headers, json.dumps(body).encode())
        if status != 200:
            raise RuntimeError(answer)
        return json.loads(answer)

    async def open(self) -> Session:
        """A fresh episode."""
        self._opened += 1
        spec = EpisodeSpec(job=JOB, policy="p", task=f"t{self._opened}", group="g", attempt=0)
        said = await self.admin("/admin/episodes", {"spec": spec.model_dump(mode="json"), "context_tokens": 1 << 20})
        headers = f"Authorization: Bearer {said['key']}\r\nContent-Type: application/json\r\n"
        return Session(said["episode"], headers, Path(said["directory"]))

    async def close(self, session: Session) -> Any:
        """What its capture amounts to."""
        return await self.admin("/admin/episodes/close", {"episode": session.episode})

    def connect(self, direct: bool = False) -> Connection:
        """A connection of a client's own."""
        return Connection(self.fake_url if direct else self._url)


def told(messages: Sequence[Any]) -> bytes:
    """A request body."""
    return json.dumps({"model": "policy", "messages": messages, "tools": TOOLS}).encode()


async def ask(connection: Connection, session: Session, body: bytes, turn: str, run: str = "") -> Any:
    """One call through the gateway."""
    more = f"X-Journeyman-Run: {run}\r\n" if run else ""
    headers = f"{session.headers}X-Journeyman-Turn: {turn}\r\n{more}"
    status, data = await connection.post("/v1/chat/completions", headers, body)
    answer = json.loads(data)
    if status != 200:
        raise RuntimeError(answer)
    return answer


def generate_body(stop: int, prompt_ids: Sequence[int]) -> bytes:
    """What the gateway's engine client asks of SGLang."""
    sampling = {"max_new_tokens": 4096, "temperature": 1.0, "stop_token_ids": [stop]}
    asked = {"rid": "direct", "input_ids": list(prompt_ids), "sampling_params": sampling, "return_logprob": True}
    return json.dumps(asked).encode()


# -- what is measured


class Load(NamedTuple):
    """One kind of load: latencies are overheads, the fake's own subtracted."""

    p50_ms: float
    p95_ms: float
    calls_per_second: float
    cpu_ms: float


async def _crowd(jobs: Sequence[Callable[[], Awaitable[list[float]]]], at_once: int) -> tuple[list[float], float]:
    """Latencies of all calls and wall seconds; `at_once` jobs run at a time."""
    queue, latencies = list(jobs), []

    async def worker() -> None:
        while queue:
            latencies.extend(await queue.pop()())

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return latencies, time.perf_counter() - started


async def _talk(connection: Connection, session: Session, turns: int) -> list[float]:
    """Latencies of a session's calls."""
    messages, latencies = list(FIRST), []
    for turn in range(turns):
        body = told(messages)
        started = time.perf_counter()
        answer = await ask(connection, session, body, f"t{turn}")
        latencies.append(time.perf_counter() - started)
        messages.append(answer["choices"][0]["message"])
        messages.append({"role": "user", "content": f"1\trevenue: {turn}20\n2\tmargin: 14\n3\tstatus: approved"})
    return latencies


async def _direct(connection: Connection, body: bytes, calls: int) -> list[float]:
    latencies = []
    for _ in range(calls):
        started = time.perf_counter()
        status, data = await connection.post("/generate", "Content-Type: application/json\r\n", body)
        json.loads(data)
        latencies.append(time.perf_counter() - started)
        assert status == 200
    return latencies


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


async def load(bench: Bench, turns: int, at_once: int) -> Load:
    """Sessions of `turns` turns, `at_once` at a time; direct calls of the same number before each round."""
    rows: list[Load] = []
    body = generate_body(bench.stop, range(100, 600))
    for _ in range(ROUNDS):
        count = max(CALLS[at_once] // turns, at_once)
        direct = [bench.connect(direct=True) for _ in range(at_once)]
        zero, _ = await _crowd(
            [lambda c=c: _direct(c, body, CALLS[at_once] // at_once) for c in direct],
            at_once,  # type: ignore[misc]
        )
        sessions = [await bench.open() for _ in range(count)]
        free = [bench.connect() for _ in range(at_once)]

        async def job(session: Session, free: list[Connection] = free) -> list[float]:
            connection = free.pop()
            try:
                return await _talk(connection, session, turns)
            finally:
                free.append(connection)

        cpu = bench.gateway.cpu_seconds()
        taken, wall = await _crowd([lambda s=s: job(s) for s in sessions], at_once)  # type: ignore[misc]
        cpu = (bench.gateway.cpu_seconds() - cpu) / len(taken)
        rows.append(
            Load(
                (_percentile(taken, 0.5) - _percentile(zero, 0.5)) * 1e3,
                (_percentile(taken, 0.95) - _percentile(zero, 0.95)) * 1e3,
                len(taken) / wall,
                cpu * 1e3,
            )
        )
        for session in sessions:
            await bench.close(session)
        for connection in (*direct, *free):
            connection.close()
    return Load(*(statistics.median(column) for column in zip(*rows, strict=True)))


class Long(NamedTuple):
    """A long conversation. `early` and `late`: (wall, CPU) ms per turn of its first and last tenth."""

    session: Session
    tokens: int
    early: tuple[float, float]
    late: tuple[float, float]


async def long(bench: Bench, seed: int) -> Long:
    """One append-only conversation of LONG_TURNS turns; overheads with the fake's own time subtracted."""
    session, connection, draw = await bench.open(), bench.connect(), random.Random(seed)
    messages: list[Any] = list(FIRST)
    costs: list[tuple[float, float]] = []
    tokens, words = 0, 600
    for turn in range(LONG_TURNS):
        body = told(messages)
        cpu, started = bench.gateway.cpu_seconds(), time.perf_counter()
        answer = await ask(connection, session, body, f"t{turn}")
        wall = time.perf_counter() - started
        costs.append((wall * 1e3, (bench.gateway.cpu_seconds() - cpu) * 1e3))
        grown = answer["x_journeyman"]["context_tokens"] - tokens
        tokens += grown
        if turn:  # steer to the length that is claimed
            words = max(100, round(words * ((LONG_TOKENS - tokens) / max(LONG_TURNS - turn - 1, 1)) / grown))
        said = " ".join(
            f"{draw.choice(WORDS)}{draw.randrange(1000) if draw.random() < 0.1 else ''}" for _ in range(words)
        )
        messages += [answer["choices"][0]["message"], {"role": "user", "content": said}]
    edge = LONG_TURNS // LONG_EDGE
    first, last = costs[1 : edge + 1], costs[-edge:]
    fake = bench.connect(direct=True)
    zeros = [
        statistics.median(await _direct(fake, generate_body(bench.stop, [1000] * n), edge)) * 1e3
        for n in (tokens * 5 // 100, tokens * 95 // 100)
    ]
    for open_connection in (connection, fake):
        open_connection.close()
    early, late = (tuple(statistics.median(column) for column in zip(*part, strict=True)) for part in (first, last))
    return Long(session, tokens, (early[0] - zeros[0], early[1]), (late[0] - zeros[1], late[1]))


async def sealed(bench: Bench, long: Long) -> tuple[float, float]:
    """ms to seal and read a long session, and ms to verify it offline."""
    captured = await bench.close(long.session)
    directory = long.session.directory
    job, *rest = long.session.episode.split("/")
    spec = EpisodeSpec(job=job, policy=rest[0], task=rest[1], group=rest[2], attempt=0)
    started = time.perf_counter()
    seal_by_hand(directory, spec, captured, engine={})
    episode = SealedEpisode.open(directory)
    held = sum(len(episode.segment_tokens(s.run, s.index).ids) for s in episode.segments)
    took = time.perf_counter() - started
    assert held == long.tokens, (held, long.tokens)
    started = time.perf_counter()
    fault = verify_episode(directory)
    assert fault is None, fault
    return took * 1e3, (time.perf_counter() - started) * 1e3


async def parallel(bench: Bench) -> float:
    """How many times as long four subagents take at once as one call does; the engine takes SLOW_SECONDS."""
    session = await bench.open()
    connections = [bench.connect() for _ in range(4)]
    body = told(FIRST)
    started = time.perf_counter()
    await ask(connections[0], session, body, "root")
    one = time.perf_counter() - started
    started = time.perf_counter()
    await asyncio.gather(*(ask(c, session, body, f"c{i}", f"sub{i}") for i, c in enumerate(connections)))
    four = time.perf_counter() - started
    await bench.close(session)
    return four / one


# -- the report


def tokenizer_directory(home: Path, given: Path | None) -> tuple[Path, str]:
    """A real vocabulary: SmolLM2's where its package is installed, else the shipped policy's."""
    if given is not None:
        return given, given.name
    from journeyman.engines.embedded import smollm2
    from journeyman.errors import UserError

    try:
        source = smollm2.gguf_path()
    except UserError:
        return POLICY, "the shipped policy's"
    code = (
        "import sys; from transformers import AutoTokenizer;"
        "AutoTokenizer.from_pretrained(sys.argv[1], gguf_file=sys.argv[2]).save_pretrained(sys.argv[3])"
    )
    arguments = [sys.executable, "-c", code, str(source.parent), source.name, str(home / "tokenizer")]
    if subprocess.run(arguments, capture_output=True, check=False).returncode != 0:
        return POLICY, "the shipped policy's"
    (home / "tokenizer" / "chat_template.jinja").write_bytes(smollm2.TEMPLATE.read_bytes())
    return home / "tokenizer", "SmolLM2's"


def _ids(directory: Path) -> tuple[int, int]:
    """The id that ends a turn, and how large the vocabulary is."""
    from journeyman.tokens.template import TemplateRenderer

    renderer = TemplateRenderer(directory)
    return renderer.stop_token_ids[0], renderer.encoder.full.get_vocab_size()


class Row(NamedTuple):
    """One figure beside its target and the peer's."""

    name: str
    value: float
    target: float | None  # None: shown, not judged
    at_most: bool = True
    peer: str = ""

    def reached(self) -> bool:
        """Whether the target is met."""
        return self.target is None or (self.value <= self.target if self.at_most else self.value >= self.target)

    def __str__(self) -> str:
        mark = "    " if self.target is None else ("ok  " if self.reached() else "MISS")
        sense = "<=" if self.at_most else ">="
        target = "" if self.target is None else f"target {sense} {self.target:g}"
        return (
            f"{mark} {self.name:62} {self.value:9.3f}  {target:16} {f'peer {self.peer}' if self.peer else ''}".rstrip()
        )


async def _loads(bench: Bench) -> list[Row]:
    rows: list[Row] = []
    for turns in (1, 10):
        for at_once in CALLS:
            found = await load(bench, turns, at_once)
            about = f"{turns}-turn sessions, c={at_once}"
            single, crowd = (turns, at_once) == (1, 1), at_once == 16
            rows += [
                Row(f"{about}: overhead p50, ms", found.p50_ms, None, peer="5-9" if single else ""),
                Row(f"{about}: overhead p95, ms", found.p95_ms, None),
                Row(f"{about}: calls/s", found.calls_per_second, 400.0 if crowd else None, False, "80-130" * crowd),
                Row(f"{about}: gateway CPU ms per call", found.cpu_ms, 1.5 if turns == 1 else None),
            ]
    return rows


async def _longs(bench: Bench) -> list[Row]:
    before = await bench.gateway.rss_bytes()
    held = [await long(bench, seed) for seed in range(4)]
    rss = (await bench.gateway.rss_bytes() - before) / len(held) / 1e6
    tokens = held[-1].tokens
    early = [statistics.median(h.early[i] for h in held) for i in (0, 1)]
    late = [statistics.median(h.late[i] for h in held) for i in (0, 1)]
    times = [await sealed(bench, one) for one in held]
    grown = tokens * (1 - 1 / LONG_EDGE) / 1000  # from the middle of the first tenth to the middle of the last
    return [
        Row(f"turn at {tokens:,} tokens: overhead, ms", late[0], 10.0, peer="224-305"),
        Row(f"turn at {tokens:,} tokens: gateway CPU ms", late[1], 10.0),
        Row("gateway CPU ms per 1,000 history tokens", (late[1] - early[1]) / grown, 0.05),
        Row(f"gateway RSS per {tokens:,}-token session, MB", rss, 20.0, peer="244 + 200"),
        Row("seal + read of it, ms", statistics.median(t[0] for t in times), 150.0, peer="500 + 21,000"),
        Row("verify of it offline, ms", statistics.median(t[1] for t in times), None),
    ]


async def _parallels(bench: Bench) -> list[Row]:
    ratio = statistics.median([await parallel(bench) for _ in range(ROUNDS)])
    return [Row(f"four parallel subagents, in calls of {SLOW_SECONDS} s", ratio, 1.1, peer="4.1")]


async def measured(
    home: Path, tokenizer: Path, seconds: float, measure: Callable[[Bench], Awaitable[list[Row]]]
) -> list[Row]:
    """The rows of one kind of measurement, in processes of its own; the fake takes `seconds` a call."""
    stop, vocabulary = _ids(tokenizer)
    options = {"tokens": SAMPLED, "seconds": seconds, "first": 1000, "vocabulary": vocabulary}
    flags = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    fake = Process("-m", "journeyman.engines.fakes.server", "sglang", *flags)
    gateway = Process(__file__, "--serve", str(home / measure.__name__), str(tokenizer), fake.said)
    try:
        bench = Bench(gateway, fake.said, stop)
        warm = await bench.open()
        await _talk(bench.connect(), warm, 10)
        await bench.close(warm)
        return await measure(bench)
    finally:
        gateway.end()
        fake.end()


async def main(tokenizer: Path | None) -> int:
    """Print each figure beside its target; 0 only if every target is reached."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        directory, name = tokenizer_directory(home, tokenizer)
        print(f"vocabulary: {name}; {SAMPLED} sampled tokens per call; {os.cpu_count()} CPUs", flush=True)
        print("latencies are above the fake called directly", flush=True)
        rows: list[Row] = []
        for seconds, measure in ((0.0, _loads), (0.0, _longs), (SLOW_SECONDS, _parallels)):
            found = await measured(home, directory, seconds, measure)
            print("\n".join(map(str, found)), flush=True)
            rows += found
    judged = [row for row in rows if row.target is not None]
    reached = sum(row.reached() for row in judged)
    print(f"capture: {reached} of {len(judged)} targets reached")
    return 0 if reached == len(judged) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer", type=Path, help="a checkpoint directory whose vocabulary to use")
    parser.add_argument("--serve", nargs=3, metavar=("HOME", "TOKENIZER", "ENGINE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(Path(given.serve[0]), Path(given.serve[1]), given.serve[2])
    else:
        sys.exit(asyncio.run(main(given.tokenizer)))
