"""Log-probs of trained tokens at the sampling temperature, in fp32, micro-batch by micro-batch, without padding.

Three ways with one result: `lean` (plain Llama: shared prefixes computed once), `packed` (position ids start again,
block-diagonal mask; refused where the model itself shows that a neighbour changes a row), `rows` (one row per call:
exact for every architecture, also hybrids whose recurrent state runs on across a pack).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from journeyman.errors import UserError
from journeyman.training.config import ForwardConfig
from journeyman.training.exactness import packed_inputs, packing_gap, packs_exactly, window_of
from journeyman.training.lean import LeanLlama, RootCache, supports
from journeyman.training.lean_ops import TemperedLogProb
from journeyman.training.prefix import TrainRow, common_length, forest, order
from journeyman.training.routing_replay import RoutingReplay, routers_of

MIN_ROOT = 32  # ids; a shorter common beginning is not worth a pass of its own


@dataclass(frozen=True)
class Scored:
    """Trained tokens of the given rows, row by row, targets ascending. n = their number."""

    logp: Tensor  # [n] fp32, carries the gradient
    entropy: Tensor  # [n] fp32, nats, of the tempered distribution; no gradient
    balance: Tensor | None = None  # sum over rows of ids x load-balancing loss; None: not asked for, or no router


class Session(Protocol):
    """One optimiser batch."""

    def micro_batches(self) -> Iterator[list[int]]:
        """Row indexes, each exactly once."""
        ...

    def score(self, indexes: Sequence[int]) -> Scored:
        """Score these rows; call backward on a loss of it before the next call."""
        ...

    def values(self, indexes: Sequence[int]) -> Tensor:
        """[n] fp32: what a model with one output says before each trained token of these rows, in `score`'s order."""
        ...

    def finish(self) -> None:
        """Send what is left of the gradient into the parameters; call once, after the last backward."""
        ...


class Pace(Protocol):
    """Processes that hold one model together: a call of it is made by all of them or by none."""

    def agree(self, calls: Sequence[int]) -> list[int]:
        """For every micro-batch the most calls that any process needs; the longest list decides how many there are."""
        ...


class Forward(Protocol):
    """A way of scoring rows."""

    def open(self, rows: Sequence[TrainRow], atoms: Sequence[Sequence[int]] | None = None) -> Session:
        """Start a batch. `atoms`: rows that must share a micro-batch; None: every row by itself."""
        ...


def make_forward(
    model: nn.Module,
    config: ForwardConfig,
    temperature: float = 1.0,
    balance: bool = False,
    pace: Pace | None = None,
) -> Forward:
    """The forward for this model; `balance`: also a router's load-balancing loss; `pace`: given iff it is sharded.

    Raises UserError where the architecture cannot be computed that way exactly.
    """
    kind = config.kind
    model_type = str(getattr(model.config, "model_type", ""))
    if kind == "auto":
        kind = "lean" if supports(model) else "packed" if packs_exactly(model) else "rows"
    if kind == "lean" and not supports(model):
        raise UserError(
            f'forward kind "lean" computes plain Llama models in one piece on a CPU, and this is {model_type!r}: '
            'use "packed" or "rows"'
        )
    if kind == "packed" and not packs_exactly(model):
        raise UserError(
            f"{model_type!r} cannot be packed exactly: a neighbour changes a row's logits by {packing_gap(model):.1e} "
            'of the largest; use forward kind "rows"'
        )
    if kind == "lean":
        return LeanForward(LeanLlama(model), config.micro_tokens, temperature)
    return HfForward(model, config.micro_tokens, temperature, one_row=kind == "rows", balance=balance, pace=pace)


def log_probs(logits: Tensor, targets: Tensor, temperature: float, rows: Tensor | None = None) -> Scored:
    """Tempered log-probs of `targets` [n] from logits [r, vocabulary]; `rows` [n]: which row predicts each."""
    where = torch.arange(len(targets), device=logits.device) if rows is None else rows
    logp, entropy = TemperedLogProb.apply(logits.float(), targets, where, temperature)  # type: ignore[no-untyped-call]
    return Scored(logp, entropy)


