"""A tiny Llama policy directory, and RL and SFT datasets written with the real store."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from journeyman.records.batch import DatasetManifest, Group, Member, Pack
from journeyman.records.sample import Sample, SegmentRef
from journeyman.store.dataset import RowTokens, write_dataset
from journeyman.training.config import LearnerConfig, OptimiserConfig

VOCABULARY = 61
torch.set_num_threads(1)


def tiny_llama(seed: int = 0, **changes: Any) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    values: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
        "tie_word_embeddings": True,
        "initializer_range": 0.2,
    }
    return LlamaForCausalLM(LlamaConfig(**(values | changes))).float()


def learner_config(policy: Path, root: Path, **changes: Any) -> LearnerConfig:
    values: dict[str, Any] = {
        "initial": policy,
        "weights": root / "weights",
        "state": root / "state",
        "ledger": root / "ledger.jsonl",
        "optimiser": OptimiserConfig(lr=1e-3),
    }
    return LearnerConfig(**(values | changes))


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("policy")
    tiny_llama().save_pretrained(directory)
    (directory / "tokenizer_config.json").write_text("{}")
    (directory / "chat_template.jinja").write_text("{{ messages }}")
    return directory


def random_row(rng: np.random.Generator, prefix: Sequence[int], length: int = 24) -> RowTokens:
    ids = np.concatenate([np.array(prefix, dtype=np.int32), rng.integers(0, VOCABULARY, length, dtype=np.int32)])
    mask = np.zeros(len(ids), dtype=np.uint8)
    mask[len(prefix) :] = rng.random(length) < 0.5
    mask[-1] = 1
    logprobs = np.where(mask == 1, rng.uniform(-6, -1, len(ids)), np.nan).astype(np.float32)
    return RowTokens(ids, mask, logprobs, np.where(mask == 1, 0, -1).astype(np.int32))


def sample_of(
    row: RowTokens, offset: int, episode: str, group: str | None, segment: int = 0, kind: Any = "rl"
) -> Sample:
    return Sample(
        ref=SegmentRef(episode=episode, seal_digest="s", run=0, segment=segment),
        kind=kind,
        offset=offset,
        length=len(row.ids),
        trained_tokens=int(row.mask.sum()),
        group=group,
    )


def write_rl(
    directory: Path,
    groups: dict[str, list[tuple[float | None, list[RowTokens]]]],
    routes: Callable[[RowTokens], Any] = lambda _: None,
    **manifest: Any,
) -> Path:
    """groups: id -> members as (reward or None for quarantined, segment rows); `routes`: experts of a row."""
    samples: list[Sample] = []
    rows: list[RowTokens] = []
    offset = 0
    written = []
    for group_id, entries in groups.items():
        members = []
        for number, (reward, segments) in enumerate(entries):
            episode = f"job/rl/task/{group_id}/{number}.0"
            if reward is None:
                members.append(Member(episode=episode, valid=False, cause="sandbox: lost"))
                continue
            indexes = []
            for segment, row in enumerate(segments):
                indexes.append(len(rows))
                samples.append(sample_of(row, offset, episode, group_id, segment))
                rows.append(row)
                offset += len(row.ids)
            trained = sum(int(row.mask.sum()) for row in segments)
            members.append(
                Member(episode=episode, valid=True, reward=reward, turns=2, sampled_tokens=trained, rows=tuple(indexes))
            )
        written.append(Group(id=group_id, task="task", members=tuple(members)))
    values: dict[str, Any] = {
        "kind": "rl",
        "rows": len(rows),
        "tokens": offset,
        "trained_tokens": sum(s.trained_tokens for s in samples),
        "groups": len(written),
        "reward_name": "signed.v1",
        "temperature": 1.0,
    }
    experts = list(map(routes, rows))
    write_dataset(directory, DatasetManifest(**(values | manifest)), samples, rows, groups=written, routes=experts)
    return directory


def write_sft(directory: Path, rows: Sequence[RowTokens], **changes: Any) -> Path:
    offsets = np.cumsum([0, *(len(r.ids) for r in rows)])
    samples = [
        sample_of(r, int(o), f"job/x/t/g/{i}.0", None, kind="sft")
        for i, (r, o) in enumerate(zip(rows, offsets, strict=False))
    ]
    trained = sum(s.trained_tokens for s in samples)
    manifest = DatasetManifest(kind="sft", rows=len(rows), tokens=int(offsets[-1]), trained_tokens=trained, **changes)
    packs = [Pack(rows=(i,), tokens=len(r.ids)) for i, r in enumerate(rows)]
    write_dataset(directory, manifest, samples, rows, packs=packs)
    return directory


@pytest.fixture
def rl_batches(tmp_path: Path) -> Callable[[int], Path]:
    """Batch number -> a dataset directory of two groups of four, deterministic."""

    def make(number: int) -> Path:
        rng = np.random.default_rng(number)
        prefix = rng.integers(0, VOCABULARY, 40).tolist()
        groups = {
            f"g{number}-{g}": [(float(rng.random()), [random_row(rng, prefix)]) for _ in range(4)] for g in range(2)
        }
        return write_rl(tmp_path / f"batch{number}", groups)

    return make


@pytest.fixture
def write_config(tmp_path: Path) -> Callable[..., Path]:
    def write(file: str, /, **values: Any) -> Path:
        path = tmp_path / file
        path.write_text(json.dumps(values, default=str))
        return path

    return write
