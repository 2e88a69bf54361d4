"""The gateway alone: one episode recorded for whoever holds its key, sealed when the process is told to stop.

Invariant: killed and started again by the same command, it goes on with the same episode under the same key, and with
no other policy or engine than it began with. A start that failed has begun nothing.
"""

import asyncio
import re
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from journeyman.capture.by_hand import seal_by_hand
from journeyman.capture.server import Gateway
from journeyman.errors import UserError
from journeyman.pipeline.engines import policy_engine
from journeyman.pipeline.recipe import EngineRecipe, Recipe
from journeyman.pipeline.rollout import label_of, weights_of
from journeyman.records.base import Record
from journeyman.records.episode import EpisodeSpec
from journeyman.store.atomic import read_lines
from journeyman.store.checkpoint import tokenizer_digest
from journeyman.store.layout import Job
from journeyman.store.lock import hold
from journeyman.store.reading import read_record
from journeyman.store.seal import is_sealed
from journeyman.tokens.choosing import renderer_for

MANUAL_TASK = "by-hand"
_NAME = re.compile(r"[\w.-]{1,100}")
_WINDOW = 131_072  # tokens, where the engine does not say


class Wanted(NamedTuple):
    """What is to be served and recorded."""

    policy: str  # base, or a Hugging Face directory
    out: Path
    episode: str  # its name; the same one goes on where a killed gateway stopped
    host: str
    port: int
    engine: EngineRecipe = EngineRecipe()


class Listening(NamedTuple):
    """A gateway that can be talked to."""

    url: str
    key: str
    turns: int  # recorded before, by one that was killed


class _Begun(Record):
    """An open episode between two gateways. Lies in the ledger, for its owner's eyes only, until the seal."""

    key: str
    policy: str
    engine: str  # kind and model


async def serve(wanted: Wanted, ready: Callable[[Listening], None]) -> Path:
    """Serve until SIGINT or SIGTERM. Returns the sealed directory. Raises UserError where that episode is sealed."""
    if not _NAME.fullmatch(wanted.episode) or wanted.episode in (".", ".."):
        raise UserError(f"episode {wanted.episode!r} is no name: use letters, digits, '.', '_' and '-'")
    weights, job = weights_of(wanted.policy), Job(wanted.out)
    group = f"manual-{wanted.episode}"
    spec = EpisodeSpec(job=job.name, policy=label_of(wanted.policy), task=MANUAL_TASK, group=group, attempt=0)
    directory = job.episode_dir(spec.key)
    if is_sealed(directory):
        raise UserError(f"episode {wanted.episode!r} in {wanted.out} is sealed: give another --episode")
    recipe = Recipe(name=job.name, stages=(), engine=wanted.engine)
    Gateway.check_host(wanted.host)  # before a sampler starts
    renderer = renderer_for(weights)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    started = time.monotonic()
    with _alone(job, wanted) as begun:
        async with policy_engine(recipe, weights, weights) as engine:
            tokenizer = tokenizer_digest(weights)
            made = Gateway(engine, renderer, host=wanted.host, port=wanted.port, tokenizer_digest=tokenizer)
            async with made as gateway:
                directory.mkdir(parents=True, exist_ok=True)
                _keep(_ledger(job, wanted.episode), begun)
                window = engine.identity.context_tokens or _WINDOW
                slot = gateway.open(spec, directory, window, resume=True, key=begun.key)
                ready(Listening(slot.url, slot.key, len(read_lines(directory / "turns.jsonl"))))
                await stop.wait()
                captured = await slot.close()
        seal_by_hand(directory, spec, asdict(captured), gateway.engine_identity, time.monotonic() - started)
        _ledger(job, wanted.episode).unlink()
    return directory


def _ledger(job: Job, episode: str) -> Path:
    return job.ledger / "gateway" / f"{episode}.json"


@contextmanager
def _alone(job: Job, wanted: Wanted) -> Iterator[_Begun]:
    """What the episode was begun with, or is now, held against other processes.

    Raises UserError where it was begun otherwise, another process has it, or what is on record is damaged.
    """
    path = _ledger(job, wanted.episode)
    engine = " ".join(filter(None, (wanted.engine.kind, wanted.engine.model)))
    remedy = "stop the gateway that records it (Ctrl-C there seals it), or give another --episode"
    with hold(path.with_suffix(".lock"), of=f"episode {wanted.episode!r} of {wanted.out}", remedy=remedy):
        if path.exists():
            begun = read_record(path, _Begun, "delete it to go on with the episode under a new key")
            if (begun.policy, begun.engine) != (wanted.policy, engine):
                raise UserError(
                    f"episode {wanted.episode!r} was begun with --policy {begun.policy} on engine {begun.engine}: "
                    "go on with these, or give another --episode"
                )
        else:
            begun = _Begun(key=f"jm-{secrets.token_urlsafe(32)}", policy=wanted.policy, engine=engine)
        yield begun


def _keep(path: Path, begun: _Begun) -> None:
    """Write down what an episode is begun with, before its first call can be recorded."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)
    part.write_bytes(begun.canonical())
    part.replace(path)
