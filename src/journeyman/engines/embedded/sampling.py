"""Logits to tokens: the log-probability returned is of the distribution that was sampled, in fp32.

Every call draws from its own seeded stream, so a token does not depend on who else is in the batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

COLDEST = 1e-4  # the least temperature that is not greedy: below it logits overflow


@dataclass
class Draw:
    """How one call samples, and its random stream. temperature 0 is greedy; top_k -1 and top_p 1 are off.

    Raises ValueError for a distribution that cannot be computed in fp32.
    """

    temperature: float
    top_p: float
    top_k: int
    stream: np.random.Generator

    def __post_init__(self) -> None:
        if not (self.temperature == 0 or COLDEST <= self.temperature < np.inf) or not 0 < self.top_p <= 1:
            raise ValueError(f"temperature {self.temperature} and top_p {self.top_p} give no distribution")


def truncate(logprobs: Tensor, top_p: float, top_k: int) -> Tensor:
    """Log-probs [V] renormalised over the kept tokens, -inf elsewhere: top-k, then the smallest set reaching top-p."""
    kept = logprobs
    if 0 < top_k < len(kept):
        kept = kept.masked_fill(kept < kept.topk(top_k).values[-1], -torch.inf)
    if top_p < 1.0:
        values, order = torch.sort(kept.log_softmax(-1), descending=True)
        before = values.exp().cumsum(-1) - values.exp()
        kept = kept.index_fill(0, order[1:][before[1:] >= top_p], -torch.inf)  # the likeliest always stays
    return kept.log_softmax(-1)


def sample(logits: Tensor, draws: Sequence[Draw]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Sample one token per row of `logits` [B, V]; returns tokens [B] and log-probs [B]. Greedy tokens have log-prob 0.

    Inverse-CDF sampling: u ~ U[0, 1) of the call's stream picks the first token whose cumulative probability is above.
    """
    logits = logits.float()
    if not any(draw.temperature for draw in draws):
        return logits.argmax(-1).cpu().numpy(), np.zeros(len(draws), dtype=np.float32)
    heat = torch.tensor([draw.temperature or 1.0 for draw in draws], device=logits.device)[:, None]
    logprobs = torch.log_softmax(logits / heat, -1)
    for n, draw in enumerate(draws):
        if draw.temperature and (draw.top_p < 1.0 or draw.top_k > 0):
            logprobs[n] = truncate(logprobs[n], draw.top_p, draw.top_k)
    cumulative = torch.cumsum(logprobs.exp(), -1, dtype=torch.float64)
    uniform = np.array([draw.stream.random() for draw in draws])
    threshold = torch.from_numpy(uniform).to(logits.device)[:, None] * cumulative[:, -1:]
    tokens = torch.searchsorted(cumulative, threshold, right=True).clamp_(max=logits.shape[-1] - 1)
    greedy = torch.tensor([draw.temperature == 0 for draw in draws], device=logits.device)[:, None]
    tokens = torch.where(greedy, logits.argmax(-1, keepdim=True), tokens)
    chosen = torch.where(greedy, torch.zeros_like(heat), logprobs.gather(-1, tokens))
    return tokens[:, 0].cpu().numpy(), chosen[:, 0].cpu().numpy()
