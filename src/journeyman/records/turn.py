"""One model call, token-exact: the segment's prefix grew by `context`, then the policy sampled `sampled`.

Token arrays live beside the turns in typed little-endian files (`tokens.i32`, `logprobs.f32`, `versions.i32`), as
deltas: concatenating a segment's spans in order gives exactly what the model saw. The mask is 1 on sampled spans only.
"""

from typing import Any, Literal

from pydantic import Field

from journeyman.records.base import Record


class Span(Record):
    """A half-open range [start, end) in the episode's token arrays."""

    start: int
    end: int


class ToolEvent(Record):
    """One executed tool call of a turn, as the harness dispatched it."""

    call_id: str
    turn_id: str = ""
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    dispatched: bool = (
        True  # False: the harness answered itself (malformed, unknown tool, or arguments that do not fit)
    )
    valid: bool = True  # False: malformed call or unknown tool (counts as an invalid call)
    is_error: bool = False
    seconds: float = 0.0


class Turn(Record):
    """One model call. ids: run/segment/turn are unique within the episode."""

    turn_id: str  # idempotency key: a retry with the same id replays this record
    run: int
    segment: int
    index: int  # 0.. within the run
    context: Span  # newly rendered, non-policy ids appended before sampling (mask 0)
    sampled: Span  # ids the policy sampled (mask 1)
    closing: Span | None = None  # template end marker added after a length cut (mask 0)
    prompt_tokens: int  # length of the full prompt of this call
    finish_reason: Literal["stop", "length", "tool_calls", "aborted"]
    source: Literal["policy", "scripted", "hosted"] = "policy"
    trainable: bool = True
    untrainable_reason: str = ""
    message: dict[str, Any] = Field(default_factory=dict)  # canonical assistant message
    new_messages: tuple[dict[str, Any], ...] = ()  # canonical messages that `context` renders
    request: dict[str, Any] = Field(default_factory=dict)  # sampling parameters as honoured
    model: str = ""
    seconds: float = 0.0
    orphan: bool = False  # sampled, but the client had gone before it was told: kept, never trained
    invalid_calls: int = 0  # malformed, or naming a tool that was not offered
    body_crc32: int = 0  # of the request: what a retry under this id has to repeat
    experts: Span | None = None  # rows of the experts' file; None: the engine routes nothing, or said nothing
    experts_from: int = 0  # position in the segment of the first of those rows
    crc32: tuple[int, int, int] | None = None  # of its bytes in the three arrays; None: recorded before this was kept


class Segment(Record):
    """An append-only span of model-visible history; closed by a declared history rewrite or a tool-schema change."""

    run: int
    index: int
    opened_by: Literal["start", "summary", "pruning", "tools_changed", "branch"]
    predecessor: int | None = None
    prefix_before: str = ""  # sha256 of the predecessor's ids at its close
    prefix_after: str = ""  # sha256 of the ids this segment opened with
    summary_by: Literal["policy", "harness"] | None = None
    tools_digest: str = ""
    trainable: bool = True
    untrainable_reason: str = ""


class AgentRun(Record):
    """One policy loop with its own visible history; children name their parent, fork point and hand-off event."""

    run: int
    name: str = ""  # the client's own; "" is the root's
    parent: int | None = None
    fork_turn: str | None = None
    handoff_event: str | None = None
    aside: str = ""  # what its client asked beside the work, such as a title; no row is made of it. "": it is the work
