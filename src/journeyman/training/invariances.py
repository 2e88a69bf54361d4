"""The learner's invariance suite: one batch told in several ways must give one gradient.

Everything runs through the parts that train: dataset files, credit, assembly, forward, objective, critic, state. A gap
is max |g - g'| / max |g| over all parameters, in fp32.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from journeyman.errors import UserError
from journeyman.records.base import Record
from journeyman.store.dataset import Dataset, RowTokens
from journeyman.training.batch import RlBatch, assemble
from journeyman.training.config import CriticConfig, ForwardConfig, LearnerConfig, ModelConfig, OptimiserConfig
from journeyman.training.credit import credit
from journeyman.training.critic import Critic
from journeyman.training.learner import Learner
from journeyman.training.methods import make_objective
from journeyman.training.objectives.base import Objective, TokenBatch
from journeyman.training.objectives.sao import Sao
from journeyman.training.policy import load_critic, load_policy
from journeyman.training.synthetic import Attempt, Story, story, write_policy, write_story
from journeyman.training.update import backward

TOLERANCE = 5e-5
"""Of a gradient, relative to its largest entry. fp32 sums in another order differ by about a tenth of it."""
BASE = ForwardConfig(kind="rows")
OBJECTIVES: tuple[dict[str, Any], ...] = (
    {"name": "cispo"},
    {"name": "grpo"},
    {"name": "dr_grpo"},
    {"name": "rloo", "cap": 2.0},
    {"name": "gspo", "clip_low": 0.2, "clip_high": 0.2},
    {"name": "reinforce", "cap": 2.0},
    {"name": "hdpo"},
    {"name": "hdpo", "surrogate": "ppo"},
    {"name": "sao"},
)
Gradients = dict[str, Tensor]


class Checked(Record):
    """One invariance of one objective."""

    objective: str
    invariance: str
    gap: float
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether the gap is within the tolerance."""
        return self.gap <= self.tolerance


class Measured:
    """The models of one policy and one objective, their gradients read and forgotten batch by batch."""

    def __init__(self, policy: Path, objective: dict[str, Any]) -> None:
        self.made = make_objective(objective)
        self.credit = LearnerConfig(
            initial=policy, weights=policy, state=policy, ledger=policy, objective=objective
        ).credit
        self.model = load_policy(policy, ModelConfig())
        self.critics: dict[ForwardConfig, Critic] = {}
        self.policy = policy

    def batch(self, dataset: Path) -> RlBatch:
        """The dataset's rows with their credit; a critic's estimates are still missing."""
        data = Dataset.open(dataset)
        return assemble(data, [credit(g, self.credit) for g in data.groups])

    def critic(self, forward: ForwardConfig) -> Critic:
        """A fresh critic that computes this way. No check steps it."""
        if forward not in self.critics:
            self.critics[forward] = Critic(load_critic(self.policy, ModelConfig()), CriticConfig(), forward)
        return self.critics[forward]

    def gradients(self, dataset: Path, forward: ForwardConfig, part: tuple[int, int] = (0, 1)) -> Gradients:
        """The policy's (and a critic's) gradient of one batch; `part` (i, n): of every n-th member from the i-th."""
        batch = self.batch(dataset)
        mine = [row for rows in batch.atoms()[part[0] :: part[1]] for row in rows]
        found: Gradients = {}
        if isinstance(self.made, Sao):
            critic = self.critic(forward)
            critic.backward(batch, critic.estimate(batch), mine)
            found |= {f"critic.{n}": g for n, g in _taken(critic.model).items()}
        backward(self.model, self.made, batch, forward, mine=mine)
        return found | _taken(self.model)


def _taken(model: nn.Module) -> Gradients:
    found = {n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in model.named_parameters()}
    model.zero_grad()
    return found


@dataclass(frozen=True)
class Bench:
    """What all checks of one objective share."""

    root: Path
    policy: Path
    told: Story
    after: Story  # the batch of the next step
    objective: dict[str, Any]
    measured: Measured

    def written(self, name: str, told: Story) -> Path:
        """A dataset of this story, written once for all objectives."""
        directory = self.root / f"batch-{name}"
        return directory if directory.exists() else write_story(directory, told)

    def gradients(self, name: str, told: Story, forward: ForwardConfig = BASE) -> Gradients:
        """Gradient of this telling of the batch."""
        return self.measured.gradients(self.written(name, told), forward)


