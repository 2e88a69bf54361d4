"""The engine seam: what samples tokens. Token ids in; ids, log-probs and policy versions out, as they were sampled."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from journeyman.engines.routes import ExpertShape, Routes
from journeyman.records.base import Record
from journeyman.records.episode import Sampling


class EngineIdentity(Record):
    """What the record says about the sampler."""

    kind: str  # "embedded" | "scripted" | "vllm" | "sglang" | "openai"
    model: str  # served model name
    token_exact: bool  # False: evaluation only, never training
    weights_digest: str = ""  # of the checkpoint at version 0
    tokenizer_digest: str = ""
    context_tokens: int = 0
    needs_messages: bool = False  # answers from canonical messages; the gateway then fills SampleRequest.messages
    grammar: bool = False  # honours SampleRequest.json_schema
    experts: ExpertShape | None = None  # reports routed experts of this shape; None: does not


class SampleRequest(Record):
    """One model call. `prompt_ids` is the exact, whole prompt; `lineage` lets an engine reuse a cached prefix."""

    episode: str
    turn_id: str
    lineage: str  # segment identity: prompts of one lineage extend each other
    prompt_ids: Sequence[int]
    sampling: Sampling
    stop_token_ids: tuple[int, ...]
    seed: int | None = None
    messages: tuple[dict[str, Any], ...] = ()  # canonical history, for engines that answer in messages (scripted)
    tools: tuple[dict[str, Any], ...] = ()
    incremental: bool = False  # somebody watches: chunks as they are sampled. False: one chunk at the end will do
    json_schema: dict[str, Any] | None = None  # the turn must be JSON of this schema; None: free text
    routes_from: int | None = None  # first absolute position whose routed experts are wanted; None: not wanted


class SampleChunk(Record):
    """Newly sampled tokens; equal-length tuples. The last chunk carries `finish_reason`.

    An engine that is told the versions only at the end gives all of them with the last chunk.
    """

    ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()  # of the tempered distribution that sampled them, fp32
    versions: tuple[int, ...] = ()
    finish_reason: Literal["stop", "length", "aborted"] | None = None
    message: dict[str, Any] | None = (
        None  # engines that answer in messages: ids empty, the gateway tokenises, source=scripted
    )
    routes: Routes | None = None  # with the last chunk, where they were asked for


class Engine(Protocol):
    """A sampler. Raises EngineFailure. Cancelling the iteration aborts the call in the engine."""

    identity: EngineIdentity

    def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        """Sample one assistant turn, including its stop token when it stopped."""
        ...

    async def load_weights(self, path: Path, version: int) -> None:
        """Swap to `path` (a checkpoint directory) between decode steps; calls in flight stay open."""
        ...

    async def pause(self) -> None:
        """No token is sampled until `resume`; calls in flight stay open."""
        ...

    async def resume(self) -> None:
        """Sampling goes on where it stopped."""
        ...

    async def release(self, lineage: str) -> None:
        """The lineage will not continue: its cache may go."""
        ...

    async def close(self) -> None:
        """Stop the sampler; idempotent."""
        ...