def plan(rows: Sequence[TrainRow], atoms: Sequence[Sequence[int]] | None, budget: int, share: int) -> list[list[int]]:
    """Micro-batches of at most `budget` ids (a longer atom goes alone); neighbours share prefixes beyond `share`."""
    units = [list(a) for a in atoms] if atoms is not None else [[i] for i in range(len(rows))]
    rank = {row: place for place, row in enumerate(order(rows))}
    units.sort(key=lambda unit: min(rank[i] for i in unit))
    batches: list[list[int]] = []
    used = budget + 1
    for unit in units:
        previous = rows[batches[-1][-1]].ids if batches else None
        new = sum(len(rows[i].ids) - share for i in unit)
        if previous is not None and len(unit) == 1:
            new -= max(0, common_length([previous, rows[unit[0]].ids]) - share)
        if used + new > budget:
            batches.append([])
            used, new = 0, sum(len(rows[i].ids) - share for i in unit)
        batches[-1] += unit
        used += new
    return batches


class LeanForward:
    """Scoring with `LeanLlama`."""

    def __init__(self, lean: LeanLlama, micro_tokens: int, temperature: float) -> None:
        self.lean, self.micro_tokens, self.temperature = lean, micro_tokens, temperature

    def open(self, rows: Sequence[TrainRow], atoms: Sequence[Sequence[int]] | None = None) -> Session:
        """Start a batch: what all rows begin with is computed first."""
        return _LeanSession(self, rows, atoms)


class _LeanSession:
    def __init__(self, forward: LeanForward, rows: Sequence[TrainRow], atoms: Sequence[Sequence[int]] | None) -> None:
        self.forward, self.rows, self.atoms = forward, rows, atoms
        self.cache: RootCache | None = None
        scored = [r for r in rows if len(r.targets)]
        if len(scored) > 1:
            # a root never holds a predictor: it ends before the first one
            limit = min(int(r.targets[0]) - 1 for r in scored)
            length = min(limit, common_length([r.ids for r in scored]))
            if length >= MIN_ROOT:
                self.cache = forward.lean.root(scored[0].ids[:length])

    @property
    def _root(self) -> int:
        return 0 if self.cache is None else self.cache.length

    def micro_batches(self) -> Iterator[list[int]]:
        yield from plan(self.rows, self.atoms, self.forward.micro_tokens, self._root)

    def score(self, indexes: Sequence[int]) -> Scored:
        if (read := self._read(indexes)) is None:
            return _nothing(self.forward.lean.model)
        logits, targets, index = read
        return log_probs(logits, targets, self.forward.temperature, index)

    def values(self, indexes: Sequence[int]) -> Tensor:
        if (read := self._read(indexes)) is None:
            return _nothing(self.forward.lean.model).logp
        logits, _, index = read
        return logits[index, 0].float()

    def _read(self, indexes: Sequence[int]) -> tuple[Tensor, Tensor, Tensor] | None:
        """Logits [r, outputs], targets [n] and which row of the logits predicts each [n]; None: nothing is trained."""
        chosen = [self.rows[i] for i in indexes if len(self.rows[i].targets)]
        if not chosen:
            return None
        trunk = forest([_needed(row) for row in chosen], self._root)
        sizes = [len(p.ids) for p in trunk.pieces]
        offsets = np.cumsum([0, *sizes[:-1]])
        places, targets = [], []
        for row, chain in zip(chosen, trunk.chains, strict=True):
            starts = np.array([trunk.pieces[i].start for i in chain])
            which = np.searchsorted(starts, row.targets - 1, side="right") - 1
            places.append(offsets[np.array(chain)[which]] + row.targets - 1 - starts[which])
            targets.append(row.ids[row.targets])
        unique, index = np.unique(np.concatenate(places), return_inverse=True)
        hidden = self.forward.lean.hidden(trunk, torch.from_numpy(unique), self.cache)
        logits = self.forward.lean.logits(hidden)
        return logits, torch.from_numpy(np.concatenate(targets)), torch.from_numpy(index)

    def finish(self) -> None:
        if self.cache is not None:
            self.cache.backward()


def _needed(row: TrainRow) -> TrainRow:
    """The row without what no trained token looks at: its last one is predicted, not read."""
    return TrainRow(row.ids[: int(row.targets[-1])], row.targets)


def _nothing(model: nn.Module) -> Scored:
    """No trained token: empty, yet with a graph, so that a loss of it can be sent backward."""
    empty = next(model.parameters()).flatten()[:0].float()
    return Scored(empty, empty.detach())


_IDLE = TrainRow(np.zeros(2, np.int64), np.zeros(0, np.int64), None)
"""Nothing is trained on it: it only lets a process call the model as often as the others."""