def gap(found: Gradients, expected: Gradients) -> float:
    """max |g - g'| / max |g|, policy and critic each by its own scale."""
    worst = 0.0
    for critic in (False, True):
        names = [n for n in expected if n.startswith("critic.") == critic]
        scale = max((float(expected[n].abs().max()) for n in names), default=0.0)
        apart = max((float((found[n] - expected[n]).abs().max()) for n in names), default=0.0)
        worst = max(worst, apart / scale if scale else apart)
    return worst


def _each(told: Story, change: Callable[[Attempt], Attempt]) -> Story:
    return {name: [change(attempt) for attempt in attempts] for name, attempts in told.items()}


def _split(attempt: Attempt) -> Attempt:
    """Three segments: each repeats the history as context and trains its own third of the tokens."""
    made = []
    for row in attempt.segments:
        for part in np.array_split(np.flatnonzero(row.mask), 3):
            if not len(part):
                continue
            end = int(part[-1]) + 1
            mask = np.zeros(end, np.uint8)
            mask[part] = 1
            versions = np.where(mask == 1, row.versions[:end], -1).astype(np.int32)
            made.append(RowTokens(row.ids[:end], mask, row.logprobs[:end], versions))
    return attempt._replace(segments=tuple(made))


def _observed(attempt: Attempt) -> Attempt:
    """Every segment ends with eleven observed tokens more."""
    return attempt._replace(
        segments=tuple(
            RowTokens(
                np.concatenate([row.ids, np.arange(11, dtype=np.int32)]),
                np.concatenate([row.mask, np.zeros(11, np.uint8)]),
                np.concatenate([row.logprobs, np.full(11, np.nan, np.float32)]),
                np.concatenate([row.versions, np.full(11, -1, np.int32)]),
            )
            for row in attempt.segments
        )
    )


def inserted_gap(bench: Bench) -> float:
    """Masked tokens, unusable ones too, between trained ones: the loss's gradient on the trained ones stays."""
    objective = bench.measured.made
    batch = bench.measured.batch(bench.written("plain", bench.told))
    if isinstance(objective, Sao):
        bench.measured.critic(BASE).estimate(batch)
    rng = np.random.default_rng(0)
    tokens = batch.tokens(range(len(batch.rows)), torch.from_numpy(np.concatenate(batch.behaviour)))
    expected = _on_logp(objective, batch, tokens)
    count = len(tokens.logp)
    where = torch.from_numpy(np.sort(rng.choice(count + 40, count, replace=False)))
    found = _on_logp(objective, batch, _spread(tokens, where, count + 40))[where]
    return float((found - expected).abs().max() / expected.abs().max())


def _on_logp(objective: Objective, batch: RlBatch, tokens: TokenBatch) -> Tensor:
    logp = tokens.logp.clone().requires_grad_()
    values = {**tokens.__dict__, "logp": logp}
    objective.loss(TokenBatch(**values), batch.totals).value.backward()  # type: ignore[no-untyped-call]
    grad = logp.grad
    return torch.zeros_like(logp) if grad is None else grad


def _spread(tokens: TokenBatch, where: Tensor, size: int) -> TokenBatch:
    """The same tokens at places `where` of `size`; between them masked ones whose log-probs are not numbers."""
    fill = {"logp": -1.0, "behaviour": float("-inf"), "member_tokens": 1.0, "group_tokens": 1.0}
    values: dict[str, Any] = {}
    for name, value in tokens.__dict__.items():
        if value is not None:
            values[name] = torch.full((size,), fill.get(name, 0), dtype=value.dtype)
            values[name][where] = value
    return TokenBatch(**values)


def resumed_gap(bench: Bench) -> float:
    """Two steps in one process, and with a stop between them: the largest difference of any published weight."""
    batches = [bench.written("plain", bench.told), bench.written("after", bench.after)]
    objective = dict(bench.objective)
    if objective["name"] == "sao":
        objective["critic"] = {"pretrain_steps": 1}
    ends = []
    for name in ("straight", "stopped"):
        root = bench.root / json.dumps(bench.objective, sort_keys=True).replace("/", "_") / name
        config = LearnerConfig(
            initial=bench.policy,
            weights=root / "weights",
            state=root / "state",
            ledger=root / "ledger.jsonl",
            objective=objective,
            optimiser=OptimiserConfig(lr=1e-3),
            forward=BASE,
        )
        learner = Learner(config)
        learner.step(0, batches[0])
        learner = Learner(config) if name == "stopped" else learner
        learner.step(1, batches[1])
        ends.append({n: p.detach() for n, p in learner.model.named_parameters()})
    return max(float((ends[0][n] - ends[1][n]).abs().max()) for n in ends[0])


