"""A server of the Tinker wire protocol (client 0.38) that really trains: one model, all parameters, on this CPU.

`python -m tests.training.tinker_server POLICY PORT_FILE`. It decodes the client's own protobuf, computes
CISPO and AdamW as the service documents them, and keeps named states. It is a stand-in: no adapters, queue or sampling.
"""

import asyncio
import copy
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from aiohttp import web
from tinker.proto import tinker_public_pb2 as wire
from transformers import AutoModelForCausalLM

DTYPES = {wire.DTYPE_FLOAT32: np.float32, wire.DTYPE_INT64: np.int64, wire.DTYPE_INT32: np.int32}


class Trainer:
    """One training run."""

    def __init__(self, policy: str) -> None:
        torch.set_num_threads(1)
        self.model: Any = AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32)
        self.model.get_input_embeddings().padding_idx = None
        self.optimiser = torch.optim.AdamW(self.model.parameters())
        self.states: dict[str, Any] = {}

    def forward_backward(self, body: bytes) -> bytes:
        request = wire.ForwardBackwardRequest()
        request.ParseFromString(body)
        assert request.loss_fn == "cispo", request.loss_fn
        low, high = (request.loss_fn_config_v2[f"clip_{k}_threshold"].number for k in ("low", "high"))
        scored = []
        for datum in request.data:
            ids = [i for chunk in datum.model_input for i in tokens_of(chunk)]
            given = {k: torch.from_numpy(array(v)) for k, v in datum.loss_fn_inputs.items()}
            logits = self.model(torch.tensor([ids])).logits[0].float()
            logp = torch.log_softmax(logits, -1).gather(1, given["target_tokens"].long()[:, None])[:, 0]
            ratio = torch.exp(logp - given["logprobs"]).detach().clamp(low, high)
            loss = -(ratio * given["advantages"] * logp).sum()
            loss.backward()
            scored.append(logp.detach().numpy())
        answer = wire.ForwardBackwardOutput(loss_fn_output_type="ArrayRecord")
        record = answer.loss_fn_outputs.add()
        record.num_datums = len(scored)
        offsets = np.cumsum([0, *(values.nbytes for values in scored)], dtype=np.int64)
        batched = wire.BatchedTensor(data=np.concatenate(scored).tobytes(), offsets=offsets.tobytes())
        batched.dtype = wire.DTYPE_FLOAT32
        record.fields["logprobs"].CopyFrom(batched)
        done: bytes = answer.SerializeToString()
        return done

    def optim_step(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["grad_clip_norm"]:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), params["grad_clip_norm"])
        for group in self.optimiser.param_groups:
            group |= {"lr": params["learning_rate"], "betas": (params["beta1"], params["beta2"])}
            group |= {"eps": params["eps"], "weight_decay": params["weight_decay"]}
        self.optimiser.step()
        self.optimiser.zero_grad()
        return {"metrics": {}}

    def save(self, name: str) -> str:
        path = f"tinker://run:train:0/weights/{name}"
        parameters = {k: v.clone() for k, v in self.model.state_dict().items()}
        self.states[path] = parameters, copy.deepcopy(self.optimiser.state_dict())
        return path

    def load(self, path: str) -> None:
        parameters, optimiser = self.states[path]
        self.model.load_state_dict(parameters)
        self.optimiser.load_state_dict(optimiser)


def tokens_of(chunk: Any) -> list[int]:
    """Ids of an encoded-text chunk."""
    data = chunk.encoded_text.tokens
    return np.frombuffer(data, dtype=np.int32).tolist() if isinstance(data, bytes) else list(data)


def array(tensor: Any) -> Any:
    """A dense tensor."""
    return np.frombuffer(tensor.dense, dtype=DTYPES[tensor.dtype]).copy()


class Server:
    """Requests become futures that are done at once."""

    def __init__(self, policy: str) -> None:
        self.trainer = Trainer(policy)
        self.done: dict[str, dict[str, Any] | bytes] = {}
        self.seen: list[str] = []

    def future(self, result: dict[str, Any] | bytes) -> web.Response:
        name = f"r{len(self.done)}"
        self.done[name] = result
        return web.json_response({"request_id": name, "model_id": "run:train:0"})

    async def handle(self, request: web.Request) -> web.Response:
        path = request.path.removeprefix("/api/v1/")
        self.seen.append(path)
        body = await request.read()
        if path == "forward_backward":
            return self.future(self.trainer.forward_backward(body))
        told = json.loads(body) if body else {}
        if path == "client/config":
            return web.json_response({"use_pyqwest_transport": False, "parallel_fwdbwd_chunks": False})
        if path == "create_session":
            return web.json_response({"session_id": "s0", "type": "create_session"})
        if path == "create_model":
            return self.future({"model_id": "run:train:0", "type": "create_model"})
        if path == "get_info":
            data = {"arch": "llama", "model_name": "tiny", "tokenizer_id": "tiny"}
            answer = {
                "type": "get_info",
                "model_data": data,
                "model_id": "run:train:0",
                "is_lora": True,
                "lora_rank": 32,
            }
            return web.json_response(answer | {"model_name": "tiny"})
        if path == "optim_step":
            return self.future(self.trainer.optim_step(told["adam_params"]))
        if path == "save_weights":
            return self.future({"path": self.trainer.save(told["path"]), "type": "save_weights"})
        if path == "load_weights":
            self.trainer.load(told["path"])
            return self.future({"path": told["path"], "model_id": "run:train:0", "type": "load_weights"})
        if path == "save_weights_for_sampler":
            where = f"tinker://run:train:0/sampler_weights/{told['path']}"
            return self.future({"path": where, "type": "save_weights_for_sampler"})
        if path == "weights_info":
            answer = {"base_model": "tiny", "is_lora": True, "lora_rank": 32, "train_mlp": True, "train_attn": True}
            return web.json_response(answer | {"train_unembed": True})
        if path == "retrieve_future":
            found = self.done[told["request_id"]]
            if isinstance(found, bytes):
                return web.Response(body=found, content_type="application/x-protobuf")
            return web.json_response(found)
        if path in ("healthz", "session_heartbeat", "telemetry", "get_server_capabilities"):
            return web.json_response({"status": "ok", "type": path, "supported_models": []})
        return web.json_response({"error": f"no route {path}"}, status=404)


async def main(policy: str, port_file: Path) -> None:
    """Serve until killed."""
    app = web.Application(client_max_size=1 << 28)
    server = Server(policy)
    app.router.add_route("*", "/api/v1/{rest:.*}", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port_file.write_text(str(runner.addresses[0][1]))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
