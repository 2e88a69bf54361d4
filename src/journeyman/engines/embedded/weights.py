"""From a checkpoint directory to a forward pass: lean for plain Llama, Hugging Face's own for everything else."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM

from journeyman.engines.embedded.huggingface import HuggingFaceForward
from journeyman.engines.embedded.llama import LeanLlama, is_plain_llama
from journeyman.engines.embedded.scheduler import Forward


def load_model(path: Path, device: torch.device, dtype: torch.dtype) -> Any:
    """The causal LM in `path`, in eval mode. Any Hugging Face causal LM."""
    model = AutoModelForCausalLM.from_pretrained(path, dtype=dtype, attn_implementation="sdpa")
    return model.to(device).eval()


def forward_of(model: Any, *, lean: bool = True) -> Forward:
    """The fastest forward pass for the architecture; `lean=False` asks for Hugging Face's own."""
    if lean and is_plain_llama(model.config):
        return LeanLlama(model)
    return HuggingFaceForward(model)


class Weights:
    """The loaded model; `reload` reads a checkpoint of the same architecture into it without building it again."""

    def __init__(self, path: Path, device: torch.device, dtype: torch.dtype, *, lean: bool = True) -> None:
        self._device, self._dtype, self._lean = device, dtype, lean
        self.model = load_model(path, device, dtype)
        self.forward = forward_of(self.model, lean=lean)

    def reload(self, path: Path) -> Forward:
        """Read `path`; falls back to a full load where its tensors do not match the model in memory."""
        file = path / "model.safetensors"
        same = file.is_file() and AutoConfig.from_pretrained(path).to_dict() == self.model.config.to_dict()
        if same:
            state = load_file(file, device=str(self._device))
            missing, unexpected = self.model.load_state_dict(state, strict=False)
            tied = set(getattr(self.model, "_tied_weights_keys", None) or ())
            if unexpected or set(missing) - tied:
                raise ValueError(f"{file} does not fit the model: missing {missing}, unexpected {unexpected}")
        else:
            self.model = load_model(path, self._device, self._dtype)
        self.forward = forward_of(self.model, lean=self._lean)
        return self.forward
