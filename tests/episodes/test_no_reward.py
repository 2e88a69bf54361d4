"""L-04 as a property: whatever breaks, wherever and however, the reward is absent; it is never a number."""

import asyncio
import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from journeyman.datasets.base import Attempt
from journeyman.datasets.rl import build_rl
from journeyman.episodes.run_many import Finished
from journeyman.episodes.run_one import ReadyTask, Workplace, run_one
from journeyman.errors import BY_LAYER, Failure, Layer
from journeyman.evaluation.rows import read_rows
from journeyman.grading.combine import Grader
from journeyman.grading.episode import grade_episode, outcome_of
from journeyman.harnesses.base import HarnessExit, HarnessManifest
from journeyman.records.batch import Member
from journeyman.records.episode import Episode, EpisodeSpec
from journeyman.records.outcome import FailureCause, Quarantined, StopReason
from journeyman.sandbox.base import SandboxIdentity, WorkspaceChange
from journeyman.services.base import WorldSnapshot
from journeyman.store.layout import Job
from journeyman.store.seal import verify_seal
from tests.episodes.scene import credit_of
from tests.grading.making import make_episode

PLACES: dict[str, Layer] = {
    "gateway.open": "capture",
    "sandboxes.start": "sandbox",
    "services.open": "service",
    "harness.run": "harness",
    "slot.close": "capture",
    "box.kill_agent": "sandbox",
    "box.collect": "sandbox",
    "world.freeze": "service",
    "world.close": "service",
    "box.close": "sandbox",
}
RAISED = (
    OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RuntimeError, TimeoutError, EOFError,
    MemoryError, RecursionError, UnicodeError, ZeroDivisionError, AssertionError, ConnectionResetError,
)  # fmt: skip
errors = st.one_of(
    st.builds(lambda kind, text: kind(text), st.sampled_from(RAISED), st.text(max_size=20)),
    st.builds(
        lambda kind, text: kind("any_cause", text), st.sampled_from(list(BY_LAYER.values())), st.text(max_size=20)
    ),
)
FEW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Thin:
    """Seams that do nothing but what a place says: raise there. `turns` is what the gateway counted."""

    def __init__(self, place: str, error: BaseException | None, turns: int = 1) -> None:
        self.place, self.error = place, error
        self.engine_identity = {"kind": "thin", "token_exact": True}
        self.manifest = HarnessManifest(name="thin", loop="", prompt="", tools=(), middleware=(), version="")
        self.identity = SandboxIdentity(kind="thin")
        self.captured = None
        self.failure: Failure | None = None
        self.url = self.key = ""
        self._counts = SimpleNamespace(turns=turns, prompt_tokens=1, cached_tokens=0, sampled_tokens=1, segments=1)

    def _at(self, place: str) -> None:
        if self.error is not None and place == self.place:
            raise self.error

    def workplace(self, job: Job) -> Workplace:
        thin: Any = self
        return Workplace(
            job=job,
            sandboxes=SimpleNamespace(start=thin.start),  # type: ignore[arg-type]
            services=SimpleNamespace(open=thin.open_services),  # type: ignore[arg-type]
            gateway=SimpleNamespace(engine_identity=self.engine_identity, open=thin.open_slot),  # type: ignore[arg-type]
            harness=thin,
        )

    def open_slot(self, spec: EpisodeSpec, directory: Path, context_tokens: int) -> Any:
        self._at("gateway.open")
        return SimpleNamespace(url="", key="", failure=self.failure, captured=None, close=self.close_slot)

    async def start(self, spec: Any) -> Any:
        self._at("sandboxes.start")
        return SimpleNamespace(
            identity=self.identity, kill_agent=self.kill_agent, collect=self.collect, close=self.close_box
        )

    async def open_services(self, *_: Any) -> Any:
        self._at("services.open")
        return SimpleNamespace(freeze=self.freeze, close=self.close_world)

    async def run(self, run: Any) -> HarnessExit:
        self._at("harness.run")
        return HarnessExit(stop=StopReason.FINISHED)

    async def close_slot(self) -> Any:
        self._at("slot.close")
        return self._counts

    async def kill_agent(self) -> None:
        self._at("box.kill_agent")

    async def collect(self) -> WorkspaceChange:
        self._at("box.collect")
        return WorkspaceChange(written={}, deleted=())

    async def freeze(self) -> WorldSnapshot:
        self._at("world.freeze")
        return WorldSnapshot(state={}, ledger=())

    async def close_world(self) -> None:
        self._at("world.close")

    async def close_box(self) -> None:
        self._at("box.close")


