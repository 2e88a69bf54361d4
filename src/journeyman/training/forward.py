"""Log-probs of trained tokens at the sampling temperature, in fp32, micro-batch by micro-batch, without padding.

Three ways with one result: `lean` (plain Llama: shared prefixes computed once), `packed` (any attention-only causal LM:
position ids reset, block-diagonal mask), `rows` (one row per call: exact for every architecture, also hybrids whose
recurrent state would leak across a pack). Packed == separate is a test on each architecture we ship.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from journeyman.errors import UserError
from journeyman.training.config import ForwardConfig
from journeyman.training.lean import LeanLlama, RootCache, supports
from journeyman.training.lean_ops import TemperedLogProb
from journeyman.training.prefix import TrainRow, common_length, forest, order

ATTENTION_ONLY = {"llama", "qwen2", "qwen3", "qwen3_moe", "mistral", "gemma2", "phi3", "olmo2", "smollm3"}
MIN_ROOT = 32  # ids; a shorter common beginning is not worth a pass of its own


@dataclass(frozen=True)
class Scored:
    """Trained tokens of the given rows, row by row, targets ascending. n = their number."""

    logp: Tensor  # [n] fp32, carries the gradient
    entropy: Tensor  # [n] fp32, nats, of the tempered distribution; no gradient


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


class Forward(Protocol):
    """A way of scoring rows."""

    def open(self, rows: Sequence[TrainRow], atoms: Sequence[Sequence[int]] | None = None) -> Session:
        """Start a batch. `atoms`: rows that must share a micro-batch; None: every row by itself."""
        ...


def make_forward(model: nn.Module, config: ForwardConfig, temperature: float = 1.0) -> Forward:
    """The forward for this model. Raises UserError where the architecture cannot be computed that way exactly."""
    kind = config.kind
    model_type = str(getattr(model.config, "model_type", ""))
    if kind == "auto":
        kind = "lean" if supports(model) else "packed" if model_type in ATTENTION_ONLY else "rows"
    if kind == "lean" and not supports(model):
        raise UserError(f'forward kind "lean" computes plain Llama models, not {model_type!r}: use "packed" or "rows"')
    if kind == "packed" and model_type not in ATTENTION_ONLY:
        raise UserError(f'{model_type!r} is not known to pack exactly (state may leak across rows): use kind = "rows"')
    if kind == "lean":
        return LeanForward(LeanLlama(model), config.micro_tokens, temperature)
    return HfForward(model, config.micro_tokens, temperature, one_row=kind == "rows")


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


class HfForward:
    """Scoring with a Hugging Face causal LM as it is."""

    def __init__(self, model: nn.Module, micro_tokens: int, temperature: float, one_row: bool) -> None:
        self.model, self.micro_tokens, self.temperature, self.one_row = model, micro_tokens, temperature, one_row

    def open(self, rows: Sequence[TrainRow], atoms: Sequence[Sequence[int]] | None = None) -> Session:
        """Start a batch."""
        return _HfSession(self, rows, atoms)


class _HfSession:
    def __init__(self, forward: HfForward, rows: Sequence[TrainRow], atoms: Sequence[Sequence[int]] | None) -> None:
        self.forward, self.rows, self.atoms = forward, rows, atoms

    def micro_batches(self) -> Iterator[list[int]]:
        yield from plan(self.rows, self.atoms, self.forward.micro_tokens, 0)

    def score(self, indexes: Sequence[int]) -> Scored:
        parts = [log_probs(*read, self.forward.temperature) for read in self._reads(indexes)]
        return Scored(torch.cat([p.logp for p in parts]), torch.cat([p.entropy for p in parts]))

    def values(self, indexes: Sequence[int]) -> Tensor:
        return torch.cat([logits[:, 0].float() for logits, _ in self._reads(indexes)])

    def _reads(self, indexes: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
        chosen = [self.rows[i] for i in indexes]
        groups = [[row] for row in chosen] if self.forward.one_row else [chosen]
        return [self._packed(rows) for rows in groups]

    def _packed(self, rows: Sequence[TrainRow]) -> tuple[Tensor, Tensor]:
        """Logits [n, outputs] and targets [n] of rows in one sequence."""
        model = self.forward.model
        parameter = next(model.parameters())
        sizes = [len(r.ids) for r in rows]
        offsets = np.cumsum([0, *sizes[:-1]])
        ids = torch.from_numpy(np.concatenate([r.ids for r in rows]))[None].to(parameter.device)
        positions = torch.from_numpy(np.concatenate([np.arange(n) for n in sizes]))[None].to(parameter.device)
        arguments: dict[str, Any] = {}
        if len(rows) > 1:
            owner = torch.repeat_interleave(torch.arange(len(rows)), torch.tensor(sizes))
            allowed = torch.ones(len(owner), len(owner), dtype=torch.bool).tril() & (owner[:, None] == owner[None, :])
            low = torch.finfo(parameter.dtype).min
            mask = torch.zeros(allowed.shape, dtype=parameter.dtype).masked_fill(~allowed, low)
            arguments["attention_mask"] = mask[None, None].to(parameter.device)
        places = np.concatenate([o + r.targets - 1 for o, r in zip(offsets, rows, strict=True)])
        targets = np.concatenate([r.ids[r.targets] for r in rows])
        keep = torch.from_numpy(places).to(parameter.device)
        out = model(input_ids=ids, position_ids=positions, use_cache=False, logits_to_keep=keep, **arguments)
        return out.logits[0], torch.from_numpy(targets).to(parameter.device)

    def finish(self) -> None:
        """Nothing is left."""
