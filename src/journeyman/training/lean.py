"""A Llama forward and backward without padding: shared prefixes once, the last layer only where tokens are trained.

It computes with the Hugging Face model's own parameters and agrees with its logits. T = packed ids, d = hidden,
H = query heads, K = key/value heads, e = head size, n = predictors (positions whose next token is trained).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from journeyman.training.prefix import Forest, Piece

CHUNK = 192  # queries per attention call: keys behind the last of them are never touched


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
    """Whether the lean forward computes this model: a plain Llama (default rotary, silu, no biases)."""
    c: Any = getattr(model, "config", None)
    if getattr(c, "model_type", "") != "llama" or any("lora" in n for n, _ in model.named_parameters()):
        return False
    rope = getattr(c, "rope_parameters", None) or getattr(c, "rope_scaling", None) or {}
    plain = str(rope.get("rope_type", "default")) == "default" and float(rope.get("partial_rotary_factor", 1.0)) == 1.0
    return bool(plain and c.hidden_act == "silu" and not c.attention_bias and not getattr(c, "mlp_bias", False))


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
        device = next(model.parameters()).device
        self.cos, self.sin = angles.cos().to(device), angles.sin().to(device)  # [positions, e/2]
        self._causal = torch.zeros(0, 0)

    def root(self, ids: npt.NDArray[np.int64]) -> RootCache:
        """Keys and values of a prefix shared by every row of the batch."""
        forest = Forest((Piece(ids, 0, -1),), ())
        cache = RootCache(len(ids))
        self._layers(forest, None, None, cache.computed)
        cache.leaves = [t.detach().requires_grad_() for t in cache.computed]
        return cache

    def hidden(self, forest: Forest, predictors: Tensor, root: RootCache | None) -> Tensor:
        """[n, d] final normalised hidden states at the packed positions `predictors` (ascending, unique)."""
        x = self._layers(forest, predictors, root, None)
        return F.rms_norm(x, x.shape[-1:], self.base.norm.weight, self.epsilon)

    def logits(self, hidden: Tensor) -> Tensor:
        """[n, vocabulary]"""
        return F.linear(hidden, self.model.lm_head.weight)

    def _mask(self, keys: int, queries: int, first: int) -> Tensor:
        """[queries, keys] additive: query i (at key index first + i) sees keys up to itself."""
        need = max(keys, queries)
        if self._causal.shape[0] < need:
            size = 1 << (need - 1).bit_length()
            # causal[i, j] = 0 iff j <= i + size: slices give every offset
            i, j = torch.arange(size)[:, None], torch.arange(2 * size)[None, :]
            self._causal = torch.where(j <= i + size, 0.0, float("-inf"))
        size = self._causal.shape[0]
        return self._causal[:queries, size - first : size - first + keys]

    def _layers(
        self, forest: Forest, predictors: Tensor | None, root: RootCache | None, keep: list[Tensor] | None
    ) -> Tensor:
        ids = torch.from_numpy(np.concatenate([p.ids for p in forest.pieces]))
        positions = torch.from_numpy(np.concatenate([np.arange(p.start, p.start + len(p.ids)) for p in forest.pieces]))
        rotary = (self.cos[positions][:, None], self.sin[positions][:, None])  # [T, 1, e/2]
        x = F.embedding(ids, self.base.embed_tokens.weight)
        layers = list(self.base.layers)
        for index, layer in enumerate(layers):
            last = index == len(layers) - 1
            past = None if root is None else (root.leaves[2 * index], root.leaves[2 * index + 1])
            x = self._layer(x, layer, forest, rotary, past, predictors if last else None, keep)
            if keep is not None and last:
                break
        return x

    def _layer(
        self,
        x: Tensor,
        layer: Any,
        forest: Forest,
        rotary: tuple[Tensor, Tensor],
        past: tuple[Tensor, Tensor] | None,
        predictors: Tensor | None,
        keep: list[Tensor] | None,
    ) -> Tensor:
        a, m = layer.self_attn, layer.mlp
        h = F.rms_norm(x, x.shape[-1:], layer.input_layernorm.weight, self.epsilon)
        k = _rotate(F.linear(h, a.k_proj.weight).view(-1, self.kv_heads, self.head_size), *rotary)
        v = F.linear(h, a.v_proj.weight).view(-1, self.kv_heads, self.head_size)
        if keep is not None:
            keep += [k, v]
        if predictors is not None:
            h, x = h[predictors], x[predictors]
            rotary = (rotary[0][predictors], rotary[1][predictors])
        q = _rotate(F.linear(h, a.q_proj.weight).view(-1, self.heads, self.head_size), *rotary)
        attended = self._attend(q, k, v, forest, past, predictors)
        x = x + F.linear(attended.reshape(x.shape[0], -1), a.o_proj.weight)
        h = F.rms_norm(x, x.shape[-1:], layer.post_attention_layernorm.weight, self.epsilon)
        gated = F.silu(F.linear(h, m.gate_proj.weight)) * F.linear(h, m.up_proj.weight)
        return x + F.linear(gated, m.down_proj.weight)

    def _attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        forest: Forest,
        past: tuple[Tensor, Tensor] | None,
        predictors: Tensor | None,
    ) -> Tensor:
        """[queries, H, e] of attention over each piece's ancestors and its own past."""
        sizes = [len(p.ids) for p in forest.pieces]
        bounds = np.cumsum([0, *sizes])
        keys, values = torch.split(k, sizes), torch.split(v, sizes)
        chosen = None if predictors is None else predictors.numpy()
        outputs: list[Tensor] = []
        at = 0
        for index, piece in enumerate(forest.pieces):
            if chosen is None:
                local = np.arange(len(piece.ids))
            else:
                lo, hi = np.searchsorted(chosen, [bounds[index], bounds[index + 1]])
                local = chosen[lo:hi] - bounds[index]
            if not len(local):
                continue
            chain = _chain(forest, index)
            ks = [keys[i] for i in chain] if past is None else [past[0], *(keys[i] for i in chain)]
            vs = [values[i] for i in chain] if past is None else [past[1], *(values[i] for i in chain)]
            outputs.append(self._piece(q[at : at + len(local)], torch.cat(ks), torch.cat(vs), local, len(piece.ids)))
            at += len(local)
        return torch.cat(outputs)

    def _piece(self, q: Tensor, k: Tensor, v: Tensor, local: npt.NDArray[np.int64], own: int) -> Tensor:
        """[queries, H, e]: queries at own positions `local` of a piece whose keys are the last `own` of `k`."""
        before = k.shape[0] - own
        qt, kt, vt = (t.transpose(0, 1)[None] for t in (q, k, v))  # [1, heads, tokens, e]
        dense = len(local) == own
        made = []
        for lo in range(0, len(local), CHUNK):
            hi = min(lo + CHUNK, len(local))
            end = before + int(local[hi - 1]) + 1
            mask = self._mask(end, own, before)[lo:hi] if dense else self._mask(end, own, before)[local[lo:hi]]
            made.append(
                F.scaled_dot_product_attention(
                    qt[:, :, lo:hi],
                    kt[:, :, :end],
                    vt[:, :, :end],
                    attn_mask=mask,
                    enable_gqa=self.heads != self.kv_heads,
                )
            )
        out = made[0] if len(made) == 1 else torch.cat(made, dim=2)
        return out[0].transpose(0, 1)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of [T, heads, e] (halves convention)."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def _chain(forest: Forest, index: int) -> Sequence[int]:
    """A piece and its ancestors, root first."""
    chain = []
    while index >= 0:
        chain.append(index)
        index = forest.pieces[index].parent
    return chain[::-1]
