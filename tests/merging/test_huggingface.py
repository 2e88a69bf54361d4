"""Mixtures as transformers keeps them: files with one tensor an expert and fused states merge to the exact mean."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from journeyman.merging.config import MergeConfig
from journeyman.merging.merge import merge

SHAPE = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def made(kind: str) -> Any:
    import transformers

    torch.manual_seed(0)
    if kind == "mixtral":
        config: Any = transformers.MixtralConfig(num_local_experts=4, **SHAPE)
        return transformers.MixtralForCausalLM(config)
    config = transformers.Qwen3MoeConfig(
        moe_intermediate_size=24, num_experts=4, num_experts_per_tok=2, head_dim=8, **SHAPE
    )
    return transformers.Qwen3MoeForCausalLM(config)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mixtral", "qwen3_moe"])
def test_a_saved_mixture_and_a_dumped_state_merge_and_load(tmp_path: Path, kind: str) -> None:
    from transformers import AutoModelForCausalLM

    model = made(kind)
    saved, dumped = tmp_path / "saved", tmp_path / "dumped"
    model.save_pretrained(saved)
    first = {k: v.clone() for k, v in model.state_dict().items()}
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.add_(torch.randn_like(parameter) * parameter.std() * 0.1)
    dumped.mkdir()
    shutil.copy(saved / "config.json", dumped)
    second = {k: v.contiguous() for k, v in model.state_dict().items()}
    save_file(second, dumped / "model.safetensors", metadata={"format": "pt"})
    for keep in (0, 1):
        out = tmp_path / f"out{keep}"
        merge(MergeConfig(parents=(saved, dumped), out=out, keep=keep), lambda _: None)
        loaded = AutoModelForCausalLM.from_pretrained(out).state_dict()
        assert loaded.keys() == first.keys()
        for key, value in loaded.items():
            assert torch.equal(value, ((first[key].double() + second[key].double()) / 2).float()), key
