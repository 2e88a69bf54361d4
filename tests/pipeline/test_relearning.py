"""The learner's ledger again, from batches and grades: hand-computed advantages, and every word of a step changed."""

from pathlib import Path
from typing import Any

import pytest

from journeyman.pipeline.finished import Told
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import Recipe, RlRecipe
from journeyman.pipeline.relearning import step_faults
from journeyman.pipeline.state import Run
from journeyman.records.batch import DatasetManifest, Group, Member
from journeyman.records.sample import Update
from journeyman.store.dataset import Dataset, write_dataset
from journeyman.store.layout import Job
from journeyman.training.credit import CreditConfig
from journeyman.training.shaping import ShapingConfig

ONE, TWO = "r/rl-train/t/g0/0.0", "r/rl-train/t/g0/1.0"
REWARDS = {ONE: {"signed.v1": 0.0}, TWO: {"signed.v1": 1.0}}
CREDIT = CreditConfig(advantage="centred", shaping=ShapingConfig(invalid_rate=0.2, invalid_cap=0.6))


def member(episode: str, raw: float, invalid: float, shaped: float, advantage: float) -> dict[str, Any]:
    terms = {"fade": 0.0, "output": 0.0, "extreme": 0.0, "invalid": invalid}
    numbers = {"raw": raw, "shaping": terms, "shaped": shaped, "advantage": advantage}
    return {"episode": episode, **numbers, "samples": [], "versions": [-1, -1]}


def update(**changes: Any) -> Update:
    """A step on rewards 0 and 1, the second with an invalid call: shaped 0 and 0.8, mean 0.4. Metrics count g1 too."""
    members = [member(ONE, 0.0, 0.0, 0.0, -0.4), member(TWO, 1.0, 0.2, 0.8, 0.4)]
    about = {"step": 0, "objective": "cispo", "reward_name": "signed.v1", "version_before": 0, "version_after": 1}
    metrics = {"reward": 0.5, "shaped": 0.45, "advantage_abs": 0.2, "loss": 7.0}
    told = {**about, "groups": {"g0": members}, "dropped": {"g1": "all alike"}, "tokens": 0, "metrics": metrics}
    return Update.model_validate({**told, **changes})


@pytest.fixture
def batch(tmp_path: Path) -> Dataset:
    directory = tmp_path / "data" / "rl" / "00000"
    members = (
        Member(episode=ONE, valid=True, reward=0.0, turns=1),
        Member(episode=TWO, valid=True, reward=1.0, turns=1, invalid_calls=1),
    )
    alike = tuple(Member(episode=f"r/rl-train/t/g1/{n}.0", valid=True, reward=0.5, turns=1) for n in range(2))
    groups = (Group(id="g0", task="t", members=members), Group(id="g1", task="t", members=alike))
    manifest = DatasetManifest(kind="rl", rows=0, tokens=0, trained_tokens=0, groups=2, reward_name="signed.v1")
    write_dataset(directory, manifest, (), (), groups=groups)
    return Dataset.open(directory)


def faults(batch: Dataset, told: Update, rewards: dict[str, dict[str, float]] = REWARDS) -> list[str]:
    job = Job(batch.directory.parents[2])
    run = Run(Recipe(name="r", rl=RlRecipe(credit=CREDIT)), job, Silent())
    said = Told(run, {}, (), (told,), (), frozenset())
    return list(step_faults(said, {batch.directory: batch}, rewards))


def test_a_step_that_follows_from_its_batch_has_no_fault(batch: Dataset) -> None:
    assert faults(batch, update()) == []


@pytest.mark.parametrize("name", ["raw", "shaped", "advantage", "shaping", "versions", "episode"])
def test_a_changed_word_of_a_member_is_named(batch: Dataset, name: str) -> None:
    changed: dict[str, Any] = {"shaping": {"invalid": 0.2}, "versions": (0, 0), "episode": "r/rl-train/t/g0/7.0"}
    members = [m.model_dump() for m in update().groups["g0"]]
    members[1][name] = changed.get(name, 0.777)
    (fault,) = faults(batch, update(groups={"g0": members}))
    assert fault.startswith(str(batch.directory.parents[2] / "ledger" / "updates.jsonl") + ", step 0: ")
    assert "other members" in fault if name == "episode" else f"{TWO}: {name} is " in fault


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tokens": 5}, "N is 5, and its batch has 0 trained tokens"),
        ({"metrics": {"reward": 0.6}}, "reward is 0.6, and 0.5 follows"),
        ({"dropped": {}}, "its groups are not those"),
        ({"reward_name": "rubric.v1"}, "reward rubric.v1, and"),
    ],
)
def test_a_changed_word_of_a_step_is_named(batch: Dataset, changes: dict[str, Any], said: str) -> None:
    (fault,) = faults(batch, update(**changes))
    assert said in fault


def test_a_reward_that_is_not_the_grades_is_named(batch: Dataset) -> None:
    (fault,) = faults(batch, update(), {**REWARDS, TWO: {"signed.v1": 0.9}})
    assert f"{TWO} has reward 1.0 in {batch.directory}, and 0.9 in its grade" in fault
