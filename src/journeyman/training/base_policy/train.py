"""Trains the small policy on drills. Same seed, same thread count, same weights."""

import hashlib
import itertools
import json
import math
import random
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM

from journeyman.training.base_policy import corpus
from journeyman.training.base_policy import tokenizer as bpe
from journeyman.training.base_policy.corpus import Row
from journeyman.training.base_policy.optimiser import muon_and_adamw
from journeyman.training.base_policy.start import write_copy_circuit
from journeyman.training.config import ForwardConfig
from journeyman.training.forward import make_forward
from journeyman.training.prefix import TrainRow

MADE_BY = "made_by.json"  # says what the shipped weights come from
HIDDEN, LAYERS, HEADS, KV_HEADS, INTERMEDIATE = 128, 3, 4, 2, 352


@dataclass(frozen=True)
class Recipe:
    """How long and how fast."""

    steps: int = 4000
    batch_tokens: int = 4096
    muon_lr: float = 0.006
    adamw_lr: float = 1.8e-3
    warmup: int = 60  # steps
    fade: int = 60  # steps until plain repetition is a small share of a batch


def build_tokenizer(template: Any, seed: int, conversations: int = 12_000) -> Tokenizer:
    """BPE over rendered drills, special tokens cut out."""
    rng = random.Random(seed)
    cut = re.compile("|".join(map(re.escape, bpe.SPECIAL)))
    stream = corpus.scenes(rng)

    def pieces() -> Iterator[str]:
        for _ in range(conversations):
            scene = next(stream)
            yield from filter(None, cut.split(corpus.render(template, scene.messages, scene.tools())))

    return bpe.train_tokenizer(pieces())


def build_model(tokenizer: Tokenizer, seed: int) -> LlamaForCausalLM:
    """A fresh Llama of about a million parameters, tied embeddings, fp32."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=HIDDEN,
        intermediate_size=INTERMEDIATE,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        max_position_embeddings=bpe.CONTEXT,
        rope_theta=1e10,
        tie_word_embeddings=True,
        rms_norm_eps=1e-5,
        initializer_range=0.02,
        bos_token_id=None,
        eos_token_id=tokenizer.token_to_id("<|end|>"),
        pad_token_id=tokenizer.token_to_id("<|pad|>"),
        attn_implementation="sdpa",
        torch_dtype="float32",
    )
    model = LlamaForCausalLM(config).float()
    write_copy_circuit(model, tokenizer)
    return model


def rows(tokenizer: Tokenizer, template: Any, seed: int) -> Iterator[Row]:
    """Tokenised drills without end; longer than 1,200 tokens are left out."""
    for scene in corpus.scenes(random.Random(seed)):
        row = corpus.tokenise(tokenizer, corpus.render(template, scene.messages, scene.tools()))
        if len(row.ids) <= 1200:
            yield row


def copies(rng: random.Random, vocabulary: int) -> Iterator[Row]:
    """Random tokens that repeat: the purest form of copying. Everything from the second round on is trained."""
    while True:
        length = rng.randrange(4, 120)
        segment = [rng.randrange(len(bpe.SPECIAL), vocabulary) for _ in range(length)]
        rounds = rng.choice((2, 2, 3))
        yield Row(segment * rounds, [0] * (length + 1) + [1] * (length * rounds - length - 1))


def batch(drills: Iterator[Row], repeats: Iterator[Row], share: float, tokens: int) -> list[TrainRow]:
    """Rows of about `tokens` ids, of which `share` are plain repetition."""
    chosen: list[TrainRow] = []
    for stream, budget in ((repeats, share * tokens), (drills, (1 - share) * tokens)):
        filled = 0
        while filled < budget:
            row = next(stream)
            chosen.append(TrainRow(np.array(row.ids, dtype=np.int64), np.flatnonzero(row.mask)))
            filled += len(row.ids)
    return chosen


def train(model: LlamaForCausalLM, drills: Iterator[Row], repeats: Iterator[Row], recipe: Recipe) -> None:
    """`recipe.steps` updates on the mean log-likelihood of trained tokens.

    Learning rates warm up, stay, and fall linearly over the last half; repetition starts as most of a batch and fades.
    """
    muon, adamw = muon_and_adamw(model, recipe.muon_lr, recipe.adamw_lr)
    forward = make_forward(model, ForwardConfig(kind="lean", micro_tokens=1 << 20))
    started, seen = time.perf_counter(), 0
    for step in range(recipe.steps):
        done = step / recipe.steps
        factor = min(1.0, (step + 1) / recipe.warmup) * max(0.03, min(1.0, 2 * (1 - done)))
        muon.param_groups[0]["lr"] = recipe.muon_lr * factor
        adamw.param_groups[0]["lr"] = recipe.adamw_lr * factor
        share = max(0.04, 0.8 * (1 - step / recipe.fade))
        rows = batch(drills, repeats, share, recipe.batch_tokens)
        session = forward.open(rows)
        total = 0.0
        count = sum(len(row.targets) for row in rows)
        for indexes in session.micro_batches():
            loss = -session.score(indexes).logp.sum() / count
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
        session.finish()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        muon.step()
        adamw.step()
        model.zero_grad(set_to_none=True)
        if not math.isfinite(total):
            raise FloatingPointError(f"the loss is not finite at step {step}")
        seen += sum(len(row.ids) for row in rows)
        if step % 50 == 0 or step == recipe.steps - 1:
            rate = seen / (time.perf_counter() - started)
            print(f"step {step}/{recipe.steps} loss {total:.4f} tokens/s {rate:.0f}", flush=True)


def origin(template: str, seed: int, recipe: Recipe) -> dict[str, Any]:
    """What decides the weights: shape, recipe, seed and a digest of the first 2,000 drills. Equal: made alike."""
    compiled, digest = corpus.compile_template(template), hashlib.sha256()
    for scene in itertools.islice(corpus.scenes(random.Random(seed)), 2_000):
        digest.update(corpus.render(compiled, scene.messages, scene.tools()).encode())
    return {
        "shape": [HIDDEN, LAYERS, HEADS, KV_HEADS, INTERMEDIATE],
        "recipe": asdict(recipe),
        "seed": seed,
        "drills_sha256": digest.hexdigest(),
    }


def save(model: LlamaForCausalLM, tokenizer: Tokenizer, template: str, made_by: dict[str, Any], out: Path) -> None:
    """A Hugging Face directory; `made_by` (of `origin`) goes in with the digest of the weights."""
    out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(out, safe_serialization=True)
    bpe.save_tokenizer(tokenizer, template, out)
    generation = {"eos_token_id": tokenizer.token_to_id("<|end|>"), "pad_token_id": tokenizer.token_to_id("<|pad|>")}
    (out / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")
    weights = hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()
    (out / MADE_BY).write_text(json.dumps({**made_by, "weights_sha256": weights}, indent=2) + "\n")
