"""Processes that meet over gloo, forked from the test's own: what `accelerate launch` starts, without its imports."""

import multiprocessing
import os
import socket
from collections.abc import Callable
from typing import Any

from journeyman.errors import UserError
from journeyman.training.team import Team

Body = Callable[[Team], Any]


def together(body: Body, world: int = 2, timeout_seconds: float = 300) -> list[Any]:
    """What `body` returns on each process, rank 0 first; a UserError comes back as its words."""
    context = multiprocessing.get_context("fork")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    ends = [context.Pipe(duplex=False) for _ in range(world)]
    processes = [
        context.Process(target=_work, args=(body, rank, world, port, writer)) for rank, (_, writer) in enumerate(ends)
    ]
    for process in processes:
        process.start()
    for _, writer in ends:
        writer.close()
    try:
        found = []
        for reader, _ in ends:
            assert reader.poll(timeout_seconds), "the processes wait for each other"
            found.append(reader.recv())
        return found
    finally:
        for process in processes:
            process.join(10)
            process.kill()


def _work(body: Body, rank: int, world: int, port: int, answer: Any) -> None:
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in place.items()}, MASTER_ADDR="127.0.0.1", OMP_NUM_THREADS="1")
    team = Team(cpu=True)
    try:
        answer.send(body(team))
    except UserError as error:
        answer.send(str(error))
    finally:
        team.close()
