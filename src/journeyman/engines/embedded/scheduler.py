"""Continuous decoding: calls enter, are prefilled once, and are decoded together, one token per step, until they stop.

Invariants: a call's tokens do not depend on the batch it ran in; weights change only between two steps; a prefix is
reused only if one version computed all of it.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from journeyman.engines.embedded.cache import Ids, Piece, Prefix, Rows, Store, common_length
from journeyman.engines.embedded.sampling import Draw, sample

PREFILL_TOKENS = 2048  # computed for prompts in one step, about
MIN_SHARED = 32  # tokens; less is not worth waiting for


class Forward(Protocol):
    """A model over rows: `LeanLlama` or `HuggingFaceForward`."""

    def prefill(self, rows: Rows, pieces: Sequence[Piece]) -> Tensor:
        """Logits [P, V] of each piece's last token."""
        ...

    def decode(self, rows: Rows, ids: Tensor, positions: Tensor, mask: Tensor, longest: int) -> Tensor:
        """Logits [B, V] after one token for each of rows 0..B."""
        ...


@dataclass
class Call:
    """One model call in the sampler."""

    number: int
    lineage: str
    prompt: Ids
    max_tokens: int
    stop: frozenset[int]
    draw: Draw
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    sent: int = 0  # tokens already reported
    row: int = -1
    length: int = 0  # positions of the row that hold keys and values
    version: int = -1  # of all keys and values in the row; -1 once a swap has mixed them
    finish: str = ""  # "" while open

    def known(self) -> Ids:
        """Ids whose keys and values are in the row."""
        whole = np.concatenate([self.prompt, np.asarray(self.ids, dtype=np.int32)])
        return whole[: self.length]


