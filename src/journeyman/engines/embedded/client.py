"""The embedded engine as the driver sees it (torch-free): it owns the sampler process and speaks frames with it.

Invariant: a call ends with its last chunk, with an abort, or with an EngineFailure; the death of the process fails
every open call, and the next request starts a new process from the weights that were loaded last.
"""

import asyncio
import itertools
import os
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from journeyman.engines.base import EngineIdentity, SampleChunk, SampleRequest
from journeyman.engines.embedded.frames import Frame, Unpacker, pack
from journeyman.errors import EngineFailure, UserError
from journeyman.records.base import Record, sha256_hex
from journeyman.store.checkpoint import tokenizer_digest

POLICY = Path(__file__).parent / "policy"  # the small policy shipped with the package
_START_SECONDS = 120.0
_UNUSABLE = "unusable"  # what the sampler says of weights that it cannot load, and the failure's cause


class EmbeddedOptions(Record):
    """How fast, not what: none of these changes a token."""

    rows: int = 48  # calls decoded together
    threads: int = 1
    context_tokens: int = 0  # 0: the model's own
    store_tokens: int = 131_072  # kept prefixes
    device: str = "cpu"
    dtype: str = "float32"


def _digest(path: Path) -> str:
    return sha256_hex(path.read_bytes()) if path.is_file() else ""


def _weights_digest(directory: Path) -> str:
    """Of model.safetensors, or of the digests of its shards where it lies in several files."""
    if whole := _digest(directory / "model.safetensors"):
        return whole
    shards = sorted(directory.glob("*.safetensors"))
    return sha256_hex("".join(map(_digest, shards)).encode()) if shards else ""


