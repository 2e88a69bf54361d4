"""The processes of one `accelerate launch`: they hear the same words, their numbers are added, one of them writes."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from journeyman.errors import UserError
from journeyman.training.batch import RlBatch
from journeyman.training.config import LearnerConfig, ModelConfig, SftTrainConfig
from journeyman.training.forward import Pace
from journeyman.training.policy import load_policy
from journeyman.training.sharding import is_sharded, shard

PATIENCE = timedelta(days=7)  # a process may wait for the others as long as rollouts take


class Team:
    """All processes; alone, a team of one."""

    def __init__(self, cpu: bool) -> None:
        try:
            accelerate: Any = import_module("accelerate")
        except ImportError as error:
            raise UserError(
                f"training on several processes needs accelerate ({error}): pip install accelerate"
            ) from None
        if os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true":
            raise UserError(
                "--use_fsdp is not read here: launch with --multi_gpu and write sharded = true in the config"
            )
        patient = accelerate.InitProcessGroupKwargs(timeout=PATIENCE)
        self._accelerator: Any = accelerate.Accelerator(cpu=cpu, kwargs_handlers=[patient])
        self.rank, self.world = int(self._accelerator.process_index), int(self._accelerator.num_processes)
        self.device: torch.device = self._accelerator.device

    @property
    def first(self) -> bool:
        """Whether this process reads, writes and answers."""
        return self.rank == 0

    def wait(self) -> None:
        """Until every process is here."""
        self._accelerator.wait_for_everyone()

    def share(self, batch: RlBatch) -> list[int]:
        """The rows that this process computes: whole members."""
        return [row for rows in batch.atoms()[self.rank :: self.world] for row in rows]

    def add(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, the same on each."""
        return self._reduced(tensor, torch.distributed.ReduceOp.SUM)

    def most(self, tensor: Tensor) -> Tensor:
        """The largest over all processes."""
        return self._reduced(tensor, torch.distributed.ReduceOp.MAX)

    def _reduced(self, tensor: Tensor, how: Any) -> Tensor:
        if self.world == 1:
            return tensor
        there = tensor.to(self.device)
        torch.distributed.all_reduce(there, op=how)
        return there.to(tensor.device)

    def agree(self, calls: Sequence[int]) -> list[int]:
        """Item by item the largest of every process's list, a missing item counting 0 (`forward.Pace`)."""
        length = int(self.most(torch.tensor([len(calls)])))
        return [int(n) for n in self.most(torch.tensor([*calls, *[0] * (length - len(calls))])).tolist()]

    def hear(self, words: str | None) -> str | None:
        """What the first process says, on every process."""
        said = [words]
        if self.world > 1:
            torch.distributed.broadcast_object_list(said, src=0)
        return said[0]

    def told(self, requests: Iterable[str]) -> Iterator[str]:
        """The first process's requests, on every process."""
        if self.first:
            for line in requests:
                self.hear(line)
                yield line
            self.hear(None)
            return
        while (heard := self.hear(None)) is not None:
            yield heard

    def by_first(self, action: Callable[[], None]) -> None:
        """Run on the first process while the others wait. A UserError there is raised on all."""
        refused: str | None = None
        if self.first:
            try:
                action()
            except UserError as error:
                refused = str(error)
        if (refused := self.hear(refused)) is not None:
            raise UserError(refused)

    def pace(self, config: SftTrainConfig | LearnerConfig) -> Pace | None:
        """What keeps the processes of a sharded model in step; None where each holds all of it."""
        return self if config.sharded and self.world > 1 else None

    def load(self, config: SftTrainConfig | LearnerConfig) -> nn.Module:
        """The policy to start from as this process holds it."""
        return self.held(config, lambda model: load_policy(config.initial, model, config.seed))

    def held(self, config: SftTrainConfig | LearnerConfig, load: Callable[[ModelConfig], nn.Module]) -> nn.Module:
        """What `load` makes, whole or this process's part of it."""
        if self.pace(config) is None:
            return load(config.model)
        on_cpu = config.model.model_copy(update={"device": "cpu"})  # no one device need have room for all of it
        return shard(load(on_cpu), self.device)

    def add_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """Every gradient becomes the sum over all processes; those of a sharded model are sums already."""
        mine = [p for p in parameters if not is_sharded(p)]
        if self.world == 1 or not mine:
            return
        anywhere = self.most(torch.tensor([p.grad is not None for p in mine], dtype=torch.int32)).tolist()
        for parameter in (p for p, found in zip(mine, anywhere, strict=True) if found):
            parameter.grad = self.add(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)

    def close(self) -> None:
        """Leave the group."""
        self._accelerator.end_training()


def leave(code: int) -> NoReturn:
    """End this process with `code` at once, what it printed sent on and everything it wrote already on disk.

    torch's threads of a process group may still want the interpreter while it is taken down; then the C++ runtime
    aborts (`terminate called without an active exception`), and the launcher calls a finished run a failed one.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
