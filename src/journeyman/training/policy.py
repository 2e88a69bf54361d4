"""Policy directories: load a Hugging Face causal LM for training, publish a checkpoint with its marker last.

A directory holds config.json, model.safetensors, tokenizer files, chat_template.jinja and CHECKPOINT.json
(records.sample.Checkpoint). Without the marker there is no checkpoint; a published one never changes.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from journeyman.errors import UserError
from journeyman.records.base import sha256_hex
from journeyman.records.sample import Checkpoint
from journeyman.store.atomic import write_atomic
from journeyman.store.checkpoint import MARKER, check_checkpoint, read_checkpoint, tokenizer_digest
from journeyman.store.config_file import read_values
from journeyman.store.dataset import Dataset
from journeyman.store.unfinished import UNFINISHED, begin, finish
from journeyman.training.config import LearnerConfig, ModelConfig, SftTrainConfig
from journeyman.training.sharding import placed, whole

WEIGHTS = "model.safetensors"
WHOLE = "a whole policy directory, as train or merge writes it"  # what to give where one is not
VISION = re.compile(r"(^|\.)(visual|vision_\w+|multi_modal_projector|mm_projector|image_newline)(\.|$)")
"""Parameters that are held as they are: only the language model trains."""


def load_policy(directory: Path, config: ModelConfig, seed: int = 0) -> nn.Module:
    """The model of a policy directory, ready to train. Raises UserError where it cannot be read."""
    return _adapted(_plain(directory, config, seed), config)


def load_whole(config: SftTrainConfig | LearnerConfig, on_many: str) -> nn.Module:
    """What a training process starts from. Raises UserError, naming the module for many, where it is to be split."""
    if config.sharded:
        raise UserError(
            "sharded = true splits a model over processes and this is one: "
            f"accelerate launch --multi_gpu --num_processes N -m {on_many}"
        )
    return load_policy(config.initial, config.model, config.seed)


def load_critic(directory: Path, config: ModelConfig, freeze_attention: bool = False, seed: int = 0) -> nn.Module:
    """A value model: the policy of `directory` with one output instead of the vocabulary, at first 0 everywhere."""
    model = _plain(directory, config, seed)
    old: Any = model.get_output_embeddings()  # type: ignore[operator]
    head = nn.Linear(old.weight.shape[1], 1, bias=False, dtype=old.weight.dtype, device=old.weight.device)
    nn.init.zeros_(head.weight)
    model.set_output_embeddings(head)  # type: ignore[operator]
    model = _adapted(model, config)
    head.weight.requires_grad_(True)
    if freeze_attention:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(parameter.requires_grad and "attn." not in name)
    return model


def _plain(directory: Path, config: ModelConfig, seed: int) -> nn.Module:
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

    if not (directory / "config.json").exists():
        raise UserError(f"{directory} is not a policy directory (no config.json): give one written by train or merge")
    check_checkpoint(directory)
    torch.manual_seed(seed)
    sees = "vision_config" in read_values(directory / "config.json", WHOLE)
    made = AutoModelForImageTextToText if sees else AutoModelForCausalLM
    try:
        loaded, told = made.from_pretrained(
            directory,
            dtype=getattr(torch, config.dtype),
            attn_implementation="sdpa",
            local_files_only=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # told below with what else differs
        )
    except Exception as error:  # whatever its readers make of a damaged file
        raise UserError(f"{directory} holds no model that can be loaded ({_said(error)}): give {WHOLE}") from None
    _check_loaded(directory, told)
    model: nn.Module = loaded
    # rows are never padded: an id that doubles as padding (often the end of turn) learns like any other
    model.get_input_embeddings().padding_idx = None  # type: ignore[operator]
    model.to(config.device)
    model.train()
    for name, parameter in model.named_parameters() if sees else ():
        parameter.requires_grad_(not VISION.search(name))
    return model


def _said(error: Exception) -> str:
    """The first line of what a library says, and by which of its errors."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def check_goes_with(dataset: Dataset, directory: Path) -> None:
    """Raise UserError where a dataset's ids are of another tokenizer than the policy has, or none of its own."""
    of_rows, own = dataset.manifest.tokenizer_digest, tokenizer_digest(directory)
    if of_rows and of_rows != own:
        raise UserError(
            f"{dataset.directory} was recorded with tokenizer {of_rows[:16]} and {directory} has "
            f"{own[:16] or 'none'}: give a policy of the same tokenizer, or build the dataset from its own episodes"
        )
    values = read_values(directory / "config.json", WHOLE)
    size = values.get("vocab_size", (values.get("text_config") or {}).get("vocab_size"))
    if size is not None and dataset.largest_id >= size:
        raise UserError(
            f"{dataset.directory} holds id {dataset.largest_id} and {directory} has ids below {size}: "
            "give a policy of the same tokenizer, or build the dataset again"
        )


