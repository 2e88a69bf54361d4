"""Engines without a model: a script that answers in messages, and a seeded sampler of real token ids.

Both are deterministic: the same request always gets the same answer.
"""

import asyncio
import math
import random
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from journeyman.engines.base import EngineIdentity, SampleChunk, SampleRequest
from journeyman.errors import boundary

Script = Callable[[str, Sequence[dict[str, Any]]], dict[str, Any]]


class ScriptedEngine:
    """Answers with what `scripts(episode_id, canonical messages)` returns.

    That is {"content", "tool_calls"?: [{"name", "arguments"}]}. The gateway renders the message to ids;
    such turns carry source=scripted and RL refuses them.
    """

    def __init__(self, scripts: Script, model: str = "scripted", context_tokens: int = 131_072) -> None:
        self._scripts = scripts
        self.identity = EngineIdentity(
            kind="scripted", model=model, token_exact=True, context_tokens=context_tokens, needs_messages=True
        )

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        """One message. Raises EngineFailure where the script raises."""
        with boundary("engine"):
            message = self._scripts(request.episode, request.messages)
        yield SampleChunk(message=message, finish_reason="stop")

    async def load_weights(self, path: Path, version: int) -> None:
        """A script has no weights: nothing changes."""

    async def pause(self) -> None:
        """A script answers at once: there is nothing to hold."""

    async def resume(self) -> None:
        """There was nothing to hold."""

    async def release(self, lineage: str) -> None:
        """A script keeps nothing."""

    async def close(self) -> None:
        """Nothing to stop."""


class SeededEngine:
    """Samples `tokens` ids a call, uniformly from [first, vocabulary), by the request's seed and prompt length.

    `text(request)`, where given, says the exact ids instead. Versions follow `load_weights`, at the next chunk.
    """

    def __init__(
        self,
        vocabulary: int,
        first: int = 3,
        tokens: int = 64,
        chunk: int = 16,
        seconds: float = 0.0,
        text: Callable[[SampleRequest], Sequence[int]] | None = None,
    ) -> None:
        self._range = (first, vocabulary)
        self._tokens = tokens
        self._chunk = chunk
        self._seconds = seconds
        self._text = text
        self._logprob = -math.log(vocabulary - first)
        self._running = asyncio.Event()
        self._running.set()
        self.version = 0
        self.calls = 0  # how many calls reached the engine
        self.cancelled = 0  # how many of them were cut short
        self.identity = EngineIdentity(kind="seeded", model="seeded", token_exact=True)

    def _ids(self, request: SampleRequest) -> list[int]:
        if self._text is not None:
            return list(self._text(request))
        draw = random.Random(f"{request.seed}/{len(request.prompt_ids)}")
        return [*draw.choices(range(*self._range), k=self._tokens - 1), request.stop_token_ids[0]]

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        """Chunks of ids with their log-prob and version; `length` where max_tokens cuts the turn."""
        self.calls += 1
        ids = self._ids(request)
        cut = ids[: request.sampling.max_tokens]
        steps = range(0, len(cut), self._chunk)
        ended = False
        try:
            for start in steps:
                if self._seconds:
                    await asyncio.sleep(self._seconds / len(steps))
                await self._running.wait()
                part = tuple(cut[start : start + self._chunk])
                last = start + self._chunk >= len(cut)
                reason = (None if not last else "stop") if len(cut) == len(ids) else ("length" if last else None)
                ended = last
                yield SampleChunk(
                    ids=part,
                    logprobs=(self._logprob,) * len(part),
                    versions=(self.version,) * len(part),
                    finish_reason=reason,
                )
        finally:
            self.cancelled += not ended

    async def load_weights(self, path: Path, version: int) -> None:
        """Sampled tokens carry `version` from the next chunk on."""
        self.version = version

    async def pause(self) -> None:
        """No further chunk until `resume`; calls stay open."""
        self._running.clear()

    async def resume(self) -> None:
        """Chunks come again."""
        self._running.set()

    async def release(self, lineage: str) -> None:
        """Nothing is kept between calls."""

    async def close(self) -> None:
        """Nothing to stop."""
