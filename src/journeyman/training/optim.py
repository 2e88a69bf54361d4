"""Optimisers behind one record: AdamW for everything, or Muon on hidden matrices beside it. One `step`, one update."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from journeyman.training.base_policy.optimiser import Muon
from journeyman.training.config import OptimiserConfig
from journeyman.training.sharding import placed, whole


def trainable(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Named parameters that train, each once (tied ones under their first name)."""
    return [(n, p) for n, p in model.named_parameters() if p.requires_grad]


class Optimiser:
    """AdamW, with Muon where configured, driven by one factor on both peak learning rates."""

    def __init__(self, model: nn.Module, config: OptimiserConfig) -> None:
        self.config = config
        named = trainable(model)
        self.parameters = [p for _, p in named]
        matrices = [p for n, p in named if p.ndim == 2 and ".layers." in n] if config.kind == "muon" else []
        chosen = {id(p) for p in matrices}
        rest = [p for p in self.parameters if id(p) not in chosen]
        self._parts: list[tuple[torch.optim.Optimizer, float]] = []
        if rest:
            adamw = torch.optim.AdamW(
                rest, lr=config.lr, betas=config.betas, eps=config.epsilon, weight_decay=config.weight_decay
            )
            self._parts.append((adamw, config.lr))
        if matrices:
            muon = Muon(matrices, lr=config.muon_lr, weight_decay=config.weight_decay)
            self._parts.append((muon, config.muon_lr))

    def zero(self) -> None:
        """Forget gradients."""
        for p in self.parameters:
            p.grad = None

    def step(self, factor: float) -> float:
        """Clip, then one update at `factor` times the peak rates; returns the gradient norm before clipping."""
        limit = float("inf") if self.config.clip_norm is None else self.config.clip_norm
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, limit))
        for part, peak in self._parts:
            for group in part.param_groups:
                group["lr"] = peak * factor
            part.step()
        return norm

    def state(self) -> list[dict[str, Any]]:
        """Everything an exact continuation needs, whole."""
        return [_each(part.state_dict(), lambda value, _: whole(value)) for part, _ in self._parts]

    def load(self, state: list[dict[str, Any]]) -> None:
        """Continue from `state()`."""
        for (part, _), saved in zip(self._parts, state, strict=True):
            held = [p for group in part.param_groups for p in group["params"]]
            part.load_state_dict(_each(saved, partial(_as_held, held)))

    def rates(self) -> Iterator[float]:
        """Current learning rates."""
        for part, _ in self._parts:
            yield float(part.param_groups[0]["lr"])


def _as_held(parameters: list[nn.Parameter], value: Tensor, at: int) -> Tensor:
    return placed(value, parameters[at])


def _each(state: dict[str, Any], change: Callable[[Tensor, int], Tensor]) -> dict[str, Any]:
    """A torch optimiser's state with every tensor changed; `change` is told which parameter it belongs to."""
    of_parameters = {
        at: {k: change(v, at) if isinstance(v, Tensor) else v for k, v in values.items()}
        for at, values in state["state"].items()
    }
    return {**state, "state": of_parameters}
