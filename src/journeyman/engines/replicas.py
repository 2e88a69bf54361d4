"""Several servers of one model as one engine. Invariant: a conversation stays with the server that knows its prefix.

A server that cannot be reached gets no new conversation for a while; its calls in flight fail as they would alone.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any, Self

from journeyman.engines.base import Engine, EngineIdentity, SampleChunk, SampleRequest, strictest
from journeyman.errors import EngineFailure, UserError

_REST_SECONDS = 30.0  # for which a server that did not answer is passed over
_GONE = {"unreachable", "connection_lost"}


class Replicas:
    """`async with Replicas(engines) as engine`. Weights are loaded into all; each token keeps its own version."""

    def __init__(self, engines: Sequence[Any]) -> None:
        """`engines`: clients of one kind, not connected yet."""
        self.engines = tuple(engines)
        self.identity: EngineIdentity = self.engines[0].identity
        self._home: dict[str, int] = {}  # episode -> the server its prefixes are cached on
        self._open: Counter[int] = Counter()  # calls in flight, by the server's place
        self._given: Counter[int] = Counter()  # conversations ever begun there: servers alike idle take turns
        self._rests_until = [0.0] * len(self.engines)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for engine in self.engines:
                await stack.enter_async_context(engine)
            models = {engine.identity.model: engine.server.url for engine in self.engines}
            if len(models) > 1:
                told = ", ".join(f"{url} serves {model!r}" for model, url in models.items())
                raise UserError(f"the servers are not of one model: {told}")
            self._stack = stack.pop_all()
        windows = [e.identity.context_tokens for e in self.engines if e.identity.context_tokens]
        limits = [engine.identity.sampling for engine in self.engines]
        update = {"context_tokens": min(windows, default=0), "sampling": strictest(limits)}
        self.identity = self.engines[0].identity.model_copy(update=update)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def original(self) -> bool:
        """Whether every server holds the weights that it was started with."""
        return all(engine.original for engine in self.engines)

    async def tokenises(self, text: str) -> list[int] | None:
        """Ids of a text by the first server that says; None where none does."""
        for engine in self.engines:
            if (ids := await engine.tokenises(text)) is not None:
                return list(ids)
        return None

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        """Sample one assistant turn where its episode is at home. Raises EngineFailure."""
        at = self._home_of(request.episode)
        self._open[at] += 1
        try:
            async with aclosing(self.engines[at].sample(request)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except EngineFailure as failure:
            if failure.cause in _GONE:
                self._rests_until[at] = time.monotonic() + _REST_SECONDS
                self._home.pop(request.episode, None)
            raise
        finally:
            self._open[at] -= 1

    def _home_of(self, episode: str) -> int:
        if episode not in self._home:
            now = time.monotonic()
            places = range(len(self.engines))
            at = min(places, key=lambda at: (self._rests_until[at] > now, self._open[at], self._given[at]))
            self._given[at] += 1
            self._home[episode] = at
        return self._home[episode]

    async def load_weights(self, path: Path, version: int) -> None:
        """Swap on every server; returns when all have. Raises the first EngineFailure, after all have ended."""
        await self._all(lambda engine: engine.load_weights(path, version))

    async def pause(self) -> None:
        """No server samples until `resume`."""
        await self._all(lambda engine: engine.pause())

    async def resume(self) -> None:
        """Sampling goes on everywhere."""
        await self._all(lambda engine: engine.resume())

    async def release(self, lineage: str) -> None:
        """The lineage will not continue: its episode may find another home."""
        self._home.pop(lineage.rpartition("#")[0], None)
        await self._all(lambda engine: engine.release(lineage))

    async def close(self) -> None:
        """Close the connections; idempotent. The servers run on."""
        await self._stack.aclose()

    async def _all(self, do: Callable[[Engine], Coroutine[Any, Any, None]]) -> None:
        answers = await asyncio.gather(*(do(engine) for engine in self.engines), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
