"""Who parents are and whether they belong together: one tokenizer, one configuration."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from journeyman.errors import UserError
from journeyman.records.base import sha256_hex
from journeyman.store.checkpoint import TOKENIZERS, check_checkpoint, sha256_file
from journeyman.store.config_file import read_values

WHOLE = "a whole checkpoint directory"  # what to give where a file of one is damaged
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
    """Files that two parents have must agree, and where one has any, the other must share one with it."""
    first, *others = directories
    expected = _tokenizers(first)
    for directory in others:
        found = _tokenizers(directory)
        shared = found.keys() & expected.keys()
        if ((found or expected) and not shared) or any(found[name] != expected[name] for name in shared):
            told = " and ".join(f"{d} ({', '.join(t) or 'none'})" for d, t in ((first, expected), (directory, found)))
            raise UserError(f"{told} have different tokenizers: parents must be of one lineage")


def _tokenizers(directory: Path) -> dict[str, Any]:
    """What each tokenizer file of a parent says, by name: parts that change no id are left out of tokenizer.json."""
    found: dict[str, Any] = {}
    for name in (*TOKENIZERS, "merges.txt"):
        path = directory / name
        if name == "tokenizer.json" and path.exists():
            parsed = read_values(path, WHOLE)
            found[name] = {k: v for k, v in parsed.items() if k in _TOKENIZER} if "model" in parsed else parsed
        elif path.exists():
            found[name] = sha256_file(path)
    return found


def _same_config(directories: Sequence[Path]) -> None:
    found = {d: _flat(read_values(d / "config.json", WHOLE)) for d in directories if (d / "config.json").exists()}
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
