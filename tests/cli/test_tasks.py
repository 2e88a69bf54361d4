"""The verbs about tasks: what lies on disk is checked before it is used, and each wish is met or refused by name."""

import shutil
from pathlib import Path

import pytest

from journeyman.admission.release import create_release
from tests.admission.test_release import decided
from tests.cli.test_typing import typed
from tests.grading.making import make_task


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release of two tasks in the current folder, and a package that is not part of it."""
    monkeypatch.chdir(tmp_path)
    made = [make_task(Path("raw"), name=name, instruction=f"Write out.txt for {name}.") for name in ("a", "b", "c")]
    create_release(Path("release"), [decided(d) for d in made[:2]], made[:2], {})
    return Path("release")


def _without_a_task(release: Path) -> None:
    shutil.rmtree(release / "tasks/a")


def _with_a_foreign_task(release: Path) -> None:
    shutil.copytree("raw/c", release / "tasks/c")


def _with_another_manifest(release: Path) -> None:
    manifest = release / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"released":2', '"released":3'))


def _without_its_marker(release: Path) -> None:
    (release / "RELEASED").unlink()


CHANGES = {
    _without_a_task: "tasks/a",
    _with_a_foreign_task: "tasks/c is not part of the release",
    _with_another_manifest: "manifest.json or",
    _without_its_marker: "has no RELEASED marker",
}
READERS = {
    "check": (["tasks", "check", "release"], 1),
    "coverage": (["tasks", "check", "release", "--coverage"], 1),
    "admit": (["tasks", "admit", "release", "--release", "new"], 2),
    "against": (["tasks", "admit", "raw", "--against", "release", "--release", "new"], 2),
    "gallery": (["tasks", "show", "release", "--page", "p.html"], 2),
    "rollout": (["rollout", "release", "--policy", "reference", "--out", "r"], 2),
    "evaluate": (["evaluate", "release", "--policy", "base", "--out", "r"], 2),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("reader", READERS)
def test_a_release_is_checked_as_one_by_whoever_reads_it(
    capsys: pytest.CaptureFixture[str], release: Path, reader: str, change: object
) -> None:
    change(release)  # type: ignore[operator]
    arguments, fails = READERS[reader]
    code, out, err = typed(capsys, *arguments)
    assert code == fails
    assert CHANGES[change] in out + err  # type: ignore[index]
    assert not any(Path(name).exists() for name in ("new", "r", "p.html"))


def test_a_whole_release_is_read_as_its_tasks(capsys: pytest.CaptureFixture[str], release: Path) -> None:
    code, out, _ = typed(capsys, "tasks", "check", "release")
    assert code in (0, 1)
    assert "of 2 packages pass" in out
    code, _, err = typed(capsys, "tasks", "admit", ".")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "holds no task package" in err


def test_a_task_is_shown_by_its_name(capsys: pytest.CaptureFixture[str], release: Path) -> None:
    for arguments in (["c", "--in", "raw"], ["journeyman/a", "--in", "release"], ["raw/c"]):
        code, out, _ = typed(capsys, "tasks", "show", *arguments)
        assert (code, "Write out.txt for" in out) == (0, True), arguments
    code, _, err = typed(capsys, "tasks", "show", "c")
    assert (code, "no task of that name in build/* or runs/*" in err) == (2, True)
    Path("build").mkdir()
    release.rename("build/release")
    shutil.copytree("raw", "runs/job/tasks")
    assert typed(capsys, "tasks", "show", "a")[0] == 0
    assert (
        "Write out.txt for c" in typed(capsys, "tasks", "show", "c", "--page", "p.html")[1] + Path("p.html").read_text()
    )
    make_task(Path("build/more"), name="c", instruction="Write out.txt otherwise.")
    code, _, err = typed(capsys, "tasks", "show", "c")
    assert (code, "give one of build/more/c, runs/job/tasks/c" in err) == (2, True), err
    code, _, err = typed(capsys, "tasks", "show", "raw")
    assert (code, "raw holds 3 tasks" in err) == (2, True), err


def test_a_package_that_was_changed_is_not_kept_as_the_one_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = ["--type", "law.covenant_certificate", "--train", "1", "--heldout", "0", "--out", str(tmp_path / "tasks")]
    assert typed(capsys, "tasks", "make", *made)[0] == 0
    assert typed(capsys, "tasks", "make", *made)[0] == 0
    request = next((tmp_path / "tasks").iterdir()) / "instruction.md"
    request.write_text("Do nothing.")
    code, _, err = typed(capsys, "tasks", "make", *made)
    assert (code, len(err.splitlines())) == (2, 1)
    assert f"first remove {request.parent}" in err
    shutil.rmtree(request.parent)
    assert typed(capsys, "tasks", "make", *made)[0] == 0
