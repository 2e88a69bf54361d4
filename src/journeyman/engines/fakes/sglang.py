"""A fake SGLang server: the wire protocol of 0.5.23 as its source writes it, over `FakePolicy`.

Faithful where it matters: streams are cumulative (or deltas, where the server is told so), `weight_version` labels the
reply and `weight_versions` the tokens, a pause holds new calls, aborts go by id prefix, routed experts are base64 int32
and come with the last chunk.
"""

import asyncio
import base64
import json
import math
from typing import Any

from aiohttp import web

from journeyman.engines.fakes.policy import Call, FakePolicy, spans
from journeyman.engines.fakes.replies import streamed, whole
from journeyman.engines.fakes.tokenize import tokenize_route

_FINISH: dict[str, dict[str, Any]] = {
    "stop": {"type": "stop"},
    "length": {"type": "length"},
    "abort": {"type": "abort", "message": "Aborted", "status_code": None, "err_type": None},
}


class _Server:
    def __init__(self, policy: FakePolicy) -> None:
        self.policy = policy

    async def generate(self, request: web.Request) -> web.StreamResponse:
        policy = self.policy
        body: dict[str, Any] = json.loads(await request.read())
        ids = body.get("input_ids")
        if not isinstance(ids, list) or not ids or not all(type(i) is int for i in ids):
            return _error(400, "input_ids must be a list of integers")
        if (adapter := body.get("lora_path")) and adapter not in policy.adapters:
            return _error(400, f"The following requested LoRA adapters are not loaded: {{'{adapter}'}}")
        if policy.take_fault("http_500"):
            return _error(500, "CUDA error: an illegal memory access was encountered")
        if policy.take_fault("busy"):
            return _error(503, "The request queue is full.")
        parameters = body.get("sampling_params") or {}
        calls = policy.sample(
            body["rid"],
            ids,
            int(parameters.get("max_new_tokens") or 128),
            parameters.get("stop_token_ids") or (),
            parameters.get("sampling_seed"),
        )
        if not body.get("stream"):
            call = [call async for call in calls][-1]
            return whole(self.spoiled(self.result(body, call)), policy)
        sent = 0

        def event(call: Call) -> dict[str, Any]:
            nonlocal sent
            result = self.spoiled(self.result(body, call))
            if policy.deltas:
                result["output_ids"] = result["output_ids"][sent:]
                result["meta_info"]["output_token_logprobs"] = result["meta_info"]["output_token_logprobs"][sent:]
                sent = len(call.tokens)
            return result

        return await streamed(request, policy, calls, event)

    def result(self, body: dict[str, Any], call: Call) -> dict[str, Any]:
        tokens = call.tokens
        meta: dict[str, Any] = {
            "id": body["rid"],
            "finish_reason": _FINISH.get(call.finish),
            "prompt_tokens": len(call.prompt),
            "weight_version": self.policy.version,
            "num_retractions": 0,
            "reasoning_tokens": 0,
            "completion_tokens": len(tokens),
            "cached_tokens": 0,
            "e2e_latency": 0.0,
        }
        if body.get("return_logprob"):
            meta["input_token_logprobs"] = []
            meta["output_token_logprobs"] = [[token.logprob, token.id, None] for token in tokens]
            meta["output_token_logprobs_length"] = len(tokens)
        if body.get("return_sampling_mask"):
            meta["output_token_sampling_mask"] = [[token.id] for token in tokens]
            meta["output_token_sampling_logprobs"] = [0.0] * len(tokens)
        if tokens and not body.get("lora_path"):
            meta["weight_versions"] = spans(tokens)
            meta["weight_version"] = tokens[-1].version
        if body.get("return_routed_experts") and call.finish:
            rows = self.policy.routes(call, int(body.get("routed_experts_start_len") or 0))
            meta["routed_experts"] = base64.b64encode(rows.tobytes()).decode()
        return {"text": "", "output_ids": [token.id for token in tokens], "meta_info": meta}

    def spoiled(self, result: dict[str, Any]) -> dict[str, Any]:
        """The result with the fault that was ordered."""
        policy, meta = self.policy, result["meta_info"]
        if policy.take_fault("short_logprobs"):
            meta["output_token_logprobs"] = meta["output_token_logprobs"][:-1]
        if policy.take_fault("nan_logprob"):
            meta["output_token_logprobs"][0][0] = math.nan
        if policy.take_fault("null_logprob"):
            meta["output_token_logprobs"][0][0] = None
        if policy.take_fault("shifted_logprobs"):
            meta["output_token_logprobs"][0][1] += 1
        if policy.take_fault("no_version"):
            meta.pop("weight_version")
            meta.pop("weight_versions", None)
        if policy.take_fault("foreign_version"):
            meta["weight_versions"] = [{"version": "someone-else", "start": 0, "end": meta["completion_tokens"]}]
        if policy.take_fault("version_gap"):
            meta["weight_versions"] = [{"version": policy.version, "start": 1, "end": meta["completion_tokens"]}]
        if policy.take_fault("missing_routes"):
            rows = base64.b64decode(meta["routed_experts"])
            meta["routed_experts"] = base64.b64encode(rows[policy.layers * policy.top_k * 4 :]).decode()
        return result

    async def abort(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body.get("rid") or body.get("abort_all"):
            self.policy.abort("" if body.get("abort_all") else body["rid"])
        return web.Response()

    async def pause(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body.get("mode", "abort") == "abort":
            self.policy.abort("")
            while self.policy.open:
                await asyncio.sleep(0.002)
        self.policy.running.clear()
        return web.json_response({"message": "Generation paused successfully.", "status": "ok"})

    async def resume(self, request: web.Request) -> web.Response:
        self.policy.running.set()
        return web.json_response({"message": "Generation continued successfully.", "status": "ok"})

    async def update(self, request: web.Request) -> web.Response:
        policy, body = self.policy, await request.json()
        if "missing" in body["model_path"]:
            content = {"success": False, "message": f"no such model: {body['model_path']}", "num_paused_requests": 0}
            return web.json_response(content, status=400)
        while policy.running.is_set() and policy.open:  # not paused: the real one waits for its readers
            await asyncio.sleep(0.002)
        policy.loads.append(body["model_path"])
        policy.version = body.get("weight_version") or policy.version
        return web.json_response({"success": True, "message": "Succeeded.", "num_paused_requests": len(policy.open)})

    async def load_adapter(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body["lora_name"] in self.policy.adapters:
            text = f"LoRA adapter {body['lora_name']} already exists"
            return web.json_response({"success": False, "error_message": text}, status=400)
        self.policy.adapters[body["lora_name"]] = body["lora_path"]
        return web.json_response({"success": True, "error_message": None, "loaded_adapters": self.policy.adapters})

    async def unload_adapter(self, request: web.Request) -> web.Response:
        self.policy.adapters.pop((await request.json())["lora_name"], None)
        return web.json_response({"success": True, "error_message": None, "loaded_adapters": self.policy.adapters})

    async def model_info(self, request: web.Request) -> web.Response:
        info = {"model_path": "models/fake-model", "served_model_name": "fake-model", "is_generation": True}
        return web.json_response(info | {"weight_version": self.policy.version})

    async def server_info(self, request: web.Request) -> web.Response:
        return web.json_response({"context_length": self.policy.context, "sampling_mask_max_tokens": 64})


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message}}, status=status)


def application(policy: FakePolicy) -> web.Application:
    """The routes of SGLang that the client uses."""
    server = _Server(policy)
    app = web.Application(client_max_size=1 << 28)
    app.add_routes(
        [
            web.post("/generate", server.generate),
            web.post("/abort_request", server.abort),
            web.post("/pause_generation", server.pause),
            web.post("/continue_generation", server.resume),
            web.post("/update_weights_from_disk", server.update),
            web.post("/load_lora_adapter", server.load_adapter),
            web.post("/unload_lora_adapter", server.unload_adapter),
            web.get("/model_info", server.model_info),
            web.get("/server_info", server.server_info),
            tokenize_route(policy),
        ]
    )
    return app