numbers = itertools.count()


def attempt(root: Path, ready: ReadyTask, thin: Thin) -> tuple[EpisodeSpec, Path, Path]:
    job = Job(root / f"job{next(numbers)}")
    spec = EpisodeSpec(job=job.root.name, policy="rl", task=ready.task.slug, group="g0", attempt=0)
    return spec, asyncio.run(run_one(spec, ready, thin.workplace(job))), job.grades_dir(spec.key)


@FEW
@given(place=st.sampled_from(list(PLACES)), error=errors)
def test_whatever_is_raised_at_whatever_boundary_leaves_a_seal_and_no_reward(
    tmp_path: Path, tasks: dict[str, ReadyTask], place: str, error: Exception
) -> None:
    ready = tasks["operations.warehouse_exception"]
    spec, directory, grades = attempt(tmp_path, ready, Thin(place, error))
    verify_seal(directory)
    header = Episode.parse((directory / "episode.json").read_bytes())
    assert header.stop is None
    assert header.failure is not None
    assert header.failure.layer == (error.layer if isinstance(error, Failure) else PLACES[place])
    assert header.failure.cause
    outcome = asyncio.run(grade_episode(directory, ready.directory, grades, Grader()))
    assert isinstance(outcome, Quarantined)
    assert outcome == outcome_of(directory, grades)
    assert not list(grades.glob("*.json"))
    finished = Finished(spec, directory, outcome)
    assert finished.reward is None
    assert credit_of([finished] * 4).advantages == (0.0,) * 4
    assert not credit_of([finished] * 4).kept


def test_without_a_fault_the_same_seams_are_graded(tmp_path: Path, tasks: dict[str, ReadyTask]) -> None:
    ready = tasks["finance.board_forecast"]
    _, directory, _ = attempt(tmp_path, ready, Thin("", None))
    header = Episode.parse((directory / "episode.json").read_bytes())
    assert header.stop is StopReason.FINISHED
    assert header.failure is None


def test_no_model_call_is_no_score(tmp_path: Path, tasks: dict[str, ReadyTask]) -> None:
    ready = tasks["finance.board_forecast"]
    _, directory, grades = attempt(tmp_path, ready, Thin("", None, turns=0))
    outcome = outcome_of(directory, grades)
    assert (outcome.kind, outcome.layer, outcome.cause) == ("quarantined", "harness", "no_model_call")  # type: ignore[union-attr]


@FEW
@given(layer=st.sampled_from(list(BY_LAYER)), cause=st.text(min_size=1, max_size=12), detail=st.text(max_size=30))
def test_a_sealed_failure_of_any_cause_is_absent_from_rewards_rows_and_statistics(
    tmp_path: Path, tasks: dict[str, ReadyTask], layer: Layer, cause: str, detail: str
) -> None:
    ready = tasks["finance.board_forecast"]
    job = Job(tmp_path / f"job{next(numbers)}")
    failure = FailureCause(layer=layer, cause=cause, detail=detail)
    directory = make_episode(job.episode_dir(f"sft/{ready.task.slug}/g0/0.0"), ready.directory, failure=failure)
    outcome = asyncio.run(grade_episode(directory, ready.directory, job.grades_dir("x"), Grader()))
    assert outcome == Quarantined(layer=layer, cause=cause, detail=detail)
    manifest = build_rl({"g0": [Attempt("job/sft/t/g0/0.0", directory, outcome)]}, job.data / "rl")
    assert (manifest.rows, manifest.trained_tokens) == (0, 0)
    (row,) = read_rows(job, [directory], {ready.task.slug: ready.task})
    assert row.reward is None


def test_a_member_without_validity_cannot_carry_a_reward() -> None:
    for valid, reward in ((False, 0.0), (True, None)):
        with pytest.raises(ValueError, match="if and only if it is valid"):
            Member(episode="e", valid=valid, reward=reward)
