"""What one run of the loop knows: its visible history, its spending, and what the next call must declare.

Invariant: the history only grows by `add`; any other change goes through `replace`, which declares it to the gateway.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from journeyman.harnesses.base import HarnessRun
from journeyman.harnesses.whitebox.gateway import GatewayClient, Reply
from journeyman.harnesses.whitebox.tools import Toolbox

MOST_CHARS_PER_TOKEN = 4.0  # assumed of text whose tokens were not counted yet: fewer is safer


@dataclass
class LoopState:
    """Owned by one run; middleware reads and changes it."""

    run: HarnessRun
    client: GatewayClient
    toolbox: Toolbox
    messages: list[dict[str, Any]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    turns: int = 0
    sampled_tokens: int = 0
    engine_seconds: float = 0.0
    compactions: int = 0
    _wire: list[str] = field(default_factory=list)  # the messages as JSON, each serialised once
    _declared: dict[str, str] = field(default_factory=dict)
    _counted_tokens: int = 0  # the gateway's count of the history up to `_counted_chars`
    _counted_chars: int = 0
    _chars: int = 0

    def add(self, message: dict[str, Any]) -> None:
        """Append one message."""
        self.messages.append(message)
        self._wire.append(json.dumps(message))
        self._chars += len(self._wire[-1])

    def replace(self, messages: Sequence[dict[str, Any]], event: str, by: str = "") -> None:
        """Another history; the next call declares it (`event`: "summary" or "pruning", `by`: who wrote it)."""
        ratio = self._ratio()
        self.messages, self._wire, self._chars = [], [], 0
        for message in messages:
            self.add(message)
        self._counted_tokens, self._counted_chars = int(self._chars / ratio) + 1, self._chars
        self._declared = {"X-Journeyman-Event": event, **({"X-Journeyman-Summary-By": by} if by else {})}
        self.compactions += 1

    def drop_last(self) -> None:
        """Take back a message that no call has told yet."""
        self.messages.pop()
        self._chars -= len(self._wire.pop())

    def _ratio(self) -> float:
        if not self._counted_tokens:
            return MOST_CHARS_PER_TOKEN / 2
        return min(MOST_CHARS_PER_TOKEN, max(1.0, self._counted_chars / self._counted_tokens))

    def tokens_of(self, chars: int) -> int:
        """Estimated tokens of text that was not counted yet."""
        return int(chars / self._ratio()) + 1 if chars else 0

    def context_tokens(self) -> int:
        """Tokens of the next prompt: what the gateway counted, and an estimate of what came since."""
        return self._counted_tokens + self.tokens_of(self._chars - self._counted_chars)

    def policy_seconds(self) -> float:
        """Time spent so far, without waiting for the model."""
        return time.monotonic() - self.started - self.engine_seconds

    def seconds_left(self) -> float:
        """Of the policy's own time."""
        return self.run.budget.policy_seconds - self.policy_seconds()

    async def ask(self, max_tokens: int | None = None) -> Reply:
        """One model call; its message joins the history. Raises ContextExceeded, and Failures of the layers behind."""
        left = max(1, self.run.budget.max_sampled_tokens - self.sampled_tokens)
        most = min(self.run.sampling.max_tokens, left, max_tokens or left)
        sampling = self.run.sampling
        if most != sampling.max_tokens:
            sampling = sampling.model_copy(update={"max_tokens": most})
        before = time.monotonic()
        try:
            reply = await self.client.ask(self._wire, sampling, self._declared)
        finally:
            self.engine_seconds += time.monotonic() - before
        self._declared = {}
        self.turns += 1
        self.sampled_tokens += reply.sampled_tokens
        self.add(reply.wire)
        self._counted_tokens, self._counted_chars = reply.context_tokens, self._chars
        return reply
