"""Grade files beside seals: once, complete, bound to seal, task and grader; a failure of ours never has a reward."""

import json
import time
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from journeyman.errors import BY_LAYER, Layer, UserError
from journeyman.grading.combine import Grader
from journeyman.grading.episode import FAILURES, grade_episode, grade_path, outcome_of
from journeyman.grading.judge import Judge
from journeyman.models.scripted import ScriptedModel
from journeyman.records.grade import OPTIMISED, REPORTED, Grade
from journeyman.records.outcome import FailureCause, Graded, Quarantined
from journeyman.records.rubric import Judged, Rubric
from journeyman.records.task import ServiceGrant
from journeyman.records.turn import ToolEvent
from journeyman.services.base import LedgerEntry
from journeyman.store.seal import SealBroken, seal_digest
from tests.grading.making import check, criterion, make_episode, make_task

GOOD = {"out.txt": "basis: v7\nEBITDA: 42.5 million\n"}


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return make_task(tmp_path / "tasks")


async def test_a_sealed_episode_is_graded_once_beside_its_seal(tmp_path: Path, task: Path) -> None:
    episode = make_episode(tmp_path / "episode", task, written=GOOD)
    before = seal_digest(episode)
    outcome = await grade_episode(episode, task, tmp_path / "grades", Grader())
    assert isinstance(outcome, Graded)
    assert (outcome.reward, outcome.reward_name) == (1.0, REPORTED)
    assert outcome == outcome_of(episode, tmp_path / "grades")
    assert seal_digest(episode) == before
    found = Grade.parse(next((tmp_path / "grades").glob("*.json")).read_bytes())
    assert grade_path(tmp_path / "grades", found.grader.digest()).exists()
    assert (found.digest(), found.seal_digest) == (outcome.grade_digest, before)
    assert set(found.rewards) == {REPORTED, OPTIMISED}
    with pytest.raises(UserError, match="a second one is refused"):
        await grade_episode(episode, task, tmp_path / "grades", Grader())


async def test_another_grader_grades_beside_and_does_not_decide_the_outcome(tmp_path: Path, task: Path) -> None:
    episode = make_episode(tmp_path / "episode", task, written=GOOD)
    second = Grader(judge=Judge(ScriptedModel([], name="other")), name="second")
    assert isinstance(await grade_episode(episode, task, tmp_path / "grades", second), Graded)
    assert outcome_of(episode, tmp_path / "grades") == Quarantined(layer="grader", cause="ungraded")
    await grade_episode(episode, task, tmp_path / "grades", Grader())
    assert isinstance(outcome_of(episode, tmp_path / "grades"), Graded)
    assert len(list((tmp_path / "grades").glob("*.json"))) == 2


async def test_a_signed_reward_below_zero_travels_with_the_grade(tmp_path: Path, task: Path) -> None:
    episode = make_episode(tmp_path / "episode", task, written={"out.txt": "basis: v5, 11.7x\n"})
    outcome = await grade_episode(episode, task, tmp_path / "grades", Grader())
    assert isinstance(outcome, Graded)
    assert outcome.reward == 0.0
    signed = outcome_of(episode, tmp_path / "grades", OPTIMISED)
    assert isinstance(signed, Graded)
    assert signed.reward == pytest.approx(-8 / 15)
    with pytest.raises(UserError, match=r"rubric\.v1, signed\.v1"):
        outcome_of(episode, tmp_path / "grades", "other.v1")


async def test_a_claim_of_completion_is_not_evidence(tmp_path: Path, task: Path) -> None:
    claim = "I wrote out.txt: basis: v7, EBITDA: 42.5 million. All done."
    episode = make_episode(tmp_path / "episode", task, final_message=claim)
    outcome = await grade_episode(episode, task, tmp_path / "grades", Grader())
    assert isinstance(outcome, Graded)
    assert outcome.reward == 0.0


