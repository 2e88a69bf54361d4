"""The engine seam: what samples tokens. Token ids in; ids, log-probs and policy versions out, as they were sampled."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from journeyman.engines.routes import ExpertShape, Routes
from journeyman.errors import EngineFailure
from journeyman.records.base import Record
from journeyman.records.episode import Sampling


class Limit(NamedTuple):
    """Why an engine does not sample so. `field`: of Sampling; `cause`: slug of the EngineFailure that says it."""

    field: Literal["temperature", "top_p", "top_k"]
    cause: str
    text: str


class SamplingLimits(Record):
    """Which distributions an engine samples with their very log-probs; the gateway refuses the others by name.

    As it stands: all of them.
    """

    tempered: bool = True  # temperatures other than 0 (greedy) and 1
    truncated: Literal["any", "by_top_k", "never"] = "any"  # by_top_k: top_p only beside a top_k
    top_k: int | None = None  # the largest; None: any
    cause: str = "sampling"
    remedy: str = ""  # what to change in the engine

    def refusal(self, sampling: Sampling) -> Limit | None:
        """What cannot be had of a sampling; None where all can."""
        if not sampling.temperature:
            return None
        cut, kept = sampling.top_p < 1.0, sampling.top_k > 0
        if not self.tempered and sampling.temperature != 1.0:
            return self._limit("temperature", sampling, "this engine reports log-probs at 0 and 1 only")
        if self.truncated == "never" and (cut or kept):
            return self._limit("top_p" if cut else "top_k", sampling, "this engine reports untruncated log-probs only")
        if kept and self.top_k is not None and sampling.top_k > self.top_k:
            most = f"use at most {self.top_k}" if self.top_k else "this engine has none: leave it at -1"
            return self._limit("top_k", sampling, most)
        if self.truncated == "by_top_k" and cut and not kept:
            return self._limit("top_p", sampling, f"its exact log-probs need a top_k of 1 to {self.top_k} beside it")
        return None

    def check(self, sampling: Sampling) -> None:
        """Raises EngineFailure for a sampling that cannot be had."""
        if (limit := self.refusal(sampling)) is not None:
            raise EngineFailure(limit.cause, limit.text)

    def _limit(self, name: Literal["temperature", "top_p", "top_k"], sampling: Sampling, why: str) -> Limit:
        text = f"{name}={getattr(sampling, name)} cannot be honoured by this engine: {why}"
        return Limit(name, self.cause, f"{text} ({self.remedy})" if self.remedy else text)


def strictest(limits: Sequence[SamplingLimits]) -> SamplingLimits:
    """What every one of several engines samples."""
    order = ("never", "by_top_k", "any")
    widths = [limit.top_k for limit in limits if limit.top_k is not None]
    narrow = next((limit for limit in limits if limit != SamplingLimits()), SamplingLimits())
    return narrow.model_copy(
        update={
            "tempered": all(limit.tempered for limit in limits),
            "truncated": min((limit.truncated for limit in limits), key=order.index),
            "top_k": min(widths, default=None),
        }
    )


class EngineIdentity(Record):
    """What the record says about the sampler."""

    kind: str  # "embedded" | "scripted" | "vllm" | "sglang" | "openai"
    model: str  # served model name
    token_exact: bool  # False: evaluation only, never training
    weights_digest: str = ""  # of the checkpoint at version 0
    tokenizer_digest: str = ""
    context_tokens: int = 0
    needs_messages: bool = False  # answers from canonical messages; the gateway then fills SampleRequest.messages
    sampling: SamplingLimits = SamplingLimits()
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
