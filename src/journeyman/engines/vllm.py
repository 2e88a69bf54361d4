"""vLLM as an engine: `/inference/v1/generate` with token ids in and out (wire format of 0.32, `--enable-scale-out`).

A refresh freezes open calls, swaps, labels the version and lets them go on: their HTTP calls stay open, and the reply's
version spans say which weights sampled which token. Prefixes are salted by version, so none of other weights is reused.
"""

import base64
import binascii
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from journeyman.engines.base import SampleChunk, SampleRequest, SamplingLimits
from journeyman.engines.routes import Routes, routes_from
from journeyman.engines.served import Adapter, ServedEngine, ServedOptions, finite, is_adapter
from journeyman.errors import EngineFailure

_GENERATE = "/inference/v1/generate"
_REMEDY = "start vLLM with --logprobs-mode processed_logprobs, or say options.logprobs='as_served' (evaluation)"
_ADAPTER = "policy"  # one name, loaded in place: calls in flight follow it


class VLLMEngine(ServedEngine):
    """`async with VLLMEngine("http://127.0.0.1:8000") as engine`: a running vLLM server.

    Weight refresh and pause need VLLM_SERVER_DEV_MODE=1; LoRA needs --enable-lora and
    VLLM_ALLOW_RUNTIME_LORA_UPDATING=1; temperatures other than 1, top_p and top_k need
    --logprobs-mode processed_logprobs.
    """

    def __init__(self, url: str, *, version: int = 0, model: str = "", options: ServedOptions | None = None) -> None:
        """`version`: of the weights the server holds now; `model`: which of the models it serves ("": its first)."""
        super().__init__(url, version=version, kind="vllm", model=model, options=options)
        self._served = model
        self.adapter_loads = 0
        self._unlabelled = False  # the server holds weights that it calls by the name of others

    async def _introduce(self) -> None:
        cards = (await self.server.call("GET", "/v1/models") or {}).get("data") or []
        names = [card["id"] for card in cards]
        card = next((card for card in cards if card["id"] == self._served or not self._served), None)
        if card is None:
            raise self.not_served(names)
        self._served = card["id"]
        update = {"model": card["id"], "context_tokens": int(card.get("max_model_len") or 0)}
        self.identity = self.identity.model_copy(update=update)
        try:
            info = await self.server.call("GET", "/server_info?config_format=json") or {}
            label = (await self.server.call("GET", "/weight_info") or {}).get("weight_version")
        except EngineFailure as failure:
            if failure.cause != "http_404":
                raise
            info, label = {}, "default"  # not in development mode: its weights never change
        config = (info.get("vllm_config") or {}).get("model_config") or {}
        mode = config.get("logprobs_mode") or "raw_logprobs"
        if mode != "processed_logprobs" and self.options.logprobs == "exact":
            limits = SamplingLimits(
                tempered=False, truncated="never", cause="logprobs_mode", remedy=f"under {mode}: {_REMEDY}"
            )
            self.identity = self.identity.model_copy(update={"sampling": limits})
        self._label_now(label)

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        """Sample one assistant turn. Leaving early aborts the call in the server. Raises EngineFailure."""
        self._check(request)
        number = self.call_id()
        reading = _Reading(self, request)
        body = self._body(request, number)
        aborted = {"request_ids": [f"generate-tokens-{number}"]}
        call = self._chunks(
            _GENERATE,
            body,
            request.incremental,
            reading.chunk,
            lambda: self.server.call("POST", "/inference/v1/abort_requests", aborted),
        )
        async with aclosing(call) as chunks:
            async for chunk in chunks:
                yield chunk

    def _check(self, request: SampleRequest) -> None:
        """Raises EngineFailure where the server would report other weights or another distribution than it samples."""
        if self._unlabelled:
            raise EngineFailure("weight_version", "the last refresh changed weights and broke off: load weights again")
        self.identity.sampling.check(request.sampling)

    def _body(self, request: SampleRequest, number: str) -> bytes:
        sampling = request.sampling
        parameters: dict[str, Any] = {
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": max(sampling.top_k, 0),
            "stop_token_ids": list(request.stop_token_ids),
            "logprobs": 0,  # the sampled token's only
            "detokenize": False,
            "skip_special_tokens": False,
        }
        if request.seed is not None:
            parameters["seed"] = request.seed
        if request.json_schema is not None:
            parameters["structured_outputs"] = {"json": request.json_schema}
        if request.routes_from is not None:
            if self.options.experts is None:
                raise EngineFailure(
                    "routes", "routed experts were asked for: say the routers' shape in options.experts"
                )
            parameters["routed_experts_prompt_start"] = request.routes_from
        fields = {
            "request_id": number,
            "model": self.adapter.name if self.adapter else self._served,
            "sampling_params": parameters,
            "stream": request.incremental,
            "cache_salt": f"v{self.version}",
        }
        return b'{"token_ids":[' + self.prompt(request) + b"]," + json.dumps(fields).encode()[1:]

    # -- weights

    async def pause(self) -> None:
        """No token is sampled until `resume`; open calls stay open. Raises EngineFailure."""
        await self.server.call("POST", "/pause?mode=keep&clear_cache=false")

    async def resume(self) -> None:
        """Sampling goes on. Raises EngineFailure."""
        await self.server.call("POST", "/resume")

    async def load_weights(self, path: Path, version: int) -> None:
        """Swap to a full checkpoint or a LoRA adapter at a token boundary. Raises EngineFailure."""
        if is_adapter(path):
            await self._refreshed(lambda: self._load_adapter(path), version)
            self.adapter = Adapter(_ADAPTER, version)
            return
        self.loads += 1
        await self._refreshed(lambda: self._load_full(path), version)
        self.adapter = None

    async def _refreshed(self, load: Callable[[], Awaitable[None]], version: int) -> None:
        """Change weights while nothing is sampled, then say so. A failed load leaves the old ones."""
        await self.pause()
        try:
            await load()
            self._unlabelled = True
            await self.server.call("POST", "/update_weight_version", {"new_version": str(version)})
            self.version, self._unlabelled = version, False
            if self.options.pause_mode == "recompute":
                await self.server.call("POST", "/reset_prefix_cache?reset_running_requests=true")
        finally:
            await self.resume()

    async def _load_full(self, path: Path) -> None:
        body = {"method": "reload_weights", "kwargs": {"weights_path": str(path)}}
        try:
            await self.server.call("POST", "/collective_rpc", body, self.options.control_seconds)
        except EngineFailure as failure:
            if failure.cause in ("http_400", "http_500"):
                raise EngineFailure("weights_unreadable", failure.detail) from None
            raise

    async def _load_adapter(self, path: Path) -> None:
        body = {"lora_name": _ADAPTER, "lora_path": str(path), "load_inplace": True}
        try:
            await self.server.call("POST", "/v1/load_lora_adapter", body, self.options.control_seconds)
        except EngineFailure as failure:
            if failure.cause in ("http_400", "http_404"):
                raise EngineFailure("adapter_refused", failure.detail) from None
            raise
        self.adapter_loads += 1

    async def unload(self) -> None:
        """Take the adapter off the server; new calls go to the base weights. Raises EngineFailure."""
        if self.adapter is not None:
            await self.server.call("POST", "/v1/unload_lora_adapter", {"lora_name": _ADAPTER})
            self.adapter = None


