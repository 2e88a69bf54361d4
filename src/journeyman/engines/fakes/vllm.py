"""A fake vLLM server: the token-in-token-out and RL-control routes of 0.32 as its source has them, over `FakePolicy`.

Faithful where it matters: streams are incremental, version spans come with the last chunk only, an id that is aborted
carries the server's own prefix, an adapter of the same name is refused unless loaded in place, NaN is sent as -9999.
"""

import asyncio
import base64
import io
import json
from typing import Any

import numpy as np
from aiohttp import web

from journeyman.engines.fakes.policy import Call, FakePolicy, spans
from journeyman.engines.fakes.replies import streamed, whole
from journeyman.engines.fakes.tokenize import tokenize_route

_MODEL = "fake-model"


class _Server:
    def __init__(self, policy: FakePolicy) -> None:
        self.policy = policy

    async def generate(self, request: web.Request) -> web.StreamResponse:
        policy = self.policy
        body: dict[str, Any] = json.loads(await request.read())
        ids, parameters = body.get("token_ids"), body.get("sampling_params") or {}
        if not isinstance(ids, list) or not ids or not all(type(i) is int and i >= 0 for i in ids):
            return _error(400, "token_ids must be a non-empty list of non-negative integers")
        if (model := body.get("model")) not in (None, _MODEL) and model not in policy.adapters:
            return _error(404, f"The model `{model}` does not exist.")
        if any(mark in (body.get("cache_salt") or "") for mark in "@/\\\0"):
            return _error(400, "Parameter 'cache_salt' must not contain '@', '/', '\\', or NUL.")
        if policy.take_fault("http_500"):
            return _error(500, "EngineDeadError")
        if policy.take_fault("busy"):
            return _error(503, "Service Unavailable")
        rid = f"generate-tokens-{body['request_id']}"
        limit = int(parameters.get("max_tokens") or 16)
        calls = policy.sample(rid, ids, limit, parameters.get("stop_token_ids") or (), parameters.get("seed"))
        if not body.get("stream"):
            call = [call async for call in calls][-1]
            return self._whole(body, call, rid)
        sent = 0

        def event(call: Call) -> dict[str, Any]:
            nonlocal sent
            chunk = {"request_id": rid, "choices": [self.choice(body, call, sent)]}
            sent = len(call.tokens)
            return chunk

        return await streamed(request, policy, calls, event)

    def _whole(self, body: dict[str, Any], call: Call, rid: str) -> web.Response:
        choice = self.choice(body, call, 0)
        usage = {"prompt_tokens": len(call.prompt), "completion_tokens": len(call.tokens)}
        reply = {"request_id": rid, "created": 0, "model": _MODEL, "usage": usage, "choices": [choice]}
        return whole(reply, self.policy)

    def choice(self, body: dict[str, Any], call: Call, sent: int) -> dict[str, Any]:
        policy, tokens = self.policy, call.tokens[sent:]
        parameters = body["sampling_params"]
        content = [
            {"token_id": t.id, "logprob": t.logprob, "rank": 1, "top_logprobs": [{"token_id": t.id}]} for t in tokens
        ]
        choice: dict[str, Any] = {
            "index": 0,
            "finish_reason": call.finish or None,
            "stop_reason": None,
            "token_ids": [t.id for t in tokens],
            "logprobs": {"content": content} if parameters.get("logprobs") is not None else None,
            "routed_experts": None,
            "weight_versions": None,
        }
        if call.finish:
            choice["weight_versions"] = spans(call.tokens)
            rows = policy.routes(call, int(parameters.get("routed_experts_prompt_start") or 0))
            with io.BytesIO() as buffer:
                start = 1 if policy.take_fault("missing_routes") else 0
                np.save(buffer, rows[start:].astype(np.uint8))
                choice["routed_experts"] = base64.b64encode(buffer.getvalue()).decode()
        return self._spoiled(choice, call)

    def _spoiled(self, choice: dict[str, Any], call: Call) -> dict[str, Any]:
        policy, content = self.policy, (choice["logprobs"] or {}).get("content") or []
        if policy.take_fault("short_logprobs"):
            content.pop()
        if policy.take_fault("nan_logprob"):
            content[0]["logprob"] = -9999.0
        if policy.take_fault("null_logprob"):
            content[0]["logprob"] = None
        if policy.take_fault("shifted_logprobs"):
            content[0]["token_id"] += 1
        if policy.take_fault("no_version"):
            choice["weight_versions"] = None
        if policy.take_fault("foreign_version"):
            choice["weight_versions"] = [{"version": "someone-else", "start": 0, "end": len(call.tokens)}]
        if policy.take_fault("version_gap"):
            choice["weight_versions"] = [{"version": policy.version, "start": 1, "end": len(call.tokens)}]
        return choice

    async def abort(self, request: web.Request) -> web.Response:
        for rid in (await request.json())["request_ids"]:
            if rid in self.policy.open:
                self.policy.abort(rid)
        return web.Response()

    async def pause(self, request: web.Request) -> web.Response:
        mode = request.query.get("mode", "abort")
        if mode == "abort":
            self.policy.abort("")
        while mode != "keep" and self.policy.open:
            await asyncio.sleep(0.002)
        self.policy.running.clear()
        return web.json_response({"status": "paused"})

    async def resume(self, request: web.Request) -> web.Response:
        self.policy.running.set()
        return web.json_response({"status": "resumed"})

    async def rpc(self, request: web.Request) -> web.Response:
        body = await request.json()
        path = body["kwargs"]["weights_path"]
        if body["method"] != "reload_weights" or "missing" in path:
            return _error(500, f"RuntimeError: Cannot find any model weights with `{path}`")
        self.policy.loads.append(path)
        return web.json_response({"results": [None]})

    async def label(self, request: web.Request) -> web.Response:
        if self.policy.take_fault("no_label"):
            return _error(500, "EngineDeadError")
        self.policy.version = (await request.json())["new_version"]
        return web.json_response({"success": True, "new_version": self.policy.version})

    async def reset(self, request: web.Request) -> web.Response:
        return web.json_response({"success": True})

    async def load_adapter(self, request: web.Request) -> web.Response:
        body = await request.json()
        name, path = body["lora_name"], body["lora_path"]
        if "missing" in path:
            return _error(404, f"Loading lora {name} failed: No adapter found for {path}")
        if name in self.policy.adapters and not body.get("load_inplace"):
            return _error(400, f"The lora adapter '{name}' has already been loaded.")
        self.policy.adapters[name] = path
        return web.Response(text=f"Success: LoRA adapter '{name}' added successfully.")

    async def unload_adapter(self, request: web.Request) -> web.Response:
        name = (await request.json())["lora_name"]
        if self.policy.adapters.pop(name, None) is None:
            return _error(404, f"The lora adapter '{name}' cannot be found.")
        return web.Response(text=f"Success: LoRA adapter '{name}' removed successfully.")

    async def models(self, request: web.Request) -> web.Response:
        cards = [{"id": name, "object": "model"} for name in (_MODEL, *self.policy.adapters)]
        cards[0]["max_model_len"] = self.policy.context  # type: ignore[assignment]
        return web.json_response({"object": "list", "data": cards})

    async def weights(self, request: web.Request) -> web.Response:
        return web.json_response({"weight_version": self.policy.version})

    async def info(self, request: web.Request) -> web.Response:
        config = {"model_config": {"logprobs_mode": self.policy.logprobs_mode}}
        return web.json_response({"vllm_config": config})


def _error(status: int, message: str) -> web.Response:
    error = {"message": message, "type": "BadRequestError", "param": None, "code": status}
    return web.json_response({"error": error}, status=status)


def application(policy: FakePolicy) -> web.Application:
    """The routes of vLLM that the client uses."""
    server = _Server(policy)
    app = web.Application(client_max_size=1 << 28)
    app.add_routes(
        [
            web.post("/inference/v1/generate", server.generate),
            web.post("/inference/v1/abort_requests", server.abort),
            web.post("/pause", server.pause),
            web.post("/resume", server.resume),
            web.post("/collective_rpc", server.rpc),
            web.post("/update_weight_version", server.label),
            web.post("/reset_prefix_cache", server.reset),
            web.post("/v1/load_lora_adapter", server.load_adapter),
            web.post("/v1/unload_lora_adapter", server.unload_adapter),
            web.get("/v1/models", server.models),
            web.get("/server_info", server.info),
            web.get("/weight_info", server.weights),
            tokenize_route(policy),
        ]
    )
    return app
