"""The rendering seam (torch-free): messages to ids, once, incrementally, never re-tokenising what was sampled.

Canonical messages: {"role": "system"|"user"|"assistant"|"tool", "content": str, "tool_calls"?: [{"id", "name",
"arguments": dict, "raw": str, "invalid"?: reason, "text"?: str, "native"?: str}], "tool_call_id"?: str, "name"?: str
(a tool result's tool), "native"?: str, "reasoning"?: str}. A malformed call keeps its raw text and carries `invalid`.
`raw` is the arguments' JSON as sampled; `text` the call as sampled where that is not JSON; `native` the model's own id.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

Message = dict[str, Any]


class Parsed(NamedTuple):
    """A sampled turn read back as a message. Malformed calls stay visible in `invalid` (raw text, reason)."""

    message: Message
    invalid: tuple[tuple[str, str], ...] = ()


class Stream(Protocol):
    """A turn read while it is sampled."""

    def push(self, ids: Sequence[int]) -> str:
        """Prose that became certain with these ids; concatenated, a prefix of the finished message's content."""
        ...

    def reasoning(self) -> str:
        """Reasoning that became certain since it was last asked for; all of it is known before the first prose."""
        ...


class Renderer(Protocol):
    """A tokenizer plus its chat template."""

    digest: str  # of vocabulary and template
    stop_token_ids: tuple[int, ...]

    def start(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> list[int]:
        """Ids of a new segment's whole first prompt, generation prompt included."""
        ...

    def extend(
        self, messages: Sequence[Message], tools: Sequence[dict[str, Any]], after: int | None = None
    ) -> list[int]:
        """Ids to append after a sampled assistant turn: what the template puts between (end-of-turn remainder), the new
        non-policy `messages`, and the next generation prompt. `after`: the id that ended the turn, where templates that
        end a turn with the next one's marker must know it (None: the usual one)."""
        ...

    def assistant(self, message: Message) -> list[int]:
        """Ids of an assistant turn as the policy would have sampled it, stop token included (scripted experts)."""
        ...

    def closing(self) -> list[int]:
        """Ids that close a turn cut by length (not sampled)."""
        ...

    def parse(self, ids: Sequence[int], tools: Sequence[dict[str, Any]]) -> Parsed:
        """Read a sampled turn; lossless raw text of arguments kept."""
        ...

    def text(self, ids: Sequence[int]) -> str:
        """Ids spelled out, special tokens included."""
        ...

    def stream(self) -> Stream:
        """A fresh incremental reader of one turn."""
        ...
