"""A verifier runs after sealing, in a fresh box restored from the seal; what breaks it is the grader failing (H-08)."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from journeyman.errors import GraderFailure, SandboxFailure, UserError
from journeyman.grading.episode import grade_episode, outcome_of
from journeyman.grading.verified import STRICT, VerifierGrader
from journeyman.records.episode import Episode, EpisodeSpec
from journeyman.records.outcome import Graded, Quarantined, StopReason
from journeyman.sandbox.base import Sandbox, SandboxProvider, SandboxSpec
from journeyman.sandbox.bubblewrap import BubblewrapProvider
from journeyman.sandbox.detect import detect
from journeyman.store.seal import seal
from journeyman.tasks.clawbench import load_prepared, oracle_plan, prepare, source_dirs
from journeyman.tasks.verifier import VerifierSpec, restore, run_verifier, survey

pytestmark = pytest.mark.skipif(not detect().ready, reason="bubblewrap cannot run here")
SITE = Path(pytest.__file__).parents[1]
CONFTEST = 'def pytest_addoption(parser):\n    parser.addoption("--workspace", default=None)\n'
HEAD = """
from pathlib import Path
import pytest

@pytest.fixture
def workspace(request):
    return Path(request.config.getoption("--workspace"))
"""
TESTS = (
    HEAD
    + """
def test_answer(workspace):
    assert (workspace / "answer.txt").read_text() == "42"

def test_source_is_kept(workspace):
    assert (workspace / "source.txt").exists()

@pytest.fixture
def mode(workspace):
    return (workspace / "mode.txt").read_text()

def test_other_mode(mode):
    if mode == "plain":
        pytest.skip("not in this world")
"""
)


@pytest.fixture
async def sandboxes() -> AsyncIterator[SandboxProvider]:
    async with BubblewrapProvider() as provider:
        yield provider


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """One task laid out as the suite lays its tasks out."""
    tasks = tmp_path / "site/share/claw-bench/tasks"
    task = tasks / "files/file-001-answer"
    for folder in ("environment", "solution", "verifier"):
        (task / folder).mkdir(parents=True)
    (tasks / "conftest.py").write_text(CONFTEST)
    (task / "task.toml").write_text(
        'id = "file-001"\ntitle = "Answer"\ndomain = "files"\nlevel = "L1"\ndescription = "Write the answer."\n'
        'timeout = 60\ncapabilities = ["file-write"]\n'
    )
    (task / "instruction.md").write_text("Write 42 to `workspace/answer.txt`.")
    (task / "environment/setup.sh").write_text(
        'set -e\nD="$(cd "$(dirname "$0")/.." && pwd)/workspace"\nmkdir -p "$D/empty"\n'
        'printf plain > "$D/mode.txt"\necho source > "$D/source.txt"\n'
    )
    (task / "solution/solve.sh").write_text('printf 42 > "${1:-workspace}/answer.txt"\n')
    (task / "verifier/test_output.py").write_text(TESTS)
    return task


def sealed_episode(directory: Path, prepared: Path, grader: VerifierGrader, **files: str) -> Path:
    task = load_prepared(prepared)
    episode = Episode(
        spec=EpisodeSpec(job="job", policy="oracle", task=task.slug, group="g0", attempt=0),
        task_digest=task.content_digest,
        grader_digest=grader.identity(task.rubric).digest(),
        harness_digest="h",
        engine={},
        sandbox={},
        stop=StopReason.FINISHED,
    )
    for name, text in files.items():
        target = directory / "workspace/workspace" / name.replace("_", ".")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "episode.json").write_bytes(episode.canonical())
    seal(directory)
    return directory


async def test_from_the_suites_layout_to_a_grade(tmp_path: Path, source: Path, sandboxes: SandboxProvider) -> None:
    assert source_dirs(tmp_path / "site") == (source,)
    prepared = await prepare(source, tmp_path / "prepared", SITE, sandboxes)
    task = load_prepared(prepared)
    assert [c.id for c in task.rubric.criteria] == ["test_answer", "test_source_is_kept"]  # the third is skipped here
    assert {f.path for f in task.files} == {"workspace/mode.txt", "workspace/source.txt"}
    assert (prepared / "environment/workspace/workspace/empty").is_dir()
    assert (task.metadata.split, task.metadata.trainable) == ("heldout", False)
    assert "printf 42" in oracle_plan(prepared).steps[0].calls[0].arguments["command"]

    grader = VerifierGrader(sandboxes, SITE)
    right = sealed_episode(tmp_path / "right", prepared, grader, answer_txt="42")
    nothing = sealed_episode(tmp_path / "nothing", prepared, grader)
    for episode, partial, strict in ((right, 1.0, 1.0), (nothing, 0.5, 0.0)):
        outcome = await grade_episode(episode, prepared, tmp_path / "grades" / episode.name, grader)
        assert isinstance(outcome, Graded)
        assert outcome.reward == partial
        passed = outcome_of(episode, tmp_path / "grades" / episode.name, STRICT)
        assert isinstance(passed, Graded)
        assert passed.reward == strict
    with pytest.raises(UserError, match="create-only"):
        await prepare(source, tmp_path / "prepared", SITE, sandboxes)

    (prepared / "tests/test_output.py").write_text(HEAD + "def test_answer():\n    pass\n")
    late = sealed_episode_of(tmp_path / "late", right)
    outcome = await grade_episode(late, prepared, tmp_path / "grades/late", grader)
    assert isinstance(outcome, Quarantined)
    assert (outcome.layer, outcome.cause) == ("grader", "task_changed")


def sealed_episode_of(directory: Path, other: Path) -> Path:
    directory.mkdir()
    (directory / "episode.json").write_bytes((other / "episode.json").read_bytes())
    seal(directory)
    return directory


CRASHES = {
    "interpreter exits": "import os\ndef test_a():\n    os._exit(0)\n",
    "cannot be collected": "import no_such_module\ndef test_a():\n    pass\n",
    "session stopped": "import pytest\ndef test_a():\n    pytest.exit('enough', returncode=0)\n",
    "test gone": "def test_b():\n    pass\n",
}


@pytest.mark.parametrize("crash", CRASHES)
async def test_a_crashed_verifier_is_the_graders_failure(
    tmp_path: Path, sandboxes: SandboxProvider, crash: str
) -> None:
    spec = _spec(tmp_path, CRASHES[crash])
    with pytest.raises(GraderFailure, match="verifier_crashed"):
        await run_verifier(spec, ("test_a",), sandboxes, tmp_path / "base")


def _spec(root: Path, tests: str, **changes: float) -> VerifierSpec:
    (root / "tests").mkdir()
    (root / "base").mkdir()
    (root / "tests/conftest.py").write_text(CONFTEST)
    (root / "tests/test_output.py").write_text(tests)
    return VerifierSpec(tests=root / "tests", site=SITE, **changes)  # type: ignore[arg-type]


async def test_a_verifier_that_hangs_is_the_graders_failure(tmp_path: Path, sandboxes: SandboxProvider) -> None:
    spec = _spec(tmp_path, "import time\ndef test_a():\n    time.sleep(60)\n", timeout_seconds=2.0)
    started = time.monotonic()
    with pytest.raises(GraderFailure, match="verifier_timeout"):
        await run_verifier(spec, ("test_a",), sandboxes, tmp_path / "base")
    assert time.monotonic() - started < 20


async def test_a_missing_file_in_a_fixture_is_a_failed_test_not_a_crash(
    tmp_path: Path, sandboxes: SandboxProvider
) -> None:
    tests = HEAD + "@pytest.fixture\ndef data(workspace):\n    return (workspace / 'x').read_text()\n"
    spec = _spec(tmp_path, tests + "def test_a(data):\n    pass\ndef test_b():\n    pass\n")
    results = await survey(spec, sandboxes, tmp_path / "base")
    assert [(r.test, r.outcome) for r in results] == [("test_a", "failed"), ("test_b", "passed")]


class Lost:
    """A provider whose boxes never start."""

    async def start(self, spec: SandboxSpec) -> Sandbox:
        raise SandboxFailure("box_not_started", "no room")


async def test_a_lost_verifier_box_is_the_graders_failure(tmp_path: Path) -> None:
    spec = _spec(tmp_path, "def test_a():\n    pass\n")
    with pytest.raises(GraderFailure, match="verifier_box_lost"):
        await run_verifier(spec, ("test_a",), Lost(), tmp_path / "base")


STILL = """
import os, time
def test_a(workspace):
    before = (workspace / "beat.txt").read_text()
    time.sleep(0.3)
    assert (workspace / "beat.txt").read_text() == before
    for pid in filter(str.isdigit, os.listdir("/proc")):
        assert b"beat.txt" not in open(f"/proc/{pid}/cmdline", "rb").read()
