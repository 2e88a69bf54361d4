"""CPU of one RL step on 96 compact episodes: the learner (lean forward) against Hugging Face batches, padded.

Run: python benchmarks/learner.py [rounds]. A 0.7 M-parameter Llama in fp32 on one thread; 12 groups of 8 episodes of
about 550 tokens, 110 of them sampled; groups share their task, half of the members also their first turns. Both sides
score the same trained tokens and send one CISPO loss backward; gradients are compared. CPU time, median of rounds.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from journeyman.records.batch import DatasetManifest, Group, Member
from journeyman.records.sample import Sample, SegmentRef
from journeyman.store.dataset import Dataset, RowTokens, write_dataset
from journeyman.training.batch import RlBatch, assemble
from journeyman.training.config import ForwardConfig
from journeyman.training.cpu import settle
from journeyman.training.credit import CreditConfig, credit
from journeyman.training.forward import make_forward
from journeyman.training.learner import Learner, LearnerConfig
from journeyman.training.objectives.cispo import Cispo

TARGET_SECONDS = 2.0
TARGET_RATIO = 1.5
VOCABULARY = 1400


def episode(
    rng: np.random.Generator, start: np.ndarray, turns: list[tuple[np.ndarray, np.ndarray]], alike: float
) -> RowTokens:
    """System and task, five turns of 20 sampled ids and 25 observed ones, ten closing ids."""
    parts, masks = [start], [np.zeros(len(start), bool)]
    shared = True
    for sampled, observed in turns:
        shared = shared and rng.random() < alike
        if not shared:
            sampled, observed = rng.integers(0, VOCABULARY, 20), rng.integers(0, VOCABULARY, 25)
        parts += [sampled, observed]
        masks += [np.ones(20, bool), np.zeros(25, bool)]
    ids = np.concatenate([*parts, rng.integers(0, VOCABULARY, 10)]).astype(np.int32)
    mask = np.concatenate([*masks, np.ones(10, bool)]).astype(np.uint8)
    logprobs = np.where(mask == 1, -7.2, np.nan).astype(np.float32)
    return RowTokens(ids, mask, logprobs, np.where(mask == 1, 0, -1).astype(np.int32))


def write_batch(directory: Path, number: int) -> Path:
    """12 groups of 8."""
    rng = np.random.default_rng(number)
    system = rng.integers(0, VOCABULARY, 250)
    rows: list[RowTokens] = []
    samples: list[Sample] = []
    groups: list[Group] = []
    offset = 0
    for g in range(12):
        start = np.concatenate([system, rng.integers(0, VOCABULARY, 65)])
        turns = [(rng.integers(0, VOCABULARY, 20), rng.integers(0, VOCABULARY, 25)) for _ in range(5)]
        members = []
        for m in range(8):
            row, name = episode(rng, start, turns, 0.5), f"job/rl/t{g}/g{number}-{g}/{m}.0"
            ref = SegmentRef(episode=name, seal_digest="", run=0, segment=0)
            trained = int(row.mask.sum())
            samples.append(Sample(ref=ref, kind="rl", offset=offset, length=len(row.ids), trained_tokens=trained))
            members.append(Member(episode=name, valid=True, reward=float(rng.random()), rows=(len(rows),)))
            rows.append(row)
            offset += len(row.ids)
        groups.append(Group(id=f"g{number}-{g}", task=f"t{g}", members=tuple(members)))
    manifest = DatasetManifest(
        kind="rl",
        rows=len(rows),
        tokens=offset,
        trained_tokens=sum(s.trained_tokens for s in samples),
        groups=12,
        reward_name="signed.v1",
        temperature=1.0,
    )
    write_dataset(directory, manifest, samples, rows, groups=groups)
    return directory


def padded(model: Any, batch: RlBatch, size: int = 8) -> None:
    """The same loss with right-padded batches of `size` rows, logits only where tokens are trained."""
    totals = batch.totals
    for at in range(0, len(batch.rows), size):
        index = list(range(at, min(at + size, len(batch.rows))))
        rows = [batch.rows[i] for i in index]
        width = max(len(r.ids) for r in rows)
        ids = torch.zeros(len(rows), width, dtype=torch.int64)
        attend = torch.zeros(len(rows), width, dtype=torch.int64)
        for i, row in enumerate(rows):
            ids[i, : len(row.ids)], attend[i, : len(row.ids)] = torch.from_numpy(row.ids), 1
        hidden = model.model(input_ids=ids, attention_mask=attend, use_cache=False).last_hidden_state
        where = torch.cat([torch.full((len(r.targets),), i) for i, r in enumerate(rows)])
        before = torch.from_numpy(np.concatenate([r.targets - 1 for r in rows]))
        target = torch.from_numpy(np.concatenate([r.ids[r.targets] for r in rows]))
        logp = torch.log_softmax(model.lm_head(hidden[where, before]), -1).gather(1, target[:, None])[:, 0]
        Cispo().loss(batch.tokens(index, logp), totals).value.backward()


def lean(model: Any, batch: RlBatch) -> None:
    """The same loss with our forward."""
    session = make_forward(model, ForwardConfig()).open(batch.rows)
    for index in session.micro_batches():
        Cispo().loss(batch.tokens(index, session.score(index).logp), batch.totals).value.backward()
    session.finish()


def cpu_of(run: Any, *args: Any) -> float:
    """CPU seconds of one call."""
    before = time.process_time()
    run(*args)
    return time.process_time() - before


def main(rounds: int) -> int:
    """Print both sides and the ratio; 0 iff both targets are reached."""
    settle(1)
    torch.manual_seed(0)
    shape = {"hidden_size": 128, "intermediate_size": 352, "num_hidden_layers": 3, "num_attention_heads": 4}
    config = LlamaConfig(
        vocab_size=VOCABULARY, num_key_value_heads=1, tie_word_embeddings=True, max_position_embeddings=2048, **shape
    )
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        LlamaForCausalLM(config).save_pretrained(root / "policy")
        learner = Learner(
            LearnerConfig(initial=root / "policy", weights=root / "w", state=root / "s", ledger=root / "l")
        )
        model = learner.model
        dataset = Dataset.open(write_batch(root / "same", 999))
        batch = assemble(dataset, [credit(g, CreditConfig()) for g in dataset.groups])
        ours, theirs, steps, gap = [], [], [], 0.0
        for number in range(rounds):
            model.zero_grad()
            theirs.append(cpu_of(padded, model, batch))
            expected = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
            model.zero_grad()
            ours.append(cpu_of(lean, model, batch))
            largest = max(float(g.abs().max()) for g in expected.values())
            gap = max(gap, *(float((p.grad - expected[n]).abs().max()) / largest for n, p in model.named_parameters()))
            steps.append(cpu_of(learner.step, number, write_batch(root / f"b{number}", number)))
    tokens = sum(len(r.ids) for r in batch.rows)
    step, ratio = statistics.median(steps), statistics.median(t / o for t, o in zip(theirs, ours, strict=True))
    print(f"{len(batch.rows)} episodes, {tokens} tokens, {batch.totals.tokens} trained; largest gradient gap {gap:.1e}")
    print(f"forward and backward: ours {statistics.median(ours):.2f} s, padded {statistics.median(theirs):.2f} s CPU")
    print(
        f"ratio {ratio:.2f}x (target >= {TARGET_RATIO}x)   whole step {step:.2f} s CPU (target <= {TARGET_SECONDS} s)"
    )
    good = ratio >= TARGET_RATIO and step <= TARGET_SECONDS and gap < 1e-4
    print(f"learner: {'targets reached' if good else 'targets missed'} ({tokens / step:.0f} tokens/s CPU)")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
