"""Who parents are and whether they belong together: one tokenizer, one configuration. Torch-free."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from journeyman.errors import UserError
from journeyman.records.base import sha256_hex
from journeyman.store.checkpoint import check_checkpoint, sha256_file

FREE = {  # of config.json: who saved it, how it is held, and heads that only one side may have
    "_name_or_path",
    "architectures",
    "auto_map",
    "dtype",
    "mtp_num_hidden_layers",
    "num_nextn_predict_layers",
    "tie_word_embeddings",  # read where it matters: a missing output head is its embedding
    "torch_dtype",
    "transformers_version",
    "use_cache",
}
_TOKENIZER = ("model", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder")


def parent_digest(directory: Path) -> str:
    """Identity of a parent: its marker's digest, or that of its weight files where it has none.

    Raises UserError where a file is not what the marker says.
    """
    if (marker := check_checkpoint(directory)) is not None:
        return marker.digest()
    return sha256_hex(b"".join(sha256_file(p).encode() for p in sorted(directory.glob("*.safetensors"))))


def check_lineage(directories: Sequence[Path]) -> None:
    """Raises UserError where two parents differ in tokenizer or configuration, naming what differs."""
    _same_tokenizer(directories)
    _same_config(directories)


def _same_tokenizer(directories: Sequence[Path]) -> None:
    found: dict[Path, dict[str, Any]] = {}
    for directory in directories:
        if (path := directory / "tokenizer.json").exists():
            parsed = json.loads(path.read_bytes())
            found[directory] = {k: v for k, v in parsed.items() if k in _TOKENIZER} if "model" in parsed else parsed
    first = next(iter(found), None)
    for directory, parsed in found.items():
        if first is not None and parsed != found[first]:
            raise UserError(f"{first} and {directory} have different tokenizers: parents must be of one lineage")


def _same_config(directories: Sequence[Path]) -> None:
    found = {
        d: _flat(json.loads((d / "config.json").read_bytes())) for d in directories if (d / "config.json").exists()
    }
    if not found:
        return
    first, expected = next(iter(found.items()))
    for directory, config in found.items():
        for key in sorted(expected.keys() | config.keys()):
            if key.rpartition(".")[2] in FREE:
                continue
            if expected.get(key) != config.get(key):
                raise UserError(
                    f"config.json: {key} is {expected.get(key)!r} in {first} and {config.get(key)!r} in {directory}: "
                    "parents must be of one lineage"
                )


def _flat(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested keys joined by dots; a null is the same as nothing."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        elif value is not None:
            flat[prefix + key] = value
    return flat
