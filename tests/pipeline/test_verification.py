"""`journeyman verify`: it says what it checked; a row without its certificate, or a missing part, is a fault."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from journeyman.capture.by_hand import seal_by_hand
from journeyman.datasets.base import Attempt
from journeyman.datasets.rl import build_rl
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import Recipe, write_resolved
from journeyman.pipeline.state import Run
from journeyman.pipeline.verification import verify_path
from journeyman.records.base import sha256_hex
from journeyman.records.outcome import Graded
from journeyman.records.sample import Sample
from journeyman.store.dataset import MARKER, Dataset
from journeyman.store.layout import Job

from ..capture.conftest import Opener, opened, renderer, seeded

__all__ = ["opened", "renderer", "seeded"]


@pytest.fixture
async def job(opened: Opener, seeded: Any) -> Path:
    """A job of one sealed episode and an RL batch made of it."""
    async with opened(seeded) as place:
        await place.ask()
        place.tell("more")
        await place.ask(max_tokens=5)
        captured = asdict(await place.slot.close())
        seal_by_hand(place.directory, place.spec, captured, {"kind": "seeded", "token_exact": True})
        root: Path = place.directory.parents[4]
        graded = Graded(reward=0.5, reward_name="signed.v1", grade_digest="d")
        build_rl({"g": [Attempt(place.spec.id, place.directory, graded)]}, root / "data" / "rl" / "00000")
    return root


def _change(dataset: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the first row's record and write a marker that agrees: what a careless tool would leave."""
    path = dataset / "samples.jsonl"
    row = json.loads(path.read_bytes())
    change(row)
    path.write_bytes(Sample.model_validate(row).canonical() + b"\n")
    _remark(dataset)


def _remark(dataset: Path) -> None:
    marker = json.loads((dataset / MARKER).read_bytes())
    marker["files"] = {name: sha256_hex((dataset / name).read_bytes()) for name in marker["files"]}
    (dataset / MARKER).write_text(json.dumps(marker))


async def test_an_episode_is_told_by_what_was_checked_of_it(job: Path) -> None:
    (episode,) = job.glob("episodes/*/*/*/*")
    checked = verify_path(episode)
    assert not checked.faults
    assert checked.counts["turns"] == 2
    assert checked.counts["segments with a certificate"] == 1
    assert checked.counts["sampled tokens"] == 29
    assert checked.counts["sealed files"] >= 7
    (said,) = checked.said
    assert said.startswith("segment 0.0: 2 turns, ")
    assert "29 sampled by policy version 0, certificate " in said


async def test_a_row_carries_the_certificate_of_its_segment(job: Path) -> None:
    checked = verify_path(job)
    assert not checked.faults
    assert (checked.counts["datasets"], checked.counts["training rows"]) == (1, 1)
    (episode,) = job.glob("episodes/*/*/*/*")
    ref = Dataset.open(job / "data" / "rl" / "00000").samples[0].ref
    assert ref.ids_sha256[:16] in verify_path(episode).said[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ids_sha256": ""}, "carries no certificate"),
        ({"ids_sha256": "0" * 64}, "has other ids than the certificate it carries"),
        ({"seal_digest": "0" * 64}, "is of another seal than the episode has"),
        ({"episode": "job/p/t/g/9.0"}, "is of an episode that is not here"),
        ({"segment": 4}, "carries another certificate than its segment has"),
    ],
)
async def test_a_row_that_is_not_its_segment_is_a_fault(job: Path, change: dict[str, Any], said: str) -> None:
    dataset = job / "data" / "rl" / "00000"
    _change(dataset, lambda row: row["ref"].update(change))
    (fault,) = verify_path(job).faults
    assert said in fault
    assert "row 0 (job/p/t/g/" in fault


async def test_a_dataset_alone_is_checked_by_the_certificates_its_rows_carry(job: Path) -> None:
    dataset = job / "data" / "rl" / "00000"
    assert not verify_path(dataset).faults
    ids = np.fromfile(dataset / "tokens.i32", dtype="<i4")
    ids[3] += 1
    ids.tofile(dataset / "tokens.i32")
    _remark(dataset)
    (fault,) = verify_path(dataset).faults
    assert "has other ids than the certificate it carries" in fault


