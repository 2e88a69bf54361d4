"""What clients of token-exact servers share: options, abort in the background, the adapter or weights being served.

Invariant: a token is reported only with its id, a finite log-prob and the version that sampled it; else the call fails.
"""

import asyncio
import os
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

from journeyman.engines.base import EngineIdentity, SampleChunk, SampleRequest
from journeyman.engines.connection import Connections, parse, refused
from journeyman.engines.prompts import PromptTexts
from journeyman.engines.routes import ExpertShape
from journeyman.engines.versions import VersionLabels
from journeyman.errors import EngineFailure, UserError, boundary
from journeyman.records.base import Record

_NOT_A_LOGPROB = -9999.0  # what servers write for NaN, -inf and "no entry"


class ServedOptions(Record):
    """How a server is talked to."""

    api_key_env: str = ""  # environment variable that holds the server's key; "": it has none
    attempts: int = 4  # tries to reach it; never more than one sampling
    control_seconds: float = 600.0  # for loading weights
    logprobs: Literal["exact", "as_served"] = "exact"  # exact: refuse calls whose own distribution cannot be reported
    experts: ExpertShape | None = None  # the model's routers; None: routed experts are not asked for
    pause_mode: Literal["recompute", "keep"] = "recompute"  # what a weight refresh does to the caches of open calls


class Adapter(NamedTuple):
    """A LoRA adapter being served under its own name."""

    name: str
    version: int


def api_headers(variable: str) -> dict[str, str]:
    """The bearer header from an environment variable. Raises UserError where it is not set."""
    if not variable:
        return {}
    if not (key := os.environ.get(variable)):
        raise UserError(f"${variable} is not set: export the server's key there, or leave api_key_env empty")
    return {"Authorization": f"Bearer {key}"}


def is_adapter(path: Path) -> bool:
    """Whether a checkpoint directory is a LoRA adapter. Raises UserError where it is no checkpoint at all."""
    if (path / "adapter_config.json").is_file():
        return True
    if (path / "config.json").is_file():
        return False
    raise UserError(f"{path} holds neither config.json nor adapter_config.json; give a checkpoint directory")


def finite(values: Sequence[Any]) -> tuple[float, ...]:
    """Log-probs as floats. Raises EngineFailure("logprobs") where one is missing, not a number or positive."""
    for value in values:
        if not isinstance(value, int | float) or not _NOT_A_LOGPROB < value <= 1e-3:  # NaN is neither
            raise EngineFailure("logprobs", f"a sampled token has log-prob {value!r}")
    return tuple(map(float, values))


class ServedEngine:
    """Base of the clients: `async with Engine(url) as engine`."""

    options_type: type[Record] = ServedOptions

    def __init__(self, url: str, *, version: int, kind: str, model: str, options: ServedOptions | None) -> None:
        self.options = options or ServedOptions()
        self.version = version
        self.identity = EngineIdentity(
            kind=kind, model=model or kind, token_exact=True, grammar=True, experts=self.options.experts
        )
        self.server = Connections(url, api_headers(self.options.api_key_env), self.options.attempts)
        self.labels = VersionLabels()
        self.original = True  # the server holds the weights that it was started with, as far as it says
        self.adapter: Adapter | None = None  # None: the base weights
        self.loads = 0  # full weight refreshes begun
        self._prompts = PromptTexts()
        self._prefix = f"jm{uuid.uuid4().hex[:12]}"
        self._number = 0
        self._background: set[asyncio.Task[None]] = set()
        self._connected = False

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def connect(self) -> None:
        """Ask the server who it is; fills `identity`. Raises UserError where nothing answers, or another model does."""
        try:
            await self._introduce()
        except EngineFailure as failure:
            raise UserError(
                f"no {self.identity.kind} server answers at {self.server.url} ({failure.cause}): start it first"
            ) from None
        self._connected = True

    def _label_now(self, label: Any) -> None:
        """What the server calls the weights it holds: our number of them, or a label of its own for `version`."""
        if label is not None:
            self.version = self.labels.learn(str(label), self.version)
            self.original = not str(label).isdecimal()

    def not_served(self, names: Sequence[str]) -> UserError:
        """What to say where the server has other models than the one that was named."""
        return UserError(f"{self.server.url} does not serve {self.identity.model!r}: it serves {', '.join(names)}")

    async def tokenises(self, text: str) -> list[int] | None:
        """Ids of a text, special tokens neither added nor cut off, as the server reads it; None where it cannot say."""
        body = {"model": self.identity.model, "prompt": text, "add_special_tokens": False}
        try:
            answer = await self.server.call("POST", "/tokenize", body)
        except EngineFailure:
            return None  # a server without a tokenizer serves ids all the same
        ids = answer.get("tokens") if isinstance(answer, dict) else None
        return ids if isinstance(ids, list) else None

    async def _introduce(self) -> None:
        raise UserError("name an engine, not its base")

    async def release(self, lineage: str) -> None:
        """The lineage's prompt text may go; the server's cache is its own affair."""
        self._prompts.drop(lineage)

    async def close(self) -> None:
        """Let aborts go out, then close the connections; idempotent. The server runs on."""
        if self._background:
            await asyncio.wait(self._background, timeout=5.0)
        await self.server.close()

    async def _chunks(
        self,
        path: str,
        body: bytes,
        incremental: bool,
        read: Callable[[Any], SampleChunk],
        abort: Callable[[], Coroutine[Any, Any, Any]],
    ) -> AsyncGenerator[SampleChunk, None]:
        """The chunks of one call, whole or streamed; `abort` goes out where they are not taken to their end."""
        ended = False
        try:
            async with self.server.send("POST", path, body) as response:
                if response.status != 200:
                    raise refused(response.status, path, await response.read())
                if incremental:
                    async for event in response.events():
                        chunk = read(parse(event))
                        ended = chunk.finish_reason is not None
                        if chunk.ids or ended:
                            yield chunk
                else:
                    chunk = read(await response.json())
                    ended = True
                    yield chunk
            if not ended:
                raise EngineFailure("truncated", "the stream ended without a finish reason")
        finally:
            if not ended:
                self.later(abort())

    def call_id(self) -> str:
        """A new id for a call. None is the beginning of another: servers abort by prefix."""
        self._number += 1
        return f"{self._prefix}-{self._number:09d}"

    def prompt(self, request: SampleRequest) -> bytes:
        """The prompt's ids, joined by commas."""
        return self._prompts.text(request.lineage, request.prompt_ids)

    def later(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something that nobody waits for; its failure changes nothing that was recorded."""

        async def run() -> None:
            try:
                with boundary("engine"):
                    await work
            except EngineFailure:
                self.failed_aborts += 1

        task = asyncio.create_task(run())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    failed_aborts = 0  # aborts that did not reach the server


async def drop(chunks: AsyncIterator[Any]) -> None:
    """Close an async generator early, where it is one."""
    if (end := getattr(chunks, "aclose", None)) is not None:
        await end()