class Scheduler:
    """Owns the rows and the calls. `forward` is exchanged by `swap`."""

    def __init__(self, forward: Forward, version: int, rows: Rows, store: Store) -> None:
        self.forward, self.version = forward, version
        self.rows, self.store = rows, store
        self.waiting: deque[Call] = deque()
        self.active: dict[int, Call] = {}  # row -> call
        self.free = sorted(range(rows.keys.shape[1]), reverse=True)
        self.steps = 0
        self.prefilled = 0  # tokens computed for prompts
        self.reused = 0  # prompt tokens served from a stored prefix
        self.sampled = 0

    def add(self, call: Call) -> None:
        """Queue a call."""
        self.waiting.append(call)

    def swap(self, forward: Forward, version: int) -> None:
        """New weights from the next step on. Open calls stay open and keep their cache; stored prefixes go."""
        self.forward, self.version = forward, version
        self.store.drop_all()
        for call in self.active.values():
            call.version = -1

    def abort(self, matches: Callable[[Call], bool]) -> list[Call]:
        """End matching calls without keeping their cache; returns them."""
        gone = [call for call in [*self.waiting, *self.active.values()] if matches(call)]
        for call in gone:
            call.finish = "aborted"
            if call.row >= 0:
                self._leave(call)
        self.waiting = deque(call for call in self.waiting if not call.finish)
        return gone

    @property
    def busy(self) -> bool:
        """Whether a step would do anything."""
        return bool(self.waiting or self.active)

    @torch.inference_mode()
    def step(self) -> list[Call]:
        """Admit what fits, decode one token for every open call; returns the calls that advanced."""
        decoding = list(self.active.values())
        entered = self._enter()
        self._close_gaps()
        calls, logits = [*entered], []
        if entered:
            logits.append(self._prefill(entered))
        if decoding:
            logits.append(self._decode(decoding))
            calls += decoding
        if calls:
            self._emit(calls, torch.cat(logits))
        self.steps += 1
        return calls

    def _enter(self) -> list[Call]:
        """Give rows to waiting calls: as many as have room and as one step should prefill.

        A call that shares a longer beginning with one that enters now waits a step and copies it then.
        """
        entered: list[Call] = []
        later: list[Call] = []
        tokens = 0
        while self.waiting and self.free and tokens < PREFILL_TOKENS:
            call = self.waiting.popleft()
            source, covered = self._best_source(call)
            if any(_shared(call, other) > covered + MIN_SHARED for other in entered):
                later.append(call)
                continue
            call.row = self.free.pop()
            call.length = covered
            self.active[call.row] = call
            if isinstance(source, Prefix):
                self.rows.restore(call.row, source, covered)
            elif source is not None:
                self.rows.copy(source, call.row, covered)
            tokens += len(call.prompt) - covered
            entered.append(call)
        self.waiting.extendleft(reversed(later))
        return entered

    def _close_gaps(self) -> None:
        """Move calls from the highest rows into free lower ones: a copy costs less than a step of an empty row."""
        while self.free and self.active and self.free[-1] < (top := max(self.active)):
            call = self.active.pop(top)
            call.row = self.free.pop()
            self.rows.copy(top, call.row, call.length)
            self.active[call.row] = call
            self.free.append(top)
            self.free.sort(reverse=True)

    def _prefill(self, calls: list[Call]) -> Tensor:
        """Fill the calls' rows with their prompts' keys and values; logits [P, V] of the last prompt tokens."""
        pieces = [Piece(call.row, call.length, call.prompt[call.length :]) for call in calls]
        for call, piece in zip(calls, pieces, strict=True):
            self.prefilled += len(piece.ids)
            self.reused += piece.start
            call.length, call.version = len(call.prompt), self.version
        return self.forward.prefill(self.rows, pieces)

    def _best_source(self, call: Call) -> tuple[Prefix | int | None, int]:
        """A stored prefix or the row of an open call that covers most of the prompt, and how much of it."""
        source: Prefix | int | None
        source, covered = self.store.best(call.lineage, call.prompt, self.version)
        if source is None or source is not self.store.get(call.lineage):
            for other in self.active.values():
                if other.version == self.version and (shared := _shared(call, other)) > covered:
                    source, covered = other.row, shared
        return source, covered

    def _decode(self, calls: list[Call]) -> Tensor:
        """Feed each call's last token; logits [B, V] in the order of `calls`. Rows without a call ride along."""
        height = max(call.row for call in calls) + 1
        device = self.rows.keys.device
        tokens = np.zeros(height, dtype=np.int64)
        at = np.zeros(height, dtype=np.int64)
        for row, call in self.active.items():
            if row < height:
                at[row] = call.length  # a call that has just been prefilled writes here again when its turn comes
        for call in calls:
            tokens[call.row] = call.ids[-1]
        longest = int(at.max()) + 1
        positions = torch.from_numpy(at).to(device)
        mask = torch.zeros(height, 1, longest, device=device)
        mask.masked_fill_(torch.arange(longest, device=device) > positions[:, None, None], -torch.inf)
        logits = self.forward.decode(self.rows, torch.from_numpy(tokens).to(device), positions, mask, longest)
        for call in calls:
            call.length += 1
        return logits[[call.row for call in calls]]

    def _emit(self, calls: list[Call], logits: Tensor) -> None:
        """Sample one token per call and finish those that stop."""
        tokens, logprobs = sample(logits, [call.draw for call in calls])
        self.sampled += len(calls)
        for call, token, logprob in zip(calls, tokens.tolist(), logprobs.tolist(), strict=True):
            call.ids.append(token)
            call.logprobs.append(logprob)
            call.versions.append(self.version)
            if token in call.stop:
                call.finish = "stop"
            elif len(call.ids) >= call.max_tokens:
                call.finish = "length"
            if call.finish:
                self._keep(call)
                self._leave(call)

    def _keep(self, call: Call) -> None:
        """Store the finished call's prefix for the lineage's next call."""
        if call.version == self.version:
            self.store.put(call.lineage, self.rows.take(call.row, call.known(), call.version))

    def _leave(self, call: Call) -> None:
        """Free the call's row; the lowest free row is always given out first, so that decoding stays dense."""
        del self.active[call.row]
        self.free.append(call.row)
        self.free.sort(reverse=True)
        call.row = -1


def _shared(call: Call, other: Call) -> int:
    """How much of the call's prompt another call's prompt begins with; never all of it."""
    return min(common_length(other.prompt, call.prompt), len(call.prompt) - 1)


def prompt_array(payload: bytes) -> NDArray[np.int32]:
    """Prompt ids from little-endian int32 bytes."""
    return np.frombuffer(payload, dtype="<i4").astype(np.int32)


def arrays(call: Call) -> bytes:
    """What a call has not reported yet: ids int32, log-probs float32, versions int32, one after the other."""
    new = slice(call.sent, len(call.ids))
    parts: tuple[tuple[list[Any], str], ...] = (
        (call.ids[new], "<i4"),
        (call.logprobs[new], "<f4"),
        (call.versions[new], "<i4"),
    )
    return b"".join(np.asarray(values, dtype=kind).tobytes() for values, kind in parts)
