"""SFT on a dataset directory, resumable at every saved update: the same updates in the same order, whatever was killed.

`python -m journeyman.training.sft --config FILE` prints JSON lines: start, progress..., done.
"""

import sys
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from journeyman.errors import UserError
from journeyman.store.checkpoint import read_checkpoint
from journeyman.store.config_file import load_config
from journeyman.store.dataset import Dataset
from journeyman.store.json_process import Emit, run
from journeyman.store.lock import hold
from journeyman.store.unfinished import check_free
from journeyman.training.batch import train_row
from journeyman.training.config import SftTrainConfig, made_with
from journeyman.training.cpu import settle
from journeyman.training.forward import Pace, make_forward
from journeyman.training.objectives.base import TokenBatch, Totals
from journeyman.training.objectives.sft import Sft
from journeyman.training.optim import NotFinite, Optimiser
from journeyman.training.policy import (
    check_goes_with,
    checkpoint_digest,
    full_state,
    load_whole,
    publish,
    restore,
    trained_state,
)
from journeyman.training.prefix import TrainRow
from journeyman.training.schedule import factor, stands_still
from journeyman.training.state import StateStore, check_made_with

SAVING_SHARE = 20
"""States that are due by time alone take no more than about one in so many seconds."""


def plan_updates(dataset: Dataset, config: SftTrainConfig) -> list[list[int]]:
    """Row indexes of every update of the run, in order: a fresh permutation per epoch, decided by the seed alone.

    Raises UserError where there is none to make, or none that moves a weight.
    """
    units = (
        [list(p.rows) for p in dataset.packs]
        if config.batch_rows is None
        else [[i] for i in range(len(dataset.samples))]
    )
    size = config.batch_packs if config.batch_rows is None else config.batch_rows
    per_epoch = -(-len(units) // size)
    total = round(per_epoch * config.epochs)
    if not per_epoch:
        raise UserError(f"{config.dataset} holds no rows: build one that does")
    if not total:
        raise UserError(
            f"epochs = {config.epochs:g} of {per_epoch} update{'s' * (per_epoch > 1)} makes none: "
            f"give {1 / per_epoch:.2g} or more"
        )
    if why := stands_still(total, config.schedule):
        raise UserError(why)
    updates: list[list[int]] = []
    epoch = 0
    while len(updates) < total:
        order = np.random.default_rng([config.seed, epoch]).permutation(len(units))
        updates += [[row for u in order[at : at + size] for row in units[u]] for at in range(0, len(units), size)]
        epoch += 1
    return updates[:total]


class SftRun:
    """One SFT run; construction resumes from the last saved update."""

    pace: Pace | None = None

    def __init__(self, config: SftTrainConfig) -> None:
        settle(config.threads)
        self.config = config
        self.dataset = Dataset.open(config.dataset)
        if self.dataset.manifest.kind != "sft":
            raise UserError(f"{config.dataset} is a dataset of kind {self.dataset.manifest.kind!r}: SFT needs kind sft")
        self.updates = plan_updates(self.dataset, config)
        check_goes_with(self.dataset, config.initial)
        self.model = self._load()
        self.optimiser = Optimiser(self.model, config.optimiser)
        balance = config.model.router_balance > 0
        self.forward = make_forward(self.model, config.forward, balance=balance, pace=self.pace)
        self.rows = [train_row(self.dataset.row(i)) for i in range(len(self.dataset.samples))]
        self.store = StateStore(config.state)
        self.done = 0
        self.made_with = identity(config)
        if saved := self.store.load():
            tensors, cursor = saved
            check_made_with(cursor, self.made_with, config.state)
            with self.store.taking_up():
                restore(self.model, tensors["parameters"])
                self.optimiser.load(tensors["optimiser"])
                self.done = int(cursor["step"])

    def _load(self) -> nn.Module:
        return load_whole(self.config, "journeyman.training.distributed_sft")

    def update(self) -> dict[str, float]:
        """One optimiser step on the next batch; returns loss, tokens, lr and gradient norm. Raises NotFinite."""
        rows = [self.rows[i] for i in self.updates[self.done]]
        self.optimiser.zero()
        loss = self._gradient(rows)
        self.done += 1
        try:
            norm = self.optimiser.step(factor(self.done, len(self.updates), self.config.schedule), loss)
        except NotFinite as error:
            raise error.of(f"SFT update {self.done} of {len(self.updates)}") from None
        tokens = float(sum(len(row.ids) for row in rows))
        return {"loss": loss, "tokens": tokens, "lr": next(self.optimiser.rates()), "gradient_norm": norm}

    def _gradient(self, rows: list[TrainRow]) -> float:
        return self._backward(rows, rows)

    def _backward(self, rows: list[TrainRow], mine: list[TrainRow]) -> float:
        """The gradient of `mine`, a share of the update's rows; its part of the loss."""
        totals = Totals(tokens=sum(len(row.targets) for row in rows), members=len(rows), groups=0)
        ids = max(sum(len(row.ids) for row in rows), 1)
        balance = self.config.model.router_balance
        session = self.forward.open(mine)
        value = 0.0
        for indexes in session.micro_batches():
            scored = session.score(indexes)
            loss = Sft().loss(_plain(scored.logp), totals).value
            if scored.balance is not None:
                loss = loss + balance * scored.balance / ids
            loss.backward()  # type: ignore[no-untyped-call]
            value += float(loss.detach())
        session.finish()
        return value

    def save(self) -> None:
        """Write a resumable state."""
        tensors = {"parameters": trained_state(self.model), "optimiser": self.optimiser.state()}
        self._keep(tensors)

    def agreed(self, due: bool) -> bool:
        """Whether it is due on any process that shares the run."""
        return due

    def _keep(self, tensors: dict[str, Any]) -> None:
        self.store.save(self.done, tensors, {"step": self.done, "made_with": self.made_with})

    def publish(self) -> None:
        """Write the checkpoint."""
        self._publish(full_state(self.model))

    def _publish(self, weights: dict[str, Tensor]) -> None:
        parent = read_checkpoint(self.config.initial)
        publish(
            weights,
            self.config.initial,
            self.config.out,
            name=self.config.name,
            version=0,
            step=self.done,
            objective="sft",
            parents=(parent.digest() if parent else checkpoint_digest(self.config.initial),),
            recipe_digest=self.made_with,
        )


def identity(config: SftTrainConfig) -> str:
    """Digest of what decides the policy that an SFT run makes: recipe or settings, dataset and initial policy."""
    if config.recipe_digest:
        return config.recipe_digest
    return made_with(config, Dataset.open(config.dataset, verify=False).digest, checkpoint_digest(config.initial))


def _plain(logp: torch.Tensor) -> TokenBatch:
    ones = torch.ones_like(logp)
    index = torch.zeros(len(logp), dtype=torch.int64)
    return TokenBatch(logp, logp.detach(), ones, ones.bool(), index, index, ones, ones)


def train(config: SftTrainConfig, emit: Emit, begin: Callable[[SftTrainConfig], SftRun] = SftRun) -> Path:
    """Run to the end and publish `config.out`; a finished one is reported and left as it is.

    Raises UserError where it, or a state to go on from, was made with other settings.
    """
    if (marker := read_checkpoint(config.out)) is not None:
        if marker.recipe_digest != identity(config):
            raise UserError(f"{config.out} holds another checkpoint and is create-only: choose another name")
        emit({"event": "done", "weights": str(config.out), "digest": checkpoint_digest(config.out), "resumed": True})
        return config.out
    check_free(config.out, "checkpoint")
    work = begin(config)
    emit({"event": "start", "step": work.done, "total": len(work.updates), "rows": len(work.rows)})
    kept = started = time.perf_counter()
    saving = 0.0  # seconds that the last state took
    tokens, losses = 0.0, []
    while work.done < len(work.updates):
        figures = work.update()
        tokens += figures["tokens"]
        losses.append(figures["loss"])
        last = work.done == len(work.updates)
        due = time.perf_counter() - kept >= max(config.save_seconds, SAVING_SHARE * saving)
        if last or work.done % config.save_every == 0 or work.agreed(due):
            begun = time.perf_counter()
            work.save()
            kept = time.perf_counter()
            saving = kept - begun
        if last or work.done % config.progress_every == 0:
            seconds = time.perf_counter() - started
            recent = float(np.mean(losses[-config.progress_every :]))
            line: dict[str, Any] = {"event": "progress", "step": work.done, "total": len(work.updates), **figures}
            emit(line | {"loss": recent, "seconds": seconds, "tokens_per_second": tokens / max(seconds, 1e-9)})
    work.publish()
    emit(
        {
            "event": "done",
            "weights": str(config.out),
            "digest": checkpoint_digest(config.out),
            "steps": work.done,
            "tokens": tokens,
            "seconds": time.perf_counter() - started,
            "loss": float(np.mean(losses[-20:])) if losses else None,
        }
    )
    return config.out


def main(arguments: Namespace, emit: Emit) -> None:
    """Train one SFT run."""
    config = load_config(arguments.config, SftTrainConfig)
    with hold(config.state / "lock", wait=True):  # one whose driver was killed ends first
        train(config, emit)


if __name__ == "__main__":
    sys.exit(run("SFT", main))
