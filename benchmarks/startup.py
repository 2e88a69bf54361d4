"""What it costs to be told how to use journeyman: CPU seconds of `--help`, beside the interpreter doing nothing.

CPU of the process and its children (user + system), medians of several interleaved rounds, so that a busy machine
weighs on both alike. Target: under half a second for the whole and for every verb.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence

from journeyman.cli.main import VERBS

ROUNDS = 5
TARGET_SECONDS = 0.5


def cpu_seconds(arguments: Sequence[str]) -> float:
    """CPU of one run of this interpreter with `arguments`. Raises RuntimeError where it fails."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Print the table; 0 only if every target is reached."""
    typed = {"--help": ["--help"], **{f"{verb} --help": [verb, "--help"] for verb in VERBS}}
    nothing: list[float] = []
    found: dict[str, list[float]] = {name: [] for name in typed}
    for _ in range(ROUNDS):
        nothing.append(cpu_seconds(["-c", "pass"]))
        for name, arguments in typed.items():
            found[name].append(cpu_seconds(["-m", "journeyman.cli.main", *arguments]))
    zero = statistics.median(nothing)
    print(f"{'typed':<22}{'CPU s':>8}{'target':>8}{'x python -c pass':>18}  reached")
    print(f"{'python -c pass':<22}{zero:>8.3f}{'':>8}{1:>18.1f}")
    worst = 0.0
    for name, seconds in found.items():
        median = statistics.median(seconds)
        worst = max(worst, median)
        reached = "yes" if median < TARGET_SECONDS else "NO"
        print(f"{name:<22}{median:>8.3f}{TARGET_SECONDS:>8.2f}{median / zero:>18.1f}  {reached}")
    print(f"\nslowest help {worst:.3f} s of CPU, target {TARGET_SECONDS} s, {ROUNDS} rounds, medians")
    return 0 if worst < TARGET_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
