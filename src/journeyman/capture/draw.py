"""Reading one call from the engine, and judging whether its token data can be used. Else it is the engine's failure."""

import asyncio
import math
from array import array
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from journeyman.capture.messages import kept, remainder
from journeyman.engines.base import Engine, EngineIdentity, SampleChunk, SampleRequest
from journeyman.engines.routes import Routes
from journeyman.errors import CaptureFailure, EngineFailure, Failure, boundary
from journeyman.tokens.base import Message, Renderer, Stream
from journeyman.tokens.template import RenderError
from journeyman.tokens.usable import legible

Finish = Literal["stop", "length", "tool_calls", "aborted"]


@dataclass(frozen=True)
class Sampled:
    """A turn as it goes on record. Arrays of equal length."""

    ids: "array[int]"
    logprobs: "array[float]"  # NaN where the engine answers in messages
    versions: "array[int]"  # -1 where the engine answers in messages
    closing: list[int]  # ids that end a turn cut by length, not sampled
    source: Literal["policy", "scripted", "hosted"]
    finish_reason: Finish
    message: dict[str, Any]
    seconds: float
    routes: Routes | None = None  # experts of the positions that the engine was asked for


@dataclass
class Draw:
    """What has been sampled so far. `begun`, `prefill`: the turn's beginning where its client wrote one."""

    begun: Message | None = None
    prefill: "array[int]" = field(default_factory=lambda: array("i"))
    ids: "array[int]" = field(default_factory=lambda: array("i"))
    logprobs: "array[float]" = field(default_factory=lambda: array("f"))
    versions: "array[int]" = field(default_factory=lambda: array("i"))
    finish: Finish | None = None
    message: Message | None = None
    routes: Routes | None = None

    def whole(self) -> bool:
        """Whether every id has its log-prob and version."""
        return len(self.ids) == len(self.logprobs) == len(self.versions)

    async def read(
        self,
        engine: Engine,
        request: SampleRequest,
        stream: Stream | None,
        show: Callable[[str, str], None],
        timeout_seconds: float,
    ) -> None:
        """Read the engine to its end. Raises EngineFailure; cancelling closes the engine's iteration."""
        chunks: AsyncIterator[SampleChunk] = engine.sample(request)
        owed = self._skip(stream) if stream is not None else 0
        try:
            with boundary("engine"):
                async with asyncio.timeout(timeout_seconds):
                    async for chunk in chunks:
                        self.ids.extend(chunk.ids)
                        self.logprobs.extend(chunk.logprobs)
                        self.versions.extend(chunk.versions)
                        self.finish = chunk.finish_reason or self.finish
                        self.message = chunk.message or self.message
                        self.routes = chunk.routes or self.routes
                        if stream is not None:
                            prose = stream.push(chunk.ids)
                            show(stream.reasoning(), prose[owed:])
                            owed -= min(owed, len(prose))
        finally:
            if (end := getattr(chunks, "aclose", None)) is not None:
                await end()
        if self.finish is None:
            raise EngineFailure("no_finish_reason", "the engine's stream ended without saying why")
        if self.finish == "aborted":
            raise EngineFailure("aborted", "the engine aborted the call")

    def _skip(self, stream: Stream) -> int:
        """Push what the client wrote of the turn; returns how much of it is still to come out of the stream."""
        if self.begun is None:
            return 0
        start, shown = self.begun["content"].lstrip(), stream.push(self.prefill)
        stream.reasoning()
        return len(start) - len(shown) if start.startswith(shown) else 0

    def judge(self, engine: EngineIdentity, renderer: Renderer, tools: list[dict[str, Any]], seconds: float) -> Sampled:
        """The finished turn. Raises EngineFailure where its token data cannot be used, CaptureFailure("render")."""
        if self.message is not None:
            self._render(renderer, self.message)
        elif not self.whole():
            lengths = (len(self.ids), len(self.logprobs), len(self.versions))
            raise EngineFailure("token_data", f"ids, log-probs and versions differ in length: {lengths}")
        elif not math.isfinite(sum(self.logprobs)):
            raise EngineFailure("token_data", "a sampled token has no finite log-prob")
        if not self.ids:
            raise EngineFailure("empty_reply", "the engine sampled nothing")
        message = self._message(renderer, tools)
        return Sampled(
            ids=self.ids,
            logprobs=self.logprobs,
            versions=self.versions,
            closing=[] if self.ids[-1] in renderer.stop_token_ids else renderer.closing(),
            source="policy" if self.message is None else ("scripted" if engine.token_exact else "hosted"),
            finish_reason="tool_calls"
            if self.finish == "stop" and message.get("tool_calls")
            else self.finish or "aborted",
            message=message,
            seconds=seconds,
            routes=self.routes,
        )

    def aborted(self, renderer: Renderer, tools: list[dict[str, Any]], seconds: float) -> Sampled | None:
        """What a broken or abandoned call left; None where it left nothing usable."""
        if not self.ids or not self.whole() or self.message is not None:
            return None
        message = self._message(renderer, tools)
        return Sampled(self.ids, self.logprobs, self.versions, [], "policy", "aborted", message, seconds)

    def _message(self, renderer: Renderer, tools: list[dict[str, Any]]) -> Message:
        """What was sampled as a message; a turn that its client began is read as a whole."""
        if self.begun is None:
            return _read_back(renderer, self.ids, tools)
        whole = _read_back(renderer, self.prefill + self.ids, tools)
        return remainder(whole, self.begun, _read_back(renderer, self.prefill, tools))

    def _render(self, renderer: Renderer, message: Message) -> None:
        """An engine that answers in messages: its ids are the template's."""
        calls = [{"id": "", "raw": "", **call} for call in message.get("tool_calls") or ()]
        whole: Message = {"role": "assistant", "content": legible(message.get("content") or "")}
        if message.get("reasoning"):
            whole["reasoning"] = legible(message["reasoning"])
        try:
            self.ids = array("i", renderer.assistant(kept(whole | ({"tool_calls": calls} if calls else {}))))
        except RenderError as error:
            raise CaptureFailure("render", str(error)) from error
        self.logprobs = array("f", [math.nan]) * len(self.ids)
        self.versions = array("i", [-1]) * len(self.ids)


def _read_back(renderer: Renderer, ids: "array[int]", tools: list[dict[str, Any]]) -> Message:
    """Sampled ids as a message that can be kept. What no reader makes sense of is a malformed call, whatever it was."""
    try:
        with boundary("capture"):
            message = renderer.parse(ids, tools).message
    except Failure as failure:
        call = {"id": "call_0", "name": "", "arguments": {}, "raw": renderer.text(ids), "invalid": str(failure.cause)}
        message = {"role": "assistant", "content": "", "tool_calls": [call]}
    return kept(message)
