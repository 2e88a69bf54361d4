"""The learner on N processes that Accelerate started: same requests, same records, gradients summed, one writer.

    accelerate launch --multi_gpu --num_processes 2 -m journeyman.training.distributed --config FILE

speaks what `journeyman.training.learner` speaks (Accelerate's --multi_gpu also starts CPU processes, which meet over
gloo). Every process holds the model; each computes the gradient of its own members and all gradients are added, so an
update is that of one process within rounding. Rank 0 reads requests, publishes, keeps the state and answers.
"""

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import astuple
from datetime import timedelta
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from journeyman.errors import UserError
from journeyman.records.sample import Update
from journeyman.store.config_file import load_config
from journeyman.store.json_process import Emit, run
from journeyman.store.lock import hold
from journeyman.training.batch import RlBatch
from journeyman.training.config import LearnerConfig
from journeyman.training.diagnostics import RatioSums
from journeyman.training.learner import Learner, serve
from journeyman.training.schedule import factor
from journeyman.training.update import backward

PATIENCE = timedelta(days=7)  # a process may wait for the others as long as rollouts take


class Team:
    """The processes of one `accelerate launch`; alone, a team of one."""

    def __init__(self, cpu: bool) -> None:
        try:
            accelerate: Any = import_module("accelerate")
        except ImportError as error:
            raise UserError(
                f"training on several processes needs accelerate ({error}): pip install accelerate"
            ) from None
        patient = accelerate.InitProcessGroupKwargs(timeout=PATIENCE)
        self._accelerator: Any = accelerate.Accelerator(cpu=cpu, kwargs_handlers=[patient])
        self.rank, self.world = int(self._accelerator.process_index), int(self._accelerator.num_processes)

    @property
    def first(self) -> bool:
        """Whether this process reads, writes and answers."""
        return self.rank == 0

    def wait(self) -> None:
        """Until every process is here."""
        self._accelerator.wait_for_everyone()

    def add(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, the same on each."""
        if self.world > 1:
            torch.distributed.all_reduce(tensor)
        return tensor

    def most(self, tensor: Tensor) -> Tensor:
        """The largest over all processes."""
        if self.world > 1:
            torch.distributed.all_reduce(tensor, op=torch.distributed.ReduceOp.MAX)
        return tensor

    def hear(self, words: str | None) -> str | None:
        """What rank 0 says, on every process."""
        said = [words]
        if self.world > 1:
            torch.distributed.broadcast_object_list(said, src=0)
        return said[0]

    def close(self) -> None:
        """Leave the group."""
        self._accelerator.end_training()


class TeamLearner(Learner):
    """A `Learner` that computes its share of every batch. Raises UserError for methods with a critic."""

    def __init__(self, config: LearnerConfig, team: Team) -> None:
        self.team = team
        super().__init__(config)
        if self.critic is not None and team.world > 1:
            raise UserError(f"{self.objective.name} trains a critic in one process: start it without accelerate launch")

    def _resume(self) -> None:
        if self.team.first:
            super()._resume()  # mends what a kill left half done; the others then find it whole
        self.team.wait()
        if not self.team.first:
            super()._resume()

    def _update(self, step: int, batch: RlBatch, temperature: float) -> dict[str, float]:
        mine = [row for rows in batch.atoms()[self.team.rank :: self.team.world] for row in rows]
        self.optimiser.zero()
        sums = RatioSums()
        if mine:
            sums = backward(self.model, self.objective, batch, self.config.forward, temperature, mine)
        for parameter in self.optimiser.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            self.team.add(parameter.grad)
        norm = self.optimiser.step(factor(step + 1, self.config.total_steps or 1, self.config.schedule))
        lengths = sum(len(row.ids) for row in batch.rows)
        extra = {"gradient_norm": norm, "lr": next(iter(self.optimiser.rates()), 0.0), "row_tokens": float(lengths)}
        return added(self.team, sums).figures() | extra

    def _commit(self, step: int, update: Update, groups: set[str]) -> None:
        if self.team.first:
            super()._commit(step, update, groups)
        else:
            self.step_done = step
            self.consumed |= groups
        self.team.wait()


def added(team: Team, sums: RatioSums) -> RatioSums:
    """The sums over the tokens of every process."""
    values = torch.tensor(astuple(sums), dtype=torch.float64)
    largest = float(team.most(torch.tensor([sums.ratio_max], dtype=torch.float64)))
    total = RatioSums(*team.add(values).tolist())
    total.tokens, total.clipped, total.ratio_max = int(total.tokens), int(total.clipped), largest
    return total


def told(team: Team, requests: Iterable[str]) -> Iterator[str]:
    """Rank 0's requests, on every process."""
    if team.first:
        for line in requests:
            team.hear(line)
            yield line
        team.hear(None)
        return
    while (heard := team.hear(None)) is not None:
        yield heard


def main(arguments: Namespace, emit: Emit) -> None:
    """Serve one job's learner on this process's share."""
    config = load_config(arguments.config, LearnerConfig)
    team = Team(cpu=config.model.device == "cpu")
    try:
        with hold(config.state / "lock", wait=True) if team.first else nullcontext():
            learner = TeamLearner(config, team)
            serve(learner, told(team, sys.stdin), emit if team.first else lambda _: None)
    finally:
        team.close()


if __name__ == "__main__":
    sys.exit(run("RL learner on several processes", main))
