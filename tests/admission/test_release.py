"""Releases: create-only, marker last, splits fixed, equal content merged, nothing unfinished usable (W-01, W-02)."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from journeyman.admission.curriculum import Rules
from journeyman.admission.decide import admit_all
from journeyman.admission.release import MARKER, Release, create_release, open_release, verify_release, withdraw
from journeyman.errors import UserError
from journeyman.grading.combine import Grader
from journeyman.grading.episode import grade_episode
from journeyman.pipeline.curriculum import curriculum
from journeyman.pipeline.stages.making import Wanted, make_one
from journeyman.records.admission import Admission, GateResult
from journeyman.store.layout import Job
from journeyman.tasks.package import load_task
from tests.admission.executing import InProcess
from tests.grading.making import draft, make_episode, make_task


def decided(directory: Path, passed: bool = True) -> Admission:
    gates = (
        GateResult(gate="static", passed=True),
        GateResult(gate="assets", passed=passed, reason="" if passed else "x"),
    )
    return Admission(task=directory.name, content_digest=load_task(directory).content_digest, gates=gates)


def make(root: Path, name: str, split: str = "train", truth: str = "t", **changes: Any) -> Path:
    identity = draft().metadata.model_copy(
        update={"name": f"journeyman/{name}", "split": split, "lineage": {"ground_truth": truth}}
    )
    return make_task(root, metadata=identity, **changes)


@pytest.fixture
def made(tmp_path: Path) -> list[Path]:
    return [
        make(tmp_path / "raw", "a", truth="1"),
        make(tmp_path / "raw", "b", split="heldout", truth="2"),
        make(tmp_path / "raw", "c", truth="3"),
    ]


def test_a_release_holds_what_was_admitted_and_counts_the_rest(tmp_path: Path, made: list[Path]) -> None:
    admissions = [decided(made[0]), decided(made[1]), decided(made[2], passed=False)]
    release = create_release(tmp_path / "r1", admissions, made, {"recipe": "abc"})
    assert [d.name for d in release.task_dirs()] == ["a", "b"]
    assert [d.name for d in release.task_dirs("heldout")] == ["b"]
    counts = release.manifest.counts
    assert counts["raw"] == counts["admitted"] + counts["failed"] + counts["quarantined"] == 3
    assert (counts["verified"], counts["released"], counts["merged"]) == (3, 2, 0)
    assert release.manifest.funnel["assets"] == {"entered": 3, "passed": 2, "failed": 1, "quarantined": 0}
    assert open_release(tmp_path / "r1") == release == verify_release(tmp_path / "r1")
    assert load_task(release.task_dirs()[0]) == load_task(made[0])


def test_a_release_is_never_overwritten(tmp_path: Path, made: list[Path]) -> None:
    create_release(tmp_path / "r1", [decided(made[0])], made, {})
    before = {p: p.read_bytes() for p in (tmp_path / "r1").rglob("*") if p.is_file()}
    with pytest.raises(UserError, match="create-only"):
        create_release(tmp_path / "r1", [decided(made[1])], made, {})
    assert before == {p: p.read_bytes() for p in (tmp_path / "r1").rglob("*") if p.is_file()}


def test_without_its_marker_it_is_no_release(tmp_path: Path, made: list[Path]) -> None:
    create_release(tmp_path / "r1", [decided(made[0])], made, {})
    (tmp_path / "r1" / MARKER).unlink()
    with pytest.raises(UserError, match="never finished"):
        open_release(tmp_path / "r1")


def test_the_same_inputs_give_the_same_manifest(tmp_path: Path, made: list[Path]) -> None:
    first = create_release(tmp_path / "1/r", [decided(d) for d in made], made, {"recipe": "abc"})
    second = create_release(tmp_path / "2/r", [decided(d) for d in made], made, {"recipe": "abc"})
    assert first.manifest.digest() == second.manifest.digest()


def test_equal_content_under_two_names_merges_and_long_common_prefixes_do_not(tmp_path: Path) -> None:
    long = "x" * 60
    made = [
        make(tmp_path / "raw", "one"),
        make(tmp_path / "raw", "two"),
        make(tmp_path / "raw", f"{long}-1", instruction="Read memo.txt, write out.txt. One."),
        make(tmp_path / "raw", f"{long}-2", instruction="Read memo.txt, write out.txt. Two."),
    ]
    release = create_release(tmp_path / "r", [decided(d) for d in made], made, {})
    assert set(release.manifest.tasks) == {"one", f"{long}-1", f"{long}-2"}
    assert release.manifest.counts["merged"] == 1


def test_one_ground_truth_never_stands_in_two_splits(tmp_path: Path) -> None:
    made = [make(tmp_path / "raw", "a", truth="1"), make(tmp_path / "raw", "b", split="heldout", truth="1")]
    with pytest.raises(UserError, match=r"b \(heldout\) and a \(train\) share a ground truth"):
        create_release(tmp_path / "r", [decided(d) for d in made], made, {})
    assert not (tmp_path / "r").exists()


def test_a_package_changed_after_its_decision_is_not_released(tmp_path: Path, made: list[Path]) -> None:
    admission = decided(made[0])
    shutil.rmtree(made[0])
    make(tmp_path / "raw", "a", truth="9")
    with pytest.raises(UserError, match="changed after it was admitted"):
        create_release(tmp_path / "r", [admission], made, {})


def test_a_late_change_of_split_or_of_any_byte_is_found(tmp_path: Path, made: list[Path]) -> None:
    release = create_release(tmp_path / "r", [decided(d) for d in made], made, {})
    toml = release.directory / "tasks/a/task.toml"
    toml.write_text(toml.read_text().replace('split = "train"', 'split = "heldout"'))
    with pytest.raises(UserError, match=r"changed after (it was made|the release)"):
        verify_release(tmp_path / "r")
    shutil.rmtree(release.directory / "tasks/a")
    make(release.directory / "tasks", "a", split="heldout", truth="1")
    with pytest.raises(UserError, match=r"not the task that was released|changed after the release"):
        verify_release(tmp_path / "r")
    manifest = tmp_path / "r/manifest.json"
    manifest.write_text(manifest.read_text().replace('"a":"train"', '"a":"heldout"'))
    with pytest.raises(UserError, match="changed after the release"):
        open_release(tmp_path / "r")


@pytest.mark.parametrize("name", ["RELEASED", "manifest.json", "admissions.jsonl", "tasks/a/task.toml"])
def test_a_flipped_high_bit_or_an_unreadable_file_is_named(tmp_path: Path, made: list[Path], name: str) -> None:
    create_release(tmp_path / "r", [decided(d) for d in made], made, {})
    path = tmp_path / "r" / name
    data = path.read_bytes()
    path.write_bytes(data[:3] + bytes([data[3] ^ 0x80]) + data[4:])
    with pytest.raises(UserError, match=re.escape(str(path))):
        verify_release(tmp_path / "r")
    path.unlink()
    path.mkdir()
    with pytest.raises(UserError, match=re.escape(str(path))):
        verify_release(tmp_path / "r")


def test_a_planted_package_is_found(tmp_path: Path, made: list[Path]) -> None:
    create_release(tmp_path / "r", [decided(made[0])], made, {})
    make(tmp_path / "r/tasks", "planted")
    with pytest.raises(UserError, match=r"planted.* (is )?not part of"):
        verify_release(tmp_path / "r")


async def admitted(root: Path, seeds: range) -> Release:
    """Real worlds, made, admitted by execution and released below `root`."""
    wants = [Wanted(name, seed, "train", "compact") for seed in seeds for name in TYPES]
    made = [make_one(want, root / "raw") for want in wants]
    admissions = await admit_all(made, InProcess(root / "runs"))
    return create_release(root / "release", admissions, made, {"seed": str(seeds[0])})


TYPES = ("finance.board_forecast", "operations.warehouse_exception")


async def test_one_seed_gives_the_same_bytes_at_another_time_and_place(tmp_path: Path) -> None:
    first = await admitted(tmp_path / "here", range(1, 3))
    second = await admitted(tmp_path / "there" / "deeper", range(1, 3))
    files = [sorted(p for p in r.directory.rglob("*") if p.is_file()) for r in (first, second)]
    names = [[p.relative_to(r.directory) for p in f] for r, f in zip((first, second), files, strict=True)]
    assert names[0] == names[1]
    assert [p.read_bytes() for p in files[0]] == [p.read_bytes() for p in files[1]]
    assert first.manifest.counts["admitted"] == 4
    receipts = [json.loads((r.directory.parent / "release.receipt.json").read_bytes()) for r in (first, second)]
    assert receipts[0]["path"] != receipts[1]["path"]
    assert receipts[0]["manifest"] == receipts[1]["manifest"] == first.manifest.digest()
    other = await admitted(tmp_path / "other", range(3, 5))
    assert other.manifest.digest() != first.manifest.digest()


def test_what_a_later_screening_finds_is_withdrawn_and_the_release_stays(tmp_path: Path, made: list[Path]) -> None:
    release = create_release(tmp_path / "r", [decided(d) for d in made], made, {})
    withdraw(release, "new detectors", 3, {"a": "a shortcut"})
    again = verify_release(tmp_path / "r")
    assert again.manifest == release.manifest
    assert again.withdrawn == {"a": "a shortcut"}
    assert [d.name for d in again.task_dirs()] == ["b", "c"]
    assert [d.name for d in again.task_dirs("train")] == ["c"]
    with pytest.raises(UserError, match="screened by these detectors already"):
        withdraw(release, "new detectors", 3, {})
    withdraw(release, "newer detectors", 3, {"c": "another"})
    assert open_release(tmp_path / "r").withdrawn.keys() == {"a", "c"}
    other = create_release(tmp_path / "s", [decided(d) for d in made], made, {"from": "elsewhere"})
    assert other.withdrawn == {}
    told = next(tmp_path.glob("r.screens/*.json"))
    told.write_bytes(told.read_bytes()[:-1])
    with pytest.raises(UserError, match=rf"{told.name} is unreadable .*restore it"):
        verify_release(tmp_path / "r")


async def test_the_curriculum_releases_what_a_policy_can_learn_from(tmp_path: Path) -> None:
    made = [make(tmp_path / "raw", name, truth=name) for name in ("easy", "fit", "hard")]
    made.append(make(tmp_path / "raw", "kept_out", split="heldout", truth="h"))
    release = create_release(tmp_path / "r", [decided(d) for d in made], made, {})
    job = Job(tmp_path / "run")
    answers = {"easy": ["basis: v7\nEBITDA: 42.5"] * 2, "fit": ["basis: v7", "EBITDA: 1"], "hard": ["", "basis: v5"]}
    for task, texts in answers.items():
        for attempt, text in enumerate(texts):
            key = f"sft/{task}/g0/{attempt}.0"
            directory = make_episode(job.episode_dir(key), tmp_path / "raw" / task, written={"out.txt": text})
            await grade_episode(directory, tmp_path / "raw" / task, job.grades_dir(key), Grader())
    chosen = curriculum(release.directory, str(job.root), None, None, tmp_path / "c", Rules(floor=0), ())
    assert {task: r.passed for task, r in chosen.results.items()} == {"easy": False, "fit": True, "hard": False}
    kept = verify_release(tmp_path / "c")
    assert [d.name for d in kept.task_dirs()] == ["fit", "kept_out"]
    assert kept.manifest.funnel["curriculum"] == {"entered": 3, "passed": 1, "failed": 2, "quarantined": 0}
    assert kept.manifest.created_from["release"] == release.manifest.digest()
    with pytest.raises(UserError, match="no sealed episode"):
        curriculum(release.directory, f"{job.root}:other", None, None, tmp_path / "d", Rules(), ())
