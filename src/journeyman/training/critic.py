"""SAO's critic: a value model that starts from the policy checkpoint, with its own optimiser; it reads no observation.

V_t is the value head at position t - 1, the state before trained token t; nothing is read elsewhere.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from journeyman.training.batch import RlBatch
from journeyman.training.config import CriticConfig, ForwardConfig
from journeyman.training.forward import Pace, make_forward
from journeyman.training.gae import Estimates, estimate, explained_variance
from journeyman.training.optim import Optimiser
from journeyman.training.policy import restore, trained_state
from journeyman.training.prefix import TrainRow

FloatArray = npt.NDArray[np.float64]


class Critic:
    """Owns the value model and its cursor."""

    def __init__(
        self, model: nn.Module, settings: CriticConfig, forward: ForwardConfig, pace: Pace | None = None
    ) -> None:
        """`model`: of `load_critic`; `pace`: given iff it is sharded."""
        self.settings = settings
        self.model = model
        self.optimiser = Optimiser(self.model, settings.optimiser, of="critic")
        self.forward = make_forward(self.model, forward, pace=pace)
        self.batches = 0

    @property
    def pretraining(self) -> bool:
        """Whether the next batch trains the critic only."""
        return self.batches < self.settings.pretrain_steps

    def advise(self, batch: RlBatch) -> dict[str, float]:
        """Train on the batch, then write every token's advantage into it; returns figures."""
        labelled = float(self.pretraining)
        before = self.values(batch)
        targets = self._estimates(batch, before)[1]
        losses, norms = zip(*(self._update(batch, targets, before) for _ in range(self.settings.updates)), strict=True)
        self._write(batch, self.values(batch) if self.settings.value_refresh == "post" else before)
        self.batches += 1
        figures = {
            "value_loss": losses[0],
            "value_mean": float(np.concatenate(before).mean()),
            "critic_gradient_norm": norms[0],
            "critic_pretraining": labelled,
            "segments_too_long": float(batch.too_long),
        }
        explained = explained_variance(np.concatenate(targets), np.concatenate(before))
        return figures if explained is None else figures | {"explained_variance": explained}

    def estimate(self, batch: RlBatch) -> list[FloatArray]:
        """Write every token's advantage into the batch without training; returns the critic's targets per row."""
        values = self.values(batch)
        self._write(batch, values)
        return self._estimates(batch, values)[1]

    def _write(self, batch: RlBatch, values: list[FloatArray]) -> None:
        batch.token_advantage = [a.astype(np.float32) for a in self._estimates(batch, values)[0]]

    @torch.no_grad()
    def values(self, batch: RlBatch, mine: Sequence[int] | None = None) -> list[FloatArray]:
        """Per row [n]: V before each trained token; 0 in rows that are not `mine` (None: all are)."""
        found: list[FloatArray] = [np.zeros(len(row.targets)) for row in batch.rows]
        chosen = list(range(len(batch.rows))) if mine is None else list(mine)
        session = self.forward.open(_unrouted([batch.rows[i] for i in chosen]))
        for indexes in session.micro_batches():
            values = session.values(indexes).double().cpu()
            rows = [chosen[i] for i in indexes]
            for row, part in zip(rows, _split(values, batch, rows), strict=True):
                found[row] = part.numpy()
        return found

    def _estimates(self, batch: RlBatch, values: list[FloatArray]) -> tuple[list[FloatArray], list[FloatArray]]:
        """Advantages and targets per row; a member's rows are its segments in order."""
        advantages, targets = list(values), list(values)
        for rows in batch.atoms():
            made: Estimates = estimate(
                [values[i] for i in rows], batch.reward[rows[0]], self.settings.alpha, self.settings.gamma
            )
            for place, index in enumerate(rows):
                advantages[index], targets[index] = made.advantages[place], made.targets[place]
        return advantages, targets

    def _update(self, batch: RlBatch, targets: list[FloatArray], old: list[FloatArray]) -> tuple[float, float]:
        """One critic step; returns its loss and gradient norm."""
        self.optimiser.zero()
        loss = self._gradient(batch, targets, old)
        return loss, self.optimiser.step(1.0, loss)

    def _gradient(self, batch: RlBatch, targets: list[FloatArray], old: list[FloatArray]) -> float:
        return self.backward(batch, targets, old=old)

    def backward(
        self,
        batch: RlBatch,
        targets: list[FloatArray],
        mine: Sequence[int] | None = None,
        old: list[FloatArray] | None = None,
    ) -> float:
        """Add the gradient of these rows (None: all) to the parameters'; returns their share of the batch's loss."""
        chosen = list(range(len(batch.rows))) if mine is None else list(mine)
        session = self.forward.open(_unrouted([batch.rows[i] for i in chosen]))
        total = max(batch.totals.tokens, 1)
        loss = 0.0
        for indexes in session.micro_batches():
            rows = [chosen[i] for i in indexes]
            values = session.values(indexes)
            if not indexes:
                values.sum().backward()  # type: ignore[no-untyped-call]
                continue
            wanted = torch.from_numpy(np.concatenate([targets[i] for i in rows])).to(values)
            was = (
                values.detach() if old is None else torch.from_numpy(np.concatenate([old[i] for i in rows])).to(values)
            )
            part = value_loss(values, wanted, was, self.settings.value_clip) / total
            part.backward()  # type: ignore[no-untyped-call]
            loss += float(part.detach())
        session.finish()
        return loss

    def state(self) -> dict[str, Any]:
        """Everything an exact continuation needs."""
        return {
            "parameters": trained_state(self.model),
            "optimiser": self.optimiser.state(),
            "batches": self.batches,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Continue from `state()`."""
        restore(self.model, state["parameters"])
        self.optimiser.load(state["optimiser"])
        self.batches = int(state["batches"])


def _unrouted(rows: Sequence[TrainRow]) -> list[TrainRow]:
    """The sampler's routes are the policy's: a critic chooses its own experts."""
    return [TrainRow(row.ids, row.targets) for row in rows]


def value_loss(values: Tensor, targets: Tensor, old: Tensor, clip: float | None) -> Tensor:
    """Sum over tokens [n] of (V - G)^2 / 2; with `clip`, of the worse of V and V kept within it of the old V."""
    error = (values - targets) ** 2
    if clip is not None:
        error = torch.maximum(error, (old + (values - old).clamp(-clip, clip) - targets) ** 2)
    return 0.5 * error.sum()


def _split(values: Tensor, batch: RlBatch, indexes: Sequence[int]) -> tuple[Tensor, ...]:
    return torch.split(values, [len(batch.rows[i].targets) for i in indexes])
