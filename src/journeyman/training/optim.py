"""Optimisers behind one record: AdamW for everything, or Muon on hidden matrices beside it. One `step`, one update."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from journeyman.errors import UserError
from journeyman.training.base_policy.optimiser import Muon
from journeyman.training.config import OptimiserConfig
from journeyman.training.sharding import here, placed, whole


def trainable(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Named parameters that train, each once (tied ones under their first name)."""
    return [(n, p) for n, p in model.named_parameters() if p.requires_grad]


class NotFinite(UserError):
    """A number of an update is nan or infinite: what its process holds from here on must be kept nowhere."""

    def of(self, update: str) -> "NotFinite":
        """The same, with the name of the update before it."""
        return NotFinite(f"{update}: {self}")


def check_finite(what: str, value: float, cause: str = "") -> None:
    """Raise NotFinite where `value` is nan or infinite; `cause`: what is known of why, and what to do."""
    if not math.isfinite(value):
        cause = cause or ": look in its batch for rewards and log-probs out of range, or lower the learning rate"
        raise NotFinite(f"{what} is {value} and nothing of this update was kept{cause}")


class Optimiser:
    """AdamW, with Muon where configured, driven by one factor on both peak learning rates."""

    def __init__(self, model: nn.Module, config: OptimiserConfig, of: str = "policy") -> None:
        """`of`: whose parameters these are, as messages say."""
        self.config = config
        self.of = of
        self.named = named = trainable(model)
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

    def step(self, factor: float, loss: float) -> float:
        """Clip, then one update at `factor` times the peak rates; returns the gradient norm before clipping.

        Raises NotFinite where the loss or the gradient is not finite, before any weight moves, and where a weight is
        not afterwards; on every process of a team alike.
        """
        limit = float("inf") if self.config.clip_norm is None else self.config.clip_norm
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, limit))
        self._check(f"the loss of the {self.of}", loss)
        self._check(f"the gradient norm of the {self.of}", norm)
        for part, peak in self._parts:
            for group in part.param_groups:
                group["lr"] = peak * factor
            part.step()
        weights = torch.nn.utils.get_total_norm([p.detach() for p in self.parameters])
        self._check(f"the norm of the weights of the {self.of}", float(weights))
        return norm

    def _check(self, what: str, value: float) -> None:
        if math.isfinite(value):
            return
        odd = next((n for n, p in self.named if not bool(torch.isfinite(here(p.detach())).all())), "")
        cause = f": {odd} has weights that are not finite: start from a policy without any" if odd else ""
        check_finite(what, value, cause)

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
