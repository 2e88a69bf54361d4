"""What the fake servers sample: ids drawn by seed, one by one in time, each under the weights of its moment.

Invariant: like a real engine's scheduler, it stops between tokens only: a pause, a swap or an abort takes effect there.
"""

import asyncio
import math
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Token(NamedTuple):
    """One sampled token."""

    id: int
    logprob: float
    version: str


@dataclass
class Call:
    """A call in flight."""

    prompt: Sequence[int]
    tokens: list[Token] = field(default_factory=list)
    finish: str = ""  # "stop" | "length" | "abort"
    aborted: bool = False


@dataclass
class FakePolicy:
    """Samples `tokens` ids a call from [first, vocabulary), the last of them a stop token, within `seconds`."""

    vocabulary: int = 50_000
    first: int = 1000
    tokens: int = 64
    spread: int = 0  # by how many fewer tokens a call may end, by its seed
    seconds: float = 0.0  # 0: at once
    chunk: int = 8  # tokens between two looks at the clock, the pause and the aborts
    layers: int = 3
    experts: int = 64
    top_k: int = 4
    version: str = "default"
    context: int = 262_144
    tokenizer: str = ""  # path of a tokenizer.json; "": the server has none
    deltas: int = 0  # SGLang's --incremental-streaming-output: 1 streams what is new only
    logprobs_mode: str = "raw_logprobs"  # vLLM's --logprobs-mode
    calls: int = 0
    aborts: int = 0
    prompt_tokens: int = 0
    loads: list[str] = field(default_factory=list)
    adapters: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    open: dict[str, Call] = field(default_factory=dict)
    running: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.running.set()

    def state(self) -> dict[str, Any]:
        """What tests and benchmarks ask a fake about itself."""
        return {
            "calls": self.calls,
            "aborts": self.aborts,
            "prompt_tokens": self.prompt_tokens,
            "open": len(self.open),
            "paused": not self.running.is_set(),
            "version": self.version,
            "loads": self.loads,
            "adapters": self.adapters,
        }

    def take_fault(self, name: str) -> bool:
        """Whether this fault was ordered; ordered once, it happens once."""
        if self.fault != name:
            return False
        self.fault = ""
        return True

    async def sample(
        self, rid: str, prompt: Sequence[int], max_tokens: int, stop: Sequence[int], seed: int | None
    ) -> AsyncIterator[Call]:
        """The growing call, after each chunk and once more when it has ended."""
        await self.running.wait()
        call = self.open[rid] = Call(prompt)
        self.calls += 1
        self.prompt_tokens += len(prompt)
        draw = random.Random(f"{seed}/{len(prompt)}")
        count = self.tokens - (draw.randrange(self.spread + 1) if self.spread else 0)
        ids = draw.choices(range(self.first, self.vocabulary), k=count)
        if stop:
            ids[-1] = stop[0]
        cut = ids[:max_tokens]
        logprob = -math.log(self.vocabulary - self.first)
        try:
            for start in range(0, len(cut), self.chunk):
                if self.seconds:
                    await asyncio.sleep(self.seconds * self.chunk / len(cut))
                await self.running.wait()
                if call.aborted:
                    call.finish = "abort"
                    break
                call.tokens += [Token(i, logprob, self.version) for i in cut[start : start + self.chunk]]
                if start + self.chunk < len(cut):
                    yield call
            call.finish = call.finish or ("stop" if stop and len(cut) == len(ids) else "length")
            yield call
        finally:
            self.open.pop(rid, None)
            self.aborts += call.finish in ("", "abort")

    def abort(self, rid: str) -> int:
        """End the calls whose id begins with `rid` at their next token; "" ends all. How many."""
        hit = [call for name, call in self.open.items() if name.startswith(rid)]
        for call in hit:
            call.aborted = True
        return len(hit)

    def routes(self, call: Call, start: int) -> npt.NDArray[np.int32]:
        """Experts [n, layers, top_k] of positions start.. : a function of position and id, so that a shift shows."""
        ids = np.array([*call.prompt, *(token.id for token in call.tokens)], dtype=np.int64)[:-1]
        return expected_routes(ids, self.layers, self.top_k, self.experts)[start:]


def expected_routes(ids: npt.NDArray[np.int64], layers: int, top_k: int, experts: int) -> npt.NDArray[np.int32]:
    """The fake router's choice for every input token: [len(ids), layers, top_k]."""
    base = (np.arange(len(ids)) * 7 + ids)[:, None, None]
    choice = base + 13 * np.arange(layers)[None, :, None] + np.arange(top_k)[None, None, :]
    return (choice % experts).astype(np.int32)


def spans(tokens: Sequence[Token]) -> list[dict[str, Any]]:
    """Version spans over a call's tokens, as both servers report them."""
    found: list[dict[str, Any]] = []
    for at, token in enumerate(tokens):
        if found and found[-1]["version"] == token.version:
            found[-1]["end"] = at + 1
        else:
            found.append({"version": token.version, "start": at, "end": at + 1})
    return found