class HfForward:
    """Scoring with a Hugging Face causal LM as it is."""

    def __init__(
        self,
        model: nn.Module,
        micro_tokens: int,
        temperature: float,
        one_row: bool,
        balance: bool = False,
        pace: Pace | None = None,
    ) -> None:
        self.pace = pace
        self.model, self.micro_tokens, self.temperature, self.one_row = model, micro_tokens, temperature, one_row
        self.window = window_of(model)
        routers = routers_of(model)
        self.replay = RoutingReplay(routers, watch=balance) if routers else None

    def open(self, rows: Sequence[TrainRow], atoms: Sequence[Sequence[int]] | None = None) -> Session:
        """Start a batch. Raises UserError where rows carry routes that this model cannot replay."""
        if self.replay is not None:
            self.replay.open(rows)
        elif any(row.routes is not None for row in rows):
            raise UserError("the rows carry routed experts and this model has no router: build them without routes")
        return _HfSession(self, rows, atoms)


class _HfSession:
    def __init__(self, forward: HfForward, rows: Sequence[TrainRow], atoms: Sequence[Sequence[int]] | None) -> None:
        self.forward, self.rows, self.atoms = forward, rows, atoms
        self._calls = 0  # of the model that this micro-batch makes at least

    def micro_batches(self) -> Iterator[list[int]]:
        """As `Session`; where other processes of a sharded model have more to do, empty ones at the end."""
        own = plan(self.rows, self.atoms, self.forward.micro_tokens, 0)
        if self.forward.pace is None:
            yield from own
            return
        agreed = self.forward.pace.agree([len(self._sequences(indexes)) for indexes in own])
        for at, self._calls in enumerate(agreed):
            yield own[at] if at < len(own) else []

    def score(self, indexes: Sequence[int]) -> Scored:
        parts, balance = [], None
        for rows in self._sequences(indexes):
            parts.append(log_probs(*self._packed(rows), self.forward.temperature))
            if self.forward.replay is not None and self.forward.replay.watch:
                share = self.forward.replay.balance([len(r.ids) for r in rows])
                balance = share if balance is None else balance + share
        for _ in range(self._calls - len(parts)):
            parts.append(log_probs(*self._packed([_IDLE]), self.forward.temperature))
        return Scored(torch.cat([p.logp for p in parts]), torch.cat([p.entropy for p in parts]), balance)

    def values(self, indexes: Sequence[int]) -> Tensor:
        parts = [self._packed(rows)[0][:, 0].float() for rows in self._sequences(indexes)]
        parts += [self._packed([_IDLE])[0][:, 0].float() for _ in range(self._calls - len(parts))]
        return torch.cat(parts)

    def _sequences(self, indexes: Sequence[int]) -> list[list[TrainRow]]:
        chosen = [self.rows[i] for i in indexes]
        if not chosen:
            return []
        window = self.forward.window
        alone = self.forward.one_row or (window is not None and any(len(r.ids) > window for r in chosen))
        return [[row] for row in chosen] if alone else [chosen]

    def _packed(self, rows: Sequence[TrainRow]) -> tuple[Tensor, Tensor]:
        """Logits [n, outputs] and targets [n] of rows in one sequence."""
        model = self.forward.model
        parameter = next(model.parameters())
        sizes = [len(r.ids) for r in rows]
        offsets = np.cumsum([0, *sizes[:-1]])
        ids = torch.from_numpy(np.concatenate([r.ids for r in rows]))[None].to(parameter.device)
        arguments = packed_inputs(sizes, parameter.dtype, parameter.device)
        if self.forward.replay is not None:
            self.forward.replay.begin(_play(rows, parameter.device))
        places = np.concatenate([o + r.targets - 1 for o, r in zip(offsets, rows, strict=True)])
        targets = np.concatenate([r.ids[r.targets] for r in rows])
        keep = torch.from_numpy(places).to(parameter.device)
        out: Any = model(input_ids=ids, use_cache=False, logits_to_keep=keep, **arguments)
        return out.logits[0], torch.from_numpy(targets).to(parameter.device)

    def finish(self) -> None:
        if self.forward.replay is not None:
            self.forward.replay.close()


def _play(rows: Sequence[TrainRow], device: torch.device) -> Tensor | None:
    """[T, layers, top_k] experts of packed rows, -1 where none was recorded; None where no row has any."""
    shape = next((r.routes.shape[1:] for r in rows if r.routes is not None), None)
    if shape is None:
        return None
    parts = []
    for row in rows:
        part = np.full((len(row.ids), *shape), -1, dtype=np.int64)
        if row.routes is not None:
            part[: len(row.routes)] = row.routes
        parts.append(part)
    return torch.from_numpy(np.concatenate(parts)).to(device)
