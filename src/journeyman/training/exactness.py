"""Whether an architecture can be packed: asked of the model itself, since a mask is not enough for every one.

Two short rows are computed together and apart, and once more with another first row. A state that runs on across the
boundary (convolution, recurrence) or positions that do not start again show in the second row's logits.
"""

from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 3e-2, torch.float16: 1e-2}
"""Of the largest logit. A leak is 1e-2 and more in a random model (fp32)."""
_KNOWN: WeakKeyDictionary[nn.Module, float] = WeakKeyDictionary()


def packed_inputs(sizes: list[int], dtype: torch.dtype, device: torch.device) -> dict[str, Tensor]:
    """Position ids that start again and a block-diagonal causal mask for rows of these sizes in one sequence."""
    positions = torch.cat([torch.arange(n) for n in sizes])[None].to(device)
    if len(sizes) == 1:
        return {"position_ids": positions}
    owner = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    allowed = torch.ones(len(owner), len(owner), dtype=torch.bool).tril() & (owner[:, None] == owner[None, :])
    mask = torch.zeros(allowed.shape, dtype=dtype).masked_fill(~allowed, torch.finfo(dtype).min)
    return {"position_ids": positions, "attention_mask": mask[None, None].to(device)}


def packing_gap(model: nn.Module) -> float:
    """Largest difference a neighbour makes to a row's logits, relative to the largest logit."""
    if model not in _KNOWN:
        _KNOWN[model] = _measured(model)
    return _KNOWN[model]


@torch.no_grad()
def _measured(model: Any) -> float:
    parameter = next(model.parameters())
    vocabulary = int(model.get_input_embeddings().weight.shape[0])
    first, second = (torch.arange(n) * step % vocabulary for n, step in ((11, 7), (13, 5)))
    other = (first + vocabulary // 2) % vocabulary

    def logits(*rows: Tensor) -> Tensor:
        inputs = packed_inputs([len(r) for r in rows], parameter.dtype, parameter.device)
        out = model(input_ids=torch.cat(rows)[None].to(parameter.device), use_cache=False, **inputs)
        found: Tensor = out.logits[0, -len(second) :].float()
        return found

    training = model.training
    model.eval()
    alone, packed, beside = logits(second), logits(first, second), logits(other, second)
    model.train(training)
    apart = torch.maximum((packed - alone).abs().max(), (packed - beside).abs().max())
    return float(apart / alone.abs().max().clamp(min=1e-12))


def packs_exactly(model: nn.Module) -> bool:
    """Whether rows can share a sequence without changing each other."""
    return packing_gap(model) <= TOLERANCE.get(next(model.parameters()).dtype, 1e-4)


def window_of(model: nn.Module) -> int | None:
    """Sliding-window length of the attention, which a packed mask does not repeat; None: full attention."""
    config: Any = model.config
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    window = getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None)
    sliding = getattr(config, "use_sliding_window", True) and (kinds is None or "sliding_attention" in kinds)
    return int(window) if window and sliding else None
