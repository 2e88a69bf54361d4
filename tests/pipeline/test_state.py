"""What a run knows of itself: a stage's marker says its figures, or that it is damaged."""

from pathlib import Path

import pytest

from journeyman.errors import UserError
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import Recipe
from journeyman.pipeline.state import Run
from journeyman.store.layout import Job

FIGURES = {"weights": "runs/r/weights/rl/v2", "version": 2, "rewards": {"rl, greedy": 0.6155555555555557}}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(Recipe(name="r"), Job(tmp_path), Silent())


def test_a_marker_says_the_figures_it_was_given(run: Run) -> None:
    assert run.figures("rl") is None
    run.complete("rl", FIGURES)
    assert run.figures("rl") == FIGURES


def test_a_marker_of_an_earlier_version_has_no_check(run: Run) -> None:
    run.complete("rl", {})
    run.stage_marker("rl").write_bytes(b'{"steps":2,"version":2}')
    assert run.figures("rl") == {"steps": 2, "version": 2}


def test_every_changed_byte_of_a_marker_is_named(run: Run) -> None:
    run.complete("rl", FIGURES)
    path = run.stage_marker("rl")
    whole = path.read_bytes()
    for at in range(len(whole)):
        for bit in (1, 0x20, 0x80):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
            with pytest.raises(UserError, match=r"rl\.json is not the marker of a finished stage .*--resume"):
                run.figures("rl")


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b'{"steps":', b'{"steps":NaN}', b"\xff"])
def test_a_broken_marker_is_named_with_the_remedy(run: Run, data: bytes) -> None:
    run.complete("rl", FIGURES)
    path = run.stage_marker("rl")
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"rl\.json is not the marker of a finished stage .*--resume"):
        run.figures("rl")
    path.unlink()
    path.mkdir()
    with pytest.raises(UserError, match=r"rl\.json cannot be read .*--resume"):
        run.figures("rl")
