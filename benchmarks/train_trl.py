"""The peer's side of benchmarks/train.py: TRL's own loss on the same rows, in a process of its own.

`PYTHON_WITH_TRL benchmarks/train_trl.py sft|grpo DIRECTORY ROUNDS` prints one JSON line; it needs no journeyman. TRL's
own loss (`SFTTrainer.compute_loss`, `GRPOTrainer._compute_loss`) on 8 rows a micro-batch, then one AdamW step; the
trainer's loop, logging and generation are left out, which is to its advantage.
"""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch


def memory(kind: str) -> float:
    """MB of this process: VmRSS now, or VmHWM since the last reset."""
    return int(re.search(rf"{kind}:\s+(\d+)", Path("/proc/self/status").read_text()).group(1)) / 1024  # type: ignore[union-attr]


def rows_of(directory: Path, what: str) -> list[dict[str, np.ndarray]]:
    """Rows as written by benchmarks/train.py."""
    data = np.load(directory / f"{what}.npz")
    ends = np.cumsum(data["lengths"])
    cut = {name: np.split(data[name], ends[:-1]) for name in ("ids", "mask", "logprobs")}
    return [
        {name: parts[i] for name, parts in cut.items()} | {"advantage": data["advantages"][i]} for i in range(len(ends))
    ]


def sft_batches(trainer: Any, rows: list[dict[str, np.ndarray]]) -> list[dict[str, torch.Tensor]]:
    """Collated by TRL, 8 rows each."""
    examples = [
        {"input_ids": r["ids"].tolist(), "labels": np.where(r["mask"] == 1, r["ids"], -100).tolist()} for r in rows
    ]
    return [trainer.data_collator(examples[at : at + 8]) for at in range(0, len(examples), 8)]


def grpo_batches(rows: list[dict[str, np.ndarray]]) -> list[dict[str, torch.Tensor]]:
    """What `_generate_and_score_completions` hands on: prompts, completions, masks, rollout log-probs; 8 rows each."""
    made = []
    for at in range(0, len(rows), 8):
        part = rows[at : at + 8]
        starts = [int(np.flatnonzero(r["mask"])[0]) for r in part]
        prompt, width = max(starts), max(len(r["ids"]) - s for r, s in zip(part, starts, strict=True))
        batch = {
            "prompt_ids": torch.zeros(len(part), prompt, dtype=torch.int64),
            "prompt_mask": torch.zeros(len(part), prompt, dtype=torch.int64),
            "completion_ids": torch.zeros(len(part), width, dtype=torch.int64),
            "completion_mask": torch.zeros(len(part), width, dtype=torch.int64),
            "tool_mask": torch.zeros(len(part), width, dtype=torch.int64),
            "old_per_token_logps": torch.zeros(len(part), width),
            "advantages": torch.tensor([float(r["advantage"]) for r in part]),
        }
        for i, (row, start) in enumerate(zip(part, starts, strict=True)):
            ids, n = torch.from_numpy(row["ids"].astype(np.int64)), len(row["ids"]) - start
            batch["prompt_ids"][i, prompt - start :] = ids[:start]
            batch["prompt_mask"][i, prompt - start :] = 1
            batch["completion_ids"][i, :n] = ids[start:]
            batch["completion_mask"][i, :n] = 1
            batch["tool_mask"][i, :n] = torch.from_numpy(row["mask"][start:].astype(np.int64))
            batch["old_per_token_logps"][i, :n] = torch.from_numpy(np.nan_to_num(row["logprobs"][start:]))
        made.append(batch)
    return made


def trainer_of(what: str, model: Any, out: Path) -> Any:
    """TRL's trainer, only for its loss and collator."""
    from transformers import PreTrainedTokenizerFast

    from datasets import Dataset

    tokenizer = PreTrainedTokenizerFast.from_pretrained(out / "tokenizer")
    common = {"output_dir": str(out / "trl"), "per_device_train_batch_size": 8, "use_cpu": True, "report_to": []}
    if what == "sft":
        from trl import SFTConfig, SFTTrainer

        rows = Dataset.from_list([{"input_ids": [1, 2, 3], "labels": [1, 2, 3]}])
        config = SFTConfig(**common, bf16=False, max_length=None, gradient_checkpointing=False)
        return SFTTrainer(model=model, args=config, train_dataset=rows, processing_class=tokenizer)
    from trl import GRPOConfig, GRPOTrainer

    config = GRPOConfig(
        **common, bf16=False, num_generations=8, beta=0.0, loss_type="grpo", gradient_checkpointing=False
    )
    prompts = Dataset.from_list([{"prompt": "a"}] * 8)
    return GRPOTrainer(
        model=model, reward_funcs=lambda **_: [0.0], args=config, train_dataset=prompts, processing_class=tokenizer
    )


def main(what: str, directory: Path, rounds: int) -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    import trl
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(directory / "policy", dtype=torch.float32, attn_implementation="sdpa")
    trainer = trainer_of(what, model, directory)
    model.train()
    rows = rows_of(directory, what)
    trained = sum(int(r["mask"].sum()) for r in rows)
    batches = sft_batches(trainer, rows) if what == "sft" else grpo_batches(rows)
    trainer.current_gradient_accumulation_steps = len(batches)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
    seconds = []
    Path("/proc/self/clear_refs").write_text("5")
    held = memory("VmRSS")
    for number in range(rounds + 1):
        before = time.process_time()
        optimiser.zero_grad()
        for batch in batches:
            if what == "sft":
                loss = trainer.compute_loss(model, dict(batch), num_items_in_batch=torch.tensor(trained))
            else:
                loss = trainer._compute_loss(model, dict(batch))
            loss.backward()
        if number == 0:
            torch.save({n: p.grad for n, p in model.named_parameters()}, directory / f"{what}-trl.pt")
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        seconds.append(time.process_time() - before)
    print(json.dumps({"seconds": seconds[1:], "peak_mb": memory("VmHWM") - held, "version": trl.__version__}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
