"""Releases: create-only, marker last, splits fixed, equal content merged, nothing unfinished usable (W-01, W-02)."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from journeyman.admission.release import MARKER, create_release, open_release, verify_release
from journeyman.errors import UserError
from journeyman.records.admission import Admission, GateResult
from journeyman.tasks.package import load_task
from tests.grading.making import draft, make_task


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


def test_a_planted_package_is_found(tmp_path: Path, made: list[Path]) -> None:
    create_release(tmp_path / "r", [decided(made[0])], made, {})
    make(tmp_path / "r/tasks", "planted")
    with pytest.raises(UserError, match=r"planted.* (is )?not part of"):
        verify_release(tmp_path / "r")
