"""One job outside a recipe: what is sealed is not run again, and later verbs find its tasks where they were."""

import re
from pathlib import Path

import pytest

from journeyman.engines.base import EngineIdentity
from journeyman.errors import UserError
from journeyman.harnesses.whitebox.loop import native_harness
from journeyman.pipeline.progress import Silent
from journeyman.pipeline.recipe import Recipe
from journeyman.pipeline.rollout import Wish, check_same, label_of, planned
from journeyman.pipeline.state import Run
from journeyman.pipeline.workplace import ready_task
from journeyman.records.episode import Episode
from journeyman.sandbox.detect import detect
from journeyman.store.layout import Job
from journeyman.store.seal import seal
from tests.pipeline.conftest import typed


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "tasks"
    types = ("--type", "finance.board_forecast", "--type", "operations.warehouse_exception")
    made = typed("tasks", "make", *types, "--train", "2", "--heldout", "0", "--out", out)
    assert made.returncode == 0, made.stderr
    return out


def test_a_rollout_is_sealed_graded_resumed_verified_and_graded_again_beside(tasks: Path, tmp_path: Path) -> None:
    if not detect().ready:
        pytest.skip(detect().line())
    out = tmp_path / "rolled"
    done = typed("rollout", tasks, "--policy", "reference", "--attempts", "2", "--out", out)
    assert "4 of 4 attempts graded, mean reward 1.000" in done.stdout, done.stdout + done.stderr
    seals = {p: p.read_bytes() for p in out.rglob("SEAL.json")}
    again = typed("rollout", tasks, "--policy", "reference", "--attempts", "2", "--out", out)
    assert again.returncode == 0
    assert {p: p.read_bytes() for p in out.rglob("SEAL.json")} == seals
    assert typed("verify", out).returncode == 0
    second = typed("grade", out, "--grader", "second")
    assert second.returncode == 0, second.stderr
    assert len(list(out.glob("grades/*/*/*/*/*.json"))) == 8
    assert typed("verify", out).returncode == 0


def test_no_op_gets_nothing(tasks: Path, tmp_path: Path) -> None:
    if not detect().ready:
        pytest.skip(detect().line())
    done = typed("rollout", tasks, "--policy", "no-op", "--out", tmp_path / "idle")
    assert "2 of 2 attempts graded, mean reward 0.000" in done.stdout, done.stdout + done.stderr


def sealed(run: Run, wish: Wish, identity: EngineIdentity, task_digest: str = "") -> None:
    """The wish's attempts as a finished job leaves them, as far as they say what they are of."""
    for spec, package in planned(run, wish):
        header = Episode(
            spec=spec,
            task_digest=task_digest or ready_task(package).task.content_digest,
            grader_digest="",
            harness_digest=native_harness().manifest.digest(),
            engine=identity.model_dump(mode="json"),
            sandbox={},
            stop="finished",
        )
        directory = run.job.episode_dir(spec.key)
        directory.mkdir(parents=True)
        (directory / "episode.json").write_bytes(header.canonical())
        seal(directory)


def test_what_is_sealed_is_never_read_as_another_policys_or_anothers_attempt(tasks: Path, tmp_path: Path) -> None:
    run = Run(Recipe(name="job", stages=()), Job(tmp_path / "job"), Silent())
    wish = Wish(tasks, "a/pol", None, attempts=2, temperature=1.0, seed=1)
    identity = EngineIdentity(kind="embedded", model="pol", token_exact=True, weights_digest="w" * 64)
    sealed(run, wish, identity)

    def again(wish: Wish, identity: EngineIdentity = identity) -> None:
        check_same(run, wish, identity, planned(run, wish))

    again(wish)
    again(wish._replace(attempts=5))
    again(wish._replace(policy="b/other", seed=9))
    for other, said in (
        ({"seed": 2}, "with another --seed: give another --out"),
        ({"temperature": 1.0000001}, "temperature 1.0 (asked for: 1.0000001)"),
    ):
        with pytest.raises(UserError, match=re.escape(said)):
            again(wish._replace(**other))
    with pytest.raises(UserError, match=r"holds attempts of 'pol' with weights_digest w{16} \(asked for: x{16}\)"):
        again(wish._replace(split="train"), identity.model_copy(update={"weights_digest": "x" * 64}))
    before = Run(run.recipe, Job(tmp_path / "before"), Silent())
    sealed(before, wish, identity, task_digest="of a task that was made again")
    with pytest.raises(UserError, match="another task called finance-board-forecast"):
        check_same(before, wish, identity, planned(before, wish))


def test_the_label_of_a_policy_is_the_name_of_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pol" / "in").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "pol")
    assert [label_of(policy) for policy in ("base", "x/y", ".", "in/..")] == ["base", "y", "pol", "pol"]
    with pytest.raises(UserError, match="no name of one path segment"):
        label_of("step[3]")
