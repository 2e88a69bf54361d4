"""The gateway alone: one episode recorded for whoever holds its key, sealed when the process is told to stop."""

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path

from journeyman.capture.server import Gateway
from journeyman.errors import UserError
from journeyman.pipeline.recipe import Recipe
from journeyman.pipeline.rollout import weights_of
from journeyman.pipeline.workplace import embedded_engine
from journeyman.records.episode import Episode, EpisodeSpec, Usage
from journeyman.records.outcome import StopReason
from journeyman.store.layout import Job
from journeyman.store.seal import is_sealed, seal
from journeyman.tokens.families import renderer_for

MANUAL_TASK = "by-hand"


async def serve(policy: str, out: Path, host: str, port: int, episode: str, ready: Callable[[str, str], None]) -> Path:
    """Serve until SIGINT or SIGTERM. Returns the sealed directory. Raises UserError where that episode is sealed."""
    weights = weights_of(policy)
    spec = EpisodeSpec(job=out.name, policy=Path(policy).name, task=MANUAL_TASK, group="manual", attempt=0)
    spec = spec.model_copy(update={"group": f"manual-{episode}"})
    directory = Job(out).episode_dir(spec.key)
    if is_sealed(directory):
        raise UserError(f"episode {episode!r} in {out} is sealed: give another --episode")
    directory.mkdir(parents=True, exist_ok=True)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    started = time.monotonic()
    engine, renderer = embedded_engine(Recipe(name=out.name), weights), renderer_for(weights)
    Gateway(engine, renderer, host=host)  # a host that is not loopback is refused before a sampler starts
    async with engine:
        async with Gateway(engine, renderer, host=host, port=port) as gateway:
            slot = gateway.open(spec, directory, engine.identity.context_tokens or 131_072, resume=True)
            ready(slot.url, slot.key)
            await stop.wait()
            captured = await slot.close()
    header = Episode(
        spec=spec,
        task_digest="",
        grader_digest="",
        harness_digest="",
        engine=gateway.engine_identity,
        sandbox={},
        stop=StopReason.FINISHED,
        usage=Usage(
            turns=captured.turns,
            prompt_tokens=captured.prompt_tokens,
            cached_tokens=captured.cached_tokens,
            sampled_tokens=captured.sampled_tokens,
            segments=captured.segments,
        ),
        timing={"total": round(time.monotonic() - started, 6)},
    )
    (directory / "episode.json").write_bytes(header.canonical())
    seal(directory)
    return directory
