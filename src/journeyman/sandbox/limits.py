"""Hard limits of a box: cgroups where they can be written, rlimits otherwise; which of the two is recorded.

Invariant: a box never starts without its limits being asked for, and the identity says how they are enforced.
"""

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

    rlimits: list[tuple[int, int]]
    join: list[str]
    groups: tuple[Path, ...]  # directories to remove once the box has ended


class LimitSetter:
    """Knows what this machine can enforce: "cgroup-v2", "cgroup-v1" or "rlimits"."""

    def __init__(self, root: Path = CGROUP_ROOT) -> None:
        self._root = root
        self._name = f"journeyman-{os.getpid()}-{next(_numbers)}"
        self._boxes = itertools.count(1)
        self._pending: list[Path] = []
        self._clear_remains()
        self.kind = self._detect()

    def _clear_remains(self) -> None:
        """Remove the empty cgroups of processes that were killed."""
        for parent in (*self._root.glob("journeyman-*"), *self._root.glob("*/journeyman-*")):
            if not Path(f"/proc/{parent.name.split('-')[1]}").exists():
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
        rlimits = [
            (resource.RLIMIT_FSIZE, limits.file_bytes),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, OPEN_FILES),
        ]
        name = str(next(self._boxes))
        period = 100_000
        quota = max(1000, int(limits.cpu_cores * period))
        if self.kind == "cgroup-v2":
            group = self._root / self._name / name
            files = {"memory.max": limits.memory_bytes, "pids.max": limits.pids, "cpu.max": f"{quota} {period}"}
            _create(group, {key: str(value) for key, value in files.items()})
            return BoxLimits(rlimits, [str(group / "cgroup.procs")], (group,))
        if self.kind == "cgroup-v1":
            settings = {
                "memory": {"memory.limit_in_bytes": str(limits.memory_bytes)},
                "pids": {"pids.max": str(limits.pids)},
                "cpu": {"cpu.cfs_quota_us": str(quota)},
            }
            groups = tuple(self._root / controller / self._name / name for controller in settings)
            for group, files_of in zip(groups, settings.values(), strict=True):
                _create(group, files_of)
            return BoxLimits(rlimits, [str(group / "cgroup.procs") for group in groups], groups)
        rlimits.append((resource.RLIMIT_AS, limits.memory_bytes * 4))
        rlimits.append((resource.RLIMIT_DATA, limits.memory_bytes))
        if own_uid:
            rlimits.append((resource.RLIMIT_NPROC, limits.pids))
        return BoxLimits(rlimits, [], ())

    def release(self, limits: BoxLimits) -> None:
        """Remove the cgroups of an ended box; the kernel may take a moment to see that they are empty."""
        self._pending = [group for group in (*self._pending, *limits.groups) if not _removed(group)]

    def sweep(self) -> None:
        """Remove every cgroup this setter made. Blocks for SWEEP_SECONDS at most."""
        parents = (self._root / self._name, *self._root.glob(f"*/{self._name}"))
        self._pending += [
            child for parent in parents if parent.is_dir() for child in parent.iterdir() if child.is_dir()
        ]
        deadline = time.monotonic() + SWEEP_SECONDS
        while self._pending and time.monotonic() < deadline:
            self.release(BoxLimits([], [], ()))
            time.sleep(0.005 if self._pending else 0)
        for parent in parents:
            _removed(parent)


def _removed(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _create(group: Path, files: dict[str, str]) -> None:
    group.mkdir()
    for name, value in files.items():
        (group / name).write_text(value)
