"""A process that keeps one gateway alive: it forks another as soon as one is killed, until SIGTERM ends it in order."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from journeyman.capture.server import Gateway
from journeyman.engines.scripted import SeededEngine
from journeyman.records.episode import EpisodeSpec
from journeyman.tokens.template import TemplateRenderer
from journeyman.tokens.tiny import write_tiny_tokenizer

from .conftest import seal_episode

SPEC = EpisodeSpec(job="j", policy="p", task="t", group="g", attempt=0)
KEY = "jm-the-same-after-every-kill"


async def _serve(home: Path, renderer: TemplateRenderer) -> None:
    """One gateway's life. SIGTERM closes and seals the episode."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    engine = SeededEngine(vocabulary=400, tokens=16, chunk=4, seconds=0.008)
    async with Gateway(engine, renderer, socket_dir=home) as gateway:
        slot = gateway.open(SPEC, home / "episode", 1 << 20, resume=True, key=KEY)
        (home / "pid.part").write_text(str(os.getpid()))
        (home / "pid.part").rename(home / "pid")
        await stop.wait()
        captured = await slot.close()
    seal_episode(home / "episode", SPEC, captured)


def main(home: Path) -> None:
    """Fork, wait, fork again; a child that ends by itself is the last."""
    renderer = TemplateRenderer(write_tiny_tokenizer(home / "tokenizer"))
    while True:
        child = os.fork()
        if child == 0:
            asyncio.run(_serve(home, renderer))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
