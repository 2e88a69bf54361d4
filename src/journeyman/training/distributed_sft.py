"""SFT on N processes that Accelerate started: each update's rows are dealt out and the gradients summed, one writer.

    accelerate launch --multi_gpu --num_processes 2 -m journeyman.training.distributed_sft --config FILE

reads and prints what `journeyman.training.sft` does. Updates and losses are those of one process within rounding; a run
begun on some number of processes goes on on any other. With `sharded` each holds its part of the model (FSDP2).
"""

from argparse import Namespace
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from journeyman.store.config_file import load_config
from journeyman.store.json_process import Emit, run
from journeyman.store.lock import hold
from journeyman.training.config import SftTrainConfig
from journeyman.training.prefix import TrainRow
from journeyman.training.sft import SftRun, train
from journeyman.training.team import Team, leave


class TeamSft(SftRun):
    """An `SftRun` that computes its share of every update."""

    def __init__(self, config: SftTrainConfig, team: Team) -> None:
        self.team = team
        self.pace = team.pace(config)
        super().__init__(config)

    def _load(self) -> nn.Module:
        return self.team.load(self.config)

    def _gradient(self, rows: list[TrainRow]) -> float:
        mine = rows[self.team.rank :: self.team.world]
        loss = self._backward(rows, mine) if mine or self.pace is not None else 0.0
        self.team.add_gradients(self.optimiser.parameters)
        return float(self.team.add(torch.tensor(loss, dtype=torch.float64)))

    def agreed(self, due: bool) -> bool:
        """As `SftRun`: clocks differ, and a state is kept by all or by none."""
        return bool(self.team.most(torch.tensor([int(due)])))

    def _keep(self, tensors: dict[str, Any]) -> None:
        keep = super()._keep
        self.team.by_first(lambda: keep(tensors))

    def _publish(self, weights: dict[str, Tensor]) -> None:
        publish = super()._publish
        self.team.by_first(lambda: publish(weights))


def main(arguments: Namespace, emit: Emit) -> None:
    """Train this process's share of one SFT run."""
    config = load_config(arguments.config, SftTrainConfig)
    team = Team(cpu=config.model.device == "cpu")
    try:
        with hold(config.state / "lock", wait=True) if team.first else nullcontext():
            team.wait()  # what a killed run left is read by nobody before its writer has ended
            train(config, emit if team.first else lambda _: None, lambda told: TeamSft(told, team))
    finally:
        team.close()


if __name__ == "__main__":
    leave(run("SFT on several processes", main))
