"""A small random policy and random RL batches, written like real ones: what the invariance suite computes on.

Behaviour log-probs are the policy's own plus noise, so that ratios lie around 1 and clipping takes part.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from journeyman.records.batch import DatasetManifest, Group, Member
from journeyman.records.sample import Sample, SegmentRef
from journeyman.store.dataset import RowTokens, write_dataset
from journeyman.training.batch import train_row
from journeyman.training.config import ForwardConfig, ModelConfig
from journeyman.training.forward import make_forward
from journeyman.training.policy import load_policy

VOCABULARY = 97
NOISE = 0.3  # of a recorded log-prob, in nats


class Attempt(NamedTuple):
    """One member of a group: its reward, model calls and segments."""

    reward: float
    turns: int
    segments: tuple[RowTokens, ...]


Story = Mapping[str, Sequence[Attempt]]


def write_policy(directory: Path, seed: int) -> Path:
    """A random two-layer Llama with 24,000 parameters; returns its directory."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=0.2,
    )
    LlamaForCausalLM(config).float().save_pretrained(directory)
    return directory


def story(policy: Path, seed: int, groups: int = 2, members: int = 4) -> dict[str, list[Attempt]]:
    """Groups of attempts of 50 to 90 tokens that share a beginning; about half of the rest is sampled."""
    rng = np.random.default_rng(seed)
    model = load_policy(policy, ModelConfig())
    told: dict[str, list[Attempt]] = {}
    for g in range(groups):
        start = rng.integers(0, VOCABULARY, 40)
        attempts = []
        for _ in range(members):
            ids = np.concatenate([start, rng.integers(0, VOCABULARY, int(rng.integers(10, 50)))]).astype(np.int32)
            mask = np.concatenate([np.zeros(40), rng.random(len(ids) - 40) < 0.5]).astype(np.uint8)
            mask[-1] = 1
            plain = RowTokens(ids, mask, np.zeros(len(ids), np.float32), np.where(mask == 1, 0, -1).astype(np.int32))
            row = plain._replace(logprobs=_recorded(model, plain, rng))
            attempts.append(Attempt(float(rng.choice([0.0, 0.5, 1.0])), int(rng.integers(2, 9)), (row,)))
        attempts[0], attempts[1] = attempts[0]._replace(reward=0.0), attempts[1]._replace(reward=1.0)
        told[f"s{seed}-{g}"] = attempts
    return told


def _recorded(model: torch.nn.Module, row: RowTokens, rng: np.random.Generator) -> np.ndarray:
    """[T] fp32 log-probs a sampler might have recorded; NaN where nothing was sampled."""
    train = train_row(row)
    with torch.no_grad():
        logp = make_forward(model, ForwardConfig(kind="rows")).open([train]).score([0]).logp.numpy()
    recorded = np.full(len(row.ids), np.nan, np.float32)
    recorded[train.targets] = np.minimum(logp + rng.normal(0, NOISE, len(logp)), 0)
    return recorded


def write_story(directory: Path, told: Story) -> Path:
    """An RL dataset of these groups; returns its directory."""
    samples: list[Sample] = []
    rows: list[RowTokens] = []
    groups = []
    offset = 0
    for name, attempts in told.items():
        members = []
        for number, attempt in enumerate(attempts):
            episode = f"check/rl/task/{name}/{number}.0"
            first = len(rows)
            for segment, row in enumerate(attempt.segments):
                ref = SegmentRef(episode=episode, seal_digest="", run=0, segment=segment)
                trained = int(row.mask.sum())
                samples.append(Sample(ref=ref, kind="rl", offset=offset, length=len(row.ids), trained_tokens=trained))
                rows.append(row)
                offset += len(row.ids)
            indexes = tuple(range(first, len(rows)))
            member = Member(episode=episode, valid=True, reward=attempt.reward, turns=attempt.turns, rows=indexes)
            members.append(member)
        groups.append(Group(id=name, task="task", members=tuple(members)))
    manifest = DatasetManifest(
        kind="rl",
        rows=len(rows),
        tokens=offset,
        trained_tokens=sum(s.trained_tokens for s in samples),
        groups=len(groups),
        reward_name="signed.v1",
        temperature=1.0,
    )
    write_dataset(directory, manifest, samples, rows, groups=groups)
    return directory