def _check_loaded(directory: Path, told: Mapping[str, Any]) -> None:
    """Raise UserError where the weights on disk are not exactly those of the model: the rest would be random."""
    for what in ("missing", "unexpected", "mismatched"):
        found = sorted(str(key[0] if isinstance(key, tuple) else key) for key in told[f"{what}_keys"])
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            raise UserError(
                f"{directory}: the weights are not those of config.json: {what} {found[0]}{more}: give {WHOLE}"
            )


def _adapted(model: nn.Module, config: ModelConfig) -> nn.Module:
    if config.lora is not None:
        from peft import LoraConfig as PeftLora
        from peft import get_peft_model

        adapters = PeftLora(
            r=config.lora.rank,
            lora_alpha=config.lora.alpha,
            target_modules=list(config.lora.targets),
            exclude_modules=rf".*{VISION.pattern}.*"
            if any(VISION.search(n) for n, _ in model.named_modules())
            else None,
            lora_dropout=0.0,
            task_type="CAUSAL_LM",
        )
        try:
            model = get_peft_model(model, adapters)
        except ValueError as error:
            raise UserError(
                f"model.lora.targets = {list(config.lora.targets)} ({_said(error)}): name linear layers of the model"
            ) from None
    return model


def trained_state(model: nn.Module) -> dict[str, Tensor]:
    """Whole copies of the parameters that train (adapters only under LoRA)."""
    return {n: whole(p.detach()).clone() for n, p in model.named_parameters() if p.requires_grad}


def restore(model: nn.Module, state: dict[str, Tensor]) -> None:
    """Put `trained_state` back, bit for bit."""
    named = dict(model.named_parameters())
    with torch.no_grad():
        for name, value in state.items():
            named[name].copy_(placed(value, named[name]))


def full_state(model: nn.Module) -> dict[str, Tensor]:
    """Plain weights as a Hugging Face directory stores them: adapters merged, tied copies left out, nothing split."""
    if hasattr(model, "peft_config"):
        return _merged(model)
    config: Any = model.config
    tied = bool(getattr(config, "tie_word_embeddings", False))
    return {n: _plain_tensor(t) for n, t in model.state_dict().items() if not (tied and n == "lm_head.weight")}


def _merged(model: nn.Module) -> dict[str, Tensor]:
    base: Any = model
    plain = base.get_base_model()
    tied = bool(getattr(plain.config, "tie_word_embeddings", False))
    deltas = {
        name: module.get_delta_weight("default").detach()
        for name, module in plain.named_modules()
        if hasattr(module, "get_delta_weight")
    }
    out: dict[str, Tensor] = {}
    for name, value in plain.state_dict().items():
        if "lora_" in name or (tied and name == "lm_head.weight"):
            continue
        clean = name.replace(".base_layer.", ".")
        delta = deltas.get(clean.removesuffix(".weight"))
        merged = value if delta is None else (value.float() + delta.float()).to(value.dtype)
        out[clean] = _plain_tensor(merged)
    return out


def _plain_tensor(tensor: Tensor) -> Tensor:
    return whole(tensor.detach()).cpu().contiguous()


def checkpoint_digest(directory: Path) -> str:
    """Identity of a policy directory: its marker's digest, or its weights' where it has no marker."""
    marker = read_checkpoint(directory)
    if marker is not None:
        return marker.digest()
    weights = sorted(directory.glob("*.safetensors"))
    if not weights:
        raise UserError(f"{directory} holds no weights (*.safetensors): give a policy directory")
    return sha256_hex(b"".join(sha256_hex(p.read_bytes()).encode() for p in weights))


def left_by_a_kill(directory: Path, name: str, parent: Path) -> bool:
    """Whether a killed run left `directory`: unfinished, or finished under that name and made of `parent`."""
    if (directory / UNFINISHED).exists():
        return True
    marker = read_checkpoint(directory)
    return marker is not None and marker.name == name and marker.parents == (checkpoint_digest(parent),)


def publish(
    weights: dict[str, Tensor],
    template: Path,
    out: Path,
    *,
    name: str,
    version: int,
    step: int,
    objective: str,
    parents: tuple[str, ...],
    recipe_digest: str = "",
) -> Checkpoint:
    """Write weights (`full_state`) to `out` with config, tokenizer and chat template of `template`; marker last.

    What a killed call left is replaced; anything else there is refused with UserError.
    """
    if (out / MARKER).exists():
        raise UserError(f"{out} holds a finished checkpoint and is create-only: choose another name")
    begin(out, "checkpoint")
    files: dict[str, str] = {}
    for path in sorted(template.iterdir()):
        if (
            path.is_file()
            and path.name not in (MARKER, UNFINISHED)
            and ".safetensors" not in path.name
            and path.suffix != ".bin"
        ):
            data = path.read_bytes()
            (out / path.name).write_bytes(data)
            files[path.name] = sha256_hex(data)
    data = save(weights, metadata={"format": "pt"})
    with (out / WEIGHTS).open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    files[WEIGHTS] = sha256_hex(data)
    record = Checkpoint(
        name=name,
        version=version,
        parents=parents,
        step=step,
        objective=objective,
        files=files,
        recipe_digest=recipe_digest,
    ).checked()
    write_atomic(out / MARKER, record.canonical())
    finish(out)
    return record
