"""The dialect seam: a wire format in, canonical messages and honoured parameters out. Nothing is dropped.

A dialect keeps a request's history as raw items; only items the gateway has not seen before are ever converted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from journeyman.engines.base import EngineIdentity
from journeyman.errors import JourneymanError
from journeyman.records.episode import Sampling
from journeyman.records.turn import Turn
from journeyman.tokens.base import Message


class Refusal(JourneymanError):
    """The request is not served, and says why. `status` is HTTP; `param` names the offending field."""

    def __init__(self, status: int, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.param = param


@dataclass(frozen=True)
class CallRequest:
    """One model call as asked for."""

    items: list[Any]  # raw history, one item per canonical message
    tools: list[dict[str, Any]]
    sampling: Sampling
    seed: int | None  # None: the gateway derives one from the episode's
    honoured: dict[str, Any]  # sampling parameters the request itself set
    stream: bool = False
    stream_usage: bool = False  # the stream ends with a usage event


@dataclass(frozen=True)
class Reply:
    """What a finished call tells its client."""

    turn: Turn
    completion_tokens: int
    cached_tokens: int  # of the prompt, reused from the lineage
    context_tokens: int  # prompt + sampled (+ closing): what the next prompt starts with
    window_tokens: int  # the episode's context window
    invalid: tuple[dict[str, str], ...]  # {"id", "name", "raw", "reason"} of malformed calls


class Dialect(Protocol):
    """One wire format. All methods are pure."""

    paths: tuple[str, ...]

    def parse(self, body: Any, default: Sampling) -> CallRequest:
        """Raises Refusal naming any field that cannot be honoured."""
        ...

    def canonical(self, item: Any) -> Message:
        """One raw history item as a canonical message. Raises Refusal."""
        ...

    def reply(self, reply: Reply, engine: EngineIdentity) -> dict[str, Any]:
        """The whole, non-streamed response body."""
        ...

    def opening(self, turn_id: str, engine: EngineIdentity) -> Sequence[bytes]:
        """Events at the start of a stream."""
        ...

    def delta(self, turn_id: str, text: str, engine: EngineIdentity) -> bytes:
        """One event with newly sampled prose."""
        ...

    def ending(self, reply: Reply, shown: int, usage: bool, engine: EngineIdentity) -> Sequence[bytes]:
        """Events that finish a stream of which `shown` characters of prose were sent."""
        ...

    def error(self, status: int, code: str, message: str, param: str | None = None) -> dict[str, Any]:
        """An error body."""
        ...

    def late_error(self, code: str, message: str) -> Sequence[bytes]:
        """Events that end a stream which broke."""
        ...
