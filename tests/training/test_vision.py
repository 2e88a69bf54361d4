"""A model that sees: the vision tower stays bit for bit, text rows score as alone, the whole model is published."""

from pathlib import Path

import torch
from transformers import AutoModelForImageTextToText, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

from journeyman.training.config import LoraConfig, ModelConfig, OptimiserConfig
from journeyman.training.optim import Optimiser
from journeyman.training.policy import full_state, load_policy, publish

from .conftest import VOCABULARY
from .test_forward import assert_same, rows_like, score


def write_seeing(directory: Path) -> Path:
    torch.manual_seed(0)
    text = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "initializer_range": 0.2,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]},
    }
    vision = {"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 32}
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=50,
        video_token_id=51,
        vision_start_token_id=52,
        vision_end_token_id=53,
    )
    Qwen2_5_VLForConditionalGeneration(config).float().save_pretrained(directory)
    return directory


def test_only_the_language_model_trains_and_all_of_it_is_published(tmp_path: Path) -> None:
    directory = write_seeing(tmp_path / "policy")
    model = load_policy(directory, ModelConfig())
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    frozen = {n for n, p in model.named_parameters() if not p.requires_grad}
    assert frozen
    assert all("visual" in n for n in frozen)
    rows = [row for row in rows_like(6) if not set(row.ids.tolist()) & {50, 51, 52, 53}] or rows_like(6)
    for row in rows:
        row.ids[row.ids >= 50] = 7
    assert_same(score(model, rows, "packed"), score(model, rows, "rows", 10))
    optimiser = Optimiser(model, OptimiserConfig(lr=1e-2, weight_decay=0.1))
    score(model, rows, "packed")
    optimiser.step(1.0, 0.0)
    assert {n for n, p in model.named_parameters() if torch.equal(p, before[n])} == frozen
    publish(
        full_state(model), directory, tmp_path / "out", name="x", version=1, step=0, objective="sft", parents=("a",)
    )
    again = AutoModelForImageTextToText.from_pretrained(tmp_path / "out", dtype=torch.float32)
    assert all(torch.equal(p, dict(model.named_parameters())[n]) for n, p in again.named_parameters())


def test_adapters_leave_the_vision_tower_alone(tmp_path: Path) -> None:
    model = load_policy(write_seeing(tmp_path / "policy"), ModelConfig(lora=LoraConfig(rank=2)))
    trained = {n for n, p in model.named_parameters() if p.requires_grad}
    assert trained
    assert not any("visual" in n for n in trained)
