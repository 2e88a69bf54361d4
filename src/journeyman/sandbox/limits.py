"""Hard limits of a box: cgroups where they can be written, rlimits otherwise; which of the two is recorded.

Invariant: a box never starts without its limits being asked for, and the identity says how they are enforced.
"""

import contextlib
import itertools
import os
import resource
import time
from pathlib import Path
from typing import NamedTuple

from journeyman.sandbox.base import Limits

CGROUP_ROOT = Path("/sys/fs/cgroup")
OPEN_FILES = 1024
SWEEP_SECONDS = 1.0
_numbers = itertools.count()


class BoxLimits(NamedTuple):
    """What a spawner applies: (resource, limit) pairs and the files its child writes itself into."""

    limits: Limits
    rlimits: list[tuple[int, int]]
    join: list[str]


class LimitSetter:
    """Knows what this machine can enforce: "cgroup-v2", "cgroup-v1" or "rlimits"."""

    def __init__(self, root: Path = CGROUP_ROOT) -> None:
        self._root = root
        self._name = f"journeyman-{os.getpid()}-{next(_numbers)}"
        self._boxes = itertools.count(1)
        self._idle: dict[Limits, list[BoxLimits]] = {}
        self._clear_remains()
        self.kind = self._detect()

    def _clear_remains(self) -> None:
        """Remove the empty cgroups of processes that were killed; another run may be doing the same."""
        for parent in (*self._root.glob("journeyman-*"), *self._root.glob("*/journeyman-*")):
            if not Path(f"/proc/{parent.name.split('-')[1]}").exists():
                with contextlib.suppress(FileNotFoundError):
                    for group in (*(child for child in parent.iterdir() if child.is_dir()), parent):
                        _removed(group)

    def _detect(self) -> str:
        v2 = self._root / "cgroup.subtree_control"
        if v2.exists():
            try:
                (self._root / self._name).mkdir()
                for control in (v2, self._root / self._name / "cgroup.subtree_control"):
                    control.write_text("+memory +pids +cpu")
                return "cgroup-v2"
            except OSError:
                self.sweep()
                return "rlimits"
        parents = [self._root / controller / self._name for controller in ("memory", "pids", "cpu")]
        try:
            for parent in parents:
                parent.mkdir()
            return "cgroup-v1"
        except OSError:
            self.sweep()
            return "rlimits"

    def prepare(self, limits: Limits, own_uid: bool) -> BoxLimits:
        """Limits for one box. `own_uid`: no other box runs under its uid, so processes can be counted by uid."""
        idle = self._idle.get(limits)
        if idle:
            return idle.pop()
        rlimits = [
            (resource.RLIMIT_FSIZE, limits.file_bytes),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, OPEN_FILES),
        ]
        if self.kind == "rlimits":
            rlimits.append((resource.RLIMIT_AS, limits.memory_bytes * 4))
            rlimits.append((resource.RLIMIT_DATA, limits.memory_bytes))
            if own_uid or _counts_by_namespace():
                rlimits.append((resource.RLIMIT_NPROC, limits.pids))
            return BoxLimits(limits, rlimits, [])
        name = str(next(self._boxes))
        period = 100_000
        quota = max(1000, int(limits.cpu_cores * period))
        if self.kind == "cgroup-v2":
            one = {"memory.max": limits.memory_bytes, "pids.max": limits.pids, "cpu.max": f"{quota} {period}"}
            settings = {self._root / self._name / name: one}
        else:
            settings = {
                self._root / "memory" / self._name / name: {"memory.limit_in_bytes": limits.memory_bytes},
                self._root / "pids" / self._name / name: {"pids.max": limits.pids},
                self._root / "cpu" / self._name / name: {"cpu.cfs_quota_us": quota},
            }
        for group, files in settings.items():
            group.mkdir()
            for file, value in files.items():
                (group / file).write_text(str(value))
        return BoxLimits(limits, rlimits, [str(group / "cgroup.procs") for group in settings])

    def release(self, limits: BoxLimits) -> None:
        """The box has ended: the next one with equal limits may take its cgroups (they hold nothing but limits)."""
        self._idle.setdefault(limits.limits, []).append(limits)

    def sweep(self) -> None:
        """Remove every cgroup this setter made. Blocks for SWEEP_SECONDS at most: an ended process takes a moment."""
        self._idle.clear()
        parents = [self._root / self._name, *self._root.glob(f"*/{self._name}")]
        left = [child for parent in parents if parent.is_dir() for child in parent.iterdir() if child.is_dir()]
        deadline = time.monotonic() + SWEEP_SECONDS
        while (left := [group for group in left if not _removed(group)]) and time.monotonic() < deadline:
            time.sleep(0.005)
        for parent in parents:
            _removed(parent)


def _counts_by_namespace() -> bool:
    """Whether this kernel counts a user's processes per user namespace, so that boxes of one uid do not add up."""
    major, minor = os.uname().release.split(".")[:2]
    return (int(major), int("".join(filter(str.isdigit, minor)) or 0)) >= (5, 14)


def _removed(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
