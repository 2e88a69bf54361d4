"""Merging two checkpoints of 2.2 GB each: ours, verification included, against mergekit, time and peak memory.

Run: python benchmarks/merge.py [rounds] [--peer PYTHON] [--dir DIRECTORY]. Both sides make the uniform average of the
same two bf16 checkpoints (1.1 B parameters, a Llama in five shards) in processes of their own with two threads
allowed, one after the other, the page cache warm. The parents carry the marker that our training writes, so their
identity is read; ours accumulates in fp32, hashes what it writes, reads it back and recomputes every tensor. mergekit
is set to what it does best here: bf16, shards of the same size, no tokenizer. Peak memory is what the kernel says each
process held at most (ru_maxrss), less what the same process holds after its imports. Wall time is what a target is set
for; on a machine that is busy with other work, read the CPU seconds beside it. The peer lives in an environment of its
own, made on the first run. About 9 GB of disk are used and freed.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from journeyman.merging.lineage import MARKER, sha256_file
from journeyman.records.sample import Checkpoint

MERGEKIT = ("mergekit==0.1.5", "torch==2.13.0")
TARGET_TIME = 0.5
TARGET_MEMORY = 0.25
SHARDS = 5
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 32000,
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 22,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


class Cost(NamedTuple):
    """What one process took."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int


def shapes() -> dict[str, tuple[int, ...]]:
    """Every tensor of the model."""
    hidden, inner, narrow = 2048, 5632, 256
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (32000, hidden)}
    for layer in range(22):
        name = f"model.layers.{layer}"
        found |= {
            f"{name}.self_attn.q_proj.weight": (hidden, hidden),
            f"{name}.self_attn.k_proj.weight": (narrow, hidden),
            f"{name}.self_attn.v_proj.weight": (narrow, hidden),
            f"{name}.self_attn.o_proj.weight": (hidden, hidden),
            f"{name}.mlp.gate_proj.weight": (inner, hidden),
            f"{name}.mlp.up_proj.weight": (inner, hidden),
            f"{name}.mlp.down_proj.weight": (hidden, inner),
            f"{name}.input_layernorm.weight": (hidden,),
            f"{name}.post_attention_layernorm.weight": (hidden,),
        }
    return found | {"model.norm.weight": (hidden,), "lm_head.weight": (32000, hidden)}


