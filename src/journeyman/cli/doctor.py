"""journeyman doctor: what can run here, what cannot, and what to type."""

import importlib.util
import os
import platform
import shutil
import sys
from pathlib import Path

import click

from journeyman.cli.display import console, next_step

EXTRAS = {
    "train": (("torch", "transformers", "safetensors"), "pip install 'journeyman[train]'"),
    "office": (("docx", "openpyxl", "pptx", "pdfplumber"), "pip install 'journeyman[office]'"),
}


def _line(ok: bool, name: str, found: str) -> bool:
    mark = "[green]ok[/green]   " if ok else "[red]cannot[/red]"
    console.print(f"{mark} {name:<12}", end=" ")
    console.print(found, markup=False, soft_wrap=True)
    return ok


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


@click.command()
def doctor() -> None:
    """Say what can run here. Exit 1 where the quickstart cannot.

    \b
    Example:
      journeyman doctor
    """
    from journeyman.pipeline.state import SHIPPED_POLICY
    from journeyman.sandbox.detect import detect

    good = _line(sys.version_info >= (3, 11), "python", f"{platform.python_version()} on {platform.platform()}")
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    good &= _line(
        free > 2, "machine", f"{os.cpu_count()} cores, {_memory_gib():.0f} GiB memory, {free:.0f} GiB free here"
    )
    readiness = detect()
    good &= _line(readiness.ready, "sandbox", readiness.line())
    for extra, (modules, remedy) in EXTRAS.items():
        missing = [m for m in modules if importlib.util.find_spec(m) is None]
        good &= _line(not missing, extra, f"missing {', '.join(missing)}; type: {remedy}" if missing else "installed")
    weights = SHIPPED_POLICY / "model.safetensors"
    good &= _line(
        weights.exists(), "policy", f"{SHIPPED_POLICY}" if weights.exists() else "not shipped; type: make policy"
    )
    if not good:
        raise SystemExit(1)
    next_step("journeyman run recipes/quickstart.toml --out runs/quickstart")