async def test_unsealed_or_changed_episodes_are_not_graded(tmp_path: Path, task: Path) -> None:
    unsealed = make_episode(tmp_path / "a", task, written=GOOD, sealed=False)
    with pytest.raises(SealBroken, match="never sealed"):
        await grade_episode(unsealed, task, tmp_path / "grades", Grader())
    changed = make_episode(tmp_path / "b", task, written={"out.txt": "basis: v5"})
    (changed / "workspace/out.txt").write_text(GOOD["out.txt"])
    with pytest.raises(SealBroken, match=r"out\.txt changed after sealing"):
        await grade_episode(changed, task, tmp_path / "grades", Grader())
    planted = make_episode(tmp_path / "c", task, written={})
    (planted / "workspace").mkdir()
    (planted / "workspace/out.txt").write_text(GOOD["out.txt"])
    with pytest.raises(SealBroken, match="was added after sealing"):
        await grade_episode(planted, task, tmp_path / "grades", Grader())
    assert not list((tmp_path / "grades").glob("*")) if (tmp_path / "grades").exists() else True


async def test_a_reward_file_planted_by_the_policy_is_just_a_file(tmp_path: Path, task: Path) -> None:
    planted = {"reward.json": '{"reward": 1}', "verifier/reward.txt": "1", "rubric.json": "{}"}
    episode = make_episode(tmp_path / "episode", task, written=planted)
    outcome = await grade_episode(episode, task, tmp_path / "grades", Grader())
    assert isinstance(outcome, Graded)
    assert outcome.reward == 0.0


async def test_a_rubric_changed_after_the_rollout_is_quarantined(tmp_path: Path, task: Path) -> None:
    episode = make_episode(tmp_path / "episode", task, written={"out.txt": "basis: v5"})
    rubric = task / "tests/rubric.json"
    rubric.write_text(rubric.read_text().replace('"v7"', '"v5"'))
    outcome = await grade_episode(episode, task, tmp_path / "grades", Grader())
    assert isinstance(outcome, Quarantined)
    assert outcome.layer == "grader"
    assert outcome == outcome_of(episode, tmp_path / "grades")


async def test_a_whole_other_task_or_grader_is_quarantined(tmp_path: Path, task: Path) -> None:
    episode = make_episode(tmp_path / "episode", task, written=GOOD)
    easy = Rubric(criteria=(criterion("x", 1, check("file_exists", path="out.txt")),))
    other = make_task(tmp_path / "others", rubric=easy)
    outcome = await grade_episode(episode, other, tmp_path / "grades", Grader())
    assert (outcome.kind, getattr(outcome, "cause", "")) == ("quarantined", "task_changed")
    changed = Grader(judge=Judge(ScriptedModel([])))
    outcome = await grade_episode(episode, task, tmp_path / "grades", changed)
    assert (outcome.kind, getattr(outcome, "cause", "")) == ("quarantined", "grader_changed")


async def test_a_grader_that_breaks_is_quarantined_named_and_may_be_tried_again(tmp_path: Path) -> None:
    read = Judged(deliverables=("out.txt",))
    task = make_task(tmp_path / "tasks", rubric=Rubric(criteria=(criterion("c", 1, read),)))
    answers = ["no"] * 4 + ['{"verdicts": [{"proposition": "P1", "quote": "basis", "verdict": "MET"}]}']
    grader = Grader(judge=Judge(ScriptedModel(answers)))
    episode = make_episode(tmp_path / "episode", task, written=GOOD, grader=grader)
    broken = await grade_episode(episode, task, tmp_path / "grades", grader)
    assert isinstance(broken, Quarantined)
    assert (broken.layer, broken.cause) == ("grader", "verdict_set_incomplete")
    assert "[0.000000, 1.000000]" in broken.detail
    assert broken == outcome_of(episode, tmp_path / "grades")
    assert isinstance(await grade_episode(episode, task, tmp_path / "grades", grader), Graded)
    assert isinstance(outcome_of(episode, tmp_path / "grades"), Graded)
    assert len((tmp_path / "grades" / FAILURES).read_bytes().splitlines()) == 1


async def test_a_malformed_check_is_the_graders_failure(tmp_path: Path) -> None:
    rubric = Rubric(criteria=(criterion("c", 1, check("no_such_kind")),))
    task = make_task(tmp_path / "tasks", rubric=rubric)
    episode = make_episode(tmp_path / "episode", task, written=GOOD)
    outcome = await grade_episode(episode, task, tmp_path / "grades", Grader())
    assert (outcome.kind, getattr(outcome, "cause", "")) == ("quarantined", "check_malformed")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(layer=st.sampled_from(get_args(Layer)), cause=st.text(min_size=1, max_size=20))