class _Reading:
    """One call's replies turned into chunks. Versions come with the last reply, for all tokens at once."""

    def __init__(self, engine: VLLMEngine, request: SampleRequest) -> None:
        self._engine = engine
        self._request = request
        self._adapter = engine.adapter
        self._version = engine.version
        self._loads = (engine.loads, engine.adapter_loads)
        self._total = 0

    def chunk(self, reply: Any) -> SampleChunk:
        """What a reply adds. Raises EngineFailure where it cannot be used."""
        if not isinstance(reply, dict) or "error" in reply:
            raise EngineFailure("in_stream_error", str(reply.get("error") if isinstance(reply, dict) else reply)[:400])
        choices = reply.get("choices")
        if not isinstance(choices, list) or len(choices) != 1:
            raise EngineFailure("token_data", f"the reply has {len(choices or ())} choices, not one")
        choice = choices[0]
        ids = choice.get("token_ids") or []
        content = (choice.get("logprobs") or {}).get("content") or []
        if len(content) != len(ids):
            raise EngineFailure("lengths", f"{len(ids)} ids and {len(content)} log-probs")
        if any(entry.get("token_id") != token for entry, token in zip(content, ids, strict=True)):
            raise EngineFailure("token_data", "ids and log-probs belong to different tokens")
        self._total += len(ids)
        finish = _finish(choice.get("finish_reason"))
        return SampleChunk(
            ids=tuple(ids),
            logprobs=finite([entry.get("logprob") for entry in content]),
            versions=() if finish is None else self._versions(choice.get("weight_versions")),
            finish_reason=finish,
            routes=self._routes(choice) if finish in ("stop", "length") else None,
        )

    def _versions(self, spans: Any) -> tuple[int, ...]:
        engine, (full, adapters) = self._engine, self._loads
        if not self._total:
            return ()
        if self._adapter is None and adapters != engine.adapter_loads:
            # The label has changed for an adapter that this call does not use.
            if full != engine.loads:
                raise EngineFailure("weight_version", "weights and adapter both changed during a call on neither")
            return (self._version,) * self._total
        if self._adapter is not None and full != engine.loads:
            raise EngineFailure("weight_version", "the base weights changed under an adapter during the call")
        if not isinstance(spans, list) or not spans:
            raise EngineFailure("weight_version", "the reply does not say which weights sampled it")
        return tuple(engine.labels.expand(spans, self._total))

    def _routes(self, choice: dict[str, Any]) -> Routes | None:
        start, shape = self._request.routes_from, self._engine.options.experts
        if start is None or shape is None:
            return None
        if not isinstance(text := choice.get("routed_experts"), str):
            remedy = "start the server with --enable-return-routed-experts"
            raise EngineFailure("routes", f"the reply has no routed experts: {remedy}")
        return routes_from(_npy(text), start, len(self._request.prompt_ids) + self._total, shape)


def _npy(text: str) -> npt.NDArray[np.integer]:
    """Expert ids from base64 of .npy bytes. Raises EngineFailure("routes")."""
    try:
        found: npt.NDArray[np.integer] = np.load(io.BytesIO(base64.b64decode(text, validate=True)), allow_pickle=False)
    except (binascii.Error, ValueError, EOFError) as error:
        raise EngineFailure("routes", f"routed experts cannot be read: {error}") from error
    if found.dtype.kind not in "iu":
        raise EngineFailure("routes", f"routed experts are {found.dtype}, not integers")
    return found


def _finish(reason: Any) -> Any:
    """Our finish reason. Raises EngineFailure on one that is not known."""
    if reason is None:
        return None
    found = {"stop": "stop", "length": "length", "abort": "aborted"}.get(str(reason))
    if found is None:
        raise EngineFailure("finish_reason", f"the server ended the call with {reason!r}")
    return found
