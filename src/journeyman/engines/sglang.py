"""SGLang as an engine: `/generate` with token ids in; ids, log-probs and weight versions out (wire format of 0.5.23).

A weight refresh retracts open calls, swaps, and lets them go on: their HTTP calls stay open and each token keeps the
version that sampled it. A LoRA refresh loads the adapter under a new name: calls in flight end on the old one.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal

from journeyman.engines.base import SampleChunk, SampleRequest, SamplingLimits
from journeyman.engines.routes import Routes, decode_int32, routes_from
from journeyman.engines.served import Adapter, ServedEngine, ServedOptions, finite, is_adapter
from journeyman.errors import EngineFailure

_REMEDY = "options.logprobs='as_served' does without (evaluation)"


class SGLangEngine(ServedEngine):
    """`async with SGLangEngine("http://127.0.0.1:30000") as engine`: a running SGLang server."""

    def __init__(self, url: str, *, version: int = 0, model: str = "", options: ServedOptions | None = None) -> None:
        """`version`: of the weights the server holds now. Raises UserError where `url` is not an address."""
        super().__init__(url, version=version, kind="sglang", model=model, options=options)
        self._named = bool(model)
        self._open: Counter[str] = Counter()  # calls in flight by adapter name
        self._retired: set[str] = set()

    async def _introduce(self) -> None:
        info = await self.server.call("GET", "/model_info") or {}
        server = await self.server.call("GET", "/server_info") or {}
        name = info.get("served_model_name") or info.get("model_path") or "sglang"
        context = server.get("context_length") or server.get("max_req_input_len") or 0
        masked = int(server.get("sampling_mask_max_tokens") or 0)  # the most tokens that it tells the mask of
        update: dict[str, Any] = {"context_tokens": int(context)}
        if self.options.logprobs == "exact":
            truncated: Literal["by_top_k", "never"] = "by_top_k" if masked else "never"
            update["sampling"] = SamplingLimits(
                truncated=truncated, top_k=masked, cause="truncated_logprobs", remedy=_REMEDY
            )
        if self._named and self.identity.model not in (name, info.get("model_path"), Path(str(name)).name):
            raise self.not_served([str(name)])
        if not self._named:
            update["model"] = Path(str(name)).name
        self.identity = self.identity.model_copy(update=update)
        self._label_now(info.get("weight_version"))

    async def sample(self, request: SampleRequest) -> AsyncIterator[SampleChunk]:
        """Sample one assistant turn. Leaving early aborts the call in the server. Raises EngineFailure."""
        number, adapter = self.call_id(), self.adapter
        reading = _Reading(self, request, adapter, self.loads)
        body = self._body(request, number, adapter)
        if adapter:
            self._open[adapter.name] += 1
        call = self._chunks(
            "/generate",
            body,
            request.incremental,
            reading.chunk,
            lambda: self.server.call("POST", "/abort_request", {"rid": number}),
        )
        try:
            async with aclosing(call) as chunks:
                async for chunk in chunks:
                    yield chunk
        finally:
            if adapter:
                self._open[adapter.name] -= 1
                self._unload_retired()

    def _body(self, request: SampleRequest, number: str, adapter: Adapter | None) -> bytes:
        sampling = request.sampling
        parameters: dict[str, Any] = {
            "max_new_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            "stop_token_ids": list(request.stop_token_ids),
            "no_stop_trim": True,
            "skip_special_tokens": False,
        }
        if request.seed is not None:
            parameters["sampling_seed"] = request.seed
        if request.json_schema is not None:
            parameters["json_schema"] = json.dumps(request.json_schema)
        fields: dict[str, Any] = {
            "rid": number,
            "sampling_params": parameters,
            "return_logprob": True,
            "stream": request.incremental,
        }
        if adapter:
            fields["lora_path"] = adapter.name
        if self.options.pause_mode == "keep":
            fields["cache_salt"] = f"v{self.version}"  # no prefix of other weights is reused
        if self._masked(request):
            fields |= {"return_sampling_mask": True, "sampling_logprobs_mode": "selected"}
        if request.routes_from is not None:
            if self.options.experts is None:
                raise EngineFailure(
                    "routes", "routed experts were asked for: say the routers' shape in options.experts"
                )
            fields |= {"return_routed_experts": True, "routed_experts_start_len": request.routes_from}
        return b'{"input_ids":[' + self.prompt(request) + b"]," + json.dumps(fields).encode()[1:]

    def _masked(self, request: SampleRequest) -> bool:
        """Whether log-probs must come from the truncated distribution. Raises EngineFailure where they cannot."""
        sampling = request.sampling
        self.identity.sampling.check(sampling)
        truncated = bool(sampling.temperature) and (sampling.top_p < 1.0 or sampling.top_k > 0)
        return truncated and self.options.logprobs == "exact"

    # -- weights

    async def pause(self) -> None:
        """No token is sampled until `resume`; open calls stay open. Raises EngineFailure."""
        mode = "in_place" if self.options.pause_mode == "keep" else "retract"
        await self.server.call("POST", "/pause_generation", {"mode": mode})

    async def resume(self) -> None:
        """Sampling goes on. Raises EngineFailure."""
        await self.server.call("POST", "/continue_generation", {})

    async def load_weights(self, path: Path, version: int) -> None:
        """Swap to a full checkpoint at a token boundary, or serve a LoRA adapter to new calls. Raises EngineFailure."""
        if is_adapter(path):
            await self._load_adapter(path, version)
            return
        self.loads += 1
        keep = self.options.pause_mode == "keep"
        body = {"model_path": str(path), "weight_version": str(version), "flush_cache": not keep}
        await self.pause()
        try:
            url, seconds = "/update_weights_from_disk", self.options.control_seconds
            answer = await self.server.call("POST", url, body, seconds) or {}
            if not answer.get("success"):
                raise EngineFailure("weights_unreadable", str(answer.get("message")))
        except EngineFailure as failure:
            if failure.cause == "http_400":
                raise EngineFailure("weights_unreadable", failure.detail) from None
            raise
        finally:
            await self.resume()
        self.version = version
        self._retire(None)

    async def _load_adapter(self, path: Path, version: int) -> None:
        name = f"policy-v{version}"
        body = {"lora_name": name, "lora_path": str(path)}
        try:
            answer = await self.server.call("POST", "/load_lora_adapter", body, self.options.control_seconds) or {}
        except EngineFailure as failure:
            raise EngineFailure("adapter_refused", failure.detail) if failure.cause == "http_400" else failure from None
        if not answer.get("success"):
            raise EngineFailure("adapter_refused", str(answer.get("error_message")))
        self._retire(Adapter(name, version))
        self.version = version

    def _retire(self, adapter: Adapter | None) -> None:
        if self.adapter is not None and (adapter is None or adapter.name != self.adapter.name):
            self._retired.add(self.adapter.name)
        self.adapter = adapter
        self._unload_retired()

    def _unload_retired(self) -> None:
        """Adapters that no call uses any more leave the server."""
        for name in [name for name in self._retired if not self._open[name]]:
            self._retired.discard(name)
            del self._open[name]
            self.later(self.server.call("POST", "/unload_lora_adapter", {"lora_name": name}))


class _Reading:
    """One call's replies turned into chunks. Streams are cumulative or incremental; both are told by their counts."""

    def __init__(self, engine: SGLangEngine, request: SampleRequest, adapter: Adapter | None, loads: int) -> None:
        self._engine = engine
        self._request = request
        self._adapter = adapter
        self._loads = loads
        self._masked = engine._masked(request)
        self._seen = 0

    def chunk(self, reply: Any) -> SampleChunk:
        """What a reply adds. Raises EngineFailure where it cannot be used."""
        if not isinstance(reply, dict) or "error" in reply:
            raise EngineFailure("in_stream_error", str(reply.get("error") if isinstance(reply, dict) else reply)[:400])
        meta, ids = reply.get("meta_info"), reply.get("output_ids")
        if not isinstance(meta, dict) or not isinstance(ids, list):
            raise EngineFailure("token_data", "the reply has no meta_info or no output_ids")
        if (total := meta.get("completion_tokens")) is None:
            raise EngineFailure("token_data", "the reply has no completion_tokens")
        pairs = meta.get("output_token_logprobs") or []
        skip = self._seen if len(ids) == total else 0
        if len(ids) - skip != total - self._seen or len(pairs) != len(ids):
            text = f"{len(ids)} ids and {len(pairs)} log-probs, {self._seen} before them, {total} counted by the server"
            raise EngineFailure("lengths", text)
        if any(pair[1] != token for pair, token in zip(pairs[skip:], ids[skip:], strict=True)):
            raise EngineFailure("token_data", "ids and log-probs belong to different tokens")
        versions = self._versions(meta, total)[self._seen :]
        logprobs = finite([pair[0] for pair in pairs] if not self._masked else self._selected(meta, len(ids)))[skip:]
        self._seen = total
        finish = _finish(meta.get("finish_reason"))
        routes = self._routes(meta, total) if finish in ("stop", "length") else None
        return SampleChunk(
            ids=tuple(ids[skip:]), logprobs=logprobs, versions=tuple(versions), finish_reason=finish, routes=routes
        )

    def _versions(self, meta: dict[str, Any], total: int) -> list[int]:
        """One version per token so far."""
        if self._adapter is not None:
            if self._loads != self._engine.loads:
                raise EngineFailure("weight_version", "the base weights changed under an adapter during the call")
            return [self._adapter.version] * total
        if (spans := meta.get("weight_versions")) is not None and total:
            return self._engine.labels.expand(spans, total)
        version = self._engine.labels.number(meta.get("weight_version"))
        if self._loads != self._engine.loads and total:
            text = "weights changed during the call and the server does not say at which token: it is too old"
            raise EngineFailure("weight_version", text)
        return [version] * total

    def _selected(self, meta: dict[str, Any], tokens: int) -> list[Any]:
        """Log-probs of the truncated distribution; the server reports one number or a list of one per token."""
        rows = meta.get("output_token_sampling_logprobs")
        if not isinstance(rows, list) or len(rows) != tokens:
            raise EngineFailure(
                "truncated_logprobs", "the server did not report the truncated distribution's log-probs"
            )
        return [row[0] if isinstance(row, list) and len(row) == 1 else row for row in rows]

    def _routes(self, meta: dict[str, Any], total: int) -> Routes | None:
        start, shape = self._request.routes_from, self._engine.options.experts
        if start is None or shape is None:
            return None
        if not isinstance(text := meta.get("routed_experts"), str):
            raise EngineFailure("routes", "the reply has no routed experts: start the server with their return enabled")
        return routes_from(decode_int32(text), start, len(self._request.prompt_ids) + total, shape)


def _finish(reason: Any) -> Any:
    """Our finish reason. Raises EngineFailure on one that is not known."""
    if reason is None:
        return None
    kind = reason.get("type") if isinstance(reason, dict) else reason
    found = {"stop": "stop", "length": "length", "abort": "aborted"}.get(str(kind))
    if found is None:
        raise EngineFailure("finish_reason", f"the server ended the call with {reason!r}")
    return found
