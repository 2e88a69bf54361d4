"""The RL learner on N processes that Accelerate started: same requests, same records, gradients summed, one writer.

    accelerate launch --multi_gpu --num_processes 2 -m journeyman.training.distributed --config FILE

speaks what `journeyman.training.learner` speaks (Accelerate's --multi_gpu also starts CPU processes, which meet over
gloo). Each process computes the gradient of its own members and all gradients are added, so an update is that of one
process within rounding. With `sharded` each holds its part of the parameters and of the optimiser's state (FSDP2).
"""

import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import astuple
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from journeyman.records.sample import Update
from journeyman.store.config_file import load_config
from journeyman.store.json_process import Emit, run
from journeyman.store.lock import hold
from journeyman.training.batch import RlBatch
from journeyman.training.config import CriticConfig, LearnerConfig, ModelConfig
from journeyman.training.critic import Critic, FloatArray
from journeyman.training.diagnostics import RatioSums
from journeyman.training.learner import Learner, serve
from journeyman.training.policy import load_critic
from journeyman.training.team import Team, leave
from journeyman.training.update import backward


class TeamCritic(Critic):
    """A `Critic` that computes its share of every batch and knows the values of all of it."""

    def __init__(self, config: LearnerConfig, settings: CriticConfig, team: Team) -> None:
        def load(model: ModelConfig) -> nn.Module:
            return load_critic(config.initial, model, settings.freeze_attention, config.seed)

        self.team = team
        super().__init__(team.held(config, load), settings, config.forward, team.pace(config))

    def values(self, batch: RlBatch, mine: Sequence[int] | None = None) -> list[FloatArray]:
        """As `Critic`, of every row, whoever computed it; `mine` is this process's share."""
        found = super().values(batch, self.team.share(batch) if mine is None else mine)
        together = self.team.add(torch.from_numpy(np.concatenate(found))).numpy()  # in rows of others stands 0
        return np.split(together, np.cumsum([len(row.targets) for row in batch.rows])[:-1])

    def _gradient(self, batch: RlBatch, targets: list[FloatArray], old: list[FloatArray]) -> float:
        loss = self.backward(batch, targets, self.team.share(batch), old)
        self.team.add_gradients(self.optimiser.parameters)
        return float(self.team.add(torch.tensor(loss, dtype=torch.float64)))


class TeamLearner(Learner):
    """A `Learner` that computes its share of every batch."""

    def __init__(self, config: LearnerConfig, team: Team) -> None:
        self.team = team
        super().__init__(config)

    def _load(self) -> nn.Module:
        return self.team.load(self.config)

    def _make_critic(self, settings: CriticConfig) -> Critic:
        return TeamCritic(self.config, settings, self.team)

    def _take_up(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        take, found = super()._take_up, []
        self.team.by_first(lambda: found.append(take()))  # mends what a kill left half done
        return found[0] if found else take()  # the others find it whole

    def _gradient(self, batch: RlBatch, temperature: float) -> RatioSums:
        mine = self.team.share(batch)
        pace = self.team.pace(self.config)
        sums = RatioSums()
        if mine or pace is not None:
            sums = backward(self.model, self.objective, batch, self.config.forward, temperature, mine, pace)
        self.team.add_gradients(self.optimiser.parameters)
        return added(self.team, sums)

    def _publish(self, step: int, weights: dict[str, Tensor]) -> None:
        publish = super()._publish
        self.team.by_first(lambda: publish(step, weights))

    def _keep(
        self, step: int, update: Update, groups: set[str], tensors: dict[str, Any], place: dict[str, str] | None = None
    ) -> None:
        keep = super()._keep
        self.team.by_first(lambda: keep(step, update, groups, tensors, place))
        self.step_done = step
        self.consumed |= groups


def added(team: Team, sums: RatioSums) -> RatioSums:
    """The sums over the tokens of every process."""
    values = torch.tensor(astuple(sums), dtype=torch.float64)
    largest = float(team.most(torch.tensor([sums.ratio_max], dtype=torch.float64)))
    total = RatioSums(*team.add(values).tolist())
    total.tokens, total.clipped, total.ratio_max = int(total.tokens), int(total.clipped), largest
    return total


def main(arguments: Namespace, emit: Emit) -> None:
    """Serve one job's learner on this process's share."""
    config = load_config(arguments.config, LearnerConfig)
    team = Team(cpu=config.model.device == "cpu")
    try:
        with hold(config.state / "lock", wait=True) if team.first else nullcontext():
            learner = TeamLearner(config, team)
            serve(learner, team.told(sys.stdin), emit if team.first else lambda _: None)
    finally:
        team.close()


if __name__ == "__main__":
    leave(run("RL learner on several processes", main))
