"""Muon for the hidden matrices, AdamW for everything else, behind one `step`."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def orthogonalise(update: Tensor, steps: int = 5) -> Tensor:
    """Newton-Schulz iteration of Muon (Jordan et al. 2024): singular values of [m, n] `update` pushed towards 1."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x: Tensor = update / (update.norm() + 1e-7)
    flip = x.shape[0] > x.shape[1]
    if flip:
        x = x.T
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if flip else x


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised; the step is scaled by sqrt(max(1, rows / columns))."""

    def __init__(self, params: Iterable[Tensor], lr: float, momentum: float = 0.95, weight_decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One update of every parameter that has a gradient."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                buffer = self.state[p].setdefault("momentum", torch.zeros_like(p))
                buffer.lerp_(p.grad, 1 - group["momentum"])
                update = orthogonalise(p.grad.lerp(buffer, group["momentum"]))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(update, alpha=-group["lr"] * max(1.0, p.shape[0] / p.shape[1]) ** 0.5)


def muon_and_adamw(model: nn.Module, muon_lr: float, adamw_lr: float) -> tuple[Muon, torch.optim.AdamW]:
    """Split a causal LM's parameters: 2-D weights inside the layers to Muon; embeddings, head and norms to AdamW."""
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and ".layers." in n]
    chosen = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in chosen]
    return Muon(matrices, lr=muon_lr), torch.optim.AdamW(others, lr=adamw_lr, betas=(0.9, 0.95), weight_decay=0.0)
