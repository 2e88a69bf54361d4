"""Small random models of two architectures on disk, and an engine over them."""

from pathlib import Path

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


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain Llama: the lean forward pass."""
    torch.manual_seed(3)
    path = tmp_path_factory.mktemp("llama")
    LlamaForCausalLM(LlamaConfig(**SIZES)).save_pretrained(path)
    return path


@pytest.fixture(scope="session")
def other_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Other weights of the same architecture: the next version."""
    torch.manual_seed(4)
    path = tmp_path_factory.mktemp("other")
    LlamaForCausalLM(LlamaConfig(**SIZES)).save_pretrained(path)
    return path


@pytest.fixture(scope="session")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An architecture that only Hugging Face's own forward pass knows."""
    torch.manual_seed(5)
    path = tmp_path_factory.mktemp("qwen")
    Qwen2ForCausalLM(Qwen2Config(**SIZES)).save_pretrained(path)
    return path
