"""FSDP2: a model's parameters split over the processes of a team; what leaves the team is whole, on the first of them.

Each layer is gathered while it computes and its gradient is summed into the shards. A tensor that is not split is left
as it is everywhere here, so that one process and many share their code.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor


def shard(model: Any, device: torch.device) -> nn.Module:
    """`model` with every parameter split over all processes, unit by unit; every process must hold the same bytes.

    A unit is what the architecture itself says must not be split (its decoder layers); the rest is one unit more.
    """
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    inner = model.get_base_model() if hasattr(model, "peft_config") else model
    layers = set(getattr(inner, "_no_split_modules", None) or ())
    units = [*(m for m in model.modules() if type(m).__name__ in layers), model]
    for unit in units:
        # also the outermost: otherwise a forward without backward leaves it whole, and what is then restored is lost
        fully_shard(unit, mesh=mesh, reshard_after_forward=True)
    for unit in units:
        unit.set_gradient_divide_factor(1.0)  # N counts the whole batch: gradients add
        unit.set_force_sum_reduction_for_comms(True)  # gloo has no other
    made: nn.Module = model
    return made


def is_sharded(tensor: Tensor) -> bool:
    """Whether only a part of it is here."""
    return isinstance(tensor, DTensor)


def here(tensor: Tensor) -> Tensor:
    """What of it this process holds."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def whole(tensor: Tensor) -> Tensor:
    """All of a split tensor in the first process's memory, empty in the others; every process must ask."""
    if not isinstance(tensor, DTensor):
        return tensor
    full = tensor.full_tensor()
    return full.cpu() if dist.get_rank() == 0 else full.new_empty(0, device="cpu")


def placed(tensor: Tensor, like: Tensor) -> Tensor:
    """A whole tensor as `like` is held: this process's part of it where `like` is split."""
    if not isinstance(like, DTensor) or tensor.shape != like.shape:
        return tensor
    here = tensor.to(like.device)
    return distribute_tensor(here, like.device_mesh, like.placements, src_data_rank=None)
