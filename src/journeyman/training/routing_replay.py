"""R3: the experts the sampler used are used again in training; the choice is replayed, gates stay the trainer's own.

    softmax router   g_i = I_i p_i / sum_j I_j p_j          p = softmax(s); divided only where the model normalises
    sigmoid router   g_i = scale I_i sigma(s_i) / (sum_j I_j sigma(s_j) + 1e-20)        without the choice's bias

I is the recorded set (arXiv 2510.11370). Gates are gathered from the full distribution, so that an expert outside the
natural top-k keeps its gate and the router its gradient. Rows are looked up by (layer, position), never counted, so a
forward that is computed again replays the same. A position without a record (-1) uses the natural choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from journeyman.errors import UserError
from journeyman.training.prefix import TrainRow


def routers_of(model: nn.Module) -> list[nn.Module]:
    """The model's top-k routers, first layer first; empty where it routes nothing."""
    return [m for m in model.modules() if type(m).__name__.lower().endswith("topkrouter")]


def fault(routes: npt.NDArray[Any], tokens: int, experts: int) -> str:
    """Why a recorded row cannot be replayed for `tokens` ids under `experts` experts; "" where it can."""
    if routes.ndim != 3 or len(routes) != tokens - 1:
        return f"shape {routes.shape} does not fit {tokens} tokens"
    covered = routes[(routes >= 0).all(axis=(1, 2))]
    if covered.size and int(covered.max()) >= experts:
        return f"expert {int(covered.max())} of {experts}"
    ordered = np.sort(covered, axis=-1)
    if (ordered[..., 1:] == ordered[..., :-1]).any():
        return "one expert twice at one position"
    if covered.size and routes.shape[2] == 1 and not covered.any() and len(covered) > 1:
        return "all zero: nothing was captured"
    return ""


def uncovered(rows: Sequence[TrainRow]) -> dict[str, float]:
    """How many positions of a batch have no record, and how many of those predict a trained token.

    Empty where no row carries routes.
    """
    if all(row.routes is None for row in rows):
        return {}
    found = {"routes_uncovered": 0, "routes_uncovered_trained": 0}
    for row in rows:
        bare = np.ones(len(row.ids) - 1, dtype=bool)
        if row.routes is not None:
            bare = np.asarray((row.routes < 0).any(axis=(1, 2)))
        found["routes_uncovered"] += int(bare.sum())
        found["routes_uncovered_trained"] += int(bare[row.targets - 1].sum())
    return {name: float(count) for name, count in found.items()}


@dataclass
class RoutingReplay:
    """Hooks on a model's routers while they are open. `watch`: keep what they say, for `balance`."""

    routers: list[nn.Module]
    watch: bool = False
    play: Tensor | None = None  # [n, layers, top_k] int64 of the packed ids; None: nothing is replayed
    logits: list[Tensor] = field(default_factory=list)  # [n, experts] per layer, of the last forward
    chosen: list[Tensor] = field(default_factory=list)  # [n, top_k] per layer, of the last forward
    _hooks: list[Any] = field(default_factory=list)

    def open(self, rows: Sequence[TrainRow] = ()) -> None:
        """Hook the routers for these rows. Raises UserError where one's routes cannot be replayed."""
        self.close()
        weight: Any = self.routers[0].weight  # [experts, hidden]
        for row in rows:
            if row.routes is not None and (why := fault(row.routes, len(row.ids), len(weight))):
                raise UserError(
                    f"routed experts cannot be replayed: {why}: sample anew, or build the rows without them"
                )
        for layer, router in enumerate(self.routers):
            self._hooks.append(router.register_forward_hook(self._hook(layer)))

    def close(self) -> None:
        """Take the hooks away."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        self.begin(None)

    def begin(self, play: Tensor | None) -> None:
        """The next forward is of these packed ids. Raises UserError for another number of layers."""
        if play is not None and play.shape[1] != len(self.routers):
            raise UserError(f"routes of {play.shape[1]} layers, the model has {len(self.routers)}: sample anew")
        self.play = play
        self.logits = [torch.empty(0)] * len(self.routers)
        self.chosen = [torch.empty(0)] * len(self.routers)

    def _hook(self, layer: int) -> Any:
        def replayed(router: nn.Module, _: Any, output: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
            logits, weights, natural = output
            used = natural
            if self.play is not None:
                rows = self.play[:, layer]
                used = torch.where((rows >= 0).all(-1, keepdim=True), rows.clamp(min=0), natural)
                weights = gates(router, logits, used).to(weights.dtype)
            if self.watch:
                self.logits[layer], self.chosen[layer] = logits, used.detach()
            return logits, weights, used

        return replayed

    def balance(self, sizes: list[int]) -> Tensor:
        """Sum over packed rows of (ids x the row's load-balancing loss E sum_e f_e P_e / top_k), mean over layers.

        Per row, so that it does not depend on what a row is packed with (a batch-level form would).
        """
        total = self.logits[0].new_zeros((), dtype=torch.float32)
        for logits, chosen in zip(self.logits, self.chosen, strict=True):
            experts = logits.shape[-1]
            counts = torch.zeros(logits.shape, device=logits.device).scatter_add_(
                1, chosen, torch.ones(chosen.shape, device=logits.device)
            )
            probabilities = torch.softmax(logits.float(), -1)
            for p, c in zip(probabilities.split(sizes), counts.split(sizes), strict=True):  # type: ignore[no-untyped-call]
                total = total + len(p) * experts * (c.mean(0) / chosen.shape[1] * p.mean(0)).sum()
        return total / max(len(self.logits), 1)


def gates(router: Any, logits: Tensor, used: Tensor) -> Tensor:
    """[n, top_k] fp32 gates of the experts `used`, as this router weighs them."""
    if hasattr(router, "e_score_correction_bias"):
        scores = torch.sigmoid(logits.float()).gather(-1, used)
        if getattr(router, "norm_topk_prob", True):
            scores = scores / (scores.sum(-1, keepdim=True) + 1e-20)
        return scores * float(getattr(router, "routed_scaling_factor", 1.0))
    chosen = torch.softmax(logits.float(), -1).gather(-1, used)
    return chosen / chosen.sum(-1, keepdim=True) if getattr(router, "norm_topk_prob", True) else chosen
