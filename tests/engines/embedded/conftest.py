"""Small random models of two architectures on disk, and an engine over them."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

SIZES = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "tie_word_embeddings": True,
    "initializer_range": 0.3,
    "bos_token_id": None,
    "eos_token_id": 1,
    "pad_token_id": 0,
}


def _saved(path: Path, model: type[Any], config: type[Any], seed: int) -> Path:
    """A model with random weights, on disk."""
    torch.manual_seed(seed)
    model(config(**SIZES)).save_pretrained(path)
    return path


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain Llama: the lean forward pass."""
    return _saved(tmp_path_factory.mktemp("llama"), LlamaForCausalLM, LlamaConfig, 3)


@pytest.fixture(scope="session")
def other_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Other weights of the same architecture: the next version."""
    return _saved(tmp_path_factory.mktemp("other"), LlamaForCausalLM, LlamaConfig, 4)


@pytest.fixture(scope="session")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An architecture that only Hugging Face's own forward pass knows."""
    return _saved(tmp_path_factory.mktemp("qwen"), Qwen2ForCausalLM, Qwen2Config, 5)
