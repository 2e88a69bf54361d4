"""A caller who is not root runs boxes under his own uid, and the record says so."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOBODY = 65534


@pytest.fixture
def caller(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    """A uid that is not root's and a home of its own; skips where that user cannot run this interpreter."""
    uid = os.geteuid() or NOBODY
    home = tmp_path_factory.mktemp("home")
    for parent in (home, *home.parents):
        if parent.stat().st_uid == os.geteuid() and parent.stat().st_mode & 0o005 != 0o005 and uid == NOBODY:
            parent.chmod(parent.stat().st_mode | 0o005)
    if uid == NOBODY:
        os.chown(home, uid, uid)
    try:
        done = as_caller(uid, home, "-c", "import journeyman.cli.main")
    except PermissionError:
        pytest.skip(f"uid {uid} may not run {sys.executable}")
    if done.returncode:
        pytest.skip(f"uid {uid} cannot import journeyman: {done.stderr.splitlines()[-1]}")
    return uid, home


def as_caller(uid: int, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """This interpreter with `arguments`, as `uid` in `home`."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TMPDIR": str(home), "COLUMNS": "200"}
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    who = {} if uid == os.geteuid() else {"user": uid, "group": uid, "extra_groups": []}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        **who,  # type: ignore[arg-type]
    )


def test_a_caller_who_is_not_root_runs_episodes_under_his_own_uid(caller: tuple[int, Path]) -> None:
    uid, home = caller

    def typed(*arguments: str) -> subprocess.CompletedProcess[str]:
        return as_caller(uid, home, "-m", "journeyman.cli.main", *arguments)

    doctor = typed("doctor")
    if "cannot sandbox" in doctor.stdout:
        pytest.skip(doctor.stdout)
    assert "ok    sandbox" in doctor.stdout, doctor.stdout + doctor.stderr
    made = typed("tasks", "make", "--train", "4", "--heldout", "0", "--out", "tasks")
    assert made.returncode == 0, made.stderr
    done = typed("rollout", "tasks", "--policy", "reference", "--out", "runs/mine")
    assert "4 of 4 attempts graded, mean reward 1.000" in done.stdout, done.stdout + done.stderr
    headers = [json.loads(p.read_bytes()) for p in (home / "runs" / "mine").glob("episodes/*/*/*/*/episode.json")]
    assert [h["sandbox"]["uid"] for h in headers] == [uid] * 4
    assert all("caller's own uid" in h["sandbox"]["notes"] for h in headers)
    assert typed("verify", "runs/mine").returncode == 0
