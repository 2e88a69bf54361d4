"""Directories written once: what no killed writer of ours left is never removed."""

from pathlib import Path

import pytest

from journeyman.errors import UserError
from journeyman.store.unfinished import UNFINISHED, begin, check_free, finish


@pytest.mark.parametrize(("theirs", "marked"), [("notes.txt", False), ("inner/notes.txt", False), ("inner/n", True)])
def test_what_is_somebody_elses_stays(tmp_path: Path, theirs: str, marked: bool) -> None:
    path = tmp_path / "out" / theirs
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    if marked:
        (tmp_path / "out" / UNFINISHED).touch()
    with pytest.raises(UserError, match="out exists and is no dataset"):
        begin(tmp_path / "out", "dataset")
    assert path.read_text() == "mine"


def test_a_file_of_that_name_stays(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(UserError, match="nothing was written"):
        check_free(tmp_path / "out", "dataset")
    assert (tmp_path / "out").read_text() == "mine"


def test_an_empty_directory_and_one_that_a_kill_left_are_used(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    begin(out, "dataset")
    (out / "half.bin").write_bytes(b"half")
    begin(out, "dataset")
    assert [p.name for p in out.iterdir()] == [UNFINISHED]
    finish(out)
    assert list(out.iterdir()) == []
