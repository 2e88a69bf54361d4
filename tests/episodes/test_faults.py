"""A fault in each layer: a sealed quarantine that names the layer, no reward, siblings as if nothing had happened."""

from pathlib import Path

import pytest

from journeyman.episodes.run_many import Finished
from journeyman.episodes.run_one import ReadyTask
from journeyman.records.grade import Grade
from journeyman.records.outcome import Graded, Quarantined
from journeyman.records.task import Plan
from journeyman.store.seal import seal_digest, verify_seal
from journeyman.store.sealed import SealedEpisode
from journeyman.tasks.package import plans
from tests.episodes.conftest import Open
from tests.episodes.faulty import MORE, SIX, Fault, SwallowingHarness
from tests.episodes.scene import Scene, baseline, credit_of, members

WITH_SERVICES = "operations.warehouse_exception"
ALL = (*SIX, *MORE)


def first_try_of_the_first(key: str) -> bool:
    """Attempt 0's first try is broken, every other try is left alone."""
    return key.endswith("/0.0")


def reference(ready: ReadyTask) -> Plan:
    return plans(ready.directory)[0]


def no_grade_of(scene: Scene, finished: Finished) -> bool:
    return not list(scene.job.grades_dir(finished.spec.key).glob("*.json"))


@pytest.mark.parametrize("fault", ALL, ids=str)
async def test_a_fault_is_a_sealed_quarantine_that_names_its_layer_and_spares_the_siblings(
    open_scene: Open, tasks: dict[str, ReadyTask], tmp_path: Path, fault: Fault
) -> None:
    ready = tasks[WITH_SERVICES]
    group = members(ready)
    one_at_a_time = 1 if "host killed" in fault.name else 4  # the host serves every episode in flight
    async with open_scene(fault=fault, hits=first_try_of_the_first) as scene:
        broken, *siblings = await scene.group(ready, group, concurrency=one_at_a_time)
        assert no_grade_of(scene, broken)
    assert isinstance(broken.outcome, Quarantined), broken.outcome
    assert broken.outcome.layer == fault.layer, broken.outcome
    assert broken.outcome.cause
    assert broken.reward is None
    verify_seal(broken.directory)
    sealed = SealedEpisode.open(broken.directory).episode
    if fault.graded:
        assert sealed.failure is None  # the episode went well; what broke was the grading
    else:
        assert sealed.stop is None
        assert sealed.failure is not None
        assert sealed.failure.layer == fault.layer
    assert [one.outcome.kind for one in siblings] == ["graded"] * 3
    credit = credit_of([broken, *siblings])
    alone = credit_of(siblings)
    assert credit.kept
    assert credit.advantages == (0.0, *alone.advantages)  # absent from the baseline: not a zero in it
    assert baseline([broken, *siblings]) == baseline(siblings)


@pytest.mark.parametrize("fault", SIX, ids=str)
async def test_the_next_try_is_fresh_and_the_broken_one_stays_sealed(
    open_scene: Open, tasks: dict[str, ReadyTask], fault: Fault
) -> None:
    ready = tasks[WITH_SERVICES]
    async with open_scene(fault=fault, hits=first_try_of_the_first) as scene:
        (finished,) = await scene.group(ready, [reference(ready)], restarts=2)
        broken = scene.job.episode_dir(finished.spec.model_copy(update={"try_": 0}).key)
        before = seal_digest(broken)
        (again,) = await scene.group(ready, [reference(ready)], restarts=2)  # as a resumed run asks
        assert seal_digest(broken) == before
    assert finished.spec.try_ == 1
    assert finished.reward == 1.0
    assert again == finished
    verify_seal(broken)
    header = SealedEpisode.open(finished.directory).episode
    assert header.spec.id.endswith("/0.1")


async def test_a_service_host_that_dies_takes_the_episodes_it_served_and_each_is_run_again(
    open_scene: Open, tasks: dict[str, ReadyTask]
) -> None:
    fault = next(f for f in SIX if f.layer == "service")
    ready = tasks[WITH_SERVICES]
    group = members(ready)
    async with open_scene() as calm:
        expected = [one.reward for one in await calm.group(ready, group)]
    async with open_scene(fault=fault, hits=lambda key: key.endswith("/g1/0.0")) as scene:
        specs = [(scene.spec(ready, plan, n, group="g1"), ready) for n, plan in enumerate(group)]
        finished = await scene.runner(restarts=2).all(specs)
        tries = [SealedEpisode.open(d).episode for d in scene.job.sealed("rl") if "/g1/" in str(d)]
    assert [one.reward for one in finished] == expected
    assert {t.failure.layer for t in tries if t.failure is not None} == {"service"}


@pytest.mark.parametrize("fault", [f for f in SIX if f.layer in ("engine", "capture")], ids=str)
async def test_an_agent_that_ends_well_on_a_broken_model_is_not_graded(
    open_scene: Open, tasks: dict[str, ReadyTask], fault: Fault
) -> None:
    ready = tasks["finance.board_forecast"]
    async with open_scene(fault=fault, hits=first_try_of_the_first) as scene:
        place = scene.place
        scene.place = type(place)(**{**place.__dict__, "harness": SwallowingHarness(place.harness)})
        (finished,) = await scene.group(ready, [reference(ready)])
    assert isinstance(finished.outcome, Quarantined)
    assert finished.reward is None
    assert finished.outcome.layer == ("engine" if fault.layer == "engine" else "harness")


async def test_a_gateway_that_is_closed_under_an_attempt_is_a_capture_failure(
    open_scene: Open, tasks: dict[str, ReadyTask]
) -> None:
    ready = tasks["finance.board_forecast"]

    async with open_scene() as scene:
        place = scene.place

        class Closing:
            manifest = place.harness.manifest

            async def run(self, run: object) -> object:
                await place.gateway.close()  # type: ignore[attr-defined]
                return await place.harness.run(run)  # type: ignore[arg-type]

        scene.place = type(place)(**{**place.__dict__, "harness": Closing()})
        (finished,) = await scene.group(ready, [reference(ready)], restarts=1)
        tries = [SealedEpisode.open(d).episode.failure for d in scene.job.sealed("rl")]
    assert [t.layer for t in tries if t is not None] == ["capture", "capture"]
    assert finished.reward is None


async def test_seven_of_eight_broken_leave_no_baseline(open_scene: Open, tasks: dict[str, ReadyTask]) -> None:
    fault = next(f for f in SIX if f.layer == "harness")
    ready = tasks["finance.board_forecast"]
    async with open_scene(fault=fault, hits=lambda key: not key.endswith("/7.0")) as scene:
        finished = await scene.group(ready, [reference(ready)] * 8, concurrency=8)
    assert [isinstance(one.outcome, Graded) for one in finished] == [False] * 7 + [True]
    credit = credit_of(finished)
    assert not credit.kept
    assert "1 of 8 members are valid" in credit.dropped
    assert set(credit.advantages) == {0.0}


async def test_a_reward_is_that_of_the_try_that_was_graded(open_scene: Open, tasks: dict[str, ReadyTask]) -> None:
    ready = tasks["finance.board_forecast"]
    async with open_scene() as scene:
        (finished,) = await scene.group(ready, [reference(ready)])
        (path,) = scene.job.grades_dir(finished.spec.key).glob("*.json")
    grade = Grade.parse(path.read_bytes())
    assert grade.episode == finished.spec.id
    assert grade.seal_digest == seal_digest(finished.directory)