@pytest.mark.parametrize("name", ["tokens.i32", "samples.jsonl", "DATASET.json"])
async def test_what_cannot_be_read_is_a_fault_and_no_traceback(job: Path, name: str) -> None:
    for path in (job / "data" / "rl" / "00000" / name, next(job.glob("episodes/*/*/*/*/tokens.i32"))):
        path.unlink()
        path.mkdir()
        (fault, *_) = verify_path(job).faults
        assert str(path) in fault
        path.rmdir()
        path.touch()


async def test_an_unreadable_grade_or_checkpoint_is_a_fault(job: Path) -> None:
    (episode,) = job.glob("episodes/*/*/*/*")
    grade = job / "grades" / episode.relative_to(job / "episodes") / "0.json"
    checkpoint = job / "weights" / "sft" / "CHECKPOINT.json"
    for path in (grade, checkpoint):
        path.mkdir(parents=True)
    assert verify_path(job).faults == [f"{path} cannot be read: Is a directory" for path in (grade, checkpoint)]


async def test_rows_or_weights_without_their_marker_are_a_fault_and_unfinished_ones_are_not(job: Path) -> None:
    marker = job / "data" / "rl" / "00000" / MARKER
    marker.unlink()
    (job / "weights" / "sft").mkdir(parents=True)
    (job / "weights" / "sft" / "model.safetensors").touch()
    (job / "weights" / "base").mkdir()
    (job / "weights" / "base" / "config.json").touch()
    missing = [job / "weights" / "sft" / "CHECKPOINT.json", marker]
    assert verify_path(job).faults == [f"{path} is missing" for path in missing]
    for path in missing:
        (path.parent / ".unfinished").touch()
    assert not verify_path(job).faults


def _run(job: Path, **finished: dict[str, Any]) -> None:
    """Make a run of the job, with these stages finished."""
    recipe = Recipe(name="job", stages=("demonstrations", "sft", "rl", "merge", "evaluate"))
    run = Run(recipe, Job(job), Silent())
    write_resolved(recipe, job / "config.toml")
    (job / "ledger").mkdir(exist_ok=True)
    for stage, figures in finished.items():
        run.complete(stage, figures)
        run.spend(stage, 0.0)


async def test_a_run_that_was_killed_lacks_nothing(job: Path) -> None:
    shutil.rmtree(job / "data")
    _run(job)
    assert not verify_path(job).faults
    (job / "weights" / "rl" / "v1").mkdir(parents=True)
    (job / "weights" / "rl" / "v1" / "config.json").touch()  # its step was not committed yet
    _run(job, demonstrations={}, sft={})
    faults = verify_path(job).faults
    assert faults == [
        f"{path} is missing" for path in (job / "data/sft/DATASET.json", job / "weights/sft/CHECKPOINT.json")
    ]


async def test_a_finished_stage_must_have_left_what_it_says(job: Path) -> None:
    shutil.rmtree(job / "data")
    _run(job, demonstrations={"episodes": 3}, rl={"steps": 2, "version": 2, "groups": 2}, merge={"skipped": "nothing"})
    (job / "ledger" / "spent.jsonl").unlink()
    faults = verify_path(job).faults
    for said in (
        "ledger/stages/sft.json is missing, and merge has begun after it",
        "data/sft/DATASET.json is missing",
        "spent.jsonl has no line of demonstrations",
        "groups.jsonl has 0 of 2 groups that ended",
        "updates.jsonl ends after 0 steps at version 0",
        "episodes/expert: 0 of 3 episodes are here",
    ):
        assert any(said in fault for fault in faults), said
    assert not any("merged" in fault for fault in faults)


async def test_a_damaged_or_missing_word_of_the_run_is_named(job: Path) -> None:
    shutil.rmtree(job / "data")
    _run(job, demonstrations={})
    marker = job / "ledger" / "stages" / "demonstrations.json"
    for data in (b"", b"[]", marker.read_bytes()[:-1]):
        marker.write_bytes(data)
        assert any(str(marker) in fault for fault in verify_path(job).faults)
    for name in ("updates.jsonl", "figures.jsonl", "groups.jsonl", "spent.jsonl"):
        log = job / "ledger" / name
        log.write_bytes(b'{"stage": 1}\n')
        assert any(f"{log}, line 1 is unreadable" in fault for fault in verify_path(job).faults)
    (job / "config.toml").unlink()
    assert any("config.toml is missing" in fault for fault in verify_path(job).faults)
    _run(job)
    shutil.rmtree(job / "ledger")
    assert verify_path(job).faults == [f"{job / 'ledger'} is missing: nothing says what the run has finished"]
