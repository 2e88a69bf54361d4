"""One model call in flight. It may outlive its client: a retry joins it, and what nobody was told is an orphan."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Literal, NamedTuple

from journeyman.capture.dialects.base import Reply
from journeyman.errors import EngineFailure, Failure


class Shown(NamedTuple):
    """A piece of a turn that became certain while it was sampled."""

    kind: Literal["reasoning", "prose"]
    text: str


class Call:
    """State shared by the task that samples and the clients that wait. `explicit`: the client named the turn."""

    def __init__(
        self, turn_id: str, run: str, explicit: bool, fingerprint: int, on_orphan: Callable[[str], None]
    ) -> None:
        self.turn_id = turn_id
        self.run = run
        self.explicit = explicit
        self.fingerprint = fingerprint
        self.task: asyncio.Task[None] | None = None
        self.reply: Reply | None = None
        self.failure: Failure | None = None
        self.clients = 0
        self.delivered = False  # a client was sent the whole reply
        self.prompt_tokens = 0
        self.cached_tokens = 0  # of the prompt, reused from the lineage
        self._on_orphan = on_orphan
        self._shown: list[Shown] = []
        self._news: asyncio.Event | None = None

    @property
    def done(self) -> bool:
        """Whether the sampling task has ended, either way."""
        return self.task is not None and self.task.done()

    def orphan(self) -> None:
        """The finished turn was never told to a client and the history went on without it."""
        self._on_orphan(self.turn_id)

    def cancel(self) -> None:
        """Stop sampling; the engine is told."""
        if self.task is not None:
            self.task.cancel()

    def cancel_if_unwatched(self) -> None:
        """Stop sampling where no client waits."""
        if not self.clients:
            self.cancel()

    async def settled(self) -> None:
        """Wait until the sampling task has ended; never raises what it raised."""
        if self.task is not None and not self.task.done():
            await asyncio.wait({self.task})

    async def finished(self) -> Reply:
        """The recorded reply. Raises the Failure that ended the call."""
        await self.settled()
        if self.reply is None:
            raise self.failure or EngineFailure("aborted", f"turn {self.turn_id} was cancelled")
        return self.reply

    def show(self, reasoning: str, prose: str) -> None:
        """What became certain; either may be empty."""
        if reasoning:
            self._shown.append(Shown("reasoning", reasoning))
        if prose:
            self._shown.append(Shown("prose", prose))
        if (reasoning or prose) and self._news is not None:
            self._news.set()

    async def follow(self, heartbeat_seconds: float) -> AsyncIterator[Shown | None]:
        """Pieces as they come, from the beginning; None whenever nothing came for so long. Ends with the task."""
        news = self._news = self._news or asyncio.Event()
        task, at = self.task, 0
        assert task is not None
        task.add_done_callback(lambda _: news.set())
        while True:
            news.clear()
            while at < len(self._shown):
                at += 1
                yield self._shown[at - 1]
            if task.done():
                return
            try:
                async with asyncio.timeout(heartbeat_seconds):
                    await news.wait()
            except TimeoutError:
                yield None