def write_checkpoint(directory: Path, seed: int) -> int:
    """A checkpoint of random weights near those of every other seed. Returns its bytes."""
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(CONFIG))
    items, weight_map, total = list(shapes().items()), {}, 0
    each = -(-len(items) // SHARDS)
    for number in range(SHARDS):
        part = {}
        for place, (key, shape) in enumerate(items[number * each : (number + 1) * each], start=number * each):
            ancestor = torch.empty(shape, dtype=torch.bfloat16).normal_(
                0, 0.02, generator=torch.Generator().manual_seed(place)
            )
            moved = torch.empty(shape, dtype=torch.bfloat16).normal_(
                0, 0.002, generator=torch.Generator().manual_seed(seed * 1000 + place)
            )
            part[key] = ancestor + moved
        name = f"model-{number + 1:05d}-of-{SHARDS:05d}.safetensors"
        save_file(part, directory / name, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(part, name)
        total += sum(t.nbytes for t in part.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    files = {p.name: sha256_file(p) for p in sorted(directory.iterdir())}
    made = Checkpoint(name=directory.name, version=0, parents=(), step=0, objective="random", files=files).checked()
    (directory / MARKER).write_bytes(made.canonical())
    return total


def cost(command: list[str]) -> Cost:
    """Run a process to its end. Raises RuntimeError with its last words where it fails."""
    with tempfile.TemporaryFile() as log:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "2"})
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            log.seek(0)
            raise RuntimeError(f"{command[0]} failed: {log.read()[-2000:].decode(errors='replace')}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def peer_python(given: str | None, build: Path) -> str:
    """The interpreter that has mergekit; its environment is made where none is given."""
    if given:
        return given
    python = build / "mergekit" / "bin" / "python"
    if not (python.parent / "mergekit-yaml").exists():
        subprocess.run([sys.executable, "-m", "venv", str(build / "mergekit")], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *MERGEKIT], check=True)
    return str(python)


def same_average(ours: Path, parents: list[Path]) -> bool:
    """Whether a few tensors are the fp32 mean of the parents, cast once."""

    def read(directory: Path, key: str) -> torch.Tensor:
        index = json.loads((directory / "model.safetensors.index.json").read_bytes())["weight_map"]
        with safe_open(directory / index[key], framework="pt") as file:
            found: torch.Tensor = file.get_tensor(key)
            return found

    for key in ("model.layers.1.mlp.down_proj.weight", "model.norm.weight"):
        a, b = (read(p, key).float() for p in parents)
        if not torch.equal(read(ours, key), ((a + b) / 2).to(torch.bfloat16)):
            return False
    return True


def main() -> int:
    """Print both sides and the ratios; 0 iff both targets are reached."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", nargs="?", type=int, default=3)
    parser.add_argument("--peer", help="Python that has mergekit; default: an environment made in build/")
    parser.add_argument("--dir", help="where the checkpoints are written; default: the temporary directory")
    given = parser.parse_args()
    python = peer_python(given.peer, Path("build"))
    with tempfile.TemporaryDirectory(dir=given.dir) as name:
        root = Path(name)
        parents = [root / "a", root / "b"]
        size = max(write_checkpoint(p, seed) for seed, p in enumerate(parents, start=1))
        ours_config, theirs_config = root / "ours.json", root / "theirs.yaml"
        ours_config.write_text(json.dumps({"parents": [str(p) for p in parents], "out": str(root / "ours")}))
        models = [{"model": str(p), "parameters": {"weight": 0.5}} for p in parents]
        theirs_config.write_text(json.dumps({"merge_method": "linear", "models": models, "dtype": "bfloat16"}))
        shard = str(size // SHARDS)  # bytes, whatever its help says
        theirs_call = [str(Path(python).parent / "mergekit-yaml"), str(theirs_config), str(root / "theirs")]
        theirs_call += ["--no-copy-tokenizer", "--no-write-model-card", "--out-shard-size", shard, "--num-threads", "2"]
        ours_call = [sys.executable, "-m", "journeyman.merging", "--config", str(ours_config)]
        ours_idle = cost([sys.executable, "-c", "import journeyman.merging.merge, journeyman.merging.methods.soup"])
        theirs_idle = cost([python, "-c", "import mergekit.scripts.run_yaml, mergekit.merge"])
        ours, theirs = [], []
        for _ in range(given.rounds):
            for found, call, out in ((theirs, theirs_call, root / "theirs"), (ours, ours_call, root / "ours")):
                shutil.rmtree(out, ignore_errors=True)
                found.append(cost(call))
        right = same_average(root / "ours", parents)

    def middle(found: list[Cost], place: int) -> float:
        return statistics.median(one[place] for one in found)

    times = middle(ours, 0) / middle(theirs, 0)
    held = middle(ours, 2) - ours_idle.peak_bytes, middle(theirs, 2) - theirs_idle.peak_bytes
    memory = held[0] / held[1]
    print(f"two checkpoints of {size / 1e9:.2f} GB in {SHARDS} shards, {given.rounds} rounds, medians")
    print(f"  seconds      ours {middle(ours, 0):7.2f}   mergekit {middle(theirs, 0):7.2f}   (wall)")
    print(f"  CPU seconds  ours {middle(ours, 1):7.2f}   mergekit {middle(theirs, 1):7.2f}")
    print(f"  peak memory  ours {held[0] / 1e6:7.0f}   mergekit {held[1] / 1e6:7.0f}   (MB above imports)")
    print(
        f"  imports      ours {ours_idle.peak_bytes / 1e6:7.0f}   mergekit {theirs_idle.peak_bytes / 1e6:7.0f}   (MB)"
    )
    print(f"time {times:.2f}x (target <= {TARGET_TIME}x)   memory {memory:.2f}x (target <= {TARGET_MEMORY}x)")
    good = times <= TARGET_TIME and memory <= TARGET_MEMORY and right
    print(
        f"merge: {'targets reached' if good else 'targets missed'}; every tensor of ours recomputed and equal: {right}"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
