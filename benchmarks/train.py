"""Training throughput and memory against TRL: the same model, rows, loss and thread; SFT, and GRPO on shared prefixes.

Run: python benchmarks/train.py [--peer PYTHON] [--rounds N]. PYTHON has trl installed; without it one is made
under build/ on the first run. A 3.6 M-parameter Llama in fp32 on one thread. SFT: 16 rows of 100 to 700 tokens, half of
them trained. GRPO: 2 groups of 8 rows of 640 tokens that share 60 % as prefix, the rest in turns of 20 sampled and 20
observed. One optimiser step each; logical tokens (every row's own) are counted. Each side is a process of its own:
median CPU seconds, peak memory above the loaded model. Gradients are compared: both sides compute the same.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from train_trl import memory, rows_of

TRL = ("trl==1.16.0", f"torch=={torch.__version__.partition('+')[0]}", f"transformers=={transformers.__version__}")
TARGETS = {"sft": 1.0, "grpo": 1.5}
VOCABULARY = 2048


def write_policy(directory: Path) -> None:
    """A random Llama and a tokenizer of one word a token (TRL wants one)."""
    from tokenizers import Tokenizer, models
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(0)
    shape = {"hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 4, "num_attention_heads": 4}
    config = LlamaConfig(
        vocab_size=VOCABULARY, num_key_value_heads=2, tie_word_embeddings=True, max_position_embeddings=1024, **shape
    )
    LlamaForCausalLM(config).save_pretrained(directory / "policy")
    words = Tokenizer(models.WordLevel({"a": 0, "<eos>": 1}, unk_token="a"))
    fast = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>", pad_token="<eos>")
    fast.save_pretrained(directory / "tokenizer")


def write_rows(directory: Path) -> dict[str, int]:
    """Both sets of rows as arrays; returns their logical tokens."""
    rng = np.random.default_rng(0)
    sft = []
    for length in rng.integers(100, 700, 16):
        ids, mask = rng.integers(2, VOCABULARY, length), (np.arange(length) // 20 % 2).astype(np.uint8)
        sft.append((ids, mask, np.full(length, np.nan), 0.0))
    grpo = []
    for _ in range(2):
        start = rng.integers(2, VOCABULARY, 384)
        advantages = rng.normal(size=8)
        for member in range(8):
            ids = np.concatenate([start, rng.integers(2, VOCABULARY, 256)])
            mask = np.concatenate([np.zeros(384), np.arange(256) // 20 % 2 == 0]).astype(np.uint8)
            logprobs = np.where(mask == 1, -np.log(VOCABULARY) + rng.normal(0, 0.05, 640), np.nan)
            grpo.append((ids, mask, logprobs, advantages[member] - advantages.mean()))
    for what, rows in (("sft", sft), ("grpo", grpo)):
        np.savez(
            directory / f"{what}.npz",
            lengths=[len(r[0]) for r in rows],
            ids=np.concatenate([r[0] for r in rows]),
            mask=np.concatenate([r[1] for r in rows]),
            logprobs=np.concatenate([r[2] for r in rows]).astype(np.float32),
            advantages=[r[3] for r in rows],
        )
    return {"sft": sum(len(r[0]) for r in sft), "grpo": sum(len(r[0]) for r in grpo)}


def ours(what: str, directory: Path, rounds: int) -> None:
    """Our side: the parts that `training.sft` and `training.learner` step with."""
    from journeyman.training.batch import RlBatch
    from journeyman.training.config import ForwardConfig, ModelConfig, OptimiserConfig
    from journeyman.training.cpu import settle
    from journeyman.training.methods import make_objective
    from journeyman.training.optim import Optimiser
    from journeyman.training.policy import load_policy
    from journeyman.training.prefix import TrainRow
    from journeyman.training.update import backward

    settle(1)
    model = load_policy(directory / "policy", ModelConfig())
    optimiser = Optimiser(model, OptimiserConfig(lr=1e-4))
    batch = RlBatch()
    for number, row in enumerate(rows_of(directory, what)):
        targets = np.flatnonzero(row["mask"])
        batch.rows.append(TrainRow(row["ids"].astype(np.int64), targets))
        batch.behaviour.append(row["logprobs"][targets])
        batch.advantage.append(float(row["advantage"]))
        batch.member.append(number)
        batch.group.append(number // 8)
    objective = make_objective({"name": what})
    seconds = []
    Path("/proc/self/clear_refs").write_text("5")
    held = memory("VmRSS")
    for number in range(rounds + 1):
        before = time.process_time()
        optimiser.zero()
        backward(model, objective, batch, ForwardConfig(micro_tokens=4096))
        if number == 0:
            torch.save({n: p.grad for n, p in model.named_parameters()}, directory / f"{what}-ours.pt")
        optimiser.step(1.0)
        seconds.append(time.process_time() - before)
    print(json.dumps({"seconds": seconds[1:], "peak_mb": memory("VmHWM") - held}))


def peer_python(given: str | None) -> str:
    """A Python with TRL: the one that was given, or that of build/trl, which is made where it is missing."""
    if given is not None:
        return given
    python = Path("build") / "trl" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *TRL], check=True)
    return str(python)


def side(command: list[str]) -> dict[str, Any]:
    """One side's figures. Raises SystemExit with what it said where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:2])} failed:\n{done.stderr[-1500:]}")
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def gap(directory: Path, what: str) -> float:
    """Largest difference of the first step's gradients, relative to the largest entry."""
    a, b = (torch.load(directory / f"{what}-{s}.pt", weights_only=True) for s in ("ours", "trl"))
    return max(float((a[n] - b[n]).abs().max()) for n in a) / max(float(g.abs().max()) for g in b.values())


def main() -> int:
    """Print both sides; 0 iff every target is reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="a Python with trl installed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--side", nargs=2, metavar=("WHAT", "DIRECTORY"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        ours(arguments.side[0], Path(arguments.side[1]), arguments.rounds)
        return 0
    good, other = True, peer_python(arguments.peer)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write_policy(directory)
        tokens = write_rows(directory)
        here, rounds = Path(__file__), str(arguments.rounds)
        for what, target in TARGETS.items():
            mine = side([sys.executable, str(here), "--rounds", rounds, "--side", what, name])
            peer = side([other, str(here.with_name("train_trl.py")), what, name, rounds])
            rates = [tokens[what] / statistics.median(f["seconds"]) for f in (mine, peer)]
            apart = gap(directory, what)
            print(
                f"{what:<5} ours {rates[0]:7.0f} tokens/s, peak {mine['peak_mb']:5.0f} MB   TRL {peer['version']} "
                f"{rates[1]:7.0f} tokens/s, peak {peer['peak_mb']:5.0f} MB   {rates[0] / rates[1]:.2f}x "
                f"(target >= {target}x at no more memory)   gradients differ by {apart:.1e}"
            )
            good &= rates[0] / rates[1] >= target and mine["peak_mb"] <= peer["peak_mb"] and apart < 1e-3
    print(f"train: {'targets reached' if good else 'targets missed'} (CPU time, one thread, median of {rounds} steps)")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
