"""Starts boxes before they are asked for, so that an attempt does not wait for one; every box is still used once.

Invariant: a box started ahead goes to at most one `start` with an equal spec; what nobody took is closed at the end.
"""

import asyncio
from collections import defaultdict, deque
from typing import Self

from journeyman.sandbox.base import Sandbox, SandboxProvider, SandboxSpec


class StartAhead:
    """A provider around a provider. `expect` a spec as soon as it is known, `start` it when it is needed."""

    def __init__(self, provider: SandboxProvider, most: int = 4) -> None:
        """`most`: boxes that wait at the same time; further expectations are ignored."""
        self._provider = provider
        self._most = most
        self._waiting: dict[str, deque[asyncio.Task[Sandbox]]] = defaultdict(deque)
        self._count = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [task for queue in self._waiting.values() for task in queue]
        self._waiting.clear()
        for box in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(box, BaseException):
                await box.close()

    def expect(self, spec: SandboxSpec) -> None:
        """A box with this spec will be asked for soon."""
        if self._count < self._most:
            self._count += 1
            self._waiting[spec.digest()].append(asyncio.create_task(self._provider.start(spec)))

    async def start(self, spec: SandboxSpec) -> Sandbox:
        """The box that was started ahead for this spec, else a fresh one. Raises SandboxFailure."""
        queue = self._waiting.get(spec.digest()) if self._count else None
        if not queue:
            return await self._provider.start(spec)
        self._count -= 1
        return await queue.popleft()
