"""RL's cursor: group n is always the same task with the same seeds; groups are handed over in order and used once."""

import asyncio
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.episodes.run_many import Finished
from journeyman.pipeline.actors import Actors, group_name, task_order
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import Recipe, RlRecipe
from journeyman.pipeline.stages.rl import consumed_groups, first_open
from journeyman.pipeline.state import Run
from journeyman.records.base import canonical_json
from journeyman.records.episode import Episode, EpisodeSpec
from journeyman.records.outcome import FailureCause, Quarantined
from journeyman.records.sample import Update
from journeyman.store.atomic import append_line
from journeyman.store.layout import Job


def tasks(count: int) -> list[Any]:
    return [
        SimpleNamespace(task=SimpleNamespace(slug=f"task-{n}", metadata=SimpleNamespace(environment_type="t")))
        for n in range(count)
    ]


def run_in(root: Path, **rl: Any) -> Run:
    return Run(Recipe(name="r", rl=RlRecipe(**rl)), Job(root), Silent())


@given(count=st.integers(1, 9), seed=st.integers(0, 99), epoch=st.integers(0, 5))
def test_every_pass_takes_every_task_once(count: int, seed: int, epoch: int) -> None:
    found = tasks(count)
    order = [task_order(found, seed, epoch * count + n).task.slug for n in range(count)]
    assert sorted(order) == sorted(t.task.slug for t in found)
    assert order == [task_order(found, seed, epoch * count + n).task.slug for n in range(count)]


class Held:
    """A runner whose attempts end when the test says so, in whatever order."""

    def __init__(self, root: str) -> None:
        self.directory = Path(root)
        self.gates: dict[str, asyncio.Event] = {}
        self.specs: list[EpisodeSpec] = []

    async def attempt(self, spec: EpisodeSpec, ready: Any) -> Finished:
        self.specs.append(spec)
        await self.gates.setdefault(spec.group, asyncio.Event()).wait()
        failed = FailureCause(layer="sandbox", cause="test")
        kept = Episode(
            spec=spec, task_digest="", grader_digest="", harness_digest="", engine={}, sandbox={}, failure=failed
        )
        (self.directory / "episode.json").write_bytes(kept.canonical())
        return Finished(spec, self.directory, Quarantined(layer="sandbox", cause="test"))


@settings(max_examples=25, deadline=None)
@given(order=st.permutations(range(5)), start=st.integers(0, 3))
def test_groups_are_handed_over_in_cursor_order_whatever_order_they_end_in(order: list[int], start: int) -> None:
    async def play(root: str) -> None:
        held = Held(root)
        run = run_in(Path(), group_size=2)
        actors = Actors(run, tasks(3), held, start, start)  # type: ignore[arg-type]
        for _ in order:
            actors.launch()
        await asyncio.sleep(0)
        handed = []
        for number in order:
            held.gates.setdefault(group_name(start + number), asyncio.Event()).set()
            done, _ = await asyncio.wait(actors.flying, return_when=asyncio.FIRST_COMPLETED)
            handed += [group.number for group in actors.land(done)]
            assert actors.unreleased == len(order) - len(handed)
        assert handed == list(range(start, start + len(order)))
        again = Actors(run, tasks(3), held, start, start)  # type: ignore[arg-type]
        first = list(held.specs)
        held.specs.clear()
        for _ in order:
            again.launch()
        await asyncio.sleep(0)  # the group begins
        await asyncio.sleep(0)  # its attempts begin
        assert sorted(s.id for s in held.specs) == sorted(s.id for s in first)
        assert {s.id: s.seed for s in held.specs} == {s.id: s.seed for s in first}
        await again.close()

    with tempfile.TemporaryDirectory() as root:
        asyncio.run(play(root))


def told(run: Run, group: int, dropped: str) -> None:
    run.job.ledger.mkdir(parents=True, exist_ok=True)
    line = {"group": group_name(group), "task": "t", "rewards": [], "dropped": dropped}
    append_line(run.job.ledger / "groups.jsonl", canonical_json(line))


def stepped(run: Run, step: int, kept: list[int], dropped: list[int] = []) -> None:  # noqa: B006
    run.job.ledger.mkdir(parents=True, exist_ok=True)
    update = Update(
        step=step,
        objective="cispo",
        reward_name="signed.v1",
        version_before=step,
        version_after=step + 1,
        groups={group_name(n): () for n in kept},
        dropped={group_name(n): "no advantage" for n in dropped},
        tokens=1,
    )
    append_line(run.job.ledger / "updates.jsonl", update.canonical())


def test_a_fresh_run_begins_at_the_first_group(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    assert consumed_groups(run) == set()
    assert first_open(run, set()) == 0


def test_a_resumed_run_goes_on_at_the_first_group_that_was_not_used(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    for number in range(6):
        told(run, number, "no advantage" if number == 1 else "")
    stepped(run, 0, [0, 2])
    stepped(run, 1, [4])  # group 3 ended, and its batch was never trained on
    assert consumed_groups(run) == {group_name(n) for n in (0, 2, 4)}
    assert first_open(run, consumed_groups(run)) == 3


def test_a_group_without_signal_that_takes_a_place_is_over_only_when_its_batch_is(tmp_path: Path) -> None:
    run = run_in(tmp_path, count_filtered_groups=True)
    for number in range(4):
        told(run, number, "no advantage" if number in (1, 2) else "")
    stepped(run, 0, [0], dropped=[1])
    assert first_open(run, consumed_groups(run)) == 2  # 2 has no signal, but holds a place in the next batch
    other = run_in(tmp_path)
    assert first_open(other, consumed_groups(other)) == 3


def test_a_torn_last_line_of_the_ledger_is_as_if_it_had_not_been_written(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    told(run, 0, "")
    stepped(run, 0, [0, 1])
    with (run.job.ledger / "updates.jsonl").open("ab") as file:
        file.write(b'{"step": 1, "groups": {"g000')
    assert first_open(run, consumed_groups(run)) == 2
