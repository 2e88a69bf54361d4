"""Many attempts: restarts are bounded, a resumed job tries again what had failed, and a job that only fails stops."""

import asyncio

import pytest

from journeyman.episodes.run_many import GIVE_UP_AFTER, KeepsFailing
from journeyman.episodes.run_one import ReadyTask
from journeyman.errors import UserError
from journeyman.records.outcome import Quarantined
from tests.episodes.conftest import Open
from tests.episodes.faulty import SIX
from tests.episodes.scene import NO_OP

HARNESS = next(fault for fault in SIX if fault.layer == "harness")


async def test_restarts_are_bounded_and_a_resumed_job_may_restart_again(
    open_scene: Open, tasks: dict[str, ReadyTask]
) -> None:
    ready = tasks["finance.board_forecast"]
    async with open_scene(fault=HARNESS, hits=lambda key: not key.endswith(".3")) as scene:
        (failed,) = await scene.group(ready, [NO_OP], restarts=1)
        assert isinstance(failed.outcome, Quarantined)
        assert failed.spec.try_ == 1
        (again,) = await scene.group(ready, [NO_OP], restarts=1)  # another process: tries 0 and 1 lie sealed
    assert again.spec.try_ == 3
    assert again.reward == 0.0
    assert len(list(scene.job.sealed("rl"))) == 4


async def test_a_job_in_which_everything_fails_stops_and_names_the_layer(
    open_scene: Open, tasks: dict[str, ReadyTask]
) -> None:
    ready = tasks["finance.board_forecast"]
    async with open_scene(fault=HARNESS, hits=lambda key: True) as scene:
        specs = [(scene.spec(ready, NO_OP, n), ready) for n in range(100)]
        with pytest.raises(BaseExceptionGroup) as caught:
            await scene.runner(restarts=0, concurrency=2).all(specs)
        tried = sum(1 for _ in scene.job.sealed("rl"))
    assert all(isinstance(error, KeepsFailing) for error in caught.value.exceptions)
    assert "harness (KeyError" in str(caught.value.exceptions[0])
    assert tried <= 2 * 2 + GIVE_UP_AFTER + 2


async def test_one_attempt_is_never_run_twice_at_once(open_scene: Open, tasks: dict[str, ReadyTask]) -> None:
    ready = tasks["finance.board_forecast"]
    async with open_scene() as scene:
        spec, runner = scene.spec(ready, NO_OP), scene.runner()
        with pytest.raises(UserError, match=r"attempt rl/.*/g0/0 was asked for twice"):
            await runner.all([(spec, ready), (spec, ready)])
        assert not list(scene.job.sealed("rl"))
        first, second = await asyncio.gather(
            runner.attempt(spec, ready), runner.attempt(spec, ready), return_exceptions=True
        )
        assert isinstance(second, UserError)
        assert await runner.attempt(spec, ready) == first
