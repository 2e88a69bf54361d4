"""The dialect seam: a wire format in, canonical messages and honoured parameters out. Nothing is dropped.

A dialect keeps a request's history as raw items; only items the gateway has not seen before are ever converted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from journeyman.engines.base import EngineIdentity
from journeyman.errors import JourneymanError
from journeyman.records.episode import Sampling
from journeyman.records.turn import Turn
from journeyman.tokens.base import Message


def one_line(text: str, most: int = 1000) -> str:
    """Text on one line of at most `most` characters: what does not print is escaped, the middle is left out."""
    if len(text) > most:
        text = f"{text[: most - most // 3 - 5]} ... {text[-(most // 3) :]}"
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class Refusal(JourneymanError):
    """The request is not served, and says why on one line. `status` is HTTP; `param` names the offending field."""

    def __init__(self, status: int, code: str, message: str, param: str | None = None) -> None:
        self.message = one_line(message)
        super().__init__(self.message)
        self.status = status
        self.code = code
        self.param = param and one_line(param, 80)


@dataclass(frozen=True)
class Structure:
    """JSON that the reply must be. `param`: the field that asks for it."""

    json_schema: dict[str, Any]
    param: str


@dataclass(frozen=True)
class CallRequest:
    """One model call as asked for."""

    items: list[Any]  # raw history (plain JSON values), one item per canonical message
    tools: list[dict[str, Any]]  # in the shape of Chat Completions
    sampling: Sampling
    seed: int | None  # None: the gateway derives one from the episode's
    stream: bool = False
    stream_usage: bool = False  # the stream ends with a usage event
    structure: Structure | None = None  # None: any text
    forced: str | None = None  # the tool that the turn must call; "": any; None: it need not
    reasoning: bool = True  # False: the client asked not to be shown the reasoning
    opaque_reasoning: bool = False  # the client wants reasoning in a form that only the gateway reads, too
    renamed: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # as shown -> the client's (namespace, name)
    echo: Mapping[str, Any] = field(default_factory=dict)  # fields of the request that the reply says again
    previous: str = ""  # the turn whose history stands between items[:lead] and items[lead:]; "": none
    lead: int = 0  # items that hold for this call only


@dataclass(frozen=True)
class Reply:
    """What a finished call tells its client."""

    turn: Turn
    completion_tokens: int
    cached_tokens: int  # of the prompt, reused from the lineage
    context_tokens: int  # prompt + sampled (+ closing): what the next prompt starts with
    window_tokens: int  # the episode's context window
    invalid: tuple[dict[str, str], ...]  # {"id", "name", "raw", "reason"} of malformed calls


class Events(Protocol):
    """One streamed reply. Each method says what has become true and returns the bytes that tell it."""

    def opening(self, prompt_tokens: int, cached_tokens: int) -> bytes:
        """The stream begins."""
        ...

    def reasoning(self, text: str) -> bytes:
        """Newly sampled reasoning; all of it comes before any prose."""
        ...

    def prose(self, text: str) -> bytes:
        """Newly sampled prose."""
        ...

    def waiting(self) -> bytes:
        """Nothing new for a while."""
        ...

    def ending(self, reply: Reply) -> bytes:
        """What was not shown yet, the calls, and the end."""
        ...

    def broken(self, code: str, message: str) -> bytes:
        """The stream ends here, by an error."""
        ...


class Dialect(Protocol):
    """One wire format. All methods are pure."""

    paths: tuple[str, ...]
    count_paths: Mapping[str, Mapping[str, str]]  # where a prompt is counted, and what the reply says besides

    def parse(self, body: Any, default: Sampling) -> CallRequest:
        """Raises Refusal naming any field that cannot be honoured."""
        ...

    def canonical(self, item: Any) -> Message:
        """One raw history item as a canonical message. Raises Refusal."""
        ...

    def reply(self, asked: CallRequest, reply: Reply, engine: EngineIdentity) -> dict[str, Any]:
        """The whole, non-streamed response body."""
        ...

    def events(self, asked: CallRequest, turn_id: str, engine: EngineIdentity) -> Events:
        """The reply to `asked`, streamed."""
        ...

    def error(self, status: int, code: str, message: str, param: str | None = None) -> dict[str, Any]:
        """An error body."""
        ...
