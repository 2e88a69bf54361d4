"""Where training starts: weights that already copy, so that minutes of a CPU suffice for the rest.

A Llama learns copying late: one layer must look back, a later one must match what it saw there. This initialisation
writes that circuit down (in the spirit of mimetic initialisation, Trockman and Kolter, 2023). Layer 0 adds the previous
token and the one before, each in a frame of its own; layer 1 attends to the place whose two preceding tokens are the
current two and adds the token found there; layer 2 looks up: it passes over a separator and attends to what
followed the token before it. Spellings of a word
(with a space, capitalised) start as neighbours, so that a match is a match wherever the word stands. Training is free
to change all of it.
"""

import math

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import LlamaForCausalLM

RESIDUAL = 0.1  # rms of an embedding
MEAN = 0.5  # share of a constant direction in every embedding, which heads that look at positions key on
NEAR, FAR = range(4), 4  # rotary pairs that tell neighbours apart; from FAR on they hardly turn within a context
LOOK_BACK = 15.0  # score per rotary pair of the position looked at
MATCH = 20.0  # score of one matching token
COPY = 6.0  # strength of the token found, against the token that stands there
LOOK_UP = 3.0  # the same for each head of the look-up
VARIANT = 0.35  # distance of a word's spellings


def _orthogonal(size: int) -> Tensor:
    matrix = torch.empty(size, size)
    torch.nn.init.orthogonal_(matrix)
    return matrix


def _words(tokenizer: Tokenizer) -> list[tuple[int, int, str]]:
    """(spelling, base, how it differs) of vocabulary entries that spell the same word."""
    vocabulary = tokenizer.get_vocab()
    found = []
    for token, index in vocabulary.items():
        bare = token.removeprefix("Ġ")
        if not bare.isalpha() or not bare.isascii():
            continue
        if token != bare and bare in vocabulary:
            found.append((index, vocabulary[bare], "space"))
        elif token != token.lower() and len(token) > 1 and token.lower() in vocabulary:
            found.append((index, vocabulary[token.lower()], "capital"))
    return found


def _pair(head: int, size: int, pair: int) -> list[int]:
    """Rows of one rotary pair of a head (halves convention)."""
    return [head * size + pair, head * size + pair + size // 2]


@torch.no_grad()
def _embed(weight: Tensor, tokenizer: Tokenizer, room: Tensor, constant: Tensor) -> None:
    """Random embeddings [vocabulary, width] within the subspace `room` [width, k], plus a common direction [width]."""
    width, k = room.shape
    content = torch.randn(len(weight), k)
    marks = {"space": torch.randn(k), "capital": torch.randn(k)}
    for index, base, how in _words(tokenizer):
        content[index] = content[base] + VARIANT * marks[how]
    content /= content.norm(dim=-1, keepdim=True)
    unit = math.sqrt(1 - MEAN**2) * content @ room.T + MEAN * constant
    weight.copy_(RESIDUAL * math.sqrt(width) * unit)


@torch.no_grad()
def write_copy_circuit(model: LlamaForCausalLM, tokenizer: Tokenizer) -> None:
    """Set the embeddings and layers 0 and 1 of a fresh model with two or more key-value heads, each a quarter wide.

    The width is shared out: half for a token, a quarter each for what is remembered of the two before it.
    """
    config = model.config
    width, heads = config.hidden_size, config.num_attention_heads
    size, quarter = width // heads, width // 4
    basis = _orthogonal(width)
    constant, room = basis[:, 0], basis[:, 1 : 2 * quarter]  # [width], [width, 2 * quarter - 1]
    before, second_before = basis[:, 2 * quarter : 3 * quarter], basis[:, 3 * quarter :]  # [width, quarter]
    _embed(model.model.embed_tokens.weight, tokenizer, room, constant)
    glance = _orthogonal(room.shape[1])[:quarter] @ room.T  # what is remembered of a token, [quarter, width]

    first, second = model.model.layers[0].self_attn, model.model.layers[1].self_attn
    frequencies = model.model.rotary_emb.inv_freq
    amplitude = math.sqrt(LOOK_BACK * math.sqrt(size) / width) / MEAN
    groups = config.num_key_value_heads
    for group, (distance, frame) in zip(range(groups), ((1, before), (2, second_before)), strict=False):
        head = group * heads // groups  # the first of the query heads that share this group's keys
        for pair in NEAR:
            angle = distance * float(frequencies[pair])
            asking, shown = _pair(head, size, pair), _pair(group, size, pair)
            first.q_proj.weight[asking] = torch.stack([amplitude * constant, torch.zeros(width)])
            turned = torch.tensor([[math.cos(angle)], [math.sin(angle)]])
            first.k_proj.weight[shown] = amplitude * turned * constant
        first.v_proj.weight[group * size : (group + 1) * size] = glance
        first.o_proj.weight[:, head * size : (head + 1) * size] = RESIDUAL * frame * math.sqrt(2)

    # A token's content holds (1 - MEAN^2) of a position's energy, of which a probe sees its rows' share.
    seen = size // 2 - FAR
    scale = math.sqrt(MATCH * math.sqrt(size) * 2 * quarter / (width * (1 - MEAN**2) * seen))
    carry = _orthogonal(room.shape[1] + 1)[:, :-1] @ room.T  # what of a token is carried over, [2 * quarter, width]
    for group in range(groups):
        head = group * heads // groups
        for shift, (asked, kept) in enumerate(((glance, before.T), (before.T, second_before.T))):
            probe = _orthogonal(quarter)[:seen] * scale
            low = FAR + shift * size // 2
            second.q_proj.weight[head * size + low : head * size + low + seen] = probe @ asked
            second.k_proj.weight[group * size + low : group * size + low + seen] = probe @ kept
        second.o_proj.weight[:, head * size : (head + 1) * size] = COPY * RESIDUAL * carry[group * size :][:size].T
    for attention in [layer.self_attn for layer in model.model.layers[1:]]:
        attention.v_proj.weight.copy_(carry[: groups * size])
    for attention in [layer.self_attn for layer in model.model.layers[2:]]:
        for head in range(heads):
            part = carry[head * groups // heads * size :][:size].T
            attention.o_proj.weight[:, head * size : (head + 1) * size] = LOOK_UP * RESIDUAL * part
        for group, kept in zip(range(groups), (before.T, second_before.T), strict=False):
            head = group * heads // groups
            probe = _orthogonal(quarter)[: 2 * seen] * scale / math.sqrt(2)
            rows = [*range(FAR, FAR + seen), *range(FAR + size // 2, FAR + seen + size // 2)]
            attention.q_proj.weight[[head * size + row for row in rows]] = probe @ before.T
            attention.k_proj.weight[[group * size + row for row in rows]] = probe @ kept