def _tellings(bench: Bench, base: Gradients) -> list[tuple[str, float]]:
    """(invariance, gap) of everything that is one more gradient in this process."""
    told = bench.told
    split = _each(told, _split)
    backwards = {name: list(reversed(told[name])) for name in reversed(list(told))}
    packed, tiny = ForwardConfig(kind="packed", micro_tokens=400), ForwardConfig(kind="lean", micro_tokens=60)
    observed = gap(bench.gradients("observed", _each(told, _observed)), base)
    return [
        ("splitting a trajectory", gap(bench.gradients("split", split), base)),
        ("inserting observations", max(observed, inserted_gap(bench))),
        ("packing", gap(bench.gradients("plain", told, packed), base)),
        ("shared prefixes", gap(bench.gradients("plain", told, ForwardConfig(kind="lean")), base)),
        ("micro-batch split", gap(bench.gradients("plain", told, tiny), base)),
        ("segments in several micro-batches", gap(bench.gradients("split", split, tiny), base)),
        ("row order", gap(bench.gradients("backwards", backwards, packed), base)),
    ]


def check(
    objectives: Sequence[dict[str, Any]] = OBJECTIVES,
    workers: int = 2,
    seed: int = 0,
    note: Callable[[str], None] | None = None,
) -> list[Checked]:
    """Run the suite; `workers` processes for the worker-count check (1: leave it out). Raises UserError."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        policy = write_policy(root / "policy", seed)
        told, after = story(policy, seed), story(policy, seed + 1)
        benches = [Bench(root, policy, told, after, one, Measured(policy, one)) for one in objectives]
        checked: list[Checked] = []
        for bench in benches:
            label = label_of(bench.objective)
            if note is not None:
                note(label)
            base = bench.gradients("plain", bench.told)
            gaps = [*_tellings(bench, base), ("resume", resumed_gap(bench))]
            checked += [
                Checked(objective=label, invariance=i, gap=g, tolerance=0.0 if i == "resume" else TOLERANCE)
                for i, g in gaps
            ]
        if workers > 1:
            if note is not None:
                note(f"{workers} workers")
            together = _by_workers(benches, workers)
            for bench, found in zip(benches, together, strict=True):
                distance = gap(found, bench.gradients("plain", bench.told))
                checked.append(
                    Checked(
                        objective=label_of(bench.objective),
                        invariance=f"{workers} workers",
                        gap=distance,
                        tolerance=TOLERANCE,
                    )
                )
    return checked


def label_of(objective: dict[str, Any]) -> str:
    """How tables name an objective."""
    name = str(objective.get("name", ""))
    return f"{name} ({objective['surrogate']})" if "surrogate" in objective else name


def _by_workers(benches: Sequence[Bench], workers: int) -> list[Gradients]:
    """Gradients summed over processes that each computed their own members."""
    root = benches[0].root
    job = root / "workers.json"
    jobs = {
        "policy": str(benches[0].policy),
        "dataset": str(benches[0].written("plain", benches[0].told)),
        "objectives": [bench.objective for bench in benches],
        "out": str(root / "workers.pt"),
        "meeting": str(root / "meeting"),
    }
    job.write_text(json.dumps(jobs))
    command = [sys.executable, "-m", "journeyman.training.workers", str(job), str(workers)]
    started = [subprocess.Popen([*command, str(rank)], stderr=subprocess.PIPE) for rank in range(workers)]
    for process in started:
        _, said = process.communicate(timeout=300)
        if process.returncode:
            last = said.decode(errors="replace").strip().splitlines()[-1:]
            raise UserError(f"a worker of the check ended with {process.returncode}: {''.join(last)}")
    found: list[Gradients] = torch.load(root / "workers.pt", weights_only=True)
    return found
