"""One of several processes that share a batch: it computes its members' gradient and the sum over all is kept.

`python -m journeyman.training.workers JOB.json WORLD RANK`; the processes meet through a file, over gloo.
"""

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from journeyman.training.cpu import settle
from journeyman.training.invariances import BASE, Gradients, Measured


def work(job: Path, world: int, rank: int) -> None:
    """Compute this rank's part for every objective of the job; rank 0 writes the sums."""
    told = json.loads(job.read_text())
    settle(1)
    dist.init_process_group("gloo", init_method=f"file://{told['meeting']}", world_size=world, rank=rank)
    summed: list[Gradients] = []
    for objective in told["objectives"]:
        mine = Measured(Path(told["policy"]), objective).gradients(Path(told["dataset"]), BASE, part=(rank, world))
        for gradient in mine.values():
            dist.all_reduce(gradient)
        summed.append(mine)
    if rank == 0:
        torch.save(summed, told["out"])
    dist.destroy_process_group()


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