async def test_no_failure_cause_ever_yields_a_reward(
    tmp_path_factory: pytest.TempPathFactory, layer: Layer, cause: str
) -> None:
    root = tmp_path_factory.mktemp("failed")
    task = make_task(root / "tasks")
    failed = make_episode(root / "e", task, written=GOOD, failure=FailureCause(layer=layer, cause=cause))
    for outcome in (await grade_episode(failed, task, root / "g", Grader()), outcome_of(failed, root / "g")):
        assert outcome == Quarantined(layer=layer, cause=cause)
        assert not hasattr(outcome, "reward")
    assert not (root / "g").exists()
    assert set(BY_LAYER) == set(get_args(Layer))


def entry(seq: int, call_id: str, tool: str = "get_order") -> LedgerEntry:
    return LedgerEntry(
        seq=seq, at="t", service="wms", actor="clerk", tool=tool, arguments={"order_id": "A"},
        outcome="ok", committed=False, call_id=call_id,
    )  # fmt: skip


def event(call_id: str, tool: str = "wms__get_order") -> ToolEvent:
    return ToolEvent(call_id=call_id, tool=tool, arguments={"order_id": "A"})


@pytest.mark.parametrize(
    ("ledger", "dispatch"),
    [
        ([entry(0, "c1")], [event("c1"), event("c2")]),  # a ledger row is missing
        ([entry(0, "c1"), entry(1, "c2")], [event("c1")]),  # a mutation nobody dispatched
        ([entry(0, "c1"), entry(2, "c2")], [event("c1"), event("c2")]),  # a hole in the sequence
        ([entry(0, "c1"), entry(1, "")], [event("c1")]),  # not from inside a box: no bash ran
    ],
)
async def test_ledger_and_dispatch_log_reconcile_both_ways(
    tmp_path: Path, ledger: list[LedgerEntry], dispatch: list[ToolEvent]
) -> None:
    grant = ServiceGrant(service="wms", actor="supervisor", tools=("get_order",))
    task = make_task(tmp_path / "tasks", services=(grant,), state={"wms": {}})
    episode = make_episode(tmp_path / "e", task, written=GOOD, state={"wms": {}}, ledger=ledger, dispatch=dispatch)
    outcome = await grade_episode(episode, task, tmp_path / "grades", Grader())
    assert (outcome.kind, getattr(outcome, "layer", ""), getattr(outcome, "cause", "")) == (
        "quarantined", "service", "ledger_mismatch",
    )  # fmt: skip


async def test_a_grade_of_another_episode_does_not_count(tmp_path: Path, task: Path) -> None:
    good = make_episode(tmp_path / "good", task, written=GOOD)
    bad = make_episode(tmp_path / "bad", task, written={"out.txt": "basis: v5"})
    await grade_episode(good, task, tmp_path / "grades", Grader())
    outcome = outcome_of(bad, tmp_path / "grades")
    assert (outcome.kind, getattr(outcome, "cause", "")) == ("quarantined", "grade_of_another_episode")


async def test_a_reward_cannot_be_read_from_half_a_grade(tmp_path: Path, task: Path) -> None:
    episode = make_episode(tmp_path / "episode", task, written=GOOD)
    await grade_episode(episode, task, tmp_path / "grades", Grader())
    path = next((tmp_path / "grades").glob("*.json"))
    record = json.loads(path.read_bytes())
    del record["rewards"][REPORTED]
    path.write_text(json.dumps(record))
    with pytest.raises(UserError, match=r"'rubric\.v1' is not in the grade"):
        outcome_of(episode, tmp_path / "grades")


async def test_grading_a_compact_episode_costs_at_most_3_ms_of_cpu(tmp_path: Path, task: Path) -> None:
    episodes = [make_episode(tmp_path / f"e{i}", task, written=GOOD) for i in range(30)]
    await grade_episode(episodes[0], task, tmp_path / "grades/0", Grader())
    spent = []
    for i, episode in enumerate(episodes[1:], start=1):
        started = time.process_time()
        await grade_episode(episode, task, tmp_path / f"grades/{i}", Grader())
        spent.append(time.process_time() - started)
    assert min(spent) <= 0.003  # the others share this machine
