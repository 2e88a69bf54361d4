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
    """A checkpoint of one lineage: the same ancestor for every seed, moved a little."""
    ancestor, g = torch.Generator().manual_seed(1234), torch.Generator().manual_seed(seed)

    def near(*shape: int) -> Tensor:
        return (torch.randn(shape, generator=ancestor) + 0.2 * torch.randn(shape, generator=g)).to(dtype)

    return {
        "model.embed_tokens.weight": near(50, 8),
        "model.layers.0.mlp.down_proj.weight": near(8, 24),
        "model.norm.weight": near(8),
        "model.scale": near(),
        "model.layers.0.mlp.gate.weight": near(3, 8),
        "model.layers.0.mlp.experts.gate_up_proj": near(3, 12, 8),
        "model.layers.0.mlp.experts.down_proj": near(3, 8, 6),
        "counts": torch.arange(5),
    }
