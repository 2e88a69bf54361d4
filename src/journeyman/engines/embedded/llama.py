"""A lean forward pass for plain Llama weights over the sampler's rows: Hugging Face's logits within fp32 noise.

Shapes: T tokens, B rows, A query heads, H key-value heads, D head size, W hidden size, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention, silu

from journeyman.engines.embedded.cache import Piece, Rows, causal_mask


@dataclass
class Layer:
    """One block's weights; q, k, v and gate, up are stacked so that each is one product."""

    input_norm: Tensor
    qkv: Tensor
    output: Tensor
    mlp_norm: Tensor
    gate_up: Tensor
    down: Tensor


def is_plain_llama(config: Any) -> bool:
    """Whether this forward pass covers the architecture."""
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    return (
        config.model_type == "llama"
        and config.hidden_act == "silu"
        and not config.attention_bias
        and not config.mlp_bias
        and rope.get("rope_type", rope.get("type", "default")) == "default"
    )


def _rms(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return torch.rms_norm(x, (x.shape[-1],), weight, eps)


class LeanLlama:
    """Weights rearranged once; a step touches no module."""

    def __init__(self, model: Any) -> None:
        config = model.config
        self.query_heads: int = config.num_attention_heads
        self.heads: int = config.num_key_value_heads
        self.head_size: int = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self.sharing = self.query_heads // self.heads
        self.eps: float = config.rms_norm_eps
        self.embedding: Tensor = model.model.embed_tokens.weight.detach()
        self.head: Tensor = model.lm_head.weight.detach()
        self.norm: Tensor = model.model.norm.weight.detach()
        self.layers = [
            Layer(
                block.input_layernorm.weight.detach(),
                torch.cat([getattr(block.self_attn, f"{n}_proj").weight.detach() for n in "qkv"]),
                block.self_attn.o_proj.weight.detach(),
                block.post_attention_layernorm.weight.detach(),
                torch.cat([block.mlp.gate_proj.weight.detach(), block.mlp.up_proj.weight.detach()]),
                block.mlp.down_proj.weight.detach(),
            )
            for block in model.model.layers
        ]
        frequencies = model.model.rotary_emb.inv_freq.detach().float()
        angles = torch.outer(torch.arange(config.max_position_embeddings, device=frequencies.device), frequencies)
        self.cos, self.sin = angles.cos(), angles.sin()  # [C, D / 2]

    def prefill(self, rows: Rows, pieces: Sequence[Piece]) -> Tensor:
        """Logits [P, V] of each piece's last token. Pieces share the matrix products; each attends to its own row."""
        device = rows.keys.device
        ids = torch.from_numpy(np.concatenate([piece.ids for piece in pieces])).long().to(device)
        positions = torch.cat([torch.arange(p.start, p.start + len(p.ids), device=device) for p in pieces])
        masks = [causal_mask(piece.start, len(piece.ids), device) for piece in pieces]
        sizes = [len(piece.ids) for piece in pieces]
        hidden = self.embedding[ids]
        for depth, layer in enumerate(self.layers):
            q, k, v = self._project(hidden, layer, positions)
            mixed, at = [], 0
            for piece, mask, new in zip(pieces, masks, sizes, strict=True):
                end = piece.start + new
                rows.keys[depth, piece.row, :, :, piece.start : end] = k[at : at + new].permute(1, 2, 0)
                rows.values[depth, piece.row, :, piece.start : end] = v[at : at + new].transpose(0, 1)
                keys = rows.keys[depth, piece.row, :, :, :end].transpose(-1, -2)
                values = rows.values[depth, piece.row, :, :end]
                one = scaled_dot_product_attention(  # repeated heads take the fused path, which grouped ones do not
                    q[None, at : at + new].transpose(1, 2),
                    keys[None].repeat_interleave(self.sharing, 1),
                    values[None].repeat_interleave(self.sharing, 1),
                    attn_mask=mask,
                )
                mixed.append(one[0].transpose(0, 1).reshape(new, -1))
                at += new
            hidden = self._finish(hidden, torch.cat(mixed), layer)
        last = torch.tensor(sizes, device=device).cumsum(0) - 1
        return linear(_rms(hidden[last], self.norm, self.eps), self.head)

    def decode(self, rows: Rows, ids: Tensor, positions: Tensor, mask: Tensor, longest: int) -> Tensor:
        """Logits [B, V] after one token for each of rows 0..B: ids and positions [B]; mask [B, 1, longest] is added."""
        batch = len(ids)
        where = torch.arange(batch, device=ids.device)
        hidden = self.embedding[ids]
        for depth, layer in enumerate(self.layers):
            q, k, v = self._project(hidden, layer, positions)
            rows.keys[depth][where, :, :, positions] = k
            rows.values[depth][where, :, positions] = v
            grouped = q.view(batch, self.heads, -1, self.head_size)  # heads that share keys are one small product
            scores = torch.matmul(grouped, rows.keys[depth, :batch, :, :, :longest]).mul_(self.head_size**-0.5)
            weights = torch.softmax(scores.add_(mask[:, None]), -1)
            mixed = torch.matmul(weights, rows.values[depth, :batch, :, :longest]).reshape(batch, -1)
            hidden = self._finish(hidden, mixed, layer)
        return linear(_rms(hidden, self.norm, self.eps), self.head)

    def _project(self, hidden: Tensor, layer: Layer, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [T, A, D], keys and values [T, H, D] of hidden [T, W] at positions [T]."""
        joint = linear(_rms(hidden, layer.input_norm, self.eps), layer.qkv).view(len(hidden), -1, self.head_size)
        turned = self.query_heads + self.heads
        cos, sin = self.cos[positions][:, None], self.sin[positions][:, None]  # [T, 1, D / 2], halves convention
        left, right = joint[:, :turned].chunk(2, -1)
        both = torch.cat([left * cos - right * sin, right * cos + left * sin], -1)
        return both[:, : self.query_heads], both[:, self.query_heads :], joint[:, turned:]

    def _finish(self, hidden: Tensor, mixed: Tensor, layer: Layer) -> Tensor:
        """Attention's output and the gated MLP added to the residual stream [T, W]."""
        hidden = hidden + linear(mixed, layer.output)
        gate, up = linear(_rms(hidden, layer.mlp_norm, self.eps), layer.gate_up).chunk(2, -1)
        return hidden + linear(silu(gate).mul_(up), layer.down)
