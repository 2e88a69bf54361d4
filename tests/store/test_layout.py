"""Where things lie in a job: its name is its directory's, however that was typed."""

from pathlib import Path

import click
import pytest

from journeyman.cli.display import NewPlace
from journeyman.pipeline.rollout import label_of
from journeyman.store.layout import SEAL_NAME, Job, exists


@pytest.mark.parametrize("typed", [".", "../mine", "inside/..", "./", "inside/../../mine/", "../link"])
def test_a_job_is_called_by_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    (tmp_path / "mine" / "inside").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    assert Job(Path(typed)).name == "mine"
    place: Path = NewPlace().convert(typed, None, None)
    assert place.name in ("mine", "link")
    assert place.resolve() == tmp_path / "mine"
    assert label_of(typed) in ("mine", "link")


def test_what_has_no_name_of_its_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    for typed in ("/", ".", "..", "/usr/..", ""):
        with pytest.raises(click.BadParameter, match=r"root of the file system|names no directory"):
            NewPlace().convert(typed, None, None)


@pytest.mark.parametrize(("policy", "found"), [(None, 2), ("", 2), ("a", 1), ("*", 0), ("/etc", 0), ("../x", 0)])
def test_episodes_of_a_policy_are_asked_for_by_its_name(tmp_path: Path, policy: str | None, found: int) -> None:
    for name in ("a", "b"):
        directory = tmp_path / "episodes" / name / "t" / "g" / "0.0"
        directory.mkdir(parents=True)
        (directory / SEAL_NAME).touch()
    assert len(list(Job(tmp_path).sealed(policy))) == found


def test_a_name_that_is_too_long_is_nobodys(tmp_path: Path) -> None:
    assert exists(tmp_path)
    assert not exists(tmp_path / ("a" * 300))
