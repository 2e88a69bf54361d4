"""One attempt with every real part: what happened is sealed, the reference is full marks, doing nothing is none."""

import pytest

from journeyman.episodes.run_one import ReadyTask, run_one
from journeyman.errors import UserError
from journeyman.grading.combine import Grader
from journeyman.grading.episode import grade_episode
from journeyman.records.episode import EpisodeSpec
from journeyman.records.outcome import StopReason
from journeyman.store.seal import SealBroken, is_sealed, seal_digest, verify_seal
from journeyman.store.sealed import SealedEpisode
from journeyman.tasks.package import plans
from journeyman.worlds.registry import ENVIRONMENT_TYPES
from tests.episodes.conftest import Open
from tests.episodes.scene import NO_OP


@pytest.mark.parametrize("name", ENVIRONMENT_TYPES)
async def test_the_reference_gets_full_marks_and_doing_nothing_gets_none(
    open_scene: Open, tasks: dict[str, ReadyTask], name: str
) -> None:
    ready = tasks[name]
    async with open_scene() as scene:
        done, idle = await scene.group(ready, [plans(ready.directory)[0], NO_OP])
    assert done.reward == 1.0
    assert idle.reward == 0.0
    for finished in (done, idle):
        verify_seal(finished.directory)
        episode = SealedEpisode.open(finished.directory).episode
        assert episode.stop is StopReason.FINISHED
        assert episode.failure is None
        assert episode.spec == finished.spec


async def test_an_episode_is_bound_to_what_it_ran_with(open_scene: Open, tasks: dict[str, ReadyTask]) -> None:
    ready = tasks["operations.warehouse_exception"]
    async with open_scene() as scene:
        (done,) = await scene.group(ready, [plans(ready.directory)[0]])
        manifest = scene.place.harness.manifest
    sealed = SealedEpisode.open(done.directory)
    assert sealed.episode.task_digest == ready.task.content_digest
    assert sealed.episode.grader_digest == ready.grader_digest
    assert sealed.episode.harness_digest == manifest.digest()
    assert sealed.episode.engine["kind"] == "scripted"
    assert sealed.episode.sandbox["kind"] == "bubblewrap"
    assert sealed.episode.usage.turns == len(sealed.turns)
    assert sealed.episode.usage.tool_calls == len(sealed.dispatch)
    assert sealed.ledger
    assert sealed.services


async def test_an_attempt_that_is_sealed_is_not_run_again(open_scene: Open, tasks: dict[str, ReadyTask]) -> None:
    ready = tasks["finance.board_forecast"]
    async with open_scene() as scene:
        spec = scene.spec(ready, NO_OP)
        first = await run_one(spec, ready, scene.place)
        before = seal_digest(first)
        assert await run_one(spec, ready, scene.place) == first
    assert seal_digest(first) == before


async def test_what_a_killed_process_left_unsealed_is_cleared_before_the_attempt_runs(
    open_scene: Open, tasks: dict[str, ReadyTask]
) -> None:
    ready = tasks["finance.board_forecast"]
    async with open_scene() as scene:
        spec = scene.spec(ready, NO_OP)
        left = scene.job.episode_dir(spec.key)
        (left / "workspace").mkdir(parents=True)
        (left / "workspace" / "half.txt").write_text("of another life")
        (left / "turns.jsonl").write_text('{"turn_id": ')
        directory = await run_one(spec, ready, scene.place)
    assert not (directory / "workspace" / "half.txt").exists()
    assert len(SealedEpisode.open(directory).turns) == 1


async def test_grading_waits_for_the_seal_and_happens_once(open_scene: Open, tasks: dict[str, ReadyTask]) -> None:
    ready = tasks["finance.board_forecast"]
    async with open_scene() as scene:
        spec = scene.spec(ready, NO_OP)
        directory = await run_one(spec, ready, scene.place)
        grades = scene.job.grades_dir(spec.key)
        open_one = scene.job.episode_dir("rl/x/g0/0.0")
        open_one.mkdir(parents=True)
        with pytest.raises(SealBroken, match="never sealed"):
            await grade_episode(open_one, ready.directory, grades, Grader())
        await grade_episode(directory, ready.directory, grades, Grader())
        with pytest.raises(UserError, match="refused"):
            await grade_episode(directory, ready.directory, grades, Grader())


async def test_a_file_added_inside_a_seal_is_found(open_scene: Open, tasks: dict[str, ReadyTask]) -> None:
    ready = tasks["finance.board_forecast"]
    async with open_scene() as scene:
        directory = await run_one(scene.spec(ready, NO_OP), ready, scene.place)
    assert is_sealed(directory)
    (directory / "grade.json").write_text("{}")
    with pytest.raises(SealBroken, match=r"grade\.json was added after sealing"):
        verify_seal(directory)


def test_an_id_is_job_policy_task_group_attempt_try() -> None:
    spec = EpisodeSpec(job="job", policy="rl", task="t", group="g00003", attempt=1, try_=2)
    assert spec.id == "job/rl/t/g00003/1.2"
