"""Checkpoint directories written by the safetensors library."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

MakeCheckpoint = Callable[..., Path]


@pytest.fixture
def make_checkpoint(tmp_path: Path) -> MakeCheckpoint:
    def make(name: str, tensors: dict[str, Tensor], shards: int = 1, tokenizer: str = "{}") -> Path:
        directory = tmp_path / name
        directory.mkdir()
        (directory / "config.json").write_text('{"model_type": "llama"}')
        (directory / "tokenizer.json").write_text(tokenizer)
        keys = list(tensors)
        if shards == 1:
            save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
            return directory
        weight_map = {}
        for number in range(shards):
            part = {k: tensors[k] for k in keys[number::shards]}
            shard = f"model-{number + 1:05d}-of-{shards:05d}.safetensors"
            save_file(part, directory / shard, metadata={"format": "pt"})
            weight_map |= dict.fromkeys(part, shard)
        import json

        size = sum(t.nbytes for t in tensors.values())
        index = {"metadata": {"total_size": size}, "weight_map": weight_map}
        (directory / "model.safetensors.index.json").write_text(json.dumps(index))
        return directory

    return make


def random_tensors(seed: int, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    g = torch.Generator().manual_seed(seed)
    return {
        "model.embed_tokens.weight": torch.randn(50, 8, generator=g).to(dtype),
        "model.layers.0.mlp.down_proj.weight": torch.randn(8, 24, generator=g).to(dtype),
        "model.norm.weight": torch.randn(8, generator=g).to(dtype),
        "model.scale": torch.randn((), generator=g).to(dtype),
        "model.layers.0.mlp.experts.gate_up_proj": torch.randn(3, 12, 8, generator=g).to(dtype),
        "model.layers.0.mlp.experts.down_proj": torch.randn(3, 8, 6, generator=g).to(dtype),
        "counts": torch.arange(5),
    }
