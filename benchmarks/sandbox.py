"""CPU of a box: per start, per call and per compact episode, children included, against plain `bwrap ... true`.

Run: python benchmarks/sandbox.py [episodes]. Everything is CPU time of one run (user + system, median of rounds), since
machines are noisy; the limit is what bubblewrap itself needs to start and end an empty box.
"""

import asyncio
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from journeyman.sandbox.base import SandboxSpec
from journeyman.sandbox.bubblewrap import BubblewrapBox, BubblewrapProvider
from journeyman.sandbox.detect import detect

TARGET_EPISODE_MS = 18.0
TARGET_RATIO = 5.0  # what 18 ms are on a quiet machine; busy ones stretch both sides alike
TARGET_CALL_MS = 1.0
ROUNDS = 5
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read", {"path": "a.txt"}),
    ("read", {"path": "b.txt"}),
    ("grep", {"pattern": "world"}),
    ("exec", {"command": "cat c.txt", "timeout_seconds": 10.0}),
    ("write", {"path": "out.txt", "content": "total: 1\n"}),
]


def own_cpu() -> float:
    """CPU seconds of this process and of the children it waited for."""
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def plain_ms(argv: list[str], times: int) -> float:
    """CPU per run of a command, in milliseconds."""
    before = own_cpu()
    for _ in range(times):
        os.waitpid(os.posix_spawn(argv[0], argv, {}), 0)
    return (own_cpu() - before) / times * 1e3


async def episode(provider: BubblewrapProvider, spec: SandboxSpec, calls: list[tuple[str, dict[str, Any]]]) -> None:
    box: BubblewrapBox = await provider.start(spec)
    for op, args in calls:
        await box.call(op, args)
    await box.kill_agent()
    await box.collect()
    await box.close()


async def per_ms(provider: BubblewrapProvider, times: int, run: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """CPU and wall per run, in milliseconds; the spawner and its boxes included."""
    before, started = own_cpu() + provider.cpu_seconds(), time.perf_counter()
    for _ in range(times):
        await run()
    cpu = own_cpu() + provider.cpu_seconds() - before
    return cpu / times * 1e3, (time.perf_counter() - started) / times * 1e3


async def measure(times: int) -> dict[str, list[float]]:
    """Figures of every round: limit, bash, empty box, episode, one read, wall."""
    binary = detect().binary
    assert binary is not None
    limit = f"{binary} --unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --new-session"
    limit += " --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64"
    limit += " --proc /proc --dev /dev --tmpfs /tmp /usr/bin/true"
    figures: dict[str, list[float]] = {name: [] for name in ("limit", "bash", "empty", "episode", "read", "wall")}
    with tempfile.TemporaryDirectory() as directory:
        for name in "abcd":
            (Path(directory) / f"{name}.txt").write_text("hello: 1\nworld: 2\n" * 5)
        Path(directory).chmod(0o755)
        spec = SandboxSpec(workspace=(Path(directory),))
        async with BubblewrapProvider() as provider:
            await episode(provider, spec, CALLS)
            for _ in range(ROUNDS):
                figures["limit"].append(plain_ms(limit.split(), times))
                figures["bash"].append(plain_ms(["/bin/bash", "-c", "cat /dev/null"], times))
                figures["empty"].append((await per_ms(provider, times, lambda: episode(provider, spec, [])))[0])
                cpu, wall = await per_ms(provider, times, lambda: episode(provider, spec, CALLS))
                figures["episode"].append(cpu)
                figures["wall"].append(wall)
                figures["read"].append(await _read_ms(provider, spec, figures["empty"][-1]))
    return figures


async def _read_ms(provider: BubblewrapProvider, spec: SandboxSpec, empty_ms: float) -> float:
    """One read among many in one box, whose start and end are subtracted (the box's own time is told when it ends)."""
    reads = [CALLS[0]] * 200
    cpu, _ = await per_ms(provider, 1, lambda: episode(provider, spec, reads))
    return max(0.0, cpu - empty_ms) / len(reads)


def main() -> int:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    figures = asyncio.run(measure(times))
    median = {name: statistics.median(values) for name, values in figures.items()}
    limit = median["limit"]
    print(f"CPU in ms, median of {ROUNDS} rounds of {times}, user + system, children included")
    print(f"  plain bwrap ... true           {limit:7.2f}   the limit of starting a box")
    print(f"  plain bash -c 'cat ...'        {median['bash']:7.2f}   the limit of the one command")
    print(f"  box: start, kill, collect, end {median['empty']:7.2f}   {median['empty'] / limit:.1f} x plain bwrap")
    print(f"  one read                       {median['read']:7.2f}   target {TARGET_CALL_MS}")
    ratio = median["episode"] / (limit + median["bash"])
    print(f"  episode: the same and 5 calls  {median['episode']:7.2f}   target {TARGET_EPISODE_MS} on a quiet machine")
    print(f"  ratio to bwrap and command     {ratio:7.2f}   target {TARGET_RATIO}; wall {median['wall']:.1f} ms")
    reached = ratio <= TARGET_RATIO and median["read"] <= TARGET_CALL_MS
    print(
        f"sandbox: {median['episode']:.1f} ms of CPU per episode, {ratio:.1f} x (plain bwrap + plain command)", end=""
    )
    print(f": targets {'reached' if reached else 'MISSED'}")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
