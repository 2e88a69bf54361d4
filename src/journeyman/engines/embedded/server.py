"""The sampler process: `python -m journeyman.engines.embedded.server`. One thread: read frames, step, answer frames.

It lives as long as its socket: when the driver goes away, it ends. A request that cannot be done fails alone.
"""

import argparse
import select
import socket
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from journeyman.engines.embedded.cache import Rows, Store
from journeyman.engines.embedded.frames import Frame, Unpacker, pack
from journeyman.engines.embedded.sampling import Draw
from journeyman.engines.embedded.scheduler import Call, Scheduler, arrays, prompt_array
from journeyman.engines.embedded.weights import Weights
from journeyman.errors import EngineFailure, boundary

REPORT_EVERY = 16  # tokens of an open call between two reports


class Sampler:
    """Turns frames into scheduler actions and progress into frames."""

    def __init__(self, connection: socket.socket, options: argparse.Namespace) -> None:
        device = torch.device(options.device)
        self.weights = Weights(Path(options.weights), device, getattr(torch, options.dtype))
        config = self.weights.model.config.get_text_config()
        self.vocabulary = config.vocab_size
        self.context = min(options.context or 1 << 30, config.max_position_embeddings)
        heads = config.num_key_value_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        rows = Rows(config.num_hidden_layers, options.rows, heads, size, self.context, device, self.weights.model.dtype)
        self.scheduler = Scheduler(self.weights.forward, options.version, rows, Store(options.store_tokens))
        self.connection = connection
        self.unpacker = Unpacker()
        self.outgoing = bytearray()
        self.closing = False
        self.paused = False
        self.busy_seconds = 0.0
        self._send({"is": "ready", "context": self.context, "version": options.version})

    def _send(self, header: dict[str, Any], payload: bytes = b"") -> None:
        self.outgoing += pack(header, payload)

    def serve(self) -> None:
        """Until the driver closes."""
        self.connection.setblocking(False)
        while not self.closing:
            works = self.scheduler.busy and not self.paused
            self._exchange(0.0 if works else None)
            if self.scheduler.busy and not self.paused and not self.closing:
                started = time.perf_counter()
                for call in self.scheduler.step():
                    self._report(call)
                self.busy_seconds += time.perf_counter() - started

    def _exchange(self, timeout: float | None) -> None:
        """Write what is due and read what is there; waits up to `timeout` seconds (None: until something happens)."""
        writers = [self.connection] if self.outgoing else []
        readable, writable, _ = select.select([self.connection], writers, [], timeout)
        if writable:
            sent = self.connection.send(self.outgoing)
            del self.outgoing[:sent]
        if readable:
            data = self.connection.recv(1 << 20)
            if not data:
                self.closing = True
                return
            for frame in self.unpacker.feed(data):
                self._answer(frame)

    def _answer(self, frame: Frame) -> None:
        """A request that cannot be done fails alone: others have calls open here."""
        try:
            with boundary("engine"):
                self._handle(frame)
        except EngineFailure as failure:
            call, detail = frame.header.get("call"), f"{failure.cause}: {failure.detail}"
            self._send({"is": "error", "call": call, "cause": "bad_request", "detail": detail})

    def _handle(self, frame: Frame) -> None:
        header = frame.header
        kind = header["do"]
        if kind == "sample":
            self._admit(frame)
        elif kind == "abort":
            for call in self.scheduler.abort(lambda call: call.number == header["call"]):
                self._report(call)
        elif kind == "release":
            self.scheduler.store.drop(header["lineage"])
        elif kind == "pause":
            self.paused = header["paused"]
        elif kind == "load":
            self._load(header)
        elif kind == "statistics":
            self._send({"is": "statistics", "call": header["call"], **self._statistics()})
        else:
            self._send({"is": "error", "call": header.get("call"), "cause": "unknown_request", "detail": str(kind)})

    def _admit(self, frame: Frame) -> None:
        header = frame.header
        prompt = prompt_array(frame.payload)
        room = self.context - len(prompt)
        if room < 1 or not len(prompt):
            detail = f"{len(prompt)} prompt tokens leave no room in a context of {self.context}"
            self._send({"is": "error", "call": header["call"], "cause": "prompt_too_long", "detail": detail})
            return
        if prompt.min() < 0 or prompt.max() >= self.vocabulary:
            raise ValueError(f"a prompt of ids {prompt.min()} to {prompt.max()}: there are {self.vocabulary}")
        draw = Draw(header["temperature"], header["top_p"], header["top_k"], np.random.default_rng(header["seed"]))
        self.scheduler.add(
            Call(
                number=header["call"],
                lineage=header["lineage"],
                prompt=prompt,
                max_tokens=min(header["max_tokens"], room),
                stop=frozenset(header["stop"]),
                draw=draw,
            )
        )

    def _load(self, header: dict[str, Any]) -> None:
        try:
            forward = self.weights.reload(Path(header["path"]))
        except (OSError, ValueError, RuntimeError) as error:
            self._send({"is": "error", "call": header["call"], "cause": "weights_unreadable", "detail": str(error)})
            return
        self.scheduler.swap(forward, header["version"])
        self._send({"is": "loaded", "call": header["call"], "version": header["version"]})

    def _report(self, call: Call) -> None:
        new = len(call.ids) - call.sent
        if call.finish or new >= REPORT_EVERY:
            self._send({"is": "tokens", "call": call.number, "count": new, "finish": call.finish}, arrays(call))
            call.sent += new

    def _statistics(self) -> dict[str, float]:
        s = self.scheduler
        return {
            "steps": s.steps,
            "prefilled_tokens": s.prefilled,
            "reused_tokens": s.reused,
            "sampled_tokens": s.sampled,
            "busy_seconds": self.busy_seconds,
            "stored_prefixes": len(s.store),
        }


def main(arguments: list[str] | None = None) -> int:
    """Serve the socket inherited as file descriptor `--fd`."""
    parser = argparse.ArgumentParser(prog="journeyman.engines.embedded.server", description=__doc__)
    parser.add_argument("--fd", type=int, required=True, help="inherited unix socket")
    parser.add_argument("--weights", required=True, help="checkpoint directory")
    parser.add_argument("--version", type=int, default=0)
    parser.add_argument("--rows", type=int, default=48, help="calls decoded together")
    parser.add_argument("--context", type=int, default=0, help="positions per row; 0: the model's own")
    parser.add_argument("--store-tokens", type=int, default=131_072, help="tokens of kept prefixes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)  # sharp attention leaves denormal probabilities, and those are ten times slower
    torch.set_grad_enabled(False)
    with socket.socket(fileno=options.fd) as connection:
        try:
            with boundary("engine"):
                sampler = Sampler(connection, options)
        except EngineFailure as failure:
            connection.sendall(pack({"is": "unusable", "detail": f"{failure.cause}: {failure.detail}"}))
            return 1
        sampler.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
