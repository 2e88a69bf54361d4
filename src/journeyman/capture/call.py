"""One model call in flight. It may outlive its client: a retry joins it, and what nobody was told is an orphan."""

import asyncio
from collections.abc import AsyncIterator
from typing import Literal, NamedTuple, Protocol

from journeyman.capture.dialects.base import Reply
from journeyman.errors import EngineFailure, Failure

ABORTED = "aborted"  # cause of a call that we ourselves cut off


class Shown(NamedTuple):
    """A piece of a turn that became certain while it was sampled."""

    kind: Literal["reasoning", "prose"]
    text: str


class Log(Protocol):
    """Where it is noted what became of a recorded turn."""

    def delivered(self, turn_id: str) -> None:
        """A client was sent all of it."""
        ...

    def orphan(self, turn_id: str) -> None:
        """Nobody was told of it, and the history went on without it."""
        ...


class Call:
    """State shared by the task that samples and the clients that wait. `explicit`: the client named the turn."""

    def __init__(self, turn_id: str, run: str, explicit: bool, fingerprint: int, log: "Log") -> None:
        self.turn_id = turn_id
        self.run = run
        self.explicit = explicit
        self.fingerprint = fingerprint
        self.task: asyncio.Task[None] | None = None
        self.reply: Reply | None = None
        self.failure: Failure | None = None
        self.clients = 0
        self._begun = self._unwanted = False
        self._delivered = False
        self.prompt_tokens = 0
        self.cached_tokens = 0  # of the prompt, reused from the lineage
        self._log = log
        self._shown: list[Shown] = []
        self._news: asyncio.Event | None = None

    @property
    def done(self) -> bool:
        """Whether the sampling task has ended, either way."""
        return self.reply is not None or (self.task is not None and self.task.done())

    @property
    def delivered(self) -> bool:
        """Whether a client was sent the whole reply."""
        return self._delivered

    def deliver(self) -> None:
        """A client was sent the whole reply; so says the log from now on."""
        if not self._delivered:
            self._delivered = True
            self._log.delivered(self.turn_id)

    def orphan(self) -> None:
        """The finished turn was never told to a client and the history went on without it."""
        self._log.orphan(self.turn_id)

    def replay(self, reply: Reply, delivered: bool) -> None:
        """Take the place of a call that an earlier gateway recorded."""
        self.reply, self._delivered = reply, delivered

    def begin(self) -> None:
        """The sampling task runs from here. Raises CancelledError where nobody wants it any more."""
        self._begun = True
        if self._unwanted:
            raise asyncio.CancelledError

    def cancel(self) -> None:
        """Stop sampling; the engine is told."""
        self._unwanted = True
        if self._begun and self.task is not None:  # a task cancelled before its first step would never tidy up
            self.task.cancel()

    def cancel_if_unwatched(self) -> None:
        """Stop sampling where no client waits."""
        if not self.clients:
            self.cancel()

    def aborted(self) -> EngineFailure:
        """What ended a call that was cancelled."""
        return EngineFailure(ABORTED, f"turn {self.turn_id} was cancelled")

    async def settled(self) -> None:
        """Wait until the sampling task has ended; never raises what it raised."""
        if self.task is not None and not self.task.done():
            await asyncio.wait({self.task})

    async def finished(self) -> Reply:
        """The recorded reply. Raises the Failure that ended the call."""
        await self.settled()
        if self.reply is None:
            raise self.failure or self.aborted()
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
        if task is None:  # replayed: there is nothing to wait for
            return
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