class EmbeddedEngine:
    """`async with EmbeddedEngine(weights) as engine`: a sampler process for any Hugging Face causal LM on disk."""

    def __init__(
        self, weights: Path = POLICY, *, version: int = 0, model: str = "", options: EmbeddedOptions | None = None
    ) -> None:
        """Raises UserError where `weights` holds no model."""
        if not (weights / "config.json").is_file():
            raise UserError(f"{weights} holds no config.json; give a Hugging Face model directory")
        self.options = options or EmbeddedOptions()
        self.weights, self.version = weights, version
        self.identity = EngineIdentity(
            kind="embedded",
            model=model or weights.name,
            token_exact=True,
            weights_digest=_weights_digest(weights),
            tokenizer_digest=tokenizer_digest(weights),
            context_tokens=self.options.context_tokens,
        )
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Queue[Frame | EngineFailure]] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._closed = False
        self._paused = False

    async def __aenter__(self) -> Self:
        """Raises UserError where the weights are none that can be sampled."""
        try:
            await self._started()
        except EngineFailure as failure:
            if failure.cause != _UNUSABLE:
                raise
            why = " ".join(failure.detail.split())[:300]
            raise UserError(f"{self.weights} holds no model that can be sampled ({why}): give another") from None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pid(self) -> int | None:
        """Process id of the sampler; None while there is none."""
        return self._process.pid if self._process else None

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        """Sample one assistant turn. Leaving the iteration early aborts the call. Raises EngineFailure."""
        number, queue = await self._call(
            {
                "do": "sample",
                "lineage": request.lineage,
                "temperature": request.sampling.temperature,
                "top_p": request.sampling.top_p,
                "top_k": request.sampling.top_k,
                "max_tokens": request.sampling.max_tokens,
                "stop": list(request.stop_token_ids),
                "seed": request.seed if request.seed is not None else int.from_bytes(os.urandom(7)),
            },
            np.asarray(request.prompt_ids, dtype="<i4").tobytes(),
        )
        done = False
        try:
            while not done:
                frame = await self._next(queue)
                chunk = _chunk(frame)
                done = chunk.finish_reason is not None
                yield chunk
        except EngineFailure:
            done = True
            raise
        finally:
            self._open.pop(number, None)
            if not done:
                self._post({"do": "abort", "call": number})

    async def load_weights(self, path: Path, version: int) -> None:
        """Swap between two decode steps; returns when the sampler has the new weights. Raises EngineFailure."""
        number, queue = await self._call({"do": "load", "path": str(path), "version": version})
        try:
            await self._next(queue)
        finally:
            self._open.pop(number, None)
        self.weights, self.version = path, version

    async def pause(self) -> None:
        """No token is sampled until `resume`; calls stay open, and weights may be loaded meanwhile."""
        self._paused = True
        if self._process is not None:
            self._post({"do": "pause", "paused": True})

    async def resume(self) -> None:
        """Sampling goes on where it stopped."""
        self._paused = False
        if self._process is not None:
            self._post({"do": "pause", "paused": False})

    async def statistics(self) -> dict[str, float]:
        """Counters of the sampler process: steps, prefilled_tokens, reused_tokens, sampled_tokens, busy_seconds."""
        number, queue = await self._call({"do": "statistics"})
        try:
            frame = await self._next(queue)
        finally:
            self._open.pop(number, None)
        return {key: value for key, value in frame.header.items() if key not in ("is", "call")}

    async def release(self, lineage: str) -> None:
        """Forget the lineage's cached prefix."""
        self._post({"do": "release", "lineage": lineage})

    async def close(self) -> None:
        """End the process; idempotent. Open calls fail with cause "closed"."""
        self._closed = True
        await self._end("closed")

    async def _call(
        self, header: dict[str, Any], payload: bytes = b""
    ) -> tuple[int, asyncio.Queue[Frame | EngineFailure]]:
        """Send a request that expects answers."""
        if self._closed:
            raise EngineFailure("closed", "the engine has been closed")
        await self._started()
        number = next(self._numbers)
        queue: asyncio.Queue[Frame | EngineFailure] = asyncio.Queue()
        self._open[number] = queue
        self._post({**header, "call": number}, payload)
        return number, queue

    @staticmethod
    async def _next(queue: asyncio.Queue[Frame | EngineFailure]) -> Frame:
        answer = await queue.get()
        if isinstance(answer, EngineFailure):
            raise answer
        if answer.header["is"] == "error":
            raise EngineFailure(answer.header["cause"], answer.header["detail"])
        return answer

    def _post(self, header: dict[str, Any], payload: bytes = b"") -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(pack(header, payload))

    async def _started(self) -> None:
        async with self._starting:
            if self._process is None:
                await self._start()

    async def _start(self) -> None:
        ours, theirs = socket.socketpair()
        o = self.options
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "journeyman.engines.embedded.server", "--fd", str(theirs.fileno())),
                *("--weights", str(self.weights), "--version", str(self.version), "--rows", str(o.rows)),
                *("--threads", str(o.threads), "--context", str(o.context_tokens), "--device", o.device),
                *("--store-tokens", str(o.store_tokens), "--dtype", o.dtype),
                pass_fds=(theirs.fileno(),),
                env={**os.environ, "OMP_NUM_THREADS": str(o.threads), "MKL_NUM_THREADS": str(o.threads)},
                stdin=asyncio.subprocess.DEVNULL,
            )
        reader, self._writer = await asyncio.open_connection(sock=ours)
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read(reader, ready))
        try:
            context = await asyncio.wait_for(asyncio.shield(ready), _START_SECONDS)
        except TimeoutError:
            await self._end("start_timeout")
            raise EngineFailure("start_timeout", f"the sampler was not ready after {_START_SECONDS:.0f} s") from None
        except EngineFailure as failure:
            await self._end(failure.cause)
            raise
        self.identity = self.identity.model_copy(update={"context_tokens": context})
        if self._paused:  # a pause outlives the process it was told to
            self._post({"do": "pause", "paused": True})

    async def _read(self, reader: asyncio.StreamReader, ready: asyncio.Future[int]) -> None:
        """Deliver frames to their calls until the process is gone; then every open call fails."""
        unpacker, failure = Unpacker(), EngineFailure("sampler_died", "the sampler process ended")
        while data := await reader.read(1 << 20):
            for frame in unpacker.feed(data):
                if frame.header["is"] == "ready":
                    ready.set_result(frame.header["context"])
                elif frame.header["is"] == _UNUSABLE:
                    failure = EngineFailure(_UNUSABLE, frame.header["detail"])
                elif queue := self._open.get(frame.header["call"]):
                    queue.put_nowait(frame)
        if not ready.done():
            ready.set_exception(failure)
            ready.exception()  # looked at: whoever waited for it may have gone
        self._fail(failure)
        process, self._process, self._writer = self._process, None, None
        if process is not None:
            await process.wait()

    def _fail(self, failure: EngineFailure) -> None:
        for queue in self._open.values():
            queue.put_nowait(failure)
        self._open.clear()

    async def _end(self, cause: str) -> None:
        self._fail(EngineFailure(cause, "the engine was closed"))
        process, writer, reading = self._process, self._writer, self._reading
        if writer is not None:
            writer.close()
        if process is not None and process.returncode is None:
            try:
                await asyncio.wait_for(process.wait(), 5.0)
            except TimeoutError:
                process.kill()
                await process.wait()
        if reading is not None:
            await asyncio.gather(reading, return_exceptions=True)
        self._process = self._writer = self._reading = None


def _chunk(frame: Frame) -> SampleChunk:
    """A report as a chunk."""
    n = frame.header["count"]
    ids: Sequence[int] = np.frombuffer(frame.payload, "<i4", n, 0).tolist()
    logprobs: Sequence[float] = np.frombuffer(frame.payload, "<f4", n, 4 * n).tolist()
    versions: Sequence[int] = np.frombuffer(frame.payload, "<i4", n, 8 * n).tolist()
    return SampleChunk(
        ids=tuple(ids),
        logprobs=tuple(logprobs),
        versions=tuple(versions),
        finish_reason=frame.header["finish"] or None,
    )
