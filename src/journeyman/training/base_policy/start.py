"""Where training starts: weights that already copy, so that minutes of a CPU suffice for the rest.

A Llama learns copying late: first a layer must look one token back, then a later one must match what it saw there. This
initialisation writes that circuit down (in the spirit of mimetic initialisation, Trockman and Kolter, 2023): every
head of the first layer attends to the previous position and adds its token in a rotated frame; every head of the
second matches the current token with that frame and adds the token found. Training is free to change all of it.
"""

import math

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

FAR = 8
RESIDUAL = 0.1


def _orthogonal(size: int) -> Tensor:
    matrix = torch.empty(size, size)
    torch.nn.init.orthogonal_(matrix)
    return matrix


def _rotary_pairs(head: int, size: int, pairs: range) -> list[int]:
    """Row numbers of the given rotary pairs of one head (halves convention: i and i + size / 2)."""
    base, half = head * size, size // 2
    return [base + p for p in pairs] + [base + half + p for p in pairs]


@torch.no_grad()
def write_copy_circuit(
    model: LlamaForCausalLM, *, mean: float = 0.7, look_back: float = 9.0, match: float = 2.0, copy: float = 1.0
) -> None:
    """Set layers 0 and 1 of a fresh model with as many key-value heads as query heads.

    `mean` is the share of a constant direction in every embedding, `look_back` the peak score of the previous position
    per rotary pair, `match` the sharpness of token matching, `copy` the strength of what is added.
    """
    config = model.config
    width, heads = config.hidden_size, config.num_attention_heads
    size = width // heads
    frequencies = model.model.rotary_emb.inv_freq
    constant = torch.nn.functional.normalize(torch.randn(width), dim=0)
    embedding = model.model.embed_tokens.weight
    embedding.sub_(torch.outer(embedding @ constant, constant))
    embedding.div_(embedding.pow(2).mean().sqrt())
    embedding.mul_(math.sqrt(1 - mean**2)).add_(mean * math.sqrt(width) * constant)
    embedding.mul_(RESIDUAL)

    first, second = model.model.layers[0].self_attn, model.model.layers[1].self_attn
    near = range(6)
    amplitude = math.sqrt(look_back * math.sqrt(size)) / (mean * math.sqrt(width))
    first.q_proj.weight.zero_()
    first.k_proj.weight.zero_()
    for head in range(heads):
        for p in near:
            cosine, sine = math.cos(float(frequencies[p])), math.sin(float(frequencies[p]))
            a, b = _rotary_pairs(head, size, range(p, p + 1))
            first.q_proj.weight[a] = amplitude * constant
            first.k_proj.weight[a] = amplitude * cosine * constant
            first.k_proj.weight[b] = amplitude * sine * constant
    turn, frame = _orthogonal(width), _orthogonal(width)
    content = torch.eye(width) - torch.outer(constant, constant)
    first.v_proj.weight.copy_(turn @ content)
    first.o_proj.weight.copy_(frame.T @ turn.T * RESIDUAL)

    far = range(FAR, size // 2)
    second.q_proj.weight.zero_()
    second.k_proj.weight.zero_()
    for head in range(heads):
        rows = _rotary_pairs(head, size, far)
        probe = _orthogonal(width)[: len(rows)] * math.sqrt(width / len(rows)) @ content
        scale = math.sqrt(match * math.sqrt(size) / width)
        second.q_proj.weight[rows] = probe * scale
        second.k_proj.weight[rows] = probe @ frame * scale
    spread = _orthogonal(width)
    second.v_proj.weight.copy_(spread @ content)
    second.o_proj.weight.copy_(spread.T * copy * RESIDUAL)
