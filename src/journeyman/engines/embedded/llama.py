"""A lean forward pass for plain Llama weights over the sampler's rows: Hugging Face's logits within fp32 noise.

Shapes: B rows, q new tokens, A query heads, H key-value heads, D head size, W hidden size, n positions attended.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention, silu

from journeyman.engines.embedded.cache import Rows


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
    """Weights rearranged once; `forward` touches no module."""

    def __init__(self, model: Any) -> None:
        config = model.config
        self.query_heads: int = config.num_attention_heads
        self.heads: int = config.num_key_value_heads
        self.head_size: int = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
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

    def _rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """Rotary embedding of x [B, q, heads, D] at positions [B, q], halves convention."""
        cos, sin = self.cos[positions][:, :, None], self.sin[positions][:, :, None]
        left, right = x.chunk(2, -1)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)

    def forward(self, rows: Rows, first: int, ids: Tensor, positions: Tensor, mask: Tensor, longest: int) -> Tensor:
        """Logits [B, V] of each row's last token.

        Rows first..first+B hold the past; ids and positions [B, q] are new and written to their positions; mask
        [B, 1, q, longest] is added to the scores. Either q == 1 or B == 1.
        """
        batch, new = ids.shape
        last = first + batch
        hidden = self.embedding[ids]
        where = torch.arange(first, last, device=ids.device)
        sizes = [self.query_heads * self.head_size, self.heads * self.head_size, self.heads * self.head_size]
        for depth, layer in enumerate(self.layers):
            q, k, v = torch.split(linear(_rms(hidden, layer.input_norm, self.eps), layer.qkv), sizes, -1)
            q = self._rotate(q.view(batch, new, self.query_heads, self.head_size), positions)
            k = self._rotate(k.view(batch, new, self.heads, self.head_size), positions)
            v = v.view(batch, new, self.heads, self.head_size)
            if new == 1:
                rows.keys[depth][where, :, :, positions[:, 0]] = k[:, 0]
                rows.values[depth][where, :, positions[:, 0]] = v[:, 0]
            else:
                start = longest - new
                rows.keys[depth, first, :, :, start:longest] = k[0].permute(1, 2, 0)
                rows.values[depth, first, :, start:longest] = v[0].transpose(0, 1)
            keys = rows.keys[depth, first:last, :, :, :longest]
            values = rows.values[depth, first:last, :, :longest]
            mixed = self._attend(q, keys, values, mask) if new == 1 else self._attend_many(q, keys, values, mask)
            hidden = hidden + linear(mixed, layer.output)
            gate, up = linear(_rms(hidden, layer.mlp_norm, self.eps), layer.gate_up).chunk(2, -1)
            hidden = hidden + linear(silu(gate) * up, layer.down)
        return linear(_rms(hidden[:, -1], self.norm, self.eps), self.head)

    def _attend(self, q: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """One query per row: q [B, 1, A, D] -> [B, 1, A * D]; heads that share keys are one small product."""
        batch = q.shape[0]
        grouped = q.view(batch, self.heads, self.query_heads // self.heads, self.head_size)
        scores = torch.matmul(grouped * self.head_size**-0.5, keys) + mask
        return torch.matmul(torch.softmax(scores, -1), values).reshape(batch, 1, -1)

    def _attend_many(self, q: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Many queries of one row: q [1, q, A, D] -> [1, q, A * D]."""
        mixed = scaled_dot_product_attention(
            q.transpose(1, 2),
            keys.transpose(-1, -2),
            values,
            attn_mask=mask,
            enable_gqa=self.heads != self.query_heads,
        )
        return mixed.transpose(1, 2).reshape(1, q.shape[1], -1)
