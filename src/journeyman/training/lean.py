"""A Llama forward and backward without padding: shared prefixes once, the last layer only where tokens are trained.

It computes with the Hugging Face model's own parameters and agrees with its logits, on a CPU. T = packed ids,
d = hidden, H = query heads, K = key/value heads, e = head size, n = predictors (positions whose next token is trained).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from journeyman.training.lean_ops import Block, PieceAttention, PieceKeys, RmsNorm, Rotary, SwiGlu
from journeyman.training.prefix import Forest, Piece
from journeyman.training.sharding import is_sharded

CHUNK = 96  # queries per block: keys behind the last of them are never touched


@dataclass
class RootCache:
    """Keys and values of ids that every row begins with; leaves that collect gradients until `backward`."""

    length: int
    computed: list[Tensor] = field(default_factory=list)  # with graph: k0, v0, k1, v1, ...
    leaves: list[Tensor] = field(default_factory=list)  # detached, requires_grad; [length, K, e]

    def backward(self) -> None:
        """Send the collected gradients into the parameters, once, after the last micro-batch."""
        pairs = [(c, leaf.grad) for c, leaf in zip(self.computed, self.leaves, strict=True) if leaf.grad is not None]
        if pairs:
            torch.autograd.backward([c for c, _ in pairs], [g for _, g in pairs])


def supports(model: Any) -> bool:
    """Whether the lean forward computes this model: a plain whole Llama (default rotary, silu, no biases) on a CPU."""
    c: Any = getattr(model, "config", None)
    if getattr(c, "model_type", "") != "llama" or any("lora" in n for n, _ in model.named_parameters()):
        return False
    rope = getattr(c, "rope_parameters", None) or getattr(c, "rope_scaling", None) or {}
    plain = str(rope.get("rope_type", "default")) == "default" and float(rope.get("partial_rotary_factor", 1.0)) == 1.0
    first = next(model.parameters())
    here = first.device.type == "cpu" and not is_sharded(first)
    return bool(plain and here and c.hidden_act == "silu" and not c.attention_bias and not c.mlp_bias)


class LeanLlama:
    """Scores packed forests with the parameters of a `LlamaForCausalLM`."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.base = model.model
        c = model.config
        self.heads, self.kv_heads = c.num_attention_heads, c.num_key_value_heads
        self.head_size = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
        self.epsilon = c.rms_norm_eps
        rope = getattr(c, "rope_parameters", None) or {}
        theta = float(rope.get("rope_theta", getattr(c, "rope_theta", None) or 10_000.0))
        inverse = 1.0 / theta ** (torch.arange(0, self.head_size, 2, dtype=torch.float32) / self.head_size)
        angles = torch.outer(torch.arange(c.max_position_embeddings, dtype=torch.float32), inverse)
        dtype = next(model.parameters()).dtype
        self.cos, self.sin = angles.cos().to(dtype), angles.sin().to(dtype)  # [positions, e/2]

    def root(self, ids: npt.NDArray[np.int64]) -> RootCache:
        """Keys and values of a prefix shared by every row of the batch."""
        forest = Forest((Piece(ids, 0, -1),), ())
        cache = RootCache(len(ids))
        self._layers(forest, torch.zeros(0, dtype=torch.int64), None, cache.computed)
        cache.leaves = [t.detach().requires_grad_() for t in cache.computed]
        return cache

    def hidden(self, forest: Forest, predictors: Tensor, root: RootCache | None) -> Tensor:
        """[n, d] final normalised hidden states at the packed positions `predictors` (ascending, unique)."""
        x = self._layers(forest, predictors, root, None)
        return self._norm(x, self.base.norm)

    def logits(self, hidden: Tensor) -> Tensor:
        """[n, vocabulary]"""
        return F.linear(hidden, self.model.lm_head.weight)

    def _norm(self, x: Tensor, module: Any) -> Tensor:
        normed: Tensor = RmsNorm.apply(x, module.weight, self.epsilon)  # type: ignore[no-untyped-call]
        return normed

    def _layers(self, forest: Forest, predictors: Tensor, root: RootCache | None, keep: list[Tensor] | None) -> Tensor:
        ids = torch.from_numpy(np.concatenate([p.ids for p in forest.pieces]))
        positions = torch.from_numpy(np.concatenate([np.arange(p.start, p.start + len(p.ids)) for p in forest.pieces]))
        rotary = (self.cos[positions][:, None], self.sin[positions][:, None])  # [T, 1, e/2]
        past = 0 if root is None else root.length
        everywhere = attention_plan(forest, None, past)
        x = F.embedding(ids, self.base.embed_tokens.weight)
        layers = list(self.base.layers)
        for index, layer in enumerate(layers[:-1]):
            x = self._layer(x, layer, everywhere, rotary, _past(root, index), None, keep)
        chosen = attention_plan(forest, predictors.numpy(), past)
        return self._layer(x, layers[-1], chosen, rotary, _past(root, len(layers) - 1), predictors, keep)

    def _layer(
        self,
        x: Tensor,
        layer: Any,
        plan: tuple[PieceKeys, ...],
        rotary: tuple[Tensor, Tensor],
        past: tuple[Tensor | None, Tensor | None],
        predictors: Tensor | None,
        keep: list[Tensor] | None,
    ) -> Tensor:
        a, m, e = layer.self_attn, layer.mlp, self.head_size
        h = self._norm(x, layer.input_layernorm)
        sizes = [self.heads * e, self.kv_heads * e, self.kv_heads * e]
        if predictors is None:
            weight = torch.cat([a.q_proj.weight, a.k_proj.weight, a.v_proj.weight])
            flat_q, flat_k, flat_v = F.linear(h, weight).split(sizes, dim=-1)  # type: ignore[no-untyped-call]
            q_rotary = rotary
        else:
            flat_k, flat_v = F.linear(h, torch.cat([a.k_proj.weight, a.v_proj.weight])).chunk(2, dim=-1)
            x, q_rotary = x[predictors], (rotary[0][predictors], rotary[1][predictors])
            flat_q = F.linear(h[predictors], a.q_proj.weight)
        k: Tensor = Rotary.apply(flat_k.unflatten(-1, (self.kv_heads, e)), *rotary)  # type: ignore[no-untyped-call]
        v = flat_v.unflatten(-1, (self.kv_heads, e))
        if keep is not None:
            keep += [k, v]
            if predictors is not None:
                return x
        q: Tensor = Rotary.apply(flat_q.unflatten(-1, (self.heads, e)), *q_rotary)  # type: ignore[no-untyped-call]
        attended: Tensor = PieceAttention.apply(q, k, v, *past, plan)  # type: ignore[no-untyped-call]
        x = x + F.linear(attended.flatten(1), a.o_proj.weight)
        h = self._norm(x, layer.post_attention_layernorm)
        gate_up = F.linear(h, torch.cat([m.gate_proj.weight, m.up_proj.weight]))
        active: Tensor = SwiGlu.apply(gate_up)  # type: ignore[no-untyped-call]
        return x + F.linear(active, m.down_proj.weight)