"""


async def test_the_agents_box_never_sees_the_tests_and_the_verifiers_box_none_of_its_processes(
    tmp_path: Path, sandboxes: SandboxProvider
) -> None:
    (tmp_path / "base").mkdir()
    box = await sandboxes.start(SandboxSpec(workspace=(tmp_path / "base",)))
    look = "cat /opt/tests/* /tmp/report-* >> found.txt 2>/dev/null; echo run >> beat.txt; sleep .05"
    poll = f"for i in $(seq 100); do {look}; done"
    await box.call("task_start", {"command": poll})
    await asyncio.sleep(0.3)
    await box.kill_agent()
    change = await box.collect()
    await box.close()
    beats = change.written["beat.txt"]
    assert beats
    assert change.written.get("found.txt", b"") == b""
    tests = HEAD + STILL
    os.rmdir(tmp_path / "base")  # noqa: PTH106
    spec = _spec(tmp_path, tests)
    results = await run_verifier(spec, ("test_a",), sandboxes, tmp_path / "base", change.written)
    assert results[0].outcome == "passed", results[0].detail


def test_a_snapshot_is_the_task_without_what_was_deleted_and_with_what_was_written(tmp_path: Path) -> None:
    base = tmp_path / "base"
    for path in ("a/b/one.txt", "a/two.txt", "kept/three.txt"):
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_text(path)
    (base / "empty").mkdir()
    restore(base, {"new/x.txt": b"x", "a/two.txt": b"2"}, frozenset({"a/b/one.txt"}), tmp_path / "out")
    found = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*")}
    assert found == {"a", "a/two.txt", "kept", "kept/three.txt", "new", "new/x.txt", "empty"}
    assert (tmp_path / "out/a/two.txt").read_bytes() == b"2"
    assert (base / "a/b/one.txt").exists()


def test_where_the_suite_is_not_installed_the_line_says_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"pip install --no-deps --target .* claw-bench==0\.1\.0"):
        source_dirs(tmp_path)
