"""The closing line of a verb is a command that can be typed as it stands."""

import re
import shlex
from pathlib import Path

import pytest

from journeyman.admission.release import create_release
from journeyman.datasets.rl import RlConfig, build_rl
from journeyman.pipeline.selecting import newest_versions, started_from
from journeyman.records.admission import Admission, GateResult
from journeyman.store.dataset import Dataset
from journeyman.tasks.package import load_task
from tests.cli.test_typing import ALL, typed
from tests.datasets.conftest import EpisodeMaker, T, make_episode

__all__ = ["make_episode"]


def closing(out: str) -> list[str]:
    """What the closing line says to type, as a shell splits it; empty where there is none."""
    line = re.search(r"^next: journeyman (.*)$", out, re.MULTILINE)
    return shlex.split(line[1]) if line else []


def follow(capsys: pytest.CaptureFixture[str], arguments: list[str], steps: int) -> tuple[list[str], list[str]]:
    """Type a command and then its closing lines, `steps` in all. Returns the verbs and the last closing line."""
    verbs = []
    for _ in range(steps):
        code, out, err = typed(capsys, *arguments)
        assert (code, err) == (0, ""), arguments
        verbs.append(
            next(
                " ".join(words)
                for words in sorted(ALL, key=len, reverse=True)
                if tuple(arguments[: len(words)]) == words
            )
        )
        arguments = closing(out)
    return verbs, arguments


def test_the_closing_line_of_each_verb_can_be_typed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = ["tasks", "make", "--type", "law.covenant_certificate", "--train", "1", "--heldout", "0", "--out", "a b's"]
    _, admit = follow(capsys, made, 1)
    assert admit == ["tasks", "admit", "a b's", "--release", "build/release"]
    package = "a b's/law-covenant-certificate-compact-train-1"
    assert follow(capsys, ["tasks", "show", package], 2)[1][:3] == ["tasks", "admit", package]
    rollout = ["rollout", "a b's", "--policy", "reference", "--sandbox", "local", "--out", "r n"]
    assert follow(capsys, rollout, 4)[0] == ["rollout", "verify", "explain", "verify"]
    assert follow(capsys, ["grade", "r n", "--grader", "second"], 2)[0] == ["grade", "verify"]


def test_the_closing_lines_about_a_release_can_be_typed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = ["tasks", "make", "--type", "law.covenant_certificate", "--train", "1", "--heldout", "0", "--out", "made"]
    typed(capsys, *made)
    (package,) = Path("made").iterdir()
    gate = GateResult(gate="static", passed=True, reason="")
    admission = Admission(task=package.name, content_digest=load_task(package).content_digest, gates=(gate,))
    create_release(Path("release"), [admission], [package], {})
    verbs, rollout = follow(capsys, ["tasks", "show", "release", "--page", "p.html"], 2)
    assert verbs == ["tasks show", "tasks check"]
    assert rollout == ["rollout", "release", "--policy", "base"]


def test_rows_of_an_rl_batch_say_what_trains_them(
    capsys: pytest.CaptureFixture[str], make_episode: EpisodeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    groups = {}
    for group, version in (("g0", 0), ("g1", 2)):
        turns = [T(context=[1, 2], sampled=[3, 4], version=version)]
        groups[group] = [make_episode(turns, group=group, attempt=n, reward=float(n)) for n in range(2)]
    build_rl(groups, tmp_path / "batch", RlConfig())
    assert newest_versions(Dataset.open(tmp_path / "batch")) == {"g0": 0, "g1": 2}
    code, _, err = typed(capsys, "train", "rl", "batch", "--out", "made")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "batch was sampled by version 2 of the policy, and the learner is at version 0" in err
    assert started_from(tmp_path) == "base"
    (tmp_path / "weights" / "sft").mkdir(parents=True)
    (tmp_path / "weights" / "sft" / "config.json").touch()
    assert started_from(tmp_path) == str(tmp_path / "weights" / "sft")