def _past(root: RootCache | None, layer: int) -> tuple[Tensor | None, Tensor | None]:
    return (None, None) if root is None else (root.leaves[2 * layer], root.leaves[2 * layer + 1])


def attention_plan(forest: Forest, predictors: npt.NDArray[np.int64] | None, past: int) -> tuple[PieceKeys, ...]:
    """Which queries see which packed keys; `predictors` None: every position asks. `past`: length of the root."""
    bounds = np.cumsum([0, *(len(p.ids) for p in forest.pieces)])
    plan: list[PieceKeys] = []
    asked = 0
    for index, piece in enumerate(forest.pieces):
        if predictors is None:
            local: npt.NDArray[np.int64] = np.arange(len(piece.ids), dtype=np.int64)
        else:
            lo, hi = np.searchsorted(predictors, [bounds[index], bounds[index + 1]])
            local = predictors[lo:hi] - bounds[index]
        if not len(local):
            continue
        chain = _chain(forest, index)
        before = past + sum(len(forest.pieces[i].ids) for i in chain[:-1])
        blocks = tuple(_block(local[at : at + CHUNK], asked + at, before) for at in range(0, len(local), CHUNK))
        plan.append(PieceKeys(past > 0, tuple((int(bounds[i]), int(bounds[i + 1])) for i in chain), blocks))
        asked += len(local)
    return tuple(plan)


def _block(local: npt.NDArray[np.int64], lo: int, before: int) -> Block:
    """A block of queries at own positions `local` (ascending): own keys up to the last one, masked after each."""
    first, last = int(local[0]) + 1, int(local[-1]) + 1
    mask = None
    if last > first:
        hidden = torch.arange(first, last)[None, :] > torch.from_numpy(local)[:, None]
        mask = torch.zeros(hidden.shape).masked_fill_(hidden, float("-inf"))
    return Block(lo, lo + len(local), before + last, mask)


def _chain(forest: Forest, index: int) -> Sequence[int]:
    """A piece and its ancestors, root first."""
    chain = []
    while index >= 0:
        chain.append(index)
        index = forest.pieces[index].parent
    return chain[::-1]
